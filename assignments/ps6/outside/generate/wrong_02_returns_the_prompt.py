# wrong: with n_tokens 0 the prompt itself comes back: not new.
# shows: n_tokens = 0: the result shares memory with the prompt.

import torch


def generate(read, choose, prompt, n_tokens, stop_id):
    text, new, cache = prompt, prompt, None
    finished = torch.zeros(len(prompt), dtype=torch.bool)
    for _ in range(n_tokens):
        logits, cache = read(new, cache)
        ids = choose(logits[:, -1])
        if stop_id is not None:
            ids = torch.where(finished, stop_id, ids)
            finished = ids == stop_id
        new = ids[:, None]
        text = torch.cat([text, new], dim=1)
        if finished.all():
            break
    return text
