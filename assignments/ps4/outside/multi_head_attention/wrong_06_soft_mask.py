# wrong: hidden scores get -50 more: their weights are tiny, not 0, and a large hidden score still wins.
# shows: hidden scores much above the visible ones; x of large numbers in the padding.

def multi_head_attention(x, weights, n_heads, mask=None):
    B, T, D = x.shape
    K = D // n_heads
    q, k, v = ((x @ weights[n].T).reshape(B, T, n_heads, K).transpose(1, 2) for n in ("query", "key", "value"))
    scores = q @ k.mT / K**0.5
    if mask is not None:
        scores = scores - 50.0 * (~mask)
    return (scores.softmax(-1) @ v).transpose(1, 2).reshape(B, T, D) @ weights["output"].T
