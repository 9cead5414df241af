# right: Python's max over places, which keeps the first of equal ones; then a filter
def align(weights, threshold):
    table = weights.tolist()
    places = [max(range(len(row)), key=row.__getitem__) for row in table]
    return [(t, s) for t, s in enumerate(places) if not table[t][s] < threshold]
