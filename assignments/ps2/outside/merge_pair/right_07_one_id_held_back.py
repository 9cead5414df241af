# right: one pass over an iterator that holds one id back; a box says whether there is one
def merge_pair(ids, pair, merged):
    result, held = [], []
    for i in ids:
        if held and held[0] == pair[0] and i == pair[1]:
            held.clear()
            result.append(merged)
        else:
            result += held
            held = [i]
    return result + held
