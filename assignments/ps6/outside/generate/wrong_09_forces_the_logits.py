# wrong: makes finished rows stop by their logits, in what read returned, and trusts choose to obey.
# shows: a choose that draws ids without looking at the logits; the logits that read returned, after the call.

import torch


def generate(read, choose, prompt, n_tokens, stop_id):
    text, new, cache = prompt.clone(), prompt, None
    finished = torch.zeros(len(prompt), dtype=torch.bool)
    for _ in range(n_tokens):
        logits, cache = read(new, cache)
        logits = logits[:, -1]
        if stop_id is not None:
            logits[finished] = -torch.inf
            logits[finished, stop_id] = 0.0
        ids = choose(logits)
        if stop_id is not None:
            finished = finished | (ids == stop_id)
        new = ids[:, None]
        text = torch.cat([text, new], dim=1)
        if finished.all():
            break
    return text
