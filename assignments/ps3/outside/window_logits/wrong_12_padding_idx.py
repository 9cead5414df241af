# wrong: looks eos up with padding_idx=eos_id, which cuts the gradient of the embedding of eos; breaks "Gradients must flow through everything that you compute from floats"
# shows: the gradient of weights["embedding"][eos_id] is zeros, whatever the loss
import torch
from torch.nn import functional as F


def window_logits(ids, window, eos_id, weights):
    front = ids.new_full((ids.shape[0], window - 1), eos_id)
    padded = torch.cat([front, ids], dim=1).unfold(1, window, 1)
    x = F.embedding(padded, weights["embedding"], padding_idx=eos_id).flatten(2)
    hidden = torch.tanh(x @ weights["hidden"].T + weights["hidden_bias"])
    return hidden @ weights["output"].T + weights["output_bias"]
