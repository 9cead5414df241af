# wrong: asks list.index for the order of a table, which finds the first EQUAL table; orders 2 and 3 of documents that are all empty are equal; breaks "Order n looks up the last n - 1 tokens of history" and "if history is shorter than that. Leave it out."
# shows: counts of [[]] at orders 1 to 3, history (EOS,), weights [0.1, 0.2, 0.3, 0.4]: order 3 gets the opinion and the weight of order 2
def interpolated_prob(counts_by_order, history, token, *, weights, vocab_size):
    total, used = weights[0] / vocab_size, weights[0]
    for counts in counts_by_order:
        length = counts_by_order.index(counts)
        if length > len(history):
            continue
        row = counts.get(history[len(history) - length :])
        if row:
            total += weights[length + 1] * row[token] / sum(row.values())
            used += weights[length + 1]
    return total / used
