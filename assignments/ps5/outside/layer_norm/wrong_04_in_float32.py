# wrong: computes in float32 whatever x is.
# shows: float64 beyond 7 digits: entries such as 1e8 + (1, 2, 6), which float32 cannot tell apart.

def layer_norm(x, weight, bias, eps):
    y = x.float()
    d = y - y.mean(-1, keepdim=True)
    return (d / (d.square().mean(-1, keepdim=True) + eps).sqrt()).to(x.dtype) * weight + bias
