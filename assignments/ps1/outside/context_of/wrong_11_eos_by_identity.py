# wrong: looks for eos with `is`, and so misses an equal token that is another object; breaks "the last order - 1 tokens, but none from before the last eos"
# shows: eos = tuple([0, 1]); context_of([5, tuple([0, 1]), 6], 4, eos) keeps the 5
def context_of(tokens, order, eos):
    start = max(0, len(tokens) - (order - 1))
    for i in range(len(tokens) - 1, start, -1):
        if tokens[i] is eos:
            start = i
            break
    return tuple(tokens[start:])
