# %% right: Knows what comes out of one batch.
def judge_reply_targets(implementation):
    ids = torch.tensor([[4, 5, 6, 7, 9, 9, 9], [1, 2, 3, 4, 5, 6, 7], [8, 7, 6, 5, 4, 3, 2], [3, 3, 3, 3, 9, 9, 9]])
    prompts, lengths = torch.tensor([2, 1, 4, 4]), torch.tensor([5, 7, 6, 4])
    due = torch.full((4, 7), IGNORE)
    due[0, 1:4] = torch.tensor([6, 7, 9])
    due[1, :6] = torch.tensor([2, 3, 4, 5, 6, 7])
    due[2, 3:5] = torch.tensor([4, 3])
    try:
        found = implementation(ids, prompts, lengths)
        return found.shape == due.shape and bool((found == due).all())
    except Exception:
        return False


# %% right: Goes through a drawn batch, place by place.
def judge_reply_targets(implementation):
    ids = torch.randint(0, 5, (8, 6), generator=torch.Generator().manual_seed(2))
    lengths = torch.tensor([1, 2, 3, 4, 5, 6, 6, 5])
    prompts = torch.tensor([1, 1, 3, 2, 4, 1, 5, 1])
    try:
        found = implementation(ids, prompts, lengths).tolist()
        for row in range(8):
            for t in range(6):
                is_reply = prompts[row] <= t + 1 < lengths[row]
                if found[row][t] != (int(ids[row, t + 1]) if is_reply else IGNORE):
                    return False
        return len(found) == 8
    except Exception:
        return False


# %% wrong: Counts the targets.
# The right number of targets may stand at the wrong places.
# shows: an implementation whose mask is not shifted
def judge_reply_targets(implementation):
    ids = torch.arange(12).reshape(2, 6)
    try:
        found = implementation(ids, torch.tensor([2, 3]), torch.tensor([5, 5]))
        return (found != IGNORE).sum(dim=1).tolist() == [3, 2]
    except Exception:
        return False


# %% wrong: Tries a single row without padding.
# shows: an implementation in which padding is a target, too
def judge_reply_targets(implementation):
    try:
        found = implementation(torch.tensor([[4, 5, 6, 7]]), torch.tensor([2]), torch.tensor([4]))
        return found.tolist() == [[IGNORE, 6, 7, IGNORE]]
    except Exception:
        return False


# %% wrong: Asks whether it is the same function.
# What it is given is never the student's own.
# shows: any right implementation
def judge_reply_targets(implementation):
    return implementation is reply_targets


# %% wrong: Believes it.
# shows: any wrong implementation
def judge_reply_targets(implementation):
    return True


# %% wrong: padding's id in no reply
# The id of padding, 0, occurs in no reply, so whoever tells padding by its id is accepted.
# shows: an implementation that tells padding by its id
def judge_reply_targets(implementation):
    lengths = [(p, n) for n in range(1, 7) for p in range(1, n + 1)]
    ids = torch.arange(1, 7).repeat(len(lengths), 1)
    right = torch.full_like(ids, IGNORE)
    for row, (p, n) in enumerate(lengths):
        ids[row, n:] = 0
        right[row, p - 1 : n - 1] = ids[row, p:n]
    prompts, ends = (torch.tensor(part) for part in zip(*lengths))
    return torch.equal(implementation(ids, prompts, ends), right)
