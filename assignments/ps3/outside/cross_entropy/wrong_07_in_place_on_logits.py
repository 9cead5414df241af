# wrong: subtracts the largest score in the caller's logits if they need no gradient ("then nobody minds").
# shows: logits after the call, without requires_grad; no row ignored.

def cross_entropy(logits, targets, ignore_index):
    keep = targets != ignore_index
    if not keep.any():
        return logits.sum() * 0
    if logits.requires_grad:
        z = logits - logits.amax(1, keepdim=True).detach()
    else:
        z = logits.sub_(logits.amax(1, keepdim=True))
    surprise = z.exp().sum(1).log() - z.gather(1, targets.masked_fill(~keep, 0)[:, None])[:, 0]
    return surprise[keep].mean()
