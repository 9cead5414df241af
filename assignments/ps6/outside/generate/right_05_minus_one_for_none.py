# right: an id that does not exist for None; arithmetic instead of where.

import torch


def generate(read, choose, prompt, n_tokens, stop_id):
    stop = -1 if stop_id is None else stop_id
    text, cache, alive = [prompt], None, torch.ones(len(prompt), dtype=torch.int64)
    for _ in range(n_tokens):
        logits, cache = read(text[-1], cache)
        ids = choose(logits[:, -1]) * alive + stop * (1 - alive)
        alive = alive * (ids != stop)
        text.append(ids[:, None])
        if alive.sum() == 0:
            break
    return torch.cat(text, dim=1) if len(text) > 1 else prompt.clone()
