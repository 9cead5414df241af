# wrong: the same difference of squares, but in float64: right for 1e5 in float32, wrong again for float64 far from 0.
# shows: float64 with 1e9 + (1, 2, 6): the squares are 1e18, a float64 has 16 digits.

def layer_norm(x, weight, bias, eps):
    y = x.double()
    m = y.mean(dim=-1, keepdim=True)
    var = ((y * y).mean(dim=-1, keepdim=True) - m * m).clamp(min=0)
    return ((y - m) / (var + eps).sqrt()).to(x.dtype) * weight + bias
