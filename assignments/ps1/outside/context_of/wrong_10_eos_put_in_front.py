# wrong: a short text without eos gets one in front.
# shows: ["the"] at order 3: must be ("the",).

def context_of(tokens, order, eos):
    tokens = tuple(tokens)
    if eos not in tokens and len(tokens) < order - 1:
        tokens = (eos, *tokens)
    window = tokens[max(0, len(tokens) - order + 1) :]
    while eos in window[1:]:
        window = window[1:]
    return window
