# wrong: divides each row by its sum before it compares, so a row that does not sum to 1 gets other weights; breaks "A row whose largest weight is below the threshold has no pair"
# shows: align(torch.tensor([[0.25, 0.125]]), 0.5) is [(0, 0)] in place of []
def align(weights, threshold):
    pairs = []
    for t, row in enumerate(weights.tolist()):
        total = sum(row) or 1.0
        best = max(row)
        if best / total >= threshold:
            pairs.append((t, row.index(best)))
    return pairs
