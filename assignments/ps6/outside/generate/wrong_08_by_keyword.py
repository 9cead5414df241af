# wrong: calls read and choose with keywords.
# shows: read = lambda a, b: ...; choose = torch functions or lambdas with other names.

import torch


def generate(read, choose, prompt, n_tokens, stop_id):
    text, new, cache = prompt.clone(), prompt, None
    finished = torch.zeros(len(prompt), dtype=torch.bool)
    for _ in range(n_tokens):
        logits, cache = read(ids=new, cache=cache)
        ids = choose(logits=logits[:, -1])
        if stop_id is not None:
            ids = torch.where(finished, stop_id, ids)
            finished = ids == stop_id
        new = ids[:, None]
        text = torch.cat([text, new], dim=1)
        if finished.all():
            break
    return text
