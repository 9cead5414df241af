# wrong: order 1 sees the last eos, where the text ends with it ("the last eos is part of the history").
# shows: order 1, tokens that end with eos.

def context_of(tokens, order, eos):
    seen = []
    for token in reversed(tokens):
        if token == eos:
            seen.append(token)
            break
        if len(seen) >= order - 1:
            break
        seen.append(token)
    return tuple(reversed(seen))[-max(order - 1, 1) :]
