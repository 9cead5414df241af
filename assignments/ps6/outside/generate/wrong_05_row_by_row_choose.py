# wrong: choose is called for each row, not once for all.
# shows: the number of calls of choose, and the shape that it gets, with two rows.

import torch


def generate(read, choose, prompt, n_tokens, stop_id):
    text, new, cache = prompt.clone(), prompt, None
    finished = torch.zeros(len(prompt), dtype=torch.bool)
    for _ in range(n_tokens):
        logits, cache = read(new, cache)
        ids = torch.cat([choose(row[None]) for row in logits[:, -1]])
        if stop_id is not None:
            ids = torch.where(finished, stop_id, ids)
            finished = finished | (ids == stop_id)
        new = ids[:, None]
        text = torch.cat([text, new], dim=1)
        if finished.all():
            break
    return text
