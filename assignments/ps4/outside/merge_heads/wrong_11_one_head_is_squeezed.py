# wrong: with one head it squeezes axis 1, as if there were always one leading axis; breaks "There may be no leading axis, one, or several."
# shows: heads of shape (2, 5, 1, 3, 4): axis 1 is not of length 1 and nothing is joined; the result has five axes
def merge_heads(heads):
    if heads.shape[-3] == 1:
        return heads.squeeze(1)
    return heads.transpose(-3, -2).flatten(-2)
