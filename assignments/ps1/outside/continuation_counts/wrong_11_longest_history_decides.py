# wrong: takes the longest history that it finds for a full one, in place of asking `order`; where every document is shorter than `order`, starts are taken for full histories; breaks "At the start of a document histories are shorter than order tokens ... Keep these histories and their counts as they are."
# shows: continuation_counts({(EOS,): Counter(a=2), (EOS, "a"): Counter({EOS: 2})}, 4): ("a",) appears, and its count is 1
from collections import Counter


def continuation_counts(counts, order):
    longest = max(len(history) for history in counts)
    result = {}
    for history, row in counts.items():
        if len(history) < longest:
            result.setdefault(history, Counter()).update(row)
        else:
            result.setdefault(history[1:], Counter()).update(row.keys())
    return result
