# %% right: Asks torch's own function where every query may look somewhere, and knows the rest.
def judge_attend(implementation):
    chance = torch.Generator().manual_seed(7)
    query, key = torch.randn(2, 2, 3, 4, generator=chance), torch.randn(2, 2, 5, 4, generator=chance)
    value = torch.randn(2, 2, 5, 3, generator=chance)
    mask = torch.rand(2, 1, 3, 5, generator=chance) < 0.5
    mask[..., 2] = True
    blind = torch.tensor([[True], [False], [True]])
    try:
        for one in (None, mask):
            for scale in (1.0, 500.0):
                found = implementation(query * scale, key, value, one)
                right = F.scaled_dot_product_attention(query * scale, key, value, one)
                if found.shape != right.shape or (found - right).abs().max() > 1e-4:
                    return False
        found = implementation(query, key, value, blind)
    except Exception:
        return False
    return bool((found[..., 1, :] == 0).all()) and not bool(found.isnan().any())


# %% right: Writes the right answer out with loops and floats.
def judge_attend(implementation):
    def by_hand(query, key, value, mask):
        rows = []
        for t, one in enumerate(query.tolist()):
            seen = [s for s in range(len(key)) if mask is None or mask[t, s]]
            scores = [sum(a * b for a, b in zip(one, key[s].tolist())) for s in seen]
            scores = [score / math.sqrt(len(one)) for score in scores]
            powers = [math.exp(score - max(scores)) for score in scores]
            row = [0.0] * value.shape[1]
            for power, s in zip(powers, seen):
                for m in range(value.shape[1]):
                    row[m] += power / sum(powers) * float(value[s, m])
            rows.append(row)
        return rows

    query, key = random_tensor(2, 2, 3, 4, seed=1), random_tensor(2, 2, 5, 4, seed=2)
    value = random_tensor(2, 2, 5, 2, seed=3)
    mask = random_tensor(2, 1, 3, 5, seed=4) < 0.3
    mask[1, 0, 0] = False
    try:
        for factor in (1, 800):
            for given in (mask, None):
                found = implementation(factor * query, key, value, given)
                for b in range(2):
                    for h in range(2):
                        part = None if given is None else given[b, 0]
                        rows = by_hand(factor * query[b, h], key[b, h], value[b, h], part)
                        if not close(found[b, h], rows):
                            return False
    except Exception:
        return False
    return True


# %% right: Tests by properties, without any right answer at hand.
def judge_attend(implementation):
    query, key = random_tensor(2, 2, 3, 4, seed=1), random_tensor(2, 2, 5, 4, seed=2)
    mask = random_tensor(2, 1, 3, 5, seed=4) < 0.5
    mask[..., 1] = True
    ones, seen = torch.eye(5, dtype=query.dtype).expand(2, 2, 5, 5), mask.expand(2, 2, 3, 5)
    try:
        weights = implementation(query, key, ones, mask)
        free = implementation(query, key, ones)
        nothing = implementation(query, key, ones, mask & torch.tensor([[1], [0], [1]]).bool())
        large = implementation(query * 1e4, key, ones)
        short = implementation(query, key, ones[..., :2])
        two = implementation(query[0, 0], key[0, 0], ones[0, 0])
    except Exception:
        return False
    logs = free.log()
    scores = (query @ key.mT) / 2
    differences = (logs[..., 1:] - logs[..., :1]) - (scores[..., 1:] - scores[..., :1])
    claims = [
        weights.shape == free.shape == (2, 2, 3, 5),
        (weights[~seen] == 0).all(),
        (weights.sum(-1) - 1).abs().max() < 1e-6,
        (weights - free * seen / (free * seen).sum(-1, keepdim=True)).abs().max() < 1e-6,
        (free.sum(-1) - 1).abs().max() < 1e-6,
        differences.abs().max() < 1e-6,
        (nothing[..., 1, :] == 0).all(),
        not large.isnan().any(),
        (short - free[..., :2]).abs().max() < 1e-6,
        (two - free[0, 0]).abs().max() < 1e-6,
    ]
    return all(bool(claim) for claim in claims)


# %% right: Looks through many small cases, text by text.
def judge_attend(implementation):
    for seed in range(6):
        query, key, value = (random_tensor(2, 2, n, w, seed=seed) for n, w in ((3, 4), (4, 4), (4, 1)))
        mask = random_tensor(2, 1, 3, 4, seed=seed) > 0.4
        try:
            for q in (query, 900 * query):
                if not close(implementation(q, key, value), attend(q, key, value)):
                    return False
                if not close(implementation(q, key, value, mask), attend(q, key, value, mask)):
                    return False
        except (RuntimeError, TypeError, IndexError, AttributeError):
            return False
    return True


# %% right: Lets what it calls raise.
def judge_attend(implementation):
    query, key = random_tensor(2, 3, 4, 5, seed=1), random_tensor(2, 3, 6, 5, seed=2)
    value = random_tensor(2, 3, 6, 2, seed=3)
    mask = random_tensor(2, 1, 4, 6, seed=4) < 0.3
    mask[0, :, 1], mask[0, :, 2] = False, True
    cases = (query, key, value), (query, key, value, mask), (query * 1000, key, value)
    return all(torch.allclose(implementation(*case), attend(*case)) for case in cases)


# %% wrong: Judges by the example in the notebook.
# Two axes, one small case: large scores, several texts and a query that sees nothing are not tried.
# shows: an implementation that counts axes from the left
def judge_attend(implementation):
    query = torch.zeros(2, 4)
    query[:, 0] = 2.0
    key = torch.zeros(3, 4)
    key[:, 0] = torch.tensor([1.0, 3.0, 4.0]).log()
    value = torch.tensor([[8.0], [0.0], [2.0]])
    mask = torch.tensor([[True, True, True], [True, True, False]])
    try:
        return close(implementation(query, key, value, mask), [[2.0], [2.0]])
    except Exception:
        return False


# %% wrong: Says that everything is right.
# It never calls the implementation.
# shows: any wrong implementation
def judge_attend(implementation):
    return True


# %% wrong: Says that everything is wrong.
# It never calls the implementation.
# shows: any right implementation
def judge_attend(implementation):
    return False


# %% wrong: Guesses.
# A fair coin, whose seed is the grader's.
# shows: most implementations
def judge_attend(implementation):
    import random

    return random.random() < 0.5


# %% wrong: Looks at the time that the implementation takes.
# Right ones need not be slow or fast.
# shows: a right one in a style of its own
def judge_attend(implementation):
    import time

    started = time.perf_counter()
    implementation(random_tensor(2, 3, 4, 5), random_tensor(2, 3, 6, 5), random_tensor(2, 3, 6, 2))
    return time.perf_counter() - started < 1e-9


# %% wrong: Reads the code instead of calling it.
# There is no code to read: what it is given only passes calls on.
# shows: any implementation
def judge_attend(implementation):
    import inspect

    return "softmax" in inspect.getsource(implementation)


# %% wrong: Asks for sums of weights only.
# Values of one: whatever sums to 1 passes.
# shows: an implementation whose scale is missing
def judge_attend(implementation):
    query, key = random_tensor(2, 3, 4, 5), random_tensor(2, 3, 6, 5)
    mask = random_tensor(2, 1, 4, 6) > 0.0
    try:
        found = implementation(query, key, torch.ones(2, 3, 6, 2, dtype=query.dtype), mask)
        return close(found, attend(query, key, torch.ones(2, 3, 6, 2, dtype=query.dtype), mask))
    except Exception:
        return False
