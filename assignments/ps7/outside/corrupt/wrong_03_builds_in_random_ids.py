# wrong: builds what is seen in the caller's random ids.
# shows: random_ids after the call.


def corrupt(ids, chosen, dice, random_ids, mask_id):
    seen = random_ids
    true = ~chosen | (dice == 9)
    seen[true] = ids[true]
    seen[chosen & (dice < 8)] = mask_id
    return seen, ids.masked_fill(~chosen, -100)
