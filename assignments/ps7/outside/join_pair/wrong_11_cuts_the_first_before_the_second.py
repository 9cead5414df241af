# wrong: cuts the first text to what the second leaves, but not below its length, and then the second: where both are far too long, the first takes all.
# shows: texts of 9 and 8 tokens, longest 7: 4 and 0 tokens are left in place of 2 and 2

def join_pair(first, second, cls_id, sep_id, longest):
    room = longest - 3
    first, second = list(first), list(second)
    first = first[: max(len(second), room - len(second))][:room]
    second = second[: room - len(first)]
    ids = [cls_id, *first, sep_id, *second, sep_id]
    return ids, [0] * (len(first) + 2) + [1] * (len(second) + 1)
