# wrong: hands out the random ids one after the other, instead of each position its own.
# shows: the second position is the first with an 8.


def corrupt(ids, chosen, dice, random_ids, mask_id):
    seen = ids.clone()
    other = chosen & (dice == 8)
    seen[other] = random_ids.flatten()[: int(other.sum())]
    seen[chosen & (dice < 8)] = mask_id
    return seen, ids.masked_fill(~chosen, -100)
