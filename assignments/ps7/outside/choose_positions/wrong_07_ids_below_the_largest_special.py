# wrong: takes all ids up to the largest special id for special.
# shows: special_ids (9,), id 2.

import torch


def choose_positions(ids, draws, rate, special_ids):
    return (draws < rate) & (ids > max(special_ids, default=-1))
