# right: all windows as a view, then its rows.


def window_batch(ids, length, uniforms):
    windows = ids.unfold(0, length + 1, 1)
    rows = windows[uniforms.mul(windows.shape[0]).to(int)]
    return rows[:, :length], rows[:, 1:]
