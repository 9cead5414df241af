# %% right: Knows what comes out of the table in the notebook.
def judge_keep_top_k(implementation):
    row = [2.0, 5.0, 1.0, 4.0, 4.0]
    due = {
        1: [-INF, 5.0, -INF, -INF, -INF],
        2: [-INF, 5.0, -INF, 4.0, 4.0],
        3: [-INF, 5.0, -INF, 4.0, 4.0],
        4: [2.0, 5.0, -INF, 4.0, 4.0],
        5: row,
        9: row,
    }
    other = [50.0, 40.0, 30.0, 20.0, 10.0]
    try:
        for k, first in due.items():
            second = [x if place < k else -INF for place, x in enumerate(other)]
            for dtype in (torch.float32, torch.float64):
                found = implementation(torch.tensor([row, other], dtype=dtype), k)
                if found.dtype != dtype or found.tolist() != [first, second]:
                    return False
    except Exception:
        return False
    return True


# %% right: Sorts each row in Python.
def judge_keep_top_k(implementation):
    for seed in range(5):
        logits = random_tensor(3, 5, seed=seed).mul(1.5).round().to(torch.float16)
        for k in (1, 2, 3, 4, 5, 7):
            rows = []
            for row in logits.tolist():
                least = sorted(row, reverse=True)[:k][-1]
                rows.append([x if x >= least else -INF for x in row])
            try:
                found = implementation(logits, k)
                if found.tolist() != rows or found.dtype != logits.dtype:
                    return False
            except Exception:
                return False
    return True


# %% right: Asks of each logit how many of its row are larger.
def judge_keep_top_k(implementation):
    rows = [[0.5, 0.5, -1.0, 2.0, 0.5, 1.0], [90.0, 10.0, 20.0, 30.0, 30.0, 70.0]]
    for dtype in (torch.float64, torch.bfloat16):
        logits = torch.tensor(rows, dtype=dtype)
        larger = (logits.unsqueeze(-2) > logits.unsqueeze(-1)).sum(dim=-1)
        for k in range(1, 9):
            due = logits.masked_fill(larger >= k, -INF)
            try:
                kept = implementation(logits.clone(), k)
                if kept.dtype != dtype or not torch.equal(kept, due):
                    return False
            except Exception:
                return False
    return True


# %% wrong: Counts how many stay.
# Equal logits are not tried, nor what stands elsewhere.
# shows: an implementation that keeps the smallest
def judge_keep_top_k(implementation):
    logits = torch.arange(12.0).reshape(2, 6)
    try:
        return all(((implementation(logits, k) > -INF).sum(-1) == k).all().item() for k in (1, 2, 6))
    except Exception:
        return False


# %% wrong: Asks that exactly k stay, also where some are equal.
# A right one keeps all that equal the smallest.
# shows: any right implementation
def judge_keep_top_k(implementation):
    try:
        return int((implementation(torch.tensor([2.0, 2.0, 1.0]), 1) > -INF).sum()) == 1
    except Exception:
        return False


# %% wrong: Returns a tensor instead of a bool.
# A tensor that holds True is no bool.
# shows: any implementation
def judge_keep_top_k(implementation):
    logits = random_tensor(2, 4)
    return (implementation(logits, 2) == keep_top_k(logits, 2)).all()


# %% wrong: Believes it.
# shows: any wrong implementation
def judge_keep_top_k(implementation):
    return True
