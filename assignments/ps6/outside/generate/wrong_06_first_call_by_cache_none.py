# wrong: takes a cache None for the first call; a read that returns None (it needs no cache) gets the whole text again.
# shows: read = lambda ids, cache: (logits, None): from the second call on it gets (B, T + i) ids.

import torch


def generate(read, choose, prompt, n_tokens, stop_id):
    text, cache = prompt.clone(), None
    finished = torch.zeros(len(prompt), dtype=torch.bool)
    for _ in range(n_tokens):
        logits, cache = read(text if cache is None else text[:, -1:], cache)
        ids = choose(logits[:, -1])
        if stop_id is not None:
            ids = torch.where(finished, stop_id, ids)
            finished = ids == stop_id
        text = torch.cat([text, ids[:, None]], dim=1)
        if finished.all():
            break
    return text
