# wrong: one call inside the other for each token; Python's stack is too short.
# shows: a text of 2000 tokens: RecursionError.


def hide_spans(ids, hidden, sentinel_ids):
    def go_on(i, k, before):
        if k >= len(sentinel_ids):
            raise ValueError("too few sentinels")
        if i == len(ids):
            return [], [sentinel_ids[k]]
        if not hidden[i]:
            inputs, targets = go_on(i + 1, k + before, False)
            return [ids[i], *inputs], targets
        inputs, targets = go_on(i + 1, k, True) if i + 1 < len(ids) else ([], end(k + 1))
        if before:
            return inputs, [ids[i], *targets]
        return [sentinel_ids[k], *inputs], [sentinel_ids[k], ids[i], *targets]

    def end(k):
        if k >= len(sentinel_ids):
            raise ValueError("too few sentinels")
        return [sentinel_ids[k]]

    return go_on(0, 0, False)
