# wrong: reshaped straight to (..., H, T, K): the right shape, the wrong numbers.
# shows: T > 1 and H > 1.

def split_heads(x, n_heads):
    *lead, T, D = x.shape
    return x.reshape(*lead, n_heads, T, D // n_heads)
