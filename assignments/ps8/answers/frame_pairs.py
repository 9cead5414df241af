# %% right: Takes tokens off copies, one after the other, and pads with torch's function.
def frame_pairs(pairs, start_id, delim_id, extract_id, pad_id, longest):
    rows = []
    for first, second in pairs:
        texts = [list(first), list(second)]
        for _ in range(max(0, len(first) + len(second) + 3 - longest)):
            texts[len(texts[0]) <= len(texts[1])].pop()
        rows.append(torch.tensor([start_id, *texts[0], delim_id, *texts[1], extract_id]))
    lengths = torch.tensor([len(row) for row in rows])
    return nn.utils.rnn.pad_sequence(rows, batch_first=True, padding_value=pad_id), lengths


# %% right: Finds both lengths without a loop: half of the room, rounded up, is the premise's.
def frame_pairs(pairs, start_id, delim_id, extract_id, pad_id, longest):
    room, rows = longest - 3, []
    for first, second in pairs:
        n, m = len(first), len(second)
        if n + m > room:
            n = min(n, max(room - m, (room + 1) // 2))
            m = room - n
        rows.append((start_id, *tuple(first[:n]), delim_id, *tuple(second[:m]), extract_id))
    ids = torch.full((len(rows), max(map(len, rows))), pad_id)
    for number, row in enumerate(rows):
        ids[number, : len(row)] = torch.tensor(row)
    return ids, torch.tensor([*map(len, rows)])


# %% right: Takes tokens in turn from both beginnings as long as there is room.
def frame_pairs(pairs, start_id, delim_id, extract_id, pad_id, longest):
    rows, lengths = [], []
    for first, second in pairs:
        n = m = 0
        while n + m < longest - 3 and (n < len(first) or m < len(second)):
            if n < len(first) and (n <= m or m == len(second)):
                n += 1
            else:
                m += 1
        rows.append([start_id, *first[:n], delim_id, *second[:m], extract_id])
        lengths.append(n + m + 3)
    for row in rows:
        row.extend([pad_id] * (max(lengths) - len(row)))
    return torch.tensor(rows, dtype=torch.int64), torch.tensor(lengths, dtype=torch.int64)


# %% right: Asks `max` for the longer text; of equal ones it finds the one that stands first.
import itertools


def frame_pairs(pairs, start_id, delim_id, extract_id, pad_id, longest):
    rows = []
    for first, second in pairs:
        one, two = [*first], [*second]
        while len(one) + len(two) > longest - 3:
            max((two, one), key=len).pop()
        rows.append([start_id, *one, delim_id, *two, extract_id])
    lengths = torch.tensor([len(row) for row in rows])
    columns = itertools.zip_longest(*rows, fillvalue=pad_id)
    return torch.tensor(list(columns)).T.contiguous(), lengths


# %% right: Takes the difference of lengths off first, and then from both in turn.
def frame_pairs(pairs, start_id, delim_id, extract_id, pad_id, longest):
    framed = []
    for first, second in pairs:
        left, right = list(first), list(second)
        too_many = max(len(left) + len(right) + 3 - longest, 0)
        longer, shorter = (left, right) if len(left) > len(right) else (right, left)
        at_once = min(too_many, len(longer) - len(shorter))
        del longer[len(longer) - at_once :]
        too_many -= at_once
        del right[len(right) - (too_many + 1) // 2 :]
        del left[len(left) - too_many // 2 :]
        framed.append([start_id, *left, delim_id, *right, extract_id])
    n_columns = max(len(row) for row in framed)
    ids = torch.tensor([(row + [pad_id] * n_columns)[:n_columns] for row in framed])
    return ids, torch.tensor([len(row) for row in framed])


# %% right: Writes the ids into one flat tensor by a mask.
def frame_pairs(pairs, start_id, delim_id, extract_id, pad_id, longest):
    rows = []
    for premise, hypothesis in pairs:
        keep = [len(premise), len(hypothesis)]
        while sum(keep) > longest - 3:
            keep[0 if keep[0] > keep[1] else 1] -= 1
        text = [*premise[: keep[0]], delim_id, *hypothesis[: keep[1]]]
        rows.append([start_id, *text, extract_id])
    lengths = torch.tensor([len(row) for row in rows])
    is_text = torch.arange(int(lengths.max())) < lengths[:, None]
    ids = torch.full(is_text.shape, pad_id, dtype=torch.int64)
    ids[is_text] = torch.tensor([i for row in rows for i in row])
    return ids, lengths


# %% right: pop
# copies both texts, takes the last token of the longer one until it fits.

import torch


def frame_pairs(pairs, start_id, delim_id, extract_id, pad_id, longest):
    rows = []
    for premise, hypothesis in pairs:
        premise, hypothesis = list(premise), list(hypothesis)
        while len(premise) + len(hypothesis) + 3 > longest:
            (premise if len(premise) > len(hypothesis) else hypothesis).pop()
        rows.append([start_id, *premise, delim_id, *hypothesis, extract_id])
    lengths = [len(row) for row in rows]
    wide = max(lengths)
    filled = [row + [pad_id] * (wide - len(row)) for row in rows]
    return torch.tensor(filled, dtype=torch.int64), torch.tensor(lengths, dtype=torch.int64)


# %% right: formula
# both lengths by a formula, slices; rows are written into a full tensor.

import torch


def frame_pairs(pairs, start_id, delim_id, extract_id, pad_id, longest):
    room = longest - 3
    sizes = []
    for premise, hypothesis in pairs:
        p, h = len(premise), len(hypothesis)
        if p + h > room:
            p = min(p, max(room - room // 2, room - h))
            h = room - p
        sizes.append((p, h))
    lengths = torch.tensor([p + h + 3 for p, h in sizes])
    rows = torch.full((len(pairs), int(lengths.max())), pad_id)
    for row, (premise, hypothesis), (p, h) in zip(rows, pairs, sizes, strict=True):
        row[0] = start_id
        row[1 : p + 1] = torch.tensor(premise[:p], dtype=torch.int64)
        row[p + 1] = delim_id
        row[p + 2 : p + h + 2] = torch.tensor(hypothesis[:h], dtype=torch.int64)
        row[p + h + 2] = extract_id
    return rows, lengths


# %% right: counts and pad sequence
# shortens two counts, not lists; pad_sequence fills up.

import torch
from torch.nn.utils.rnn import pad_sequence


def frame_pairs(pairs, start_id, delim_id, extract_id, pad_id, longest):
    made = []
    for one, two in pairs:
        n = [len(one), len(two)]
        while sum(n) > longest - 3:
            n[0 if n[0] > n[1] else 1] -= 1
        text = (start_id,) + tuple(one[: n[0]]) + (delim_id,) + tuple(two[: n[1]]) + (extract_id,)
        made.append(torch.tensor(text, dtype=torch.long))
    lengths = torch.tensor([len(row) for row in made], dtype=torch.long)
    return pad_sequence(made, batch_first=True, padding_value=pad_id), lengths


# %% right: two steps
# first the longer text down to the shorter, then what is still too much from both; chain and zip_longest.

from itertools import chain, zip_longest

import torch


def frame_pairs(pairs, start_id, delim_id, extract_id, pad_id, longest):
    rows = []
    for premise, hypothesis in pairs:
        p, h = len(premise), len(hypothesis)
        over = max(0, p + h + 3 - longest)
        step = min(over, abs(p - h))
        p, h = (p - step, h) if p > h else (p, h - step)
        over -= step
        p, h = p - over // 2, h - (over + 1) // 2
        rows.append([*chain([start_id], premise[:p], [delim_id], hypothesis[:h], [extract_id])])
    columns = zip_longest(*rows, fillvalue=pad_id)
    return (
        torch.tensor([*columns], dtype=torch.int64).T.contiguous(),
        torch.tensor([*map(len, rows)], dtype=torch.int64),
    )


# %% right: growing
# the other way round: hands out the room one token at a time, to the shorter text first, the premise if equal.

import torch


def frame_pairs(pairs, start_id, delim_id, extract_id, pad_id, longest):
    rows = []
    for premise, hypothesis in pairs:
        p = h = 0
        for _ in range(longest - 3):
            if p < len(premise) and (p <= h or h == len(hypothesis)):
                p += 1
            elif h < len(hypothesis):
                h += 1
            else:
                break
        rows.append(
            [start_id] + list(premise)[:p] + [delim_id] + list(hypothesis)[:h] + [extract_id]
        )
    T = max(map(len, rows))
    lengths = torch.tensor([len(row) for row in rows])
    for row in rows:
        row.extend(pad_id for _ in range(T - len(row)))
    return torch.tensor(rows), lengths


# %% wrong: half for each
# gives each text half of the room, also if the other one does not use its half.
# shows: a premise of 1 token, a hypothesis of 9, longest 8: 1 and 2 tokens, not 1 and 4.

import torch


def frame_pairs(pairs, start_id, delim_id, extract_id, pad_id, longest):
    rows = []
    room = longest - 3
    for premise, hypothesis in pairs:
        premise, hypothesis = list(premise), list(hypothesis)
        if len(premise) + len(hypothesis) > room:
            premise, hypothesis = premise[: (room + 1) // 2], hypothesis[: room // 2]
        rows.append([start_id, *premise, delim_id, *hypothesis, extract_id])
    lengths = torch.tensor([len(row) for row in rows])
    T = int(lengths.max())
    return torch.tensor([row + [pad_id] * (T - len(row)) for row in rows]), lengths


# %% wrong: longer is chosen once
# decides once which text is the longer, and takes everything from that one.
# shows: 6 and 4 tokens, longest 8: 1 and 4 tokens, not 3 and 2.

import torch


def frame_pairs(pairs, start_id, delim_id, extract_id, pad_id, longest):
    rows = []
    for premise, hypothesis in pairs:
        premise, hypothesis = list(premise), list(hypothesis)
        over = max(0, len(premise) + len(hypothesis) + 3 - longest)
        if len(premise) > len(hypothesis):
            loser, other = premise, hypothesis
        else:
            loser, other = hypothesis, premise
        for _ in range(over):
            (loser or other).pop()
        rows.append([start_id, *premise, delim_id, *hypothesis, extract_id])
    lengths = torch.tensor([len(row) for row in rows])
    T = int(lengths.max())
    return torch.tensor([row + [pad_id] * (T - len(row)) for row in rows]), lengths


# %% wrong: recursion
# shortens by recursion, one call for each token.
# shows: texts of 5000 tokens, longest 10: RecursionError.

import torch


def shorten(premise, hypothesis, room):
    if len(premise) + len(hypothesis) <= room:
        return list(premise), list(hypothesis)
    if len(premise) > len(hypothesis):
        return shorten(premise[:-1], hypothesis, room)
    return shorten(premise, hypothesis[:-1], room)


def frame_pairs(pairs, start_id, delim_id, extract_id, pad_id, longest):
    rows = []
    for premise, hypothesis in pairs:
        premise, hypothesis = shorten(premise, hypothesis, longest - 3)
        rows.append([start_id, *premise, delim_id, *hypothesis, extract_id])
    lengths = torch.tensor([len(row) for row in rows])
    T = int(lengths.max())
    return torch.tensor([row + [pad_id] * (T - len(row)) for row in rows]), lengths


# %% wrong: list and tuple
# adds the texts with +, which works only if both are lists or both are tuples.
# shows: the pair ([1, 2], (3,)): TypeError.

import torch


def frame_pairs(pairs, start_id, delim_id, extract_id, pad_id, longest):
    rows = []
    for premise, hypothesis in pairs:
        kind = type(premise)
        while len(premise) + len(hypothesis) + 3 > longest:
            if len(premise) > len(hypothesis):
                premise = premise[:-1]
            else:
                hypothesis = hypothesis[:-1]
        row = kind([start_id]) + premise + kind([delim_id]) + hypothesis + kind([extract_id])
        rows.append(list(row))
    lengths = torch.tensor([len(row) for row in rows])
    T = int(lengths.max())
    return torch.tensor([row + [pad_id] * (T - len(row)) for row in rows]), lengths


# %% wrong: length is the last extract
# reads the lengths off the filled rows, as the place after the last [EXTRACT].
# shows: pad_id equal to extract_id, two pairs of different lengths: both lengths are T.

import torch


def frame_pairs(pairs, start_id, delim_id, extract_id, pad_id, longest):
    rows = []
    for premise, hypothesis in pairs:
        premise, hypothesis = list(premise), list(hypothesis)
        while len(premise) + len(hypothesis) > longest - 3:
            (premise if len(premise) > len(hypothesis) else hypothesis).pop()
        rows.append([start_id, *premise, delim_id, *hypothesis, extract_id])
    T = max(map(len, rows))
    rows = torch.tensor([row + [pad_id] * (T - len(row)) for row in rows])
    places = torch.arange(1, T + 1)
    return rows, ((rows == extract_id) * places).amax(dim=1)


# %% wrong: floats in between
# makes the rows as float32 and casts at the end.
# shows: the id 16,777,217 becomes 16,777,216.

import torch


def frame_pairs(pairs, start_id, delim_id, extract_id, pad_id, longest):
    rows = []
    for premise, hypothesis in pairs:
        premise, hypothesis = list(premise), list(hypothesis)
        while len(premise) + len(hypothesis) > longest - 3:
            (premise if len(premise) > len(hypothesis) else hypothesis).pop()
        rows.append([start_id, *premise, delim_id, *hypothesis, extract_id])
    lengths = [len(row) for row in rows]
    table = torch.ones(len(rows), max(lengths)) * pad_id
    for n, row in enumerate(rows):
        table[n, : len(row)] = torch.tensor(row)
    return table.long(), torch.tensor(lengths)


# %% wrong: length by padding
# counts the ids that are not padding.
# shows: pad_id equal to a token of a text: the length is too small.

import torch


def frame_pairs(pairs, start_id, delim_id, extract_id, pad_id, longest):
    rows = []
    for premise, hypothesis in pairs:
        premise, hypothesis = list(premise), list(hypothesis)
        while len(premise) + len(hypothesis) > longest - 3:
            (premise if len(premise) > len(hypothesis) else hypothesis).pop()
        rows.append([start_id, *premise, delim_id, *hypothesis, extract_id])
    T = max(map(len, rows))
    rows = torch.tensor([row + [pad_id] * (T - len(row)) for row in rows])
    return rows, (rows != pad_id).sum(dim=1)


# %% wrong: in proportion
# shortens both texts in proportion to their lengths.
# shows: 9 and 2 tokens, longest 7: 3 and 1 tokens, not 2 and 2.

import math

import torch


def frame_pairs(pairs, start_id, delim_id, extract_id, pad_id, longest):
    rows, room = [], longest - 3
    for premise, hypothesis in pairs:
        p, h = len(premise), len(hypothesis)
        if p + h > room:
            p = min(p, math.ceil(room * p / (p + h)))
            h = room - p
        rows.append([start_id, *premise[:p], delim_id, *hypothesis[:h], extract_id])
    lengths = torch.tensor([len(row) for row in rows])
    T = int(lengths.max())
    return torch.tensor([row + [pad_id] * (T - len(row)) for row in rows]), lengths


# %% wrong: same list twice
# keeps its copies under the identity of the list; a list that stands twice is shortened twice.
# shows: text = [1, 2, 3, 4]; the pair (text, text), longest 8: both parts are the same copy (2 and 2 tokens, not 3 and 2).

import torch


def frame_pairs(pairs, start_id, delim_id, extract_id, pad_id, longest):
    copies = {}
    for pair in pairs:
        for text in pair:
            copies[id(text)] = list(text)
    rows = []
    for premise, hypothesis in pairs:
        premise, hypothesis = copies[id(premise)], copies[id(hypothesis)]
        while len(premise) + len(hypothesis) > longest - 3:
            (premise if len(premise) > len(hypothesis) else hypothesis).pop()
        rows.append([start_id, *premise, delim_id, *hypothesis, extract_id])
    lengths = torch.tensor([len(row) for row in rows])
    T = int(lengths.max())
    return torch.tensor([row + [pad_id] * (T - len(row)) for row in rows]), lengths


# %% wrong: empty tensor is float
# builds each row with torch.cat of tensors; an empty text is a float tensor, and the row becomes float.
# shows: the batch [([], []), ...] alone: float32 rows (and ids above 2**24 are rounded).

import torch


def frame_pairs(pairs, start_id, delim_id, extract_id, pad_id, longest):
    rows = []
    for premise, hypothesis in pairs:
        premise, hypothesis = list(premise), list(hypothesis)
        while len(premise) + len(hypothesis) > longest - 3:
            (premise if len(premise) > len(hypothesis) else hypothesis).pop()
        parts = [[start_id], premise, [delim_id], hypothesis, [extract_id]]
        rows.append(torch.cat([torch.tensor(part) for part in parts]))
    lengths = torch.tensor([len(row) for row in rows])
    table = torch.full((len(rows), int(lengths.max())), pad_id, dtype=rows[0].dtype)
    for n, row in enumerate(rows):
        table[n, : len(row)] = row
    return table, lengths


# %% wrong: filled to longest
# fills up to longest.
# shows: a batch of short pairs, longest 20: T is 20.

import torch


def frame_pairs(pairs, start_id, delim_id, extract_id, pad_id, longest):
    rows = torch.full((len(pairs), longest), pad_id)
    lengths = torch.zeros(len(pairs), dtype=torch.long)
    for n, (premise, hypothesis) in enumerate(pairs):
        premise, hypothesis = list(premise), list(hypothesis)
        while len(premise) + len(hypothesis) > longest - 3:
            (premise if len(premise) > len(hypothesis) else hypothesis).pop()
        row = [start_id, *premise, delim_id, *hypothesis, extract_id]
        rows[n, : len(row)] = torch.tensor(row)
        lengths[n] = len(row)
    return rows, lengths


# %% wrong: takes turns when equal
# where both texts are equally long, the premise loses a token if the hypothesis has just lost one.
# shows: texts of 2 and 3 tokens, longest 6: 1 and 2 are left in place of 2 and 1

import torch


def frame_pairs(pairs, start_id, delim_id, extract_id, pad_id, longest):
    rows = []
    for premise, hypothesis in pairs:
        texts, turn = [list(premise), list(hypothesis)], 1
        while len(texts[0]) + len(texts[1]) > longest - 3:
            if len(texts[0]) != len(texts[1]):
                turn = int(len(texts[1]) > len(texts[0]))
            texts[turn].pop()
            turn = 1 - turn
        rows.append([start_id, *texts[0], delim_id, *texts[1], extract_id])
    lengths = [len(row) for row in rows]
    T = max(lengths)
    return torch.tensor([row + [pad_id] * (T - len(row)) for row in rows]), torch.tensor(lengths)


# %% wrong: no second extract
# adds no [EXTRACT] where the hypothesis ends in that id.
# shows: pairs [([1], [5])], extract_id 5: the row has 4 ids in place of 5

import torch


def frame_pairs(pairs, start_id, delim_id, extract_id, pad_id, longest):
    rows = []
    for premise, hypothesis in pairs:
        n_1, n_2 = len(premise), len(hypothesis)
        while n_1 + n_2 > longest - 3:
            n_1, n_2 = (n_1 - 1, n_2) if n_1 > n_2 else (n_1, n_2 - 1)
        row = [start_id, *premise[:n_1], delim_id, *hypothesis[:n_2]]
        if n_2 == 0 or row[-1] != extract_id:
            row.append(extract_id)
        rows.append(row)
    lengths = torch.tensor([len(row) for row in rows])
    filled = torch.full((len(rows), int(lengths.max())), pad_id)
    for number, row in enumerate(rows):
        filled[number, : len(row)] = torch.tensor(row)
    return filled, lengths


# %% wrong: equal pairs in one row
# Rows are kept in a dict by their texts, so a pair that occurs twice has one row, though there is a row for each pair.
# shows: pairs [([5, 6], [7]), ([5, 6], [7])]: two rows
def frame_pairs(pairs, start_id, delim_id, extract_id, pad_id, longest):
    rows = {}
    for premise, hypothesis in pairs:
        a, b = list(premise), list(hypothesis)
        while len(a) + len(b) > longest - 3:
            (b if len(b) >= len(a) else a).pop()
        rows[tuple(premise), tuple(hypothesis)] = [start_id, *a, delim_id, *b, extract_id]
    T = max(len(row) for row in rows.values())
    filled = [row + [pad_id] * (T - len(row)) for row in rows.values()]
    return torch.tensor(filled), torch.tensor([len(row) for row in rows.values()])
