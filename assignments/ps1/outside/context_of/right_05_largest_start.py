def context_of(tokens: list | tuple, order: int, eos) -> tuple:
    starts = [0, len(tokens) - order + 1]
    starts += [place for place, token in enumerate(tokens) if token == eos]
    return tuple(tokens[i] for i in range(max(starts), len(tokens))) if order > 1 else ()
