# wrong: hands the same tensor to read each time, and writes the next ids into it.
# shows: a read whose cache is the list of the tensors that it got, put together later.

import torch


def generate(read, choose, prompt, n_tokens, stop_id):
    text, new, cache = prompt.clone(), prompt, None
    buffer = torch.empty(len(prompt), 1, dtype=torch.int64)
    finished = torch.zeros(len(prompt), dtype=torch.bool)
    for _ in range(n_tokens):
        logits, cache = read(new, cache)
        ids = choose(logits[:, -1])
        if stop_id is not None:
            ids = torch.where(finished, stop_id, ids)
            finished = ids == stop_id
        new = buffer.copy_(ids[:, None])
        text = torch.cat([text, new], dim=1)
        if finished.all():
            break
    return text
