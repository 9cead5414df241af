# wrong: the inner tables are plain dicts, not Counters: asking for an unseen token is a KeyError.
# shows: counts[history]["unseen"], or isinstance(..., Counter).

def count_ngrams(documents, order, eos):
    counts = {}
    for document in documents:
        padded = [eos, *document, eos]
        for t in range(1, len(padded)):
            inner = counts.setdefault(tuple(padded[max(0, t - order + 1) : t]), {})
            inner[padded[t]] = inner.get(padded[t], 0) + 1
    return counts
