from collections import deque


def context_of(tokens, order, eos):
    seen = deque(maxlen=order - 1)
    for token in tokens:
        if token == eos:
            seen.clear()
        seen.append(token)
    return tuple(seen)
