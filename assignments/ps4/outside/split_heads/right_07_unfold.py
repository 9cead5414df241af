# right: windows of K numbers, K apart, by Tensor.unfold, and movedim to bring the heads to the front
def split_heads(x, n_heads):
    width = x.size(-1) // n_heads
    return x.unfold(-1, width, width).movedim(-2, -3)
