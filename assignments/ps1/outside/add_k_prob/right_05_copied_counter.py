from collections import Counter


def add_k_prob(counts: dict, history: tuple, token, *, k: float, vocab_size: int) -> float:
    counter = Counter(counts.get(history, ()))
    denominator = k * vocab_size
    for count in counter.values():
        denominator += count
    counter[token] += k
    return counter[token] / denominator
