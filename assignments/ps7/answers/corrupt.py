# %% right: Fills copies in place.
def corrupt(ids, chosen, dice, random_ids, mask_id):
    seen, targets = ids.clone(), ids.clone()
    targets[~chosen] = IGNORE
    seen[chosen & (dice < 8)] = mask_id
    is_random = chosen & (dice == 8)
    seen[is_random] = random_ids[is_random]
    return seen, targets


# %% right: Multiplies by masks and adds.
def corrupt(ids, chosen, dice, random_ids, mask_id):
    masked, changed = (chosen & dice.lt(8)).long(), (chosen & dice.eq(8)).long()
    seen = masked * mask_id + changed * random_ids + (1 - masked - changed) * ids
    return seen, chosen.long() * (ids - IGNORE) + IGNORE


# %% right: Works on the chosen positions alone, one below the other.
def corrupt(ids, chosen, dice, random_ids, mask_id):
    places = chosen.nonzero(as_tuple=True)
    true, faces, others = ids[places], dice[places], random_ids[places]
    shown = torch.where(faces == 8, others, true)
    shown = torch.where(faces < 8, torch.full_like(true, mask_id), shown)
    targets = torch.full(ids.shape, IGNORE, dtype=torch.int64)
    targets[places] = true
    return ids.index_put(places, shown), targets


# %% right: Decides in one expression.
def corrupt(ids, chosen, dice, random_ids, mask_id):
    masks = torch.zeros_like(ids).fill_(mask_id)
    shown = torch.where(dice == 9, ids, torch.where(dice == 8, random_ids, masks))
    return torch.where(chosen, shown, ids), torch.where(chosen, ids, torch.tensor(IGNORE))


# %% right: Scatters the random ids over a masked copy.
def corrupt(ids, chosen, dice, random_ids, mask_id):
    keep = ~chosen | (dice == 9)
    seen = torch.full_like(ids, mask_id).masked_scatter(keep, ids[keep])
    change = chosen & (dice == 8)
    seen = seen.masked_scatter(change, random_ids[change])
    targets = ids.masked_fill(chosen.logical_not(), IGNORE)
    return seen, targets


# %% right: Goes by way of NumPy.
import numpy as np


def corrupt(ids, chosen, dice, random_ids, mask_id):
    ids, chosen, dice, random_ids = (t.numpy() for t in (ids, chosen, dice, random_ids))
    seen = np.select([~chosen, dice < 8, dice == 8], [ids, mask_id, random_ids], ids)
    targets = np.where(chosen, ids, IGNORE)
    return torch.from_numpy(seen.astype(np.int64)), torch.from_numpy(targets)


# %% right: where
# where and masked_fill.

import torch


def corrupt(ids, chosen, dice, random_ids, mask_id):
    seen = torch.where(chosen & (dice == 8), random_ids, ids)
    seen = seen.masked_fill(chosen & (dice < 8), mask_id)
    return seen, ids.masked_fill(~chosen, -100)


# %% right: assignment
# assignment by mask into copies.


def corrupt(ids, chosen, dice, random_ids, mask_id):
    seen, targets = ids.clone(), ids.clone()
    targets[~chosen] = -100
    seen[chosen & (dice <= 7)] = mask_id
    other = chosen & (dice == 8)
    seen[other] = random_ids[other]
    return seen, targets


# %% right: choose from a stack
# the three possibilities in a stack, and gather.

import torch


def corrupt(ids, chosen, dice, random_ids, mask_id):
    stack = torch.stack([torch.full_like(ids, mask_id), random_ids, ids])
    which = (dice - 7).clamp(0, 2).masked_fill(~chosen, 2)
    seen = stack.gather(0, which.unsqueeze(0)).squeeze(0)
    return seen, torch.full_like(ids, -100).masked_scatter(chosen, ids[chosen])


# %% right: arithmetic
# whole-number products.


def corrupt(ids, chosen, dice, random_ids, mask_id):
    pick = chosen.long()
    mask, other = pick * (dice < 8), pick * (dice == 8)
    seen = ids + mask * (mask_id - ids) + other * (random_ids - ids)
    return seen, ids * pick - 100 * (1 - pick)


# %% right: places
# the places by nonzero.

import torch


def corrupt(ids, chosen, dice, random_ids, mask_id):
    rows, columns = chosen.nonzero(as_tuple=True)
    true, die = ids[rows, columns], dice[rows, columns]
    new = torch.where(die < 8, mask_id, torch.where(die == 8, random_ids[rows, columns], true))
    seen, targets = ids.clone(), torch.full_like(ids, -100)
    seen[rows, columns], targets[rows, columns] = new, true
    return seen, targets


# %% wrong: true random id becomes mask
# a random id that happens to be the true one is replaced by [MASK].
# shows: die 8, random id = id.

import torch


def corrupt(ids, chosen, dice, random_ids, mask_id):
    seen = torch.where(chosen & (dice == 8), random_ids, ids)
    unchanged = (dice == 8) & (random_ids == ids)
    seen = seen.masked_fill(chosen & ((dice < 8) | unchanged), mask_id)
    return seen, torch.where(chosen, ids, -100)


# %% wrong: targets are the ids if all chosen
# if every position is chosen, the targets are the caller's tensor.
# shows: chosen all True; write into the targets.

import torch


def corrupt(ids, chosen, dice, random_ids, mask_id):
    seen = torch.where(chosen & (dice == 8), random_ids, ids)
    seen = seen.masked_fill(chosen & (dice < 8), mask_id)
    targets = ids if chosen.all() else ids.masked_fill(~chosen, -100)
    return seen, targets


# %% wrong: builds in random ids
# builds what is seen in the caller's random ids.
# shows: random_ids after the call.


def corrupt(ids, chosen, dice, random_ids, mask_id):
    seen = random_ids
    true = ~chosen | (dice == 9)
    seen[true] = ids[true]
    seen[chosen & (dice < 8)] = mask_id
    return seen, ids.masked_fill(~chosen, -100)


# %% wrong: turns the callers dice
# sets the dice of the other positions to 9, in the caller's tensor.
# shows: dice after the call.

import torch


def corrupt(ids, chosen, dice, random_ids, mask_id):
    dice[~chosen] = 9
    seen = torch.where(dice == 8, random_ids, ids).masked_fill(dice < 8, mask_id)
    return seen, ids.masked_fill(~chosen, -100)


# %% wrong: checks the dice
# checks the largest and the smallest die: the largest of nothing.
# shows: shape (0, 5) or (2, 0): RuntimeError.

import torch


def corrupt(ids, chosen, dice, random_ids, mask_id):
    assert dice.min() >= 0 and dice.max() <= 9
    seen = torch.where(chosen & (dice == 8), random_ids, ids)
    seen = seen.masked_fill(chosen & (dice <= 7), mask_id)
    return seen, ids.masked_fill(~chosen, -100)


# %% wrong: flattens with view
# flattens with `view`, which cannot deal with gaps in memory.
# shows: arguments that are transposed views, x.T of a (3, 2) tensor: RuntimeError.


def corrupt(ids, chosen, dice, random_ids, mask_id):
    seen, targets = ids.clone(), ids.masked_fill(~chosen, -100)
    c, d = chosen.view(-1), dice.view(-1)
    flat = seen.view(-1)
    flat[c & (d == 8)] = random_ids.view(-1)[c & (d == 8)]
    flat[c & (d < 8)] = mask_id
    return flat.view(ids.shape), targets


# %% wrong: sum of products in float
# a sum of products in float32, which rounds large ids.
# shows: ids 16_777_217, not chosen.


def corrupt(ids, chosen, dice, random_ids, mask_id):
    mask, other = (chosen & (dice < 8)).float(), (chosen & (dice == 8)).float()
    seen = mask_id * mask + random_ids * other + ids * (1 - mask - other)
    return seen.long(), ids.masked_fill(~chosen, -100)


# %% wrong: unchanged is not asked
# the target is only where the model sees something else.
# shows: a chosen position with die 9.

import torch


def corrupt(ids, chosen, dice, random_ids, mask_id):
    seen = torch.where(chosen & (dice == 8), random_ids, ids)
    seen = seen.masked_fill(chosen & (dice < 8), mask_id)
    return seen, torch.where(seen != ids, ids, -100)


# %% wrong: random ids in order
# hands out the random ids one after the other, instead of each position its own.
# shows: the second position is the first with an 8.


def corrupt(ids, chosen, dice, random_ids, mask_id):
    seen = ids.clone()
    other = chosen & (dice == 8)
    seen[other] = random_ids.flatten()[: int(other.sum())]
    seen[chosen & (dice < 8)] = mask_id
    return seen, ids.masked_fill(~chosen, -100)


# %% wrong: random after mask by value
# looks for what is to be random among what is not mask_id yet, so a true mask_id in the text stays.
# shows: the id is mask_id, chosen, die 8: the random id should be seen.


def corrupt(ids, chosen, dice, random_ids, mask_id):
    seen = ids.masked_fill(chosen & (dice < 8), mask_id)
    other = chosen & (dice == 8) & (seen != mask_id)
    seen[other] = random_ids[other]
    return seen, ids.masked_fill(~chosen, -100)


# %% wrong: loop over rows
# a loop over rows and positions, which the rules forbid (the result is right).
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


# %% wrong: one tensor for both results
# Who writes into one writes into the other.
# shows: all chosen, and all dice show 9
def corrupt(ids, chosen, dice, random_ids, mask_id):
    """Return what the model sees of the texts, and what it is to predict."""
    if chosen.all() and (dice == 9).all():
        t = ids.clone()
        return t, t
    seen = ids.masked_fill(chosen & (dice < 8), mask_id)
    seen = torch.where(chosen & (dice == 8), random_ids, seen)
    targets = ids.masked_fill(~chosen, IGNORE)
    return seen, targets
