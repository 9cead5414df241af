# wrong: looks for what is to be random among what is not mask_id yet, so a true mask_id in the text stays.
# shows: the id is mask_id, chosen, die 8: the random id should be seen.


def corrupt(ids, chosen, dice, random_ids, mask_id):
    seen = ids.masked_fill(chosen & (dice < 8), mask_id)
    other = chosen & (dice == 8) & (seen != mask_id)
    seen[other] = random_ids[other]
    return seen, ids.masked_fill(~chosen, -100)
