def context_of(tokens, order, eos):
    window = tuple(tokens[max(0, len(tokens) - (order - 1)) :])
    while eos in window[1:]:
        window = window[window.index(eos, 1) :]
    return window
