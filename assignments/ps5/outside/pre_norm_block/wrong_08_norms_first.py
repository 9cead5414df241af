# wrong in the order of calls: norm_2 is called before attention where it can be (on x as a trial), so twice.
# shows: the noted calls.

def pre_norm_block(x, mask, attention, feed_forward, norm_1, norm_2):
    assert norm_2(x).shape == norm_1(x).shape == x.shape
    h = x + attention(norm_1(x), mask)
    return h + feed_forward(norm_2(h))
