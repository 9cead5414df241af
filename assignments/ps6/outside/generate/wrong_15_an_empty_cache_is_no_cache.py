# wrong: keeps the old cache where the new one counts as false in Python, such as 0 or an empty tuple.
# shows: read returns 0 as its cache: the second call gets None

import torch


def generate(read, choose, prompt, n_tokens, stop_id):
    columns, cache, newest = [prompt.clone()], None, prompt
    finished = torch.zeros(len(prompt), dtype=torch.bool)
    for _ in range(n_tokens):
        logits, found = read(newest, cache)
        cache = found if isinstance(found, torch.Tensor) else found or cache
        added = choose(logits[:, -1])
        if stop_id is not None:
            added = torch.where(finished, stop_id, added)
            finished = finished | (added == stop_id)
        newest = added[:, None]
        columns.append(newest)
        if finished.all():
            break
    return torch.cat(columns, dim=1)
