def layer_norm(x, weight, bias, eps):
    spread = x.std(dim=-1, unbiased=False, keepdim=True)
    return (x - x.mean(dim=-1, keepdim=True)).div((spread * spread + eps).sqrt()).mul(weight).add(bias)
