# wrong: reverses the caller's list and does not turn it back (and a tuple has no reverse).
# shows: tokens after the call; tuples.

def context_of(tokens, order, eos):
    tokens.reverse()
    seen = []
    for token in tokens[: order - 1]:
        seen.append(token)
        if token == eos:
            break
    return tuple(seen[::-1])
