import torch


def window_logits(ids, window, eos_id, weights):
    B, T = ids.shape
    padded = torch.cat([ids.new_full((B, window - 1), eos_id), ids], dim=1)
    x = torch.cat([weights["embedding"][padded[:, k : k + T]] for k in range(window)], dim=-1)
    hidden = torch.tanh(x @ weights["hidden"].T + weights["hidden_bias"])
    return hidden @ weights["output"].T + weights["output_bias"]
