# wrong: choose gets the logits of the unfinished rows only.
# shows: two rows, one finished before the other: choose gets (1, V). With random numbers for each row, others are drawn.

import torch


def generate(read, choose, prompt, n_tokens, stop_id):
    text, new, cache = prompt.clone(), prompt, None
    finished = torch.zeros(len(prompt), dtype=torch.bool)
    for _ in range(n_tokens):
        logits, cache = read(new, cache)
        if stop_id is None:
            ids = choose(logits[:, -1])
        else:
            ids = torch.full((len(prompt),), stop_id)
            ids[~finished] = choose(logits[:, -1][~finished])
            finished = ids == stop_id
        new = ids[:, None]
        text = torch.cat([text, new], dim=1)
        if finished.all():
            break
    return text
