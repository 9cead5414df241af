# wrong: a loop over rows and positions, which the rules forbid (the result is right).
# shows: the source.


def corrupt(ids, chosen, dice, random_ids, mask_id):
    seen, targets = ids.clone(), ids.clone()
    for b in range(ids.shape[0]):
        for t in range(ids.shape[1]):
            if not chosen[b, t]:
                targets[b, t] = -100
            elif dice[b, t] < 8:
                seen[b, t] = mask_id
            elif dice[b, t] == 8:
                seen[b, t] = random_ids[b, t]
    return seen, targets
