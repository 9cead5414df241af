# wrong: the row x holds the first number of every embedding, then the second, ...: right only if E = 1.
# shows: E > 1 and W > 1 (all visible tests have E = 1).

import torch


def window_logits(ids, window, eos_id, weights):
    B, T = ids.shape
    padded = torch.cat([ids.new_full((B, window - 1), eos_id), ids], dim=1)
    looked_up = torch.stack([weights["embedding"][padded[:, k : k + T]] for k in range(window)], dim=-1)
    hidden = torch.tanh(looked_up.flatten(2) @ weights["hidden"].T + weights["hidden_bias"])
    return hidden @ weights["output"].T + weights["output_bias"]
