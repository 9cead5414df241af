# wrong: goes on "while rest.any()", which is False for ids of 0 too, and so loses the end of a text of zeros; breaks "No step is lost ... No piece is empty."
# shows: stream_pieces(torch.tensor([5, 6, 0, 0, 0]), 1, 2): the second piece is missing
def stream_pieces(ids, batch_size, length):
    n = (ids.shape[0] - 1) // batch_size
    rest = ids[: n * batch_size].reshape(batch_size, n)
    targets = ids[1 : n * batch_size + 1].reshape(batch_size, n)
    pieces = []
    while rest.any():
        pieces.append((rest[:, :length], targets[:, :length]))
        rest, targets = rest[:, length:], targets[:, length:]
    return pieces
