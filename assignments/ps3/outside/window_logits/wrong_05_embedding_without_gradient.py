# wrong: looks up in embedding.data: the embeddings never learn. (The text of this set never says that gradients must flow through this function; the workshop and task 7 need them.)
# shows: weights["embedding"].grad is None after backward.

import torch


def window_logits(ids, window, eos_id, weights):
    B, T = ids.shape
    padded = torch.cat([ids.new_full((B, window - 1), eos_id), ids], dim=1)
    table = weights["embedding"].data
    x = torch.cat([table[padded[:, k : k + T]] for k in range(window)], dim=-1)
    hidden = torch.tanh(x @ weights["hidden"].T + weights["hidden_bias"])
    return hidden @ weights["output"].T + weights["output_bias"]
