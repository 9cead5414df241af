def pre_norm_block(x, mask, attention, feed_forward, norm_1, norm_2):
    x = x + attention(norm_1(x), mask)
    return x + feed_forward(norm_2(x))
