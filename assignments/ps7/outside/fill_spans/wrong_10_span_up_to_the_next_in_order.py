# wrong: a span ends only at the sentinel that is next in order; others are left out, but what is behind them is taken.
# shows: targets [99, 6, 97, 2, 98, 4], the order 99, 98, 97: 6 and 2 for 99.


def fill_spans(inputs, targets, sentinel_ids):
    follows = dict(zip(sentinel_ids, [*sentinel_ids[1:], None]))
    filled = []
    for token in inputs:
        if token not in sentinel_ids:
            filled.append(token)
            continue
        inside = False
        for i in targets:
            if i == token:
                inside = True
            elif i == follows[token]:
                inside = False
            elif inside and i not in sentinel_ids:
                filled.append(i)
    return filled
