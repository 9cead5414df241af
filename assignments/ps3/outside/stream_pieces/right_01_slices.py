def stream_pieces(ids, batch_size, length):
    n = (len(ids) - 1) // batch_size
    inputs = ids[: batch_size * n].reshape(batch_size, n)
    targets = ids[1 : batch_size * n + 1].reshape(batch_size, n)
    return [(inputs[:, t : t + length], targets[:, t : t + length]) for t in range(0, n, length)]
