# wrong: view fails where the last two axes do not stand in memory as a block.
# shows: x after a transpose. (x[..., :4], a slice of a wider tensor, is fine.)

def split_heads(x, n_heads):
    return x.view(-1, n_heads, x.shape[-1] // n_heads).view(*x.shape[:-1], n_heads, -1).transpose(-2, -3)
