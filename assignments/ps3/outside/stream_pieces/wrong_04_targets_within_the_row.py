# wrong: the targets are the next inputs of the same row; the last step of each row is lost.
# shows: always: n - 1 steps.

def stream_pieces(ids, batch_size, length):
    n = len(ids) // batch_size
    rows = ids[: n * batch_size].reshape(batch_size, n)
    inputs, targets = rows[:, :-1], rows[:, 1:]
    return [(inputs[:, t : t + length], targets[:, t : t + length]) for t in range(0, n - 1, length)]
