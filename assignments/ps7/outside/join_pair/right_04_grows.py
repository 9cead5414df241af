# right: grows instead of cutting: token by token, the first before the second.


def join_pair(first, second, cls_id, sep_id, longest):
    room, kept = longest - 3, ([], [])
    longer = max(len(first), len(second))
    for place in range(longer):
        for side, text in enumerate((first, second)):
            if place < len(text) and len(kept[0]) + len(kept[1]) < room:
                kept[side].append(text[place])
    ids = [cls_id] + kept[0] + [sep_id] + kept[1] + [sep_id]
    return ids, [0] * (len(kept[0]) + 2) + [1] * (len(kept[1]) + 1)
