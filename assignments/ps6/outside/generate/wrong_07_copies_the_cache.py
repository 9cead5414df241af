# wrong: hands on a deep copy of the cache, for safety.
# shows: the object that read gets is not the one that it returned; fails for a cache that cannot be copied.

import copy

import torch


def generate(read, choose, prompt, n_tokens, stop_id):
    text, new, cache = prompt.clone(), prompt, None
    finished = torch.zeros(len(prompt), dtype=torch.bool)
    for _ in range(n_tokens):
        logits, cache = read(new, copy.deepcopy(cache))
        ids = choose(logits[:, -1])
        if stop_id is not None:
            ids = torch.where(finished, stop_id, ids)
            finished = ids == stop_id
        new = ids[:, None]
        text = torch.cat([text, new], dim=1)
        if finished.all():
            break
    return text
