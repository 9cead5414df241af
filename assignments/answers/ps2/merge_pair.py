"""Answers to the task "merge a pair"."""

from assignments.answers import alternatives, mistakes


def merge_from_the_right(ids, pair, merged):
    """The merges go from right to left."""
    result = []
    place = len(ids) - 1
    while place >= 0:
        if place > 0 and (ids[place - 1], ids[place]) == pair:
            result.insert(0, merged)
            place -= 2
        else:
            result.insert(0, ids[place])
            place -= 1
    return result


def merge_first_only(ids, pair, merged):
    """Only the first occurrence is merged."""
    for place in range(len(ids) - 1):
        if (ids[place], ids[place + 1]) == pair:
            return [*ids[:place], merged, *ids[place + 2 :]]
    return list(ids)


def merge_in_place(ids, pair, merged):
    """The caller's list is changed."""
    place = 0
    while place < len(ids) - 1:
        if (ids[place], ids[place + 1]) == pair:
            ids[place : place + 2] = [merged]
        place += 1
    return ids


def keep_the_second(ids, pair, merged):
    """The second id of a merged pair stays."""
    result = []
    for place in range(len(ids)):
        if tuple(ids[place : place + 2]) == pair:
            result.append(merged)
        else:
            result.append(ids[place])
    return result


def lose_the_last(ids, pair, merged):
    """The last id is lost if it is in no pair."""
    result = []
    place = 0
    while place < len(ids) - 1:
        if (ids[place], ids[place + 1]) == pair:
            result.append(merged)
            place += 2
        else:
            result.append(ids[place])
            place += 1
    return result


def read_beyond_the_end(ids, pair, merged):
    """At the last id a right neighbour is looked up that does not exist."""
    result = []
    place = 0
    while place < len(ids):
        if ids[place] == pair[0] and ids[place + 1] == pair[1]:
            result.append(merged)
            place += 2
        else:
            result.append(ids[place])
            place += 1
    return result


def merge_overlaps(ids, pair, merged):
    """An id is used for two merges."""
    result = []
    used = False
    for place in range(len(ids)):
        if tuple(ids[place : place + 2]) == pair:
            result.append(merged)
            used = True
        elif used:
            used = False
        else:
            result.append(ids[place])
    return result


def merge_either_order(ids, pair, merged):
    """The reverse of the pair is merged as well."""
    result = []
    place = 0
    while place < len(ids):
        if sorted(ids[place : place + 2]) == sorted(pair):
            result.append(merged)
            place += 2
        else:
            result.append(ids[place])
            place += 1
    return result


def compare_first_only(ids, pair, merged):
    """Only the first id of the pair is compared."""
    result = []
    place = 0
    while place < len(ids):
        if ids[place] == pair[0] and place + 1 < len(ids):
            result.append(merged)
            place += 2
        else:
            result.append(ids[place])
            place += 1
    return result


def leave_out_others(ids, pair, merged):
    """Ids that are not merged are left out."""
    result = []
    place = 0
    while place < len(ids):
        if tuple(ids[place : place + 2]) == pair:
            result.append(merged)
            place += 2
        else:
            place += 1
    return result


def step_by_two(ids, pair, merged):
    """The list is cut into blocks of two."""
    result = []
    for place in range(0, len(ids), 2):
        block = list(ids[place : place + 2])
        result += [merged] if tuple(block) == pair else block
    return result


def return_argument_if_absent(ids, pair, merged):
    """Where nothing is to be merged, the caller's own list is returned."""
    result = []
    place = 0
    while place < len(ids):
        if tuple(ids[place : place + 2]) == pair:
            result.append(merged)
            place += 2
        else:
            result.append(ids[place])
            place += 1
    return result if len(result) < len(ids) else ids


def by_skipping(ids, pair, merged):
    """Walks over all places and skips the one after a merge."""
    result, skip = [], False
    for place, current in enumerate(ids):
        if skip:
            skip = False
        elif current == pair[0] and place + 1 < len(ids) and ids[place + 1] == pair[1]:
            result.append(merged)
            skip = True
        else:
            result.append(current)
    return result


def by_looking_back(ids, pair, merged):
    """Looks back at what was written last."""
    result, fresh = [], False
    for current in ids:
        if result and not fresh and result[-1] == pair[0] and current == pair[1]:
            result[-1], fresh = merged, True
        else:
            result.append(current)
            fresh = False
    return result


def by_recursion(ids, pair, merged):
    """Merges at the front and calls itself for the rest."""
    for place in range(len(ids) - 1):
        if ids[place] == pair[0] and ids[place + 1] == pair[1]:
            return [*ids[:place], merged, *by_recursion(ids[place + 2 :], pair, merged)]
    return list(ids)


def by_copy_and_delete(ids, pair, merged):
    """Changes a copy from left to right."""
    result, place = list(ids), 0
    while place + 1 < len(result):
        if (result[place], result[place + 1]) == pair:
            result[place] = merged
            del result[place + 1]
        place += 1
    return result


def by_iterator(ids, pair, merged):
    """Asks an iterator for one id after the other."""
    waiting = iter(ids)
    result, missing = [], object()
    current = next(waiting, missing)
    while current is not missing:
        following = next(waiting, missing)
        if following is not missing and (current, following) == pair:
            result.append(merged)
            current = next(waiting, missing)
        else:
            result.append(current)
            current = following
    return result


MISTAKES = mistakes(
    (
        merge_from_the_right,
        "Most of it is right. But in a run of three equal ids, the first two are to be merged, and "
        "you merge the last two. Look at the direction of your walk.",
    ),
    (
        merge_first_only,
        "The first occurrence is merged well, but then you stop. A pair may stand at several "
        "places: go on behind the merge.",
    ),
    (
        merge_in_place,
        "The result is right, but you have changed the list of the caller. Write the result into "
        "a new list.",
    ),
    (
        keep_the_second,
        "Two ids become one, but in your result the second of the two is still there. After a "
        "merge you must move on by two places.",
    ),
    (
        lose_the_last,
        "If the last id is in no pair, your result lacks it. Your loop ends one place too early "
        "for ids that have no right neighbour.",
    ),
    (
        read_beyond_the_end,
        "You ask for the right neighbour of the last id, and there is none. What should you check "
        "before you look there? A slice would not complain.",
    ),
    (
        merge_overlaps,
        "In a run of three equal ids you merge twice, and use the one in the middle both times. "
        "An id that is merged is used up.",
    ),
    (
        merge_either_order,
        "You merge the pair and its reverse. Compare the left id with the first of the pair, and "
        "the right one with the second.",
    ),
    (
        compare_first_only,
        "You merge wherever the first id of the pair stands, whatever comes after it. Both ids "
        "must agree.",
    ),
    (
        leave_out_others,
        "Your result holds the merges and nothing else. Ids that are in no pair must be copied; "
        "look at the branch in which nothing is merged.",
    ),
    (
        step_by_two,
        "You look at the places 0 and 1, then 2 and 3. But a pair may also stand at 1 and 2. Move "
        "by two only after a merge.",
    ),
    (
        return_argument_if_absent,
        "The result is right. But where nothing is merged you give back the very list that you "
        "were given. If the caller changes one, the other changes with it: copy it.",
    ),
)

ALTERNATIVES = alternatives(
    by_skipping, by_looking_back, by_recursion, by_copy_and_delete, by_iterator
)
