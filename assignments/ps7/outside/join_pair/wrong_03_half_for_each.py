# wrong: the first gets half of the room at most, even if the second needs less than its half.
# shows: first of 10, second of 1, longest 9: only 4 tokens of text instead of 6.


def join_pair(first, second, cls_id, sep_id, longest):
    room = longest - 3
    first = list(first[: (room + 1) // 2])
    second = list(second[: room - len(first)])
    ids = [cls_id, *first, sep_id, *second, sep_id]
    return ids, [0] * (len(first) + 2) + [1] * (len(second) + 1)
