# wrong: both sublayers read x (a parallel block).
# shows: where attention gives anything but 0.

def pre_norm_block(x, mask, attention, feed_forward, norm_1, norm_2):
    return x + attention(norm_1(x), mask) + feed_forward(norm_2(x))
