# wrong: the residual path is detached in the first addition: the straight path for gradients is cut.
# shows: x.grad where both sublayers return zeros (1 expected, 0 found).

def pre_norm_block(x, mask, attention, feed_forward, norm_1, norm_2):
    h = x.detach() + attention(norm_1(x), mask)
    return h + feed_forward(norm_2(h))
