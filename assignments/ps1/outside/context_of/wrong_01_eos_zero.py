# wrong: "if eos" takes the eos id 0 for "no eos": nothing is a wall then.
# shows: eos = 0, and a 0 in the last tokens.

def context_of(tokens, order, eos):
    start = max(0, len(tokens) - (order - 1))
    if eos:
        for i in range(len(tokens) - 1, start - 1, -1):
            if tokens[i] == eos:
                start = i
                break
    return tuple(tokens[start:])
