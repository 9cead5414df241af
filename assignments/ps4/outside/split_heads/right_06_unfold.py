def split_heads(x, n_heads):
    K = x.shape[-1] // n_heads
    return x.unfold(-1, K, K).swapaxes(-2, -3).contiguous()
