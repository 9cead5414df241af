# wrong: replaces nan and inf by large numbers and multiplies what does not count by 0; but the log probability may still be -inf.
# shows: logits (-inf, inf) in the padding, with the id 0 behind: the loss is nan

import torch


def causal_loss(logits, ids, lengths):
    if logits.dtype in (torch.float16, torch.bfloat16):
        logits = logits.float()
    counts = torch.arange(1, ids.shape[1]) < lengths[:, None]
    logits = torch.nan_to_num(logits[:, :-1])
    targets = ids[:, 1:].clamp(0, logits.shape[-1] - 1)
    log_probs = logits.log_softmax(dim=-1).gather(-1, targets[..., None])[..., 0]
    return -(log_probs * counts).sum() / counts.sum().clamp(min=1)
