# wrong: the places are numpy.int64, not int (and the pair compares equal to one of ints).
# shows: type(pair[1]) is int.

def align(weights, threshold):
    table = weights.detach().numpy()
    return [(t, row.argmax()) for t, row in enumerate(table) if row.max() >= threshold]
