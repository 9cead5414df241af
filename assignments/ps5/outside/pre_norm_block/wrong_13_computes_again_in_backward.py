# wrong: saves memory with a checkpoint, which calls norm_2 and feed_forward a second time in the backward pass.
# shows: after backward() norm_2 and feed_forward have been called twice

from torch.utils.checkpoint import checkpoint


def pre_norm_block(x, mask, attention, feed_forward, norm_1, norm_2):
    middle = x + attention(norm_1(x), mask)
    return middle + checkpoint(lambda h: feed_forward(norm_2(h)), middle, use_reentrant=False)
