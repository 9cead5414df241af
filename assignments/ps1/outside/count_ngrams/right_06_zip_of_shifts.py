from collections import Counter


def count_ngrams(documents, order, eos):
    counts = {}

    def see(history, token):
        counts.setdefault(tuple(history), Counter())[token] += 1

    for document in documents:
        padded = [eos, *document, eos]
        for t in range(1, min(order, len(padded))):
            if t < order - 1 or order == 1:
                see(padded[:t] if order > 1 else [], padded[t])
        if order == 1:
            continue
        shifts = [padded[i:] for i in range(order)]
        for *history, token in zip(*shifts):
            see(history, token)
    if order == 1:
        counts = {(): Counter(t for d in documents for t in (*d, eos))}
    return counts
