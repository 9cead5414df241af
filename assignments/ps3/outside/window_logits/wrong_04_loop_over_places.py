# wrong: a loop over the places of the text, which the contract forbids (the numbers are right).
# shows: time for long texts; by reading.

import torch


def window_logits(ids, window, eos_id, weights):
    B, T = ids.shape
    padded = torch.cat([ids.new_full((B, window - 1), eos_id), ids], dim=1)
    out = []
    for t in range(T):
        x = weights["embedding"][padded[:, t : t + window]].reshape(B, -1)
        h = torch.tanh(x @ weights["hidden"].T + weights["hidden_bias"])
        out.append(h @ weights["output"].T + weights["output_bias"])
    return torch.stack(out, dim=1)
