# %% right: Asks torch for the best place of each row.
def align(weights, threshold):
    best = weights.argmax(dim=1).tolist()
    return [(t, s) for t, s in enumerate(best) if weights[t, s] >= threshold]


# %% right: Takes values and places from one call.
def align(weights, threshold):
    values, places = weights.detach().max(dim=1)
    kept = torch.nonzero(values >= threshold).flatten()
    return list(zip(kept.tolist(), places[kept].tolist(), strict=True))


# %% right: Walks along each row, and keeps the first that is larger than all before.
def align(weights, threshold):
    found = []
    for t in range(weights.shape[0]):
        place = 0
        for s in range(1, weights.shape[1]):
            if weights[t, s] > weights[t, place]:
                place = s
        if weights[t, place].item() >= threshold:
            found.append((t, place))
    return found


# %% right: Sorts each row stably, the largest first.
def align(weights, threshold):
    order = torch.argsort(weights, dim=1, descending=True, stable=True)[:, 0]
    rows = torch.arange(len(weights))
    enough = weights[rows, order] >= threshold
    return [(int(t), int(order[t])) for t in rows[enough]]


# %% right: Works on a NumPy array.
def align(weights, threshold):
    table = weights.detach().numpy()
    return [(t, int(row.argmax())) for t, row in enumerate(table) if row.max() >= threshold]


# %% right: Marks all largest weights of a row, and takes the first mark.
def align(weights, threshold):
    is_best = weights == weights.amax(dim=1, keepdim=True)
    is_first = is_best & (is_best.cumsum(dim=1) == 1) & (weights >= threshold)
    return [(t, s) for t, s in is_first.nonzero().tolist()]


# %% right: Lets max compare weights, and places where they are equal.
def align(weights, threshold):
    rows = [list(enumerate(row)) for row in weights.tolist()]
    best = [max(row, key=lambda pair: (pair[1], -pair[0])) for row in rows]
    return [(t, s) for t, (s, weight) in enumerate(best) if weight >= threshold]


# %% right: plain lists
def align(weights, threshold):
    pairs = []
    for t, row in enumerate(weights.tolist()):
        best = max(row)
        if best >= threshold:
            pairs.append((t, row.index(best)))
    return pairs


# %% right: argmax and gather
import torch


def align(weights, threshold):
    places = weights.argmax(dim=1)
    best = weights.gather(1, places.unsqueeze(1)).squeeze(1)
    rows = torch.arange(weights.shape[0])[best >= threshold]
    return list(zip(rows.tolist(), places[rows].tolist()))


# %% right: max by key
# max() keeps the first of equal ones

def align(weights, threshold):
    rows = weights.detach().tolist()
    best = [max(range(len(row)), key=row.__getitem__) for row in rows]
    return [(t, s) for t, s in enumerate(best) if not rows[t][s] < threshold]


# %% right: recursion over halves
import torch


def align(weights: torch.Tensor, threshold: float) -> list[tuple[int, int]]:
    def of(rows, start):
        if not rows:
            return []
        if len(rows) == 1:
            top = max(rows[0])
            return [(start, rows[0].index(top))] if top >= threshold else []
        middle = len(rows) // 2
        return of(rows[:middle], start) + of(rows[middle:], start + middle)

    return of(weights.tolist(), 0)


# %% right: numpy table
def align(weights, threshold):
    table = weights.detach().cpu().numpy()
    pairs = []
    for t in range(table.shape[0]):
        s = int(table[t].argmax())
        if float(table[t, s]) >= threshold:
            pairs.append((t, s))
    return pairs


# %% right: sort with negative key
def align(weights, threshold):
    def look(numbered):
        t, row = numbered
        weight, place = min((-w, s) for s, w in enumerate(row))
        return (t, place) if -weight >= threshold else None

    return list(filter(None, map(look, enumerate(weights.tolist()))))


# %% right: max over places and a filter
# Python's max over places, which keeps the first of equal ones; then a filter
def align(weights, threshold):
    table = weights.tolist()
    places = [max(range(len(row)), key=row.__getitem__) for row in table]
    return [(t, s) for t, s in enumerate(places) if not table[t][s] < threshold]


# %% wrong: rightmost tie
# of equal weights the rightmost wins (sorted, last).
# shows: a row whose largest weight, at or above the threshold, stands there twice.

def align(weights, threshold):
    pairs = []
    for t, row in enumerate(weights.tolist()):
        s = sorted(range(len(row)), key=lambda i: row[i])[-1]
        if row[s] >= threshold:
            pairs.append((t, s))
    return pairs


# %% wrong: about equal
# counts a weight as "equal" that is within one per mille below the threshold.
# shows: largest weight 0.4999, threshold 0.5: must have no pair.

import math


def align(weights, threshold):
    pairs = []
    for t, row in enumerate(weights.tolist()):
        best = max(row)
        if best > threshold or math.isclose(best, threshold, rel_tol=1e-3):
            pairs.append((t, row.index(best)))
    return pairs


# %% wrong: normalises rows
# divides each row by its sum first; the contract takes the weights as they are.
# shows: a row that does not sum to 1, such as (0.3, 0, 0) with threshold 0.5, which has no pair.

def align(weights, threshold):
    share = weights / weights.sum(dim=1, keepdim=True)
    best, place = share.max(dim=1)
    return [(t, s) for t, (b, s) in enumerate(zip(best.tolist(), place.tolist())) if b >= threshold]


# %% wrong: clears small weights
# writes zeros into the caller's weights (through .data, so that autograd does not complain).
# shows: compare the weights before and after.

def align(weights, threshold):
    weights.data[weights < threshold] = 0.0
    found = []
    for t in range(len(weights)):
        row = weights[t].tolist()
        if max(row) > 0:
            found.append((t, row.index(max(row))))
    return found


# %% wrong: half precision ties
# looks for the largest weight in float16, where weights that differ in the fourth digit are equal.
# shows: a row (0.50001, 0.50002) with threshold 0.5: the place is 1, this says 0.

def align(weights, threshold):
    places = weights.half().argmax(dim=1).tolist()
    best = weights.amax(dim=1).tolist()
    return [(t, s) for t, (b, s) in enumerate(zip(best, places)) if b >= threshold]


# %% wrong: flat view
# .view(-1) fails on weights that stand in memory in another order.
# shows: weights.T.contiguous().T, or a slice weights[:, :3].

def align(weights, threshold):
    T, S = weights.shape
    flat = weights.view(-1).tolist()
    pairs = []
    for t in range(T):
        row = flat[t * S : (t + 1) * S]
        if max(row) >= threshold:
            pairs.append((t, row.index(max(row))))
    return pairs


# %% wrong: each place once
# a place that was taken by an earlier row is not given again.
# shows: two rows that look at one place.

def align(weights, threshold):
    taken, pairs = set(), []
    for t, row in enumerate(weights.tolist()):
        s = row.index(max(row))
        if max(row) >= threshold and s not in taken:
            taken.add(s)
            pairs.append((t, s))
    return pairs


# %% wrong: all places above
# gives a pair for EVERY place at or above the threshold, not for the largest alone.
# shows: threshold below 0.5 and a row such as (0.4, 0.6) with threshold 0.3; also ties at 0.5.

def align(weights, threshold):
    return [tuple(pair) for pair in (weights >= threshold).nonzero().tolist()]


# %% wrong: distinct only above half
# takes it for granted that at most one place reaches the threshold: takes the FIRST that does, not the largest.
# shows: threshold 0.25 and a row (0.25, 0.75); thresholds above 0.5 are fine.

def align(weights, threshold):
    pairs = []
    for t, row in enumerate(weights.tolist()):
        for s, weight in enumerate(row):
            if weight >= threshold:
                pairs.append((t, s))
                break
    return pairs


# %% wrong: numpy scalars
# the places are numpy.int64, not int (and the pair compares equal to one of ints).
# shows: type(pair[1]) is int.

def align(weights, threshold):
    table = weights.detach().numpy()
    return [(t, row.argmax()) for t, row in enumerate(table) if row.max() >= threshold]


# %% wrong: nearly equal is equal
# takes weights that are nearly equal to the largest for equal, and so the leftmost of these; breaks "s is the place of the largest weight in row t. If several are equally large: the leftmost."
# shows: align(torch.tensor([[0.499999, 0.5]]), 0.5) is [(0, 0)] in place of [(0, 1)]
import torch


def align(weights, threshold):
    pairs = []
    for t, row in enumerate(weights.detach()):
        best = row.max()
        if best >= threshold:
            pairs.append((t, int(torch.isclose(row, best).int().argmax())))
    return pairs


# %% wrong: divides by row sums
# divides each row by its sum before it compares, so a row that does not sum to 1 gets other weights; breaks "A row whose largest weight is below the threshold has no pair"
# shows: align(torch.tensor([[0.25, 0.125]]), 0.5) is [(0, 0)] in place of []
def align(weights, threshold):
    pairs = []
    for t, row in enumerate(weights.tolist()):
        total = sum(row) or 1.0
        best = max(row)
        if best / total >= threshold:
            pairs.append((t, row.index(best)))
    return pairs


# %% wrong: slack below the threshold
# a weight a millionth below the threshold is enough.
# shows: a weight of 0.4999999 and a threshold of 0.5.
def align(weights, threshold):
    found = []
    for t, row in enumerate(weights.tolist()):
        if max(row) >= threshold - 1e-6:
            found.append((t, row.index(max(row))))
    return found


# %% wrong: float32 on the way
# weights are compared as float32.
# shows: a float64 weight just below the threshold.
import torch


def align(weights, threshold):
    found = []
    narrow = weights.float()
    for t, row in enumerate(weights.tolist()):
        if narrow[t].max() >= torch.tensor(threshold, dtype=torch.float32):
            found.append((t, row.index(max(row))))
    return found


# %% wrong: nearly the largest
# takes the leftmost weight that is within 1e-12 of the largest.
# shows: two float64 weights that differ by 2**-50
def align(weights, threshold):
    found = []
    for t, row in enumerate(weights.tolist()):
        if max(row) >= threshold:
            found.append((t, min(s for s, weight in enumerate(row) if weight >= max(row) - 1e-12)))
    return found


# %% wrong: the weights lose their gradient
# Numpy() cannot read a tensor with a graph, so it reads .data after it has turned off requires_grad of the caller's tensor.
# shows: whether a leaf still asks for a gradient after the call
def align(weights, threshold):
    if weights.is_leaf:
        weights.requires_grad_(False)
    table = weights.detach().numpy()
    return [(t, int(row.argmax())) for t, row in enumerate(table) if row.max() >= threshold]
