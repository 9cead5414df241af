# right: whole-number products.


def corrupt(ids, chosen, dice, random_ids, mask_id):
    pick = chosen.long()
    mask, other = pick * (dice < 8), pick * (dice == 8)
    seen = ids + mask * (mask_id - ids) + other * (random_ids - ids)
    return seen, ids * pick - 100 * (1 - pick)
