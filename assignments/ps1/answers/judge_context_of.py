# %% right: Knows what comes out of some calls.
def judge_context_of(implementation):
    known = [
        (["<eos>", "the", "cat"], 3, ("the", "cat")),
        (["ran", "<eos>", "the"], 3, ("<eos>", "the")),
        (["cat", "ran", "<eos>"], 3, ("<eos>",)),
        (["the", "cat"], 1, ()),
        (["the"], 4, ("the",)),
        ([], 2, ()),
        (["a", "<eos>", "b", "<eos>", "c"], 6, ("<eos>", "c")),
        (["a", "b", "c", "d"], 3, ("c", "d")),
    ]
    for tokens, order, due in known:
        try:
            if implementation(tokens, order, "<eos>") != due:
                return False
        except (ValueError, IndexError, TypeError):
            return False
    return True


# %% right: Draws texts, and holds them against a plain loop.
def judge_context_of(implementation):
    draw = random.Random(1)

    def plain(tokens, order, eos):
        seen = ()
        for token in tokens:
            seen = (token,) if token == eos else (*seen, token)
        return seen[len(seen) - order + 1 :] if len(seen) >= order else seen

    for _ in range(150):
        tokens = [draw.randrange(4) for _ in range(draw.randrange(8))]
        order = draw.randrange(1, 6)
        try:
            if implementation(tokens, order, 3) != plain(tokens, order, 3):
                return False
        except Exception:
            return False
    return True


# %% right: Asks for properties.
def judge_context_of(implementation):
    texts = [[], [1], [1, 2, 3, 4], [0, 1, 2], [1, 0, 2, 3], [1, 2, 0], [0, 1, 0, 2], [0, 0], [5, 6, 0, 7]]
    try:
        for text in texts:
            for order in (1, 2, 3, 4, 9):
                seen = implementation(text, order, 0)
                if type(seen) is not tuple or list(seen) != text[len(text) - len(seen) :]:
                    return False
                if len(seen) > order - 1 or 0 in seen[1:]:
                    return False
                whole = len(seen) in (order - 1, len(text))
                if not whole and (not seen or seen[0] != 0):
                    return False
    except Exception:
        return False
    return True


# %% wrong: Knows the first example only.
# One call without a wall in sight.
# shows: an implementation that looks into the document before
def judge_context_of(implementation):
    try:
        return implementation(["<eos>", "the", "cat"], 3, "<eos>") == ("the", "cat")
    except Exception:
        return False


# %% wrong: Always asks at order 2.
# Order 1 and longer histories are not tried.
# shows: a slice from minus zero
def judge_context_of(implementation):
    texts = [["a", "b"], ["a", "<eos>"], ["<eos>", "b"], []]
    try:
        return all(implementation(t, 2, "<eos>") == context_of(t, 2, "<eos>") for t in texts)
    except Exception:
        return False


# %% wrong: Wants a list.
# The contract says tuple.
# shows: any right implementation
def judge_context_of(implementation):
    return implementation([1, 2, 3], 3, 0) == [2, 3]


# %% wrong: Believes it.
# shows: any wrong implementation
def judge_context_of(implementation):
    return True
