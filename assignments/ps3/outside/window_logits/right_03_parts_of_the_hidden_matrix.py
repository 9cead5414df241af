# each place of the window has its own part of the hidden matrix; what they give is added up

import torch


def window_logits(ids, window, eos_id, weights):
    B, T = ids.shape
    embedding = weights["embedding"]
    parts = weights["hidden"].split(embedding.shape[1], dim=1)
    total = weights["hidden_bias"]
    for age, part in enumerate(reversed(parts)):
        before = ids.new_full((B, min(age, T)), eos_id)
        column = torch.cat([before, ids[:, : T - min(age, T)]], dim=1)
        total = total + embedding[column] @ part.T
    return torch.tanh(total) @ weights["output"].T + weights["output_bias"]
