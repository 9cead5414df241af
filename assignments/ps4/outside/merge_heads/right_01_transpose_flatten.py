def merge_heads(heads):
    return heads.transpose(-3, -2).flatten(start_dim=-2)
