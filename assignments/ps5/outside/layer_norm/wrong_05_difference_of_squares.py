# wrong: variance as mean of squares minus square of the mean: nothing is left of it far from 0.
# shows: 100,001, 100,002, 100,006 in float32 (also negative variance: nan).

def layer_norm(x, weight, bias, eps):
    m = x.mean(dim=-1, keepdim=True)
    var = (x * x).mean(dim=-1, keepdim=True) - m * m
    return (x - m) / (var + eps).sqrt() * weight + bias
