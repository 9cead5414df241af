# wrong: a sum of products in float32, which rounds large ids.
# shows: ids 16_777_217, not chosen.


def corrupt(ids, chosen, dice, random_ids, mask_id):
    mask, other = (chosen & (dice < 8)).float(), (chosen & (dice == 8)).float()
    seen = mask_id * mask + random_ids * other + ids * (1 - mask - other)
    return seen.long(), ids.masked_fill(~chosen, -100)
