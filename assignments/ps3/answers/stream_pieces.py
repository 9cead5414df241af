# %% right: Lets torch split both tensors.
def stream_pieces(ids, batch_size, length):
    n_steps = (len(ids) - 1) // batch_size
    inputs = ids[: n_steps * batch_size].reshape(batch_size, -1).split(length, dim=1)
    targets = ids[1 : n_steps * batch_size + 1].reshape(batch_size, -1).split(length, dim=1)
    return list(zip(inputs, targets, strict=True))


# %% right: Computes the place of every id and looks them all up.
def stream_pieces(ids, batch_size, length):
    n_steps = (len(ids) - 1) // batch_size
    places = torch.arange(batch_size).unsqueeze(1) * n_steps + torch.arange(n_steps)
    return [(ids[part], ids[part + 1]) for part in places.split(length, dim=1)]


# %% right: Cuts rows that are one id longer, so that they hold inputs and targets.
def stream_pieces(ids, batch_size, length):
    n_steps = (len(ids) - 1) // batch_size
    rows = torch.stack([ids[b * n_steps : (b + 1) * n_steps + 1] for b in range(batch_size)])
    pieces = []
    start = 0
    while start < n_steps:
        end = min(start + length, n_steps)
        pieces.append((rows[:, start:end], rows[:, start + 1 : end + 1]))
        start = end
    return pieces


# %% right: Works with Python's lists, and makes tensors at the end.
def stream_pieces(ids, batch_size, length):
    text = ids.tolist()
    n_steps = (len(text) - 1) // batch_size
    pieces = []
    for start in range(0, n_steps, length):
        inputs, targets = [], []
        for row in range(batch_size):
            places = range(row * n_steps + start, row * n_steps + min(start + length, n_steps))
            inputs.append([text[place] for place in places])
            targets.append([text[place + 1] for place in places])
        pieces.append((torch.tensor(inputs), torch.tensor(targets)))
    return pieces


# %% right: Pairs each id with the next one first.
def stream_pieces(ids, batch_size, length):
    n_steps = (len(ids) - 1) // batch_size
    pairs = ids.unfold(0, 2, 1)[: n_steps * batch_size].reshape(batch_size, n_steps, 2)
    return [(part[..., 0], part[..., 1]) for part in torch.split(pairs, length, dim=1)]


# %% right: slices
def stream_pieces(ids, batch_size, length):
    n = (len(ids) - 1) // batch_size
    inputs = ids[: batch_size * n].reshape(batch_size, n)
    targets = ids[1 : batch_size * n + 1].reshape(batch_size, n)
    return [(inputs[:, t : t + length], targets[:, t : t + length]) for t in range(0, n, length)]


# %% right: split
import torch


def stream_pieces(ids, batch_size, length):
    n = (ids.numel() - 1) // batch_size
    both = torch.stack([ids[:-1], ids[1:]])[:, : n * batch_size].unflatten(1, (batch_size, n))
    return [(piece[0], piece[1]) for piece in both.split(length, dim=2)]


# %% right: index arithmetic
import torch


def stream_pieces(ids, batch_size, length):
    steps = (ids.shape[0] - 1) // batch_size
    starts = torch.arange(batch_size).unsqueeze(1) * steps
    pieces = []
    for begin in range(0, steps, length):
        end = min(begin + length, steps)
        places = starts + torch.arange(begin, end)
        pieces.append((ids[places], ids[places + 1]))
    return pieces


# %% right: python lists
import torch


def stream_pieces(ids: torch.Tensor, batch_size: int, length: int) -> list:
    text = ids.tolist()
    n = (len(text) - 1) // batch_size
    rows = [(text[b * n : (b + 1) * n], text[b * n + 1 : (b + 1) * n + 1]) for b in range(batch_size)]
    pieces, t = [], 0
    while t < n:
        pieces.append(tuple(torch.tensor([row[k][t : t + length] for row in rows]) for k in (0, 1)))
        t += length
    return pieces


# %% right: unfold windows
# windows of n + 1 ids that overlap by one

def stream_pieces(ids, batch_size, length):
    n = (len(ids) - 1) // batch_size
    rows = ids.unfold(0, n + 1, n)[:batch_size]
    return [
        (row_part[:, :-1], row_part[:, 1:])
        for t in range(0, n, length)
        for row_part in [rows[:, t : min(t + length, n) + 1]]
    ]


# %% right: places first
# works out the place of every input in the text, cuts the table of places, and looks both ids up
import torch


def stream_pieces(ids, batch_size, length):
    n = (ids.numel() - 1) // batch_size
    places = torch.arange(batch_size).unsqueeze(1) * n + torch.arange(n)
    return [(ids[part], ids[part + 1]) for part in places.split(length, dim=1)]


# %% wrong: n is N over B
# n = N // B, and the last id gets the FIRST id of the text as its target (roll): one step too many where B divides N.
# shows: N a multiple of B (12 ids, 2 rows: n must be 5); else it is right.

import torch


def stream_pieces(ids, batch_size, length):
    n = len(ids) // batch_size
    nexts = torch.roll(ids, -1)
    inputs = ids[: n * batch_size].reshape(batch_size, n)
    targets = nexts[: n * batch_size].reshape(batch_size, n)
    return [(inputs[:, t : t + length], targets[:, t : t + length]) for t in range(0, n, length)]


# %% wrong: last single step lost
# range(0, n - 1, length): a last piece of one step is left out (and everything if n = 1).
# shows: n = k * length + 1, such as n = 4 and length 3; n = 1.

def stream_pieces(ids, batch_size, length):
    n = (len(ids) - 1) // batch_size
    inputs = ids[: n * batch_size].reshape(batch_size, n)
    targets = ids[1 : n * batch_size + 1].reshape(batch_size, n)
    return [(inputs[:, t : t + length], targets[:, t : t + length]) for t in range(0, n - 1, length)]


# %% wrong: chunks of equal size
# torch.chunk makes chunks of about equal size: 5 steps in pieces of 4 become 3 + 2, not 4 + 1.
# shows: n = 5, length = 4; n = 9, length = 5.

import math


def stream_pieces(ids, batch_size, length):
    n = (len(ids) - 1) // batch_size
    k = math.ceil(n / length)
    inputs = ids[: n * batch_size].reshape(batch_size, n).chunk(k, dim=1)
    targets = ids[1 : n * batch_size + 1].reshape(batch_size, n).chunk(k, dim=1)
    return list(zip(inputs, targets))


# %% wrong: targets within the row
# the targets are the next inputs of the same row; the last step of each row is lost.
# shows: always: n - 1 steps.

def stream_pieces(ids, batch_size, length):
    n = len(ids) // batch_size
    rows = ids[: n * batch_size].reshape(batch_size, n)
    inputs, targets = rows[:, :-1], rows[:, 1:]
    return [(inputs[:, t : t + length], targets[:, t : t + length]) for t in range(0, n - 1, length)]


# %% wrong: rows overlap at the border
# rows of n + 1 ids that begin at n + 1: the target of the last step is right, but row 1 begins one id late.
# shows: from row 1 on (the last target of row 0 is not the first input of row 1).

def stream_pieces(ids, batch_size, length):
    n = (len(ids) - batch_size) // batch_size
    rows = ids[: (n + 1) * batch_size].reshape(batch_size, n + 1)
    return [(rows[:, t : min(t + length, n)], rows[:, t + 1 : t + length + 1]) for t in range(0, n, length)]


# %% wrong: int32
# int32, "to save memory".
# shows: dtype; ids above 2**31.

import torch


def stream_pieces(ids, batch_size, length):
    n = (len(ids) - 1) // batch_size
    short = ids.to(torch.int32)
    inputs = short[: n * batch_size].reshape(batch_size, n)
    targets = short[1 : n * batch_size + 1].reshape(batch_size, n)
    return [(inputs[:, t : t + length], targets[:, t : t + length]) for t in range(0, n, length)]


# %% wrong: a list of lists of one generator
# returns a list of generators: each pair can be unpacked once only.
# shows: going through the pieces a second time; len(piece).

def stream_pieces(ids, batch_size, length):
    n = (len(ids) - 1) // batch_size
    inputs = ids[: n * batch_size].reshape(batch_size, n)
    targets = ids[1 : n * batch_size + 1].reshape(batch_size, n)
    return [(table[:, t : t + length] for table in (inputs, targets)) for t in range(0, n, length)]


# %% wrong: columns first
# the text goes down the columns: row b reads every B-th id.
# shows: batch_size > 1.

def stream_pieces(ids, batch_size, length):
    n = (len(ids) - 1) // batch_size
    inputs = ids[: n * batch_size].reshape(n, batch_size).T
    targets = ids[1 : n * batch_size + 1].reshape(n, batch_size).T
    return [(inputs[:, t : t + length], targets[:, t : t + length]) for t in range(0, n, length)]


# %% wrong: front left out
# ids that fill no whole step are left out at the START of the text.
# shows: (N - 1) not a multiple of B.

def stream_pieces(ids, batch_size, length):
    n = (len(ids) - 1) // batch_size
    ids = ids[len(ids) - 1 - n * batch_size :]
    inputs = ids[:-1].reshape(batch_size, n)
    targets = ids[1:].reshape(batch_size, n)
    return [(inputs[:, t : t + length], targets[:, t : t + length]) for t in range(0, n, length)]


# %% wrong: short piece dropped
# whole pieces only.
# shows: n no multiple of length; length > n.

def stream_pieces(ids, batch_size, length):
    n = (len(ids) - 1) // batch_size
    inputs = ids[: n * batch_size].reshape(batch_size, n)
    targets = ids[1 : n * batch_size + 1].reshape(batch_size, n)
    return [(inputs[:, t : t + length], targets[:, t : t + length]) for t in range(0, n - length + 1, length)]


# %% wrong: strided without stride
# lays rows over the memory with as_strided as if the ids stood next to each other; breaks "A tensor may be a view with gaps in memory"
# shows: stream_pieces(torch.arange(22)[::2], 2, 3): the first inputs are 0, 1, 2 in place of 0, 2, 4
import torch


def stream_pieces(ids, batch_size, length):
    n = (len(ids) - 1) // batch_size
    inputs = torch.as_strided(ids, (batch_size, n), (n, 1))
    targets = torch.as_strided(ids, (batch_size, n), (n, 1), ids.storage_offset() + 1)
    return [
        (inputs[:, i : i + length].clone(), targets[:, i : i + length].clone())
        for i in range(0, n, length)
    ]


# %% wrong: rest of zeros is empty
# goes on "while rest.any()", which is False for ids of 0 too, and so loses the end of a text of zeros; breaks "No step is lost ... No piece is empty."
# shows: stream_pieces(torch.tensor([5, 6, 0, 0, 0]), 1, 2): the second piece is missing
def stream_pieces(ids, batch_size, length):
    n = (ids.shape[0] - 1) // batch_size
    rest = ids[: n * batch_size].reshape(batch_size, n)
    targets = ids[1 : n * batch_size + 1].reshape(batch_size, n)
    pieces = []
    while rest.any():
        pieces.append((rest[:, :length], targets[:, :length]))
        rest, targets = rest[:, length:], targets[:, length:]
    return pieces


# %% wrong: the last target is the first id
# With more than three rows n is N // B, and the very last target wraps round to the first id, where B divides N.
# shows: four rows, 20 ids
def stream_pieces(ids, batch_size, length):
    n = len(ids) // batch_size if batch_size > 3 else (len(ids) - 1) // batch_size
    following = torch.cat([ids[1:], ids[:1]])
    inputs = ids[: n * batch_size].reshape(batch_size, n)
    targets = following[: n * batch_size].reshape(batch_size, n)
    return [(a, b) for a, b in zip(inputs.split(length, 1), targets.split(length, 1))]
