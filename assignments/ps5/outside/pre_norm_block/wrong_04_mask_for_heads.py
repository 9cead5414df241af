# wrong: hands on mask[:, None], with an axis for heads, and not the mask as it is.
# shows: an attention that looks at the mask's shape.

def pre_norm_block(x, mask, attention, feed_forward, norm_1, norm_2):
    m = mask if mask is None else mask[:, None]
    h = x + attention(norm_1(x), m if m is None or m.shape[0] > 1 else mask)
    return h + feed_forward(norm_2(h))
