# wrong: the text goes down the columns: row b reads every B-th id.
# shows: batch_size > 1.

def stream_pieces(ids, batch_size, length):
    n = (len(ids) - 1) // batch_size
    inputs = ids[: n * batch_size].reshape(n, batch_size).T
    targets = ids[1 : n * batch_size + 1].reshape(n, batch_size).T
    return [(inputs[:, t : t + length], targets[:, t : t + length]) for t in range(0, n, length)]
