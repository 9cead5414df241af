from torch import nn


class _Block(nn.Module):
    def __init__(self, attention, feed_forward, norm_1, norm_2):
        super().__init__()
        self.steps = (norm_1, attention, norm_2, feed_forward)

    def forward(self, x, mask):
        norm_1, attention, norm_2, feed_forward = self.steps
        gathered = attention(norm_1(x), mask)
        middle = x.add(gathered)
        return middle.add(feed_forward(norm_2(middle)))


def pre_norm_block(x, mask, attention, feed_forward, norm_1, norm_2):
    return _Block(attention, feed_forward, norm_1, norm_2)(x, mask)
