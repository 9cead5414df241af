# wrong: takes the weight of the uniform out of the caller's list; breaks "Do not change your arguments."
# shows: weights = [0.1, 0.9]; two calls with the same list: the second has one weight less
def interpolated_prob(counts_by_order, history, token, *, weights, vocab_size):
    used = weights.pop(0)
    total = used / vocab_size
    for length, (counts, weight) in enumerate(zip(counts_by_order, weights)):
        if length > len(history):
            continue
        row = counts.get(history[len(history) - length :])
        if row:
            total += weight * row[token] / sum(row.values())
            used += weight
    return total / used
