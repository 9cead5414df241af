# wrong: adds no [SEP] behind a text that ends in one.
# shows: first (5, 2), second (6,), [SEP] 2: [1, 5, 2, 6, 2] in place of [1, 5, 2, 2, 6, 2]

def join_pair(first, second, cls_id, sep_id, longest):
    first, second = list(first), list(second)
    while len(first) + len(second) > longest - 3:
        (first if len(first) > len(second) else second).pop()
    left = [cls_id, *first]
    left += [] if first[-1:] == [sep_id] else [sep_id]
    right = second if second[-1:] == [sep_id] else [*second, sep_id]
    return left + right, [0] * len(left) + [1] * len(right)
