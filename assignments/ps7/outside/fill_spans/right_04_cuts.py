# right: cuts the targets at the sentinels, and replaces from the end of a copy.


def fill_spans(inputs, targets, sentinel_ids):
    cuts = [i for i, token in enumerate(targets) if token in sentinel_ids] + [len(targets)]
    result = list(inputs)
    for place in range(len(inputs) - 1, -1, -1):
        if inputs[place] in sentinel_ids:
            new = []
            for start, end in zip(cuts, cuts[1:]):
                if targets[start] == inputs[place]:
                    new += targets[start + 1 : end]
            result[place : place + 1] = new
    return result
