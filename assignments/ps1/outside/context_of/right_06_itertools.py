import itertools


def context_of(tokens, order, eos):
    back = list(itertools.islice(reversed(tokens), order - 1))
    upto = list(itertools.takewhile(lambda t: t != eos, back))
    return tuple(reversed(back[: len(upto) + 1]))
