# right: a generator yields the columns.

import torch


def generate(read, choose, prompt, n_tokens, stop_id):
    def columns():
        yield prompt
        cache, new = None, prompt
        alive = torch.ones(prompt.shape[0], dtype=torch.bool)
        for _ in range(n_tokens):
            if not alive.any():
                return
            logits, cache = read(new, cache)
            new = choose(logits.select(1, -1)).clone().unsqueeze(1)
            if stop_id is not None:
                new[~alive] = stop_id
                alive &= new[:, 0] != stop_id
            yield new

    return torch.hstack(list(columns())).clone()
