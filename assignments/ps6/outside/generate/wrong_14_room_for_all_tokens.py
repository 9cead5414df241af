# wrong: makes room for n_tokens at once, and cuts at the end.
# shows: n_tokens = 10**12, the text stops after 4 ids: out of memory.

import torch


def generate(read, choose, prompt, n_tokens, stop_id):
    n = prompt.shape[1]
    text = torch.zeros(len(prompt), n + n_tokens, dtype=torch.int64)
    text[:, :n] = prompt
    finished = torch.zeros(len(prompt), dtype=torch.bool)
    start, end, cache = 0, n, None
    for _ in range(n_tokens):
        logits, cache = read(text[:, start:end], cache)
        ids = choose(logits[:, -1])
        if stop_id is not None:
            ids = torch.where(finished, stop_id, ids)
            finished = ids == stop_id
        text[:, end] = ids
        start, end = end, end + 1
        if finished.all():
            break
    return text[:, :end].clone()
