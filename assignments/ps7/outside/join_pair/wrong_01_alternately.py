# wrong: cuts from both in turn, the second first, whatever their lengths.
# shows: first of 10, second of 2, room for 8: the second loses one, too.


def join_pair(first, second, cls_id, sep_id, longest):
    first, second = list(first), list(second)
    turn = second
    while len(first) + len(second) + 3 > longest:
        other = first if turn is second else second
        (turn or other).pop()
        turn = other
    ids = [cls_id, *first, sep_id, *second, sep_id]
    return ids, [0] * (len(first) + 2) + [1] * (len(second) + 1)
