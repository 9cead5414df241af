# wrong: (..., H, K, T) reshaped to (..., H, T, K): right for T = 1 or K = 1 only.
# shows: T > 1 and K > 1.

def split_heads(x, n_heads):
    *lead, T, D = x.shape
    K = D // n_heads
    return x.mT.reshape(*lead, n_heads, K, T).reshape(*lead, n_heads, T, K)
