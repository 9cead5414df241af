# wrong: range(0, n - 1, length): a last piece of one step is left out (and everything if n = 1).
# shows: n = k * length + 1, such as n = 4 and length 3; n = 1.

def stream_pieces(ids, batch_size, length):
    n = (len(ids) - 1) // batch_size
    inputs = ids[: n * batch_size].reshape(batch_size, n)
    targets = ids[1 : n * batch_size + 1].reshape(batch_size, n)
    return [(inputs[:, t : t + length], targets[:, t : t + length]) for t in range(0, n - 1, length)]
