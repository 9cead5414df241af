# wrong: returns a list of generators: each pair can be unpacked once only.
# shows: going through the pieces a second time; len(piece).

def stream_pieces(ids, batch_size, length):
    n = (len(ids) - 1) // batch_size
    inputs = ids[: n * batch_size].reshape(batch_size, n)
    targets = ids[1 : n * batch_size + 1].reshape(batch_size, n)
    return [(table[:, t : t + length] for table in (inputs, targets)) for t in range(0, n, length)]
