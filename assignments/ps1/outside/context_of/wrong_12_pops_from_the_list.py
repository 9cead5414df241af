# wrong: shortens the caller's own list until the rest is the answer; breaks "Do not change your arguments. The caller still needs them."
# shows: tokens = [1, 2, 3]; context_of(tokens, 2, 0) leaves tokens == [3]
def context_of(tokens, order, eos):
    seen = tokens if isinstance(tokens, list) else list(tokens)
    while len(seen) > order - 1 or eos in seen[1:]:
        seen.pop(0)
    return tuple(seen)
