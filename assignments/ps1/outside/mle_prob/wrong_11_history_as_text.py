# wrong: compares histories by their text, so (1,) is found under ("1",) and ("a b",) under ("a", "b"); breaks "history: looked up as it is"
# shows: mle_prob({("1",): Counter(x=2)}, (1,), "x") is 1.0 in place of 0.0
def mle_prob(counts, history, token):
    by_text = {" ".join(map(str, known)): row for known, row in counts.items()}
    row = by_text.get(" ".join(map(str, history)))
    if row is None:
        return 0.0
    return row[token] / sum(row.values())
