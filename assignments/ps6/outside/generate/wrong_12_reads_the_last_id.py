# wrong: reads each new id at once, also the last one, about which nobody asks.
# shows: the number of calls of read: m + 1.

import torch


def generate(read, choose, prompt, n_tokens, stop_id):
    text = prompt.clone()
    if n_tokens == 0:
        return text
    finished = torch.zeros(len(prompt), dtype=torch.bool)
    logits, cache = read(prompt, None)
    for _ in range(n_tokens):
        ids = choose(logits[:, -1])
        if stop_id is not None:
            ids = torch.where(finished, stop_id, ids)
            finished = ids == stop_id
        text = torch.cat([text, ids[:, None]], dim=1)
        if finished.all():
            break
        logits, cache = read(ids[:, None], cache)
    return text
