# %% right: Uses the answers of tasks 1 and 2.
def mask_batch(ids, special_ids, vocab_size, mask_id, generator):
    draws = torch.rand(ids.shape, generator=generator)
    chosen = choose_positions(ids, draws, 0.15, special_ids)
    dice = torch.randint(0, 10, ids.shape, generator=generator)
    ordinary = torch.tensor(sorted(set(range(vocab_size)) - set(special_ids)))
    places = torch.randint(0, len(ordinary), ids.shape, generator=generator)
    return corrupt(ids, chosen, dice, ordinary[places], mask_id)


# %% right: Draws True and False with probabilities, as the usual data collators do.
def mask_batch(ids, special_ids, vocab_size, mask_id, generator):
    probs = torch.full(ids.shape, 0.15)
    probs[torch.isin(ids, torch.tensor(special_ids))] = 0.0
    chosen = torch.bernoulli(probs, generator=generator).bool()
    targets = ids.masked_fill(~chosen, IGNORE)
    masked = torch.bernoulli(torch.full(ids.shape, 0.8), generator=generator).bool() & chosen
    seen = ids.masked_fill(masked, mask_id)
    half = torch.bernoulli(torch.full(ids.shape, 0.5), generator=generator).bool()
    is_random = half & chosen & ~masked
    weights = torch.ones(vocab_size)
    weights[special_ids] = 0.0
    drawn = torch.multinomial(weights, ids.numel(), replacement=True, generator=generator)
    seen[is_random] = drawn.reshape(ids.shape)[is_random]
    return seen, targets


# %% right: One number says it all: 12 % [MASK], 1.5 % random, 1.5 % unchanged.
def mask_batch(ids, special_ids, vocab_size, mask_id, generator):
    draws = torch.rand(ids.shape, generator=generator, dtype=torch.float64)
    for special in special_ids:
        draws[ids == special] = 1.0
    ordinary = torch.tensor([i for i in range(vocab_size) if i not in special_ids])
    drawn = ordinary[(torch.rand(ids.shape, generator=generator) * len(ordinary)).long()]
    seen = torch.where(draws < 0.12, mask_id, ids)
    seen = torch.where((draws >= 0.12) & (draws < 0.135), drawn, seen)
    return seen, torch.where(draws < 0.15, ids, IGNORE)


# %% right: Draws the die and the random id for the chosen positions only.
def mask_batch(ids, special_ids, vocab_size, mask_id, generator):
    is_ordinary = ~torch.isin(ids, torch.tensor(special_ids))
    chosen = is_ordinary & (torch.rand(ids.shape, generator=generator) < 0.15)
    true = ids[chosen]
    fate = torch.randint(10, true.shape, generator=generator)
    ordinary = torch.tensor([i for i in range(vocab_size) if i not in set(special_ids)])
    drawn = ordinary[torch.randint(len(ordinary), true.shape, generator=generator)]
    seen, targets = ids.clone(), torch.full_like(ids, IGNORE)
    seen[chosen] = torch.where(fate < 8, mask_id, torch.where(fate == 8, drawn, true))
    targets[chosen] = true
    return seen, targets


# %% right: Draws random ids from all, and draws those again that are special.
def mask_batch(ids, special_ids, vocab_size, mask_id, generator):
    specials = torch.tensor(special_ids)
    drawn = torch.randint(vocab_size, ids.shape, generator=generator)
    while (wrong := torch.isin(drawn, specials)).any():
        drawn[wrong] = torch.randint(vocab_size, (int(wrong.sum()),), generator=generator)
    chosen = torch.empty(ids.shape).uniform_(generator=generator) < 0.15
    chosen &= ~torch.isin(ids, specials)
    dice = torch.empty(ids.shape).random_(10, generator=generator).long()
    return corrupt(ids, chosen, dice, drawn, mask_id)


# %% right: A die of a thousand faces chooses and decides.
def mask_batch(ids, special_ids, vocab_size, mask_id, generator):
    faces = torch.randint(1000, ids.shape, generator=generator)
    faces = faces.masked_fill(torch.isin(ids, torch.tensor(special_ids)), 999)
    table = torch.tensor([i for i in range(vocab_size) if i not in special_ids])
    drawn = table[torch.randint(table.numel(), ids.shape, generator=generator)]
    seen = torch.where(faces < 120, torch.full_like(ids, mask_id), ids)
    seen = torch.where((faces >= 120) & (faces < 135), drawn, seen)
    return seen, ids.masked_fill(faces >= 150, IGNORE)


# %% right: three draws
# the hint.

import torch


def mask_batch(ids, special_ids, vocab_size, mask_id, generator):
    free = torch.tensor([i for i in range(vocab_size) if i not in set(special_ids)])
    chosen = torch.rand(ids.shape, generator=generator) < 0.15
    chosen &= ~torch.isin(ids, torch.tensor(special_ids))
    dice = torch.randint(10, ids.shape, generator=generator)
    other = free[torch.randint(len(free), ids.shape, generator=generator)]
    seen = torch.where(chosen & (dice == 8), other, ids).masked_fill(chosen & (dice < 8), mask_id)
    return seen, ids.masked_fill(~chosen, -100)


# %% right: with own functions
# with the functions of tasks 1 and 2.
# needs: choose_positions, corrupt

import torch


def mask_batch(ids, special_ids, vocab_size, mask_id, generator):
    draws = torch.rand(ids.shape, generator=generator)
    dice = torch.randint(10, ids.shape, generator=generator)
    ordinary = torch.ones(vocab_size, dtype=torch.bool)
    ordinary[special_ids] = False
    words = ordinary.nonzero().flatten()
    random_ids = words[torch.randint(len(words), ids.shape, generator=generator)]
    return corrupt(ids, choose_positions(ids, draws, 0.15, special_ids), dice, random_ids, mask_id)


# %% right: one uniform for two
# one float64 number for choice and die: below 0.15 it is spread evenly, in ten parts.

import torch


def mask_batch(ids, special_ids, vocab_size, mask_id, generator):
    u = torch.rand(ids.shape, generator=generator, dtype=torch.float64)
    for special in special_ids:
        u = torch.where(ids == special, 1.0, u)
    chosen = u < 0.15
    weights = torch.ones(vocab_size)
    weights[special_ids] = 0
    other = torch.multinomial(weights, ids.numel(), replacement=True, generator=generator)
    seen = torch.where(u < 0.15 * 0.8, mask_id, ids)
    middle = (u >= 0.15 * 0.8) & (u < 0.15 * 0.9)
    return torch.where(middle, other.reshape(ids.shape), seen), torch.where(chosen, ids, -100)


# %% right: draws again
# draws any ids, and draws the special ones again, until none is left.

import torch


def mask_batch(ids, special_ids, vocab_size, mask_id, generator):
    special = torch.tensor(sorted(special_ids))
    other = torch.randint(vocab_size, ids.shape, generator=generator)
    while (bad := torch.isin(other, special)).any():
        other[bad] = torch.randint(vocab_size, (int(bad.sum()),), generator=generator)
    chosen = torch.empty(ids.shape).bernoulli_(0.15, generator=generator).bool()
    chosen = chosen & torch.isin(ids, special, invert=True)
    part = torch.rand(ids.shape, generator=generator)
    seen = ids.clone()
    seen[chosen & (part < 0.8)] = mask_id
    last = chosen & (part >= 0.9)
    seen[last] = other[last]
    return seen, ids.masked_fill(chosen.logical_not(), -100)


# %% right: steps over special ids
# draws among n ordinary ids and steps over the special ones in rising order; dice of 20 and 100 sides.

import torch


def mask_batch(ids, special_ids, vocab_size, mask_id, generator):
    rising = sorted(set(special_ids))
    other = torch.randint(0, vocab_size - len(rising), ids.shape, generator=generator)
    chosen = torch.randint(0, 20, ids.shape, generator=generator) < 3
    for special in rising:
        other = other + (other >= special)
        chosen = chosen & (ids != special)
    die = torch.randint(0, 100, ids.shape, generator=generator)
    seen = torch.where(die < 80, torch.tensor(mask_id), torch.where(die < 90, other, ids))
    return torch.where(chosen, seen, ids), torch.where(chosen, ids, torch.tensor(-100))


# %% right: draws for the chosen only
# throws dice and random ids for the chosen positions only.
# shows: the state of the generator after the call.

import torch


def mask_batch(ids, special_ids, vocab_size, mask_id, generator):
    free = torch.tensor([i for i in range(vocab_size) if i not in set(special_ids)])
    chosen = torch.rand(ids.shape, generator=generator) < 0.15
    chosen &= ~torch.isin(ids, torch.tensor(special_ids))
    true = ids[chosen]
    dice = torch.randint(10, true.shape, generator=generator)
    other = free[torch.randint(len(free), true.shape, generator=generator)]
    seen = ids.clone()
    seen[chosen] = torch.where(dice < 8, mask_id, torch.where(dice == 8, other, true))
    return seen, ids.masked_fill(~chosen, -100)


# %% right: counts the list
# the number of ordinary ids as vocab_size minus the length of the list.
# shows: special_ids = [0, 0, 4], vocab_size = 10: the last ordinary id is never drawn.

import torch


def mask_batch(ids, special_ids, vocab_size, mask_id, generator):
    n = vocab_size - len(special_ids)
    chosen = torch.rand(ids.shape, generator=generator) < 0.15
    chosen &= ~torch.isin(ids, torch.tensor(special_ids))
    dice = torch.randint(10, ids.shape, generator=generator)
    other = torch.randint(n, ids.shape, generator=generator)
    for special in sorted(set(special_ids)):
        other += other >= special
    seen = torch.where(chosen & (dice == 8), other, ids).masked_fill(chosen & (dice < 8), mask_id)
    return seen, ids.masked_fill(~chosen, -100)


# %% wrong: never the true id
# a random id is never the true one.
# shows: of the chosen positions 10 % look as before, and not 10 % + 10 % / n.

import torch


def mask_batch(ids, special_ids, vocab_size, mask_id, generator):
    free = torch.tensor([i for i in range(vocab_size) if i not in set(special_ids)])
    chosen = torch.rand(ids.shape, generator=generator) < 0.15
    chosen &= ~torch.isin(ids, torch.tensor(special_ids))
    dice = torch.randint(10, ids.shape, generator=generator)
    places = torch.randint(max(1, len(free) - 1), ids.shape, generator=generator)
    own = torch.searchsorted(free, ids)
    other = free[(places + (places >= own)).clamp(max=len(free) - 1)]
    seen = torch.where(chosen & (dice == 8), other, ids).masked_fill(chosen & (dice < 8), mask_id)
    return seen, ids.masked_fill(~chosen, -100)


# %% wrong: last id is never drawn
# the last id of the vocabulary is never a random id.
# shows: vocab_size - 1 is not special, e.g. special_ids [0, 1], vocab_size 10: 9 does not occur.

import torch


def mask_batch(ids, special_ids, vocab_size, mask_id, generator):
    free = torch.tensor([i for i in range(vocab_size - 1) if i not in set(special_ids)])
    chosen = torch.rand(ids.shape, generator=generator) < 0.15
    chosen &= ~torch.isin(ids, torch.tensor(special_ids))
    dice = torch.randint(10, ids.shape, generator=generator)
    other = free[torch.randint(len(free), ids.shape, generator=generator)]
    seen = torch.where(chosen & (dice == 8), other, ids).masked_fill(chosen & (dice < 8), mask_id)
    return seen, ids.masked_fill(~chosen, -100)


# %% wrong: one random id for each row
# one random id for each row, so they are not independent.
# shows: a long row: all its random ids are equal.

import torch


def mask_batch(ids, special_ids, vocab_size, mask_id, generator):
    free = torch.tensor([i for i in range(vocab_size) if i not in set(special_ids)])
    chosen = torch.rand(ids.shape, generator=generator) < 0.15
    chosen &= ~torch.isin(ids, torch.tensor(special_ids))
    dice = torch.randint(10, ids.shape, generator=generator)
    other = free[torch.randint(len(free), (len(ids), 1), generator=generator)].expand(ids.shape)
    seen = torch.where(chosen & (dice == 8), other, ids).masked_fill(chosen & (dice < 8), mask_id)
    return seen, ids.masked_fill(~chosen, -100)


# %% wrong: fixed number in each row
# exactly 15 % of the ordinary positions of each row: not independent.
# shows: 1000 rows of 20 ordinary tokens: each has exactly 3 gaps; rows of 3 never have any.

import torch


def mask_batch(ids, special_ids, vocab_size, mask_id, generator):
    free = torch.tensor([i for i in range(vocab_size) if i not in set(special_ids)])
    special = torch.isin(ids, torch.tensor(special_ids))
    draws = torch.rand(ids.shape, generator=generator).masked_fill(special, 2.0)
    n = (0.15 * (~special).sum(dim=1, keepdim=True)).round()
    chosen = draws.argsort(dim=1).argsort(dim=1) < n
    dice = torch.randint(10, ids.shape, generator=generator)
    other = free[torch.randint(len(free), ids.shape, generator=generator)]
    seen = torch.where(chosen & (dice == 8), other, ids).masked_fill(chosen & (dice < 8), mask_id)
    return seen, ids.masked_fill(~chosen, -100)


# %% wrong: at least one gap
# a row without a gap gets one.
# shows: 10,000 rows of one ordinary token: all are chosen, and not 15 %.

import torch


def mask_batch(ids, special_ids, vocab_size, mask_id, generator):
    free = torch.tensor([i for i in range(vocab_size) if i not in set(special_ids)])
    ordinary = ~torch.isin(ids, torch.tensor(special_ids))
    draws = torch.rand(ids.shape, generator=generator).masked_fill(~ordinary, 2.0)
    chosen = draws < 0.15
    least = draws == draws.amin(dim=1, keepdim=True)
    chosen |= ordinary & least & ~chosen.any(dim=1, keepdim=True)
    dice = torch.randint(10, ids.shape, generator=generator)
    other = free[torch.randint(len(free), ids.shape, generator=generator)]
    seen = torch.where(chosen & (dice == 8), other, ids).masked_fill(chosen & (dice < 8), mask_id)
    return seen, ids.masked_fill(~chosen, -100)


# %% wrong: sorts the callers list
# sorts the caller's list of special ids in place (the gaps are right).
# shows: special_ids = [9, 4, 0] after the call.

import torch


def mask_batch(ids, special_ids, vocab_size, mask_id, generator):
    special_ids.sort()
    free = torch.tensor([i for i in range(vocab_size) if i not in special_ids])
    chosen = torch.rand(ids.shape, generator=generator) < 0.15
    chosen &= ~torch.isin(ids, torch.tensor(special_ids))
    dice = torch.randint(10, ids.shape, generator=generator)
    other = free[torch.randint(len(free), ids.shape, generator=generator)]
    seen = torch.where(chosen & (dice == 8), other, ids).masked_fill(chosen & (dice < 8), mask_id)
    return seen, ids.masked_fill(~chosen, -100)


# %% wrong: random ids from the batch
# takes random ids from the texts of the batch, frequent ones more often.
# shows: an ordinary id that is not in the batch is never drawn.

import torch


def mask_batch(ids, special_ids, vocab_size, mask_id, generator):
    ordinary = ~torch.isin(ids, torch.tensor(special_ids))
    chosen = (torch.rand(ids.shape, generator=generator) < 0.15) & ordinary
    dice = torch.randint(10, ids.shape, generator=generator)
    words = ids[ordinary] if ordinary.any() else ids.flatten()
    other = words[torch.randint(len(words), ids.shape, generator=generator)]
    seen = torch.where(chosen & (dice == 8), other, ids).masked_fill(chosen & (dice < 8), mask_id)
    return seen, ids.masked_fill(~chosen, -100)


# %% wrong: special ones take the next
# a random id that is special is replaced by the next ordinary one, which is then drawn more often.
# shows: the counts of random ids: with special 4, id 5 comes twice as often as 6.

import torch


def mask_batch(ids, special_ids, vocab_size, mask_id, generator):
    special = torch.tensor(special_ids)
    chosen = (torch.rand(ids.shape, generator=generator) < 0.15) & ~torch.isin(ids, special)
    dice = torch.randint(10, ids.shape, generator=generator)
    other = torch.randint(vocab_size, ids.shape, generator=generator)
    while torch.isin(other, special).any():
        other = torch.where(torch.isin(other, special), (other + 1) % vocab_size, other)
    seen = torch.where(chosen & (dice == 8), other, ids).masked_fill(chosen & (dice < 8), mask_id)
    return seen, ids.masked_fill(~chosen, -100)


# %% wrong: die from the place
# the die depends on the random id's draw: an 8 comes only with a place that leaves 8 behind.
# shows: 30 ordinary ids (0 to 29): the random ids are 8, 18 and 28 only. Right by chance if 10 and their number have no common factor.

import torch


def mask_batch(ids, special_ids, vocab_size, mask_id, generator):
    free = torch.tensor([i for i in range(vocab_size) if i not in set(special_ids)])
    chosen = torch.rand(ids.shape, generator=generator) < 0.15
    chosen &= ~torch.isin(ids, torch.tensor(special_ids))
    number = torch.randint(10 * 7 * 9 * 11 * 13 * 30, ids.shape, generator=generator)
    dice, other = number % 10, free[number % len(free)]
    seen = torch.where(chosen & (dice == 8), other, ids).masked_fill(chosen & (dice < 8), mask_id)
    return seen, ids.masked_fill(~chosen, -100)


# %% wrong: same gaps again
# draws from a generator of its own with the seed of the given one: the same gaps in each epoch.
# shows: two calls with one generator.

import torch


def mask_batch(ids, special_ids, vocab_size, mask_id, generator):
    generator = torch.Generator().manual_seed(generator.initial_seed())
    free = torch.tensor([i for i in range(vocab_size) if i not in set(special_ids)])
    chosen = torch.rand(ids.shape, generator=generator) < 0.15
    chosen &= ~torch.isin(ids, torch.tensor(special_ids))
    dice = torch.randint(10, ids.shape, generator=generator)
    other = free[torch.randint(len(free), ids.shape, generator=generator)]
    seen = torch.where(chosen & (dice == 8), other, ids).masked_fill(chosen & (dice < 8), mask_id)
    return seen, ids.masked_fill(~chosen, -100)


# %% wrong: one die for a column
# throws one die for each column, so that all rows hide, change or leave the same columns.
# shows: 100 rows: in each column all chosen positions are treated alike

import torch

IGNORE = -100


def mask_batch(ids, special_ids, vocab_size, mask_id, generator):
    chosen = torch.rand(ids.shape, generator=generator) < 0.15
    chosen &= ~torch.isin(ids, torch.tensor(special_ids))
    dice = torch.randint(10, ids.shape[1:], generator=generator).expand_as(ids)
    ordinary = torch.tensor([i for i in range(vocab_size) if i not in special_ids])
    random_ids = ordinary[torch.randint(len(ordinary), ids.shape, generator=generator)]
    seen = ids.masked_fill(chosen & (dice < 8), mask_id)
    seen = torch.where(chosen & (dice == 8), random_ids, seen)
    return seen, ids.masked_fill(~chosen, IGNORE)


# %% wrong: exactly 15 % of the batch
# of each batch the same number of positions is chosen.
# shows: the number of chosen positions of a thousand small batches.
import torch


def mask_batch(ids, special_ids, vocab_size, mask_id, generator):
    is_special = torch.isin(ids, torch.tensor(special_ids))
    draws = torch.rand(ids.shape, generator=generator).masked_fill(is_special, 2.0)
    n = round(0.15 * int((~is_special).sum()))
    order = draws.flatten().argsort()
    chosen = torch.zeros(ids.numel(), dtype=torch.bool)
    chosen[order[:n]] = True
    chosen = chosen.view(ids.shape)
    dice = torch.rand(ids.shape, generator=generator)
    ordinary = torch.tensor([i for i in range(vocab_size) if i not in special_ids])
    random_ids = ordinary[torch.randint(len(ordinary), ids.shape, generator=generator)]
    seen = torch.where(chosen & (dice < 0.8), mask_id, ids)
    seen = torch.where(chosen & (dice >= 0.8) & (dice < 0.9), random_ids, seen)
    return seen, torch.where(chosen, ids, -100)


# %% wrong: exactly 80 % of what is chosen
# of what is chosen exactly 80 % become [MASK].
# shows: the number of masks of a thousand small batches.
import torch


def mask_batch(ids, special_ids, vocab_size, mask_id, generator):
    is_special = torch.isin(ids, torch.tensor(special_ids))
    chosen = (torch.rand(ids.shape, generator=generator) < 0.15) & ~is_special
    dice = torch.rand(ids.shape, generator=generator).masked_fill(~chosen, 2.0)
    rank = dice.flatten().argsort().argsort().view(ids.shape)
    n = int(chosen.sum())
    ordinary = torch.tensor([i for i in range(vocab_size) if i not in special_ids])
    random_ids = ordinary[torch.randint(len(ordinary), ids.shape, generator=generator)]
    seen = torch.where(chosen & (rank < round(0.8 * n)), mask_id, ids)
    seen = torch.where(chosen & (rank >= round(0.8 * n)) & (rank < round(0.9 * n)), random_ids, seen)
    return seen, torch.where(chosen, ids, -100)


# %% wrong: at least one of each row
# a row without a chosen position gets one.
# shows: rows of few positions, in which none may be chosen.
import torch


def mask_batch(ids, special_ids, vocab_size, mask_id, generator):
    is_special = torch.isin(ids, torch.tensor(special_ids))
    draws = torch.rand(ids.shape, generator=generator).masked_fill(is_special, 2.0)
    chosen = draws < 0.15
    if not chosen.any() and ids.numel() and not is_special.all():
        chosen = draws == draws.min()
    dice = torch.rand(ids.shape, generator=generator)
    ordinary = torch.tensor([i for i in range(vocab_size) if i not in special_ids])
    random_ids = ordinary[torch.randint(len(ordinary), ids.shape, generator=generator)]
    seen = torch.where(chosen & (dice < 0.8), mask_id, ids)
    seen = torch.where(chosen & (dice >= 0.8) & (dice < 0.9), random_ids, seen)
    return seen, torch.where(chosen, ids, -100)


# %% wrong: needs contiguous ids
# Transposed ids have no such view.
# shows: ids.T
def mask_batch(ids, special_ids, vocab_size, mask_id, generator):
    """Draw new gaps for a batch of texts; return what the model sees, and the targets."""
    ids.view(-1)
    draws = torch.rand(ids.shape, generator=generator)
    chosen = choose_positions(ids, draws, 0.15, special_ids)
    dice = torch.randint(10, ids.shape, generator=generator)
    ordinary = torch.tensor([i for i in range(vocab_size) if i not in special_ids])
    random_ids = ordinary[torch.randint(len(ordinary), ids.shape, generator=generator)]
    return corrupt(ids, chosen, dice, random_ids, mask_id)


# %% wrong: two neighbours share a die
# Two chosen neighbours are seen alike: both masked, or neither.
# shows: how often neighbours that are both chosen are both masked
def mask_batch(ids, special_ids, vocab_size, mask_id, generator):
    special = torch.tensor(special_ids)
    ordinary = torch.tensor([i for i in range(vocab_size) if i not in special_ids])
    B, T = ids.shape
    chosen = (torch.rand(ids.shape, generator=generator) < 0.15) & ~torch.isin(ids, special)
    die = torch.randint(10, (B, (T + 1) // 2), generator=generator).repeat_interleave(2, dim=1)[:, :T]
    other = ordinary[torch.randint(len(ordinary), ids.shape, generator=generator)]
    seen = torch.where(chosen & (die < 8), mask_id, ids)
    seen = torch.where(chosen & (die == 8), other, seen)
    return seen, ids.masked_fill(~chosen, IGNORE)


# %% wrong: 16 % are chosen
# of the ordinary positions, not 15 %.
# shows: the share of many thousand positions
def mask_batch(ids, special_ids, vocab_size, mask_id, generator):
    special = torch.tensor(special_ids)
    ordinary = torch.tensor([i for i in range(vocab_size) if i not in special_ids])
    chosen = (torch.rand(ids.shape, generator=generator) < 0.16) & ~torch.isin(ids, special)
    die = torch.randint(10, ids.shape, generator=generator)
    other = ordinary[torch.randint(len(ordinary), ids.shape, generator=generator)]
    seen = torch.where(chosen & (die < 8), mask_id, ids)
    seen = torch.where(chosen & (die == 8), other, seen)
    return seen, ids.masked_fill(~chosen, IGNORE)
