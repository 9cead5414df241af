# wrong: shifts by torch.roll and writes eos_id over the first k columns of ids ITSELF for k = 0... the caller's ids are changed.
# shows: ids after the call, with window >= 2.

import torch


def window_logits(ids, window, eos_id, weights):
    columns = [ids.clone()]
    for _ in range(window - 1):
        ids.copy_(torch.roll(ids, 1, dims=1))
        ids[:, 0] = eos_id
        columns.insert(0, ids.clone())
    x = torch.cat([weights["embedding"][c] for c in columns], dim=-1)
    hidden = torch.tanh(x @ weights["hidden"].T + weights["hidden_bias"])
    return hidden @ weights["output"].T + weights["output_bias"]
