def context_of(tokens, order, eos):
    seen = []
    for token in reversed(tokens):
        if len(seen) == order - 1:
            break
        seen.append(token)
        if token == eos:
            break
    return tuple(seen[::-1])
