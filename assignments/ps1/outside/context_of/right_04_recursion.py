def context_of(tokens, order, eos):
    if order <= 1 or len(tokens) == 0:
        return ()
    if tokens[-1] == eos:
        return (tokens[-1],)
    if order > 200:  # not so deep
        last = max((i for i, t in enumerate(tokens) if t == eos), default=0)
        return tuple(tokens[max(last, len(tokens) - order + 1) :])
    return (*context_of(tokens[-order:-1], order - 1, eos), tokens[-1])
