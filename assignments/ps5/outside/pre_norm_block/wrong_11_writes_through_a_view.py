# wrong: x.data is written at the end, "to save memory", and x returned.
# shows: x after the call.

def pre_norm_block(x, mask, attention, feed_forward, norm_1, norm_2):
    h = x + attention(norm_1(x), mask)
    result = h + feed_forward(norm_2(h))
    x.data.copy_(result)
    return result
