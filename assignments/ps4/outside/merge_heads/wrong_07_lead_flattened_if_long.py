# wrong: several leading axes come back as one.
# shows: three or more leading axes (two still come back right).

def merge_heads(heads):
    H, T, K = heads.shape[-3:]
    x = heads.reshape(-1, H, T, K).transpose(1, 2).reshape(-1, T, H * K)
    if heads.dim() == 3:
        return x[0]
    return x if heads.dim() == 4 else x.reshape(*heads.shape[:1], -1, T, H * K)
