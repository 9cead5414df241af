def _suffix(history, length):
    return tuple(history)[len(history) - length :] if length <= len(history) else None


def interpolated_prob(counts_by_order: list, history: tuple, token, *, weights: list, vocab_size: int) -> float:
    tables = [({token: 1}, vocab_size, weights[0])]
    for n, counts in enumerate(counts_by_order, 1):
        h = _suffix(history, n - 1)
        if h is not None and h in counts and sum(counts[h].values()):
            tables.append((counts[h], sum(counts[h].values()), weights[n]))
    z = sum(w for _, _, w in tables)
    return sum(w / z * table.get(token, 0) / n for table, n, w in tables)
