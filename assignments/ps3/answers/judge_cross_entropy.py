# %% right: Holds it against torch's own.
def judge_cross_entropy(implementation):
    logits = random_tensor(7, 5)
    targets = torch.tensor([0, 1, 2, 3, 4, 2, 2])
    some = torch.tensor([0, -1, 2, -1, 4, 2, -1])
    try:
        for factor in (1.0, 2000.0):
            for ids, ignored in ((targets, -100), (targets, 2), (some, -1)):
                right = F.cross_entropy(logits * factor, ids, ignore_index=ignored)
                if not torch.allclose(implementation(logits * factor, ids, ignored), right):
                    return False
        return float(implementation(logits, torch.full((7,), 9), 9)) == 0.0
    except Exception:
        return False


# %% right: Writes the right answer out with floats.
def judge_cross_entropy(implementation):
    def by_hand(rows, ids, ignored):
        losses = []
        for row, i in zip(rows, ids):
            if i != ignored:
                top = max(row)
                losses.append(top + math.log(sum(math.exp(z - top) for z in row)) - row[i])
        return sum(losses) / len(losses) if losses else 0.0

    for factor in (1, 900):
        for ids, ignored in (([2, 0, 1], -100), ([2, 0, 2], 2), ([-7, 1, -7], -7), ([3, 3, 3], 3)):
            scores = random_tensor(3, 3, seed=5) * factor
            try:
                found = float(implementation(scores, torch.tensor(ids), ignored))
            except Exception:
                return False
            right = by_hand(scores.tolist(), ids, ignored)
            if not abs(found - right) <= 1e-6 * (1 + abs(right)):
                return False
    return True


# %% right: Knows a few numbers.
def judge_cross_entropy(implementation):
    ln3 = math.log(3)
    rows = torch.tensor([[0.0, ln3], [0.0, ln3], [5.0, 5.0]], dtype=torch.float64)
    far = torch.tensor([[0.0, 900.0], [-900.0, 0.0], [0.0, 0.0]], dtype=torch.float64)
    known = [
        (rows, [1, 0, -100], -100, 0.837),
        (rows, [1, 0, 1], -100, (0.2877 + 1.3863 + 0.6931) / 3),
        (rows, [1, 0, 1], 1, 1.3863),
        (rows, [4, 4, 4], 4, 0.0),
        (far, [0, 1, 7], 7, 450.0),
        (far, [1, 0, 0], -1, (900 + 0.6931) / 3),
    ]
    try:
        return all(
            abs(float(implementation(scores, torch.tensor(ids), ignored)) - due) < 1e-3
            for scores, ids, ignored, due in known
        )
    except Exception:
        return False


# %% right: Tests by properties.
def judge_cross_entropy(implementation):
    scores, ids = random_tensor(5, 4), torch.tensor([0, 3, 1, 1, 2])
    try:
        each = [float(implementation(scores[n : n + 1], ids[n : n + 1], -9)) for n in range(5)]
        split = [
            sum(math.exp(-float(implementation(scores[:1], torch.tensor([i]), -9))) for i in range(4)),
            sum(
                math.exp(-float(implementation(scores[:1] - 5e3, torch.tensor([i]), -9)))
                for i in range(4)
            ),
        ]
        together = float(implementation(scores, ids, -9))
        without = float(implementation(scores, ids, 1))
        gap = float(implementation(torch.tensor([[0.0, 800.0]]), torch.tensor([0]), -9))
        apart = torch.tensor([[0.0, 1.0], [-5e3, -5e3]], dtype=torch.float64)
        mean = float(implementation(apart, torch.tensor([1, 1]), -9))
        nothing = float(implementation(scores, torch.full((5,), -9), -9))
    except Exception:
        return False
    ratio = float(implementation(torch.zeros(1, 2), torch.tensor([0]), -9))
    claims = [
        all(abs(total - 1) < 1e-6 for total in split),
        abs(together - sum(each) / 5) < 1e-6,
        abs(without - (each[0] + each[1] + each[4]) / 3) < 1e-6,
        abs(gap - 800) < 1e-3,
        abs(mean - (math.log(1 + math.exp(-1)) + math.log(2)) / 2) < 1e-6,
        nothing == 0.0,
        abs(ratio - math.log(2)) < 1e-6,
    ]
    return all(claims)


# %% wrong: Asks whether the loss is positive.
# shows: a loss in bits
def judge_cross_entropy(implementation):
    try:
        return float(implementation(random_tensor(4, 3), torch.tensor([0, 1, 2, 0]), -100)) > 0
    except Exception:
        return False


# %% wrong: Knows the first example only.
# No row is ignored that has an id, and no score is large.
# shows: negative targets are ignored
def judge_cross_entropy(implementation):
    rows = torch.tensor([[0.0, math.log(3)]] * 3)
    try:
        return close(implementation(rows, torch.tensor([1, 0, -100]), -100), 0.8370)
    except Exception:
        return False


# %% wrong: Wants a Python float.
# The contract asks for a tensor.
# shows: any right implementation
def judge_cross_entropy(implementation):
    return type(implementation(torch.zeros(1, 2), torch.tensor([0]), -100)) is float


# %% wrong: Believes it.
# shows: any wrong implementation
def judge_cross_entropy(implementation):
    return True
