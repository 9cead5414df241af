# %% right: Writes the right answer out with floats.
def judge_rms_norm(implementation):
    def by_hand(rows, weight, eps):
        return [
            [v / math.sqrt(sum(u * u for u in row) / len(row) + eps) * w for v, w in zip(row, weight)]
            for row in rows
        ]

    for factor, eps, dtype in ((1, 0.3, torch.float64), (5, 4.0, torch.float32), (200, 1.0, torch.half)):
        x, weight = (random_tensor(4, 5) * factor).to(dtype), random_tensor(5, seed=1).to(dtype)
        try:
            found = implementation(x, weight, eps)
        except Exception:
            return False
        due = torch.tensor(by_hand(x.tolist(), weight.tolist(), eps), dtype=torch.float64)
        if found.dtype != dtype or found.shape != due.shape:
            return False
        if not bool(((found.double() - due).abs() <= 0.01 * due.abs() + 0.002).all()):
            return False
    return True


# %% right: Holds it against torch's own.
def judge_rms_norm(implementation):
    try:
        for seed in range(4):
            x, weight = random_tensor(2, 3, 6, seed=seed) + 0.5, random_tensor(6, seed=seed + 9)
            right = F.rms_norm(x, (6,), weight, 0.7)
            if not torch.allclose(implementation(x, weight, 0.7), right, rtol=1e-3):
                return False
        half = implementation((x * 400).half(), weight.half(), 0.7)
        right = F.rms_norm(x * 400, (6,), weight, 0.7)
        return half.dtype == torch.half and torch.allclose(half.double(), right, rtol=0.01, atol=0.01)
    except Exception:
        return False


# %% right: Knows a few numbers, and draws none.
def judge_rms_norm(implementation):
    x = torch.tensor([[1.0, 7.0], [3.0, 4.0], [-2.0, 0.0]])
    weight = torch.tensor([2.0, -1.0])
    try:
        found = implementation(x, weight, 11.0)
        half = implementation((x * 100).half(), weight.half(), 11.0)
    except Exception:
        return False
    due = [[2 / 6, -7 / 6], [6 / 23.5**0.5, -4 / 23.5**0.5], [-4 / 13**0.5, 0.0]]
    wide = [[2 / 5, -7 / 5], [6 / 12.5**0.5, -4 / 12.5**0.5], [-4 / 2**0.5, 0.0]]
    return (
        torch.allclose(found, torch.tensor(due), rtol=1e-3)
        and half.dtype == torch.float16
        and torch.allclose(half.float(), torch.tensor(wide), rtol=5e-3)
    )


# %% right: Solves for what each row was divided by.
def judge_rms_norm(implementation):
    x, weight = random_tensor(5, 3) + 1, random_tensor(3, seed=4).abs() + 0.5
    try:
        for eps in (0.2, 2.0):
            roots = x * weight / implementation(x, weight, eps)
            due = (x.pow(2).sum(-1, keepdim=True) / 3 + eps) ** 0.5
            if not torch.allclose(roots, due.expand(5, 3), rtol=1e-3):
                return False
        half = implementation(x.half() * 250, weight.half(), 0.2)
    except Exception:
        return False
    size = (half.double() / weight).square().mean(-1)
    return half.dtype == torch.half and bool(((size - 1).abs() < 0.02).all())


# %% wrong: Asks only for a root mean square of 1.
# Weights are ones, eps is tiny.
# shows: an implementation whose weight is missing
def judge_rms_norm(implementation):
    try:
        found = implementation(random_tensor(3, 4), torch.ones(4, dtype=torch.float64), 1e-9)
        return torch.allclose(found.square().mean(-1), torch.ones(3, dtype=torch.float64))
    except Exception:
        return False


# %% wrong: Compares with layer norm.
# That subtracts the mean, which a right one does not.
# shows: any right implementation
def judge_rms_norm(implementation):
    x = random_tensor(3, 4)
    try:
        return torch.allclose(implementation(x, x[0], 0.1), F.layer_norm(x, (4,), x[0], None, 0.1))
    except Exception:
        return False


# %% wrong: Looks at the sign of each entry.
# shows: an implementation whose root is missing
def judge_rms_norm(implementation):
    x = random_tensor(3, 4)
    try:
        return torch.equal(implementation(x, x[0].abs(), 0.1).sign(), x.sign())
    except Exception:
        return False


# %% wrong: Believes it.
# shows: any wrong implementation
def judge_rms_norm(implementation):
    return True
