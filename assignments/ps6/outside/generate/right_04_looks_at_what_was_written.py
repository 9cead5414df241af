# right: who is finished is read from what was written.

import torch


def generate(read, choose, prompt, n_tokens, stop_id):
    written = prompt[:, :0].clone()
    cache = None
    for number in range(n_tokens):
        if stop_id is not None and number and bool((written[:, -1] == stop_id).all()):
            break
        out = read(prompt if number == 0 else written[:, -1:], cache)
        cache = out[1]
        ids = choose(out[0][:, out[0].shape[1] - 1])
        if stop_id is not None:
            ids = ids.masked_fill((written == stop_id).any(dim=1), stop_id)
        written = torch.cat([written, ids.reshape(-1, 1)], dim=1)
    return torch.cat([prompt, written], dim=1)
