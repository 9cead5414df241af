from torch.nn import functional as F


def window_logits(ids, window, eos_id, weights):
    windows = F.pad(ids, (window - 1, 0), value=eos_id).unfold(1, window, 1)
    x = F.embedding(windows, weights["embedding"]).flatten(start_dim=2)
    return F.linear(F.linear(x, weights["hidden"], weights["hidden_bias"]).tanh(), weights["output"], weights["output_bias"])
