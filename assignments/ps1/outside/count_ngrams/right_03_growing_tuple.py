from collections import Counter


def count_ngrams(documents: list, order: int, eos) -> dict:
    counts: dict[tuple, Counter] = {}
    for document in documents:
        history = (eos,)[: order - 1]
        for token in (*document, eos):
            if history not in counts:
                counts[history] = Counter()
            counts[history].update((token,))
            history = (*history, token)
            if len(history) >= order:
                history = history[1:]
    return counts
