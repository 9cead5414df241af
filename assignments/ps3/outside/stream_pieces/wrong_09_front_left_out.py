# wrong: ids that fill no whole step are left out at the START of the text.
# shows: (N - 1) not a multiple of B.

def stream_pieces(ids, batch_size, length):
    n = (len(ids) - 1) // batch_size
    ids = ids[len(ids) - 1 - n * batch_size :]
    inputs = ids[:-1].reshape(batch_size, n)
    targets = ids[1:].reshape(batch_size, n)
    return [(inputs[:, t : t + length], targets[:, t : t + length]) for t in range(0, n, length)]
