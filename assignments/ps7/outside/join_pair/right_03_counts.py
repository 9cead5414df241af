# right: counts down, slices at the end.


def join_pair(first, second, cls_id, sep_id, longest):
    keep = [len(first), len(second)]
    for _ in range(max(0, sum(keep) - (longest - 3))):
        keep[0 if keep[0] > keep[1] else 1] -= 1
    sides = [(cls_id, *first[: keep[0]], sep_id), (*second[: keep[1]], sep_id)]
    ids = [i for side in sides for i in side]
    return ids, [number for number, side in enumerate(sides) for _ in side]
