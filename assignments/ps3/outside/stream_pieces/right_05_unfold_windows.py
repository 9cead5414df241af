# windows of n + 1 ids that overlap by one

def stream_pieces(ids, batch_size, length):
    n = (len(ids) - 1) // batch_size
    rows = ids.unfold(0, n + 1, n)[:batch_size]
    return [
        (row_part[:, :-1], row_part[:, 1:])
        for t in range(0, n, length)
        for row_part in [rows[:, t : min(t + length, n) + 1]]
    ]
