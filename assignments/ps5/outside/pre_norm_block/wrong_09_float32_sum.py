# wrong: adds in float32.
# shows: float64 (dtype and digits).

def pre_norm_block(x, mask, attention, feed_forward, norm_1, norm_2):
    h = x.float() + attention(norm_1(x), mask).float()
    h = h.to(x.dtype)
    return (h.float() + feed_forward(norm_2(h)).float()).to(x.dtype)
