def merge_pair(ids: list, pair: tuple, merged) -> list:
    out, skip = [], False
    for place, current in enumerate(ids):
        if skip:
            skip = False
            continue
        skip = tuple(ids[place : place + 2]) == tuple(pair)
        out.append(merged if skip else current)
    return out
