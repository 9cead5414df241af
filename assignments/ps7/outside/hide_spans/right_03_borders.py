# right: begins and ends first, then slices.


def hide_spans(ids, hidden, sentinel_ids):
    padded = [False, *hidden, False]
    starts = [i for i in range(len(ids)) if padded[i + 1] and not padded[i]]
    ends = [i + 1 for i in range(len(ids)) if padded[i + 1] and not padded[i + 2]]
    if len(sentinel_ids) < len(starts) + 1:
        raise ValueError
    inputs, targets, done = [], [], 0
    for start, end, sentinel in zip(starts, ends, sentinel_ids):
        inputs.extend([*ids[done:start], sentinel])
        targets.extend([sentinel, *ids[start:end]])
        done = end
    return inputs + ids[done:], targets + sentinel_ids[len(starts) : len(starts) + 1]
