# wrong: switches torch's gradients off, and leaves them off.
# shows: torch.is_grad_enabled() after the call.

import torch


def generate(read, choose, prompt, n_tokens, stop_id):
    torch.set_grad_enabled(False)
    text, new, cache = prompt.clone(), prompt, None
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
