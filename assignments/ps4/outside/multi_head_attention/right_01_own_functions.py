# needs: split_heads attend merge_heads

def multi_head_attention(x, weights, n_heads, mask=None):
    query, key, value = (
        split_heads(x @ weights[name].T, n_heads) for name in ("query", "key", "value")
    )
    return merge_heads(attend(query, key, value, mask)) @ weights["output"].T
