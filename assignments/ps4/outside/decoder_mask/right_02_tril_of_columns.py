def decoder_mask(ids, pad_id):
    B, T = ids.shape
    columns = ids.ne(pad_id).view(B, 1, 1, T) if ids.is_contiguous() else ids.ne(pad_id).reshape(B, 1, 1, T)
    return columns.repeat(1, 1, T, 1).tril()
