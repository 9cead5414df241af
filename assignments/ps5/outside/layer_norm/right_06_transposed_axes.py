def layer_norm(x, weight, bias, eps):
    columns = x.movedim(-1, 0)
    columns = columns - columns.mean(dim=0)
    columns = columns / (columns.pow(2).mean(dim=0) + eps).sqrt()
    return columns.movedim(0, -1) * weight + bias
