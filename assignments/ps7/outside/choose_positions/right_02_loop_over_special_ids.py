# right: a loop over the special ids.


def choose_positions(ids, draws, rate, special_ids):
    chosen = draws < rate
    for special in special_ids:
        chosen = chosen & (ids != special)
    return chosen
