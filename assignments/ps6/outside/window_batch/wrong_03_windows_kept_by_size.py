# wrong: keeps all windows of a stream by (N, length), so another stream of the same size gets the old ids.
# shows: two calls, with arange(8) and then with arange(8) + 100, length 3.

_windows = {}


def window_batch(ids, length, uniforms):
    key = len(ids), length
    if key not in _windows:
        _windows[key] = ids.unfold(0, length + 1, 1).clone()
    rows = _windows[key][(uniforms * (len(ids) - length)).long()]
    return rows[:, :-1], rows[:, 1:]
