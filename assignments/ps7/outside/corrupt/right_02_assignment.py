# right: assignment by mask into copies.


def corrupt(ids, chosen, dice, random_ids, mask_id):
    seen, targets = ids.clone(), ids.clone()
    targets[~chosen] = -100
    seen[chosen & (dice <= 7)] = mask_id
    other = chosen & (dice == 8)
    seen[other] = random_ids[other]
    return seen, targets
