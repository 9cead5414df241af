# wrong: hands on None in place of a mask that hides nothing.
# shows: a mask of all True: attention gets None

def pre_norm_block(x, mask, attention, feed_forward, norm_1, norm_2):
    if mask is not None and bool(mask.all()):
        mask = None
    x = x + attention(norm_1(x), mask)
    return x + feed_forward(norm_2(x))
