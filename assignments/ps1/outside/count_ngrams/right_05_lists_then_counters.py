from collections import Counter


def count_ngrams(documents, order, eos):
    followers = {}
    for document in documents:
        padded = (eos,) + tuple(document) + (eos,)
        for t, token in enumerate(padded[1:], start=1):
            start = t - (order - 1) if t > order - 1 else 0
            followers.setdefault(padded[start:t], []).append(token)
    return {history: Counter(tokens) for history, tokens in followers.items()}
