# wrong: with four axes it takes for granted that the first has the length 1.
# shows: x of shape (2, 3, T, D): the result is (1, 6, H, T, K).

def split_heads(x, n_heads):
    T, D = x.shape[-2:]
    K = D // n_heads
    if x.dim() == 2:
        return x.reshape(T, n_heads, K).transpose(0, 1)
    heads = x.reshape(-1, T, n_heads, K).transpose(1, 2)
    return heads if x.dim() == 3 else heads[None]
