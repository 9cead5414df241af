# wrong: compares with the last id of the RESULT, which may itself be a merge; breaks "An id that has been merged is used up" where "merged may even be an id that the list holds already"
# shows: merge_pair([1, 2, 2], (1, 2), 1) is [1] in place of [1, 2]
def merge_pair(ids, pair, merged):
    result, free = [], False
    first, second = pair
    for i in ids:
        if result and result[-1] == first and i == second and (first != second or free):
            result[-1] = merged
            free = False
        else:
            result.append(i)
            free = True
    return result
