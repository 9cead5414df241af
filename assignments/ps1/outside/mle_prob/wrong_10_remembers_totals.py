# wrong: remembers the sum of a history between calls, so other counts give an old normaliser; breaks "counts: as from count_ngrams" and P(w|h) = c(hw) / sum c(hv) of the counts that are given
# shows: mle_prob({("a",): Counter(x=1)}, ("a",), "x"), then mle_prob({("a",): Counter(x=1, y=3)}, ("a",), "x"): 1.0 in place of 0.25
TOTALS = {}


def mle_prob(counts, history, token):
    if history not in counts:
        return 0.0
    row = counts[history]
    if history not in TOTALS:
        TOTALS[history] = sum(row.values())
    return row[token] / TOTALS[history]
