# right: a while loop that collects columns; a set of finished rows.

import torch


def generate(read, choose, prompt, n_tokens, stop_id):
    columns, done, cache = [prompt], set(), None
    while len(columns) <= n_tokens and len(done) < len(prompt):
        logits, cache = read(columns[-1], cache)
        chosen = choose(logits[:, -1, :]).tolist()
        chosen = [stop_id if row in done else i for row, i in enumerate(chosen)]
        done |= {row for row, i in enumerate(chosen) if stop_id is not None and i == stop_id}
        columns.append(torch.tensor(chosen, dtype=torch.int64).reshape(-1, 1))
    return torch.cat(columns, dim=1).clone()
