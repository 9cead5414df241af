# right: keeps views of what choose returned, and puts them together at the end.

import torch


def generate(read, choose, prompt, n_tokens, stop_id):
    columns, cache = [prompt], None
    finished = torch.zeros(len(prompt), dtype=torch.bool)
    for _ in range(n_tokens):
        logits, cache = read(columns[-1], cache)
        ids = choose(logits[:, -1])
        if stop_id is not None:
            ids = torch.where(finished, stop_id, ids)
            finished = ids == stop_id
        columns.append(ids[:, None])
        if finished.all():
            break
    return torch.cat(columns, dim=1).clone()
