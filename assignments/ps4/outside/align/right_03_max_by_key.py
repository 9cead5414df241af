# max() keeps the first of equal ones

def align(weights, threshold):
    rows = weights.detach().tolist()
    best = [max(range(len(row)), key=row.__getitem__) for row in rows]
    return [(t, s) for t, s in enumerate(best) if not rows[t][s] < threshold]
