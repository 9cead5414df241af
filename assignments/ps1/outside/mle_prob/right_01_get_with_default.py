def mle_prob(counts, history, token):
    counter = counts.get(history, {})
    total = sum(counter.values())
    return counter.get(token, 0) / total if total else 0.0
