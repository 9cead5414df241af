def layer_norm(x, weight, bias, eps):
    def centred(v):
        return v - v.mean(dim=-1, keepdim=True)

    def size(v):
        return (v.square().mean(dim=-1, keepdim=True) + eps).sqrt()

    y = centred(centred(x))  # twice: what the first mean lost by rounding, the second one finds
    return weight * (y / size(y)) + bias
