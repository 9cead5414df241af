# wrong: as_strided with the storage offset 0: for a slice of a larger tensor the numbers come from the wrong place.
# shows: split_heads(x[1], n), any tensor that does not begin at the start of its memory.

def split_heads(x, n_heads):
    *lead, T, D = x.shape
    *outer, row, column = x.stride()
    K = D // n_heads
    return x.as_strided((*lead, n_heads, T, K), (*outer, K * column, row, column), 0)
