# right: the lengths by a formula.


def join_pair(first, second, cls_id, sep_id, longest):
    room = longest - 3
    n, m = len(first), len(second)
    if n + m > room:
        if n <= room // 2:
            m = room - n
        elif m <= room // 2:
            n = room - m
        else:
            m = room // 2
            n = room - m
    first, second = list(first)[:n], list(second)[:m]
    return [cls_id] + first + [sep_id] + second + [sep_id], [0, 0] + [0] * n + [1] * m + [1]
