# wrong: compares with "is": equal strings, tuples or large numbers that are other objects are no wall.
# shows: eos = 1000 or ("<eos>",) made afresh in tokens.

def context_of(tokens, order, eos):
    seen = []
    for token in reversed(tokens):
        if len(seen) == order - 1:
            break
        seen.append(token)
        if token is eos:
            break
    return tuple(reversed(seen))
