# wrong: ignored rows are computed and multiplied by 0: inf or nan scores in them spoil the loss; a target of -100 is taken for id 0 meanwhile.
# ambiguous in part: that ignored rows may hold inf or nan is not said ("does not count").
# shows: an ignored row with inf or nan.

def cross_entropy(logits, targets, ignore_index):
    keep = (targets != ignore_index).to(logits.dtype)
    z = logits - logits.amax(dim=1, keepdim=True).detach()
    surprise = z.exp().sum(dim=1).log() - z.gather(1, targets.clamp(min=0).unsqueeze(1)).squeeze(1)
    return (surprise * keep).sum() / keep.sum().clamp(min=1)
