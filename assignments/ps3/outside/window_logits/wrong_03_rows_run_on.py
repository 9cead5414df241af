# wrong: the batch is one long text: the first places of row 1 see the end of row 0.
# shows: B > 1 at the first W - 1 places of the second row (a test that looks at row 0 only does not see it).

import torch


def window_logits(ids, window, eos_id, weights):
    B, T = ids.shape
    flat = torch.cat([ids.new_full((window - 1,), eos_id), ids.flatten()])
    x = weights["embedding"][flat.unfold(0, window, 1)].flatten(1)
    hidden = torch.tanh(x @ weights["hidden"].T + weights["hidden_bias"])
    return (hidden @ weights["output"].T + weights["output_bias"]).reshape(B, T, -1)
