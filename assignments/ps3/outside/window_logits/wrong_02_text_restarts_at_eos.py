# wrong: what stands before an eos IN the text is replaced by eos too; the contract replaces only what comes before the text.
# shows: eos_id within ids (not at place 0), with a window that reaches beyond it.

import torch


def window_logits(ids, window, eos_id, weights):
    B, T = ids.shape
    padded = torch.cat([ids.new_full((B, window - 1), eos_id), ids], dim=1)
    columns, blocked = [], torch.zeros(B, T, dtype=torch.bool)
    for k in range(window - 1, -1, -1):
        column = padded[:, k : k + T]
        columns.insert(0, torch.where(blocked, eos_id, column))
        blocked = blocked | (column == eos_id)
    x = torch.cat([weights["embedding"][c] for c in columns], dim=-1)
    hidden = torch.tanh(x @ weights["hidden"].T + weights["hidden_bias"])
    return hidden @ weights["output"].T + weights["output_bias"]
