# wrong: cuts at the FIRST eos of the window, not at the last.
# shows: two eos among the last order - 1 tokens.

def context_of(tokens, order, eos):
    window = tuple(tokens)[max(0, len(tokens) - order + 1) :]
    return window[window.index(eos) :] if eos in window else window
