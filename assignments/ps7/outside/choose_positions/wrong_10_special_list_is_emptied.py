# wrong: takes the special ids out of the caller's list one after the other.
# shows: special_ids after the call.

import torch


def choose_positions(ids, draws, rate, special_ids):
    chosen = draws < rate
    while special_ids:
        if isinstance(special_ids, tuple):
            special, special_ids = special_ids[0], special_ids[1:]
        else:
            special = special_ids.pop()
        chosen = chosen & (ids != special)
    return chosen
