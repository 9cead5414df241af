# wrong: a prompt that ends with stop_id counts as finished.
# shows: prompt = ((7, 9),), stop_id = 9: nothing, or only 9s, is written.

import torch


def generate(read, choose, prompt, n_tokens, stop_id):
    text, new, cache = prompt.clone(), prompt, None
    for _ in range(n_tokens):
        if stop_id is not None and (text[:, -1] == stop_id).all():
            break
        logits, cache = read(new, cache)
        ids = choose(logits[:, -1])
        if stop_id is not None:
            ids = torch.where(text[:, -1] == stop_id, stop_id, ids)
        new = ids[:, None]
        text = torch.cat([text, new], dim=1)
    return text
