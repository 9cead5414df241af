# right: special tokens get a draw that no rate is above.

import functools

import torch


def choose_positions(ids, draws, rate, special_ids):
    nowhere = torch.zeros_like(ids, dtype=torch.bool)
    special = functools.reduce(lambda mask, i: mask | (ids == i), special_ids, nowhere)
    return draws.masked_fill(special, 2.0).lt(rate)
