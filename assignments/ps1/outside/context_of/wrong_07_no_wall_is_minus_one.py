# wrong: -1 stands for "no eos found", and then tokens[-1:] is the last token only.
# shows: texts without eos of two tokens and more, order 3 and more.

def context_of(tokens, order, eos):
    last = max((i for i, t in enumerate(tokens) if t == eos), default=-1)
    rest = tuple(tokens[last:])
    return rest[max(0, len(rest) - order + 1) :]
