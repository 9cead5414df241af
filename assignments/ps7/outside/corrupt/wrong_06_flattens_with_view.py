# wrong: flattens with `view`, which cannot deal with gaps in memory.
# shows: arguments that are transposed views, x.T of a (3, 2) tensor: RuntimeError.


def corrupt(ids, chosen, dice, random_ids, mask_id):
    seen, targets = ids.clone(), ids.masked_fill(~chosen, -100)
    c, d = chosen.view(-1), dice.view(-1)
    flat = seen.view(-1)
    flat[c & (d == 8)] = random_ids.view(-1)[c & (d == 8)]
    flat[c & (d < 8)] = mask_id
    return flat.view(ids.shape), targets
