# wrong: writes zeros into the caller's weights (through .data, so that autograd does not complain).
# shows: compare the weights before and after.

def align(weights, threshold):
    weights.data[weights < threshold] = 0.0
    found = []
    for t in range(len(weights)):
        row = weights[t].tolist()
        if max(row) > 0:
            found.append((t, row.index(max(row))))
    return found
