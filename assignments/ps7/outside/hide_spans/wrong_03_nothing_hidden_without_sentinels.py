# wrong: if nothing is hidden, the missing end is not noticed.
# shows: hide_spans([5], [False], []): ValueError expected, ([5], []) returned.


def hide_spans(ids, hidden, sentinel_ids):
    if not any(hidden):
        return list(ids), sentinel_ids[:1]
    inputs, targets, k = [], [], -1
    for i, token in enumerate(ids):
        if hidden[i]:
            if i == 0 or not hidden[i - 1]:
                k += 1
                if k + 1 >= len(sentinel_ids):
                    raise ValueError("too few sentinels")
                inputs.append(sentinel_ids[k])
                targets.append(sentinel_ids[k])
            targets.append(token)
        else:
            inputs.append(token)
    return inputs, [*targets, sentinel_ids[k + 1]]
