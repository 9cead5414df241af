# wrong: whole pieces only.
# shows: n no multiple of length; length > n.

def stream_pieces(ids, batch_size, length):
    n = (len(ids) - 1) // batch_size
    inputs = ids[: n * batch_size].reshape(batch_size, n)
    targets = ids[1 : n * batch_size + 1].reshape(batch_size, n)
    return [(inputs[:, t : t + length], targets[:, t : t + length]) for t in range(0, n - length + 1, length)]
