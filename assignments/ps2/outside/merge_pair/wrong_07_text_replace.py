# wrong: joins the ids to a text "1,2,12," and replaces in it: "2,1," is found inside "12,1,".
# shows: [12, 1] with the pair (2, 1); bytes come back as strings of their repr.

def merge_pair(ids, pair, merged):
    if any(not isinstance(i, int) for i in ids):
        return merge_bytes(ids, pair, merged)
    text = "".join(f"{i}," for i in ids).replace(f"{pair[0]},{pair[1]},", f"{merged},")
    return [int(part) for part in text.split(",") if part]


def merge_bytes(ids, pair, merged):
    out, i = [], 0
    while i < len(ids):
        hit = tuple(ids[i : i + 2]) == pair
        out.append(merged if hit else ids[i])
        i += 1 + hit
    return out
