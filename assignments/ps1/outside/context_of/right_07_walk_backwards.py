# right: walks backwards with islice, stops behind the first eos that it meets, and turns the deque round
from collections import deque
from itertools import islice


def context_of(tokens, order, eos):
    seen = deque()
    for token in islice(reversed(tokens), order - 1):
        seen.appendleft(token)
        if token == eos:
            break
    return tuple(seen)
