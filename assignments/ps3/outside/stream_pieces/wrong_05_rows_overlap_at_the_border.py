# wrong: rows of n + 1 ids that begin at n + 1: the target of the last step is right, but row 1 begins one id late.
# shows: from row 1 on (the last target of row 0 is not the first input of row 1).

def stream_pieces(ids, batch_size, length):
    n = (len(ids) - batch_size) // batch_size
    rows = ids[: (n + 1) * batch_size].reshape(batch_size, n + 1)
    return [(rows[:, t : min(t + length, n)], rows[:, t + 1 : t + length + 1]) for t in range(0, n, length)]
