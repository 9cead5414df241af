# wrong: eos itself is left out.
# shows: eos among the last order - 1 tokens.

def context_of(tokens, order, eos):
    seen = []
    for token in reversed(tokens):
        if token == eos or len(seen) == order - 1:
            break
        seen.append(token)
    return tuple(reversed(seen))
