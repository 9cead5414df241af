# right: matrix products with views, scale in the middle.


def lora_layer(x, weight, bias, down, up, alpha):
    scale = alpha / up.shape[1]
    y = x @ weight.detach().T
    y = y + scale * (x @ down.T) @ up.T
    if bias is not None:
        y = y + bias.detach()
    return y
