def pre_norm_block(x, mask, attention, feed_forward, norm_1, norm_2):
    return (h := x + attention(norm_1(x), mask)) + feed_forward(norm_2(h))
