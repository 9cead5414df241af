def align(weights, threshold):
    table = weights.detach().cpu().numpy()
    pairs = []
    for t in range(table.shape[0]):
        s = int(table[t].argmax())
        if float(table[t, s]) >= threshold:
            pairs.append((t, s))
    return pairs
