# wrong: the numbers of the heads take turns (k first, then h).
# shows: H > 1 and K > 1.

def merge_heads(heads):
    return heads.movedim(-3, -1).flatten(-2)
