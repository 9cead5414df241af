# wrong: looks at the last id of the RESULT: a merged id can be merged again at once.
# shows: merged equal to pair[0]: [1, 2, 2] with (1, 2) -> 1 must give [1, 2], not [1].

def merge_pair(ids, pair, merged):
    out = []
    for i in ids:
        if out and out[-1] == pair[0] and i == pair[1]:
            out[-1] = merged
        else:
            out.append(i)
    return out
