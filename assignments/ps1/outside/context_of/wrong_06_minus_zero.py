# wrong: tokens[-0:] is everything: at order 1 the whole text since the last eos.
# shows: order 1.

def context_of(tokens, order, eos):
    tokens = list(tokens)
    for i in range(len(tokens) - 1, -1, -1):
        if tokens[i] == eos:
            tokens = tokens[i:]
            break
    return tuple(tokens[-(order - 1) :])
