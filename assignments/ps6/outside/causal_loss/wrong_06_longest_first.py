# wrong: packs the rows, which needs the longest text first.
# shows: lengths = (2, 3): RuntimeError.

import torch
from torch.nn import functional as F
from torch.nn.utils.rnn import pack_padded_sequence


def causal_loss(logits, ids, lengths):
    x = logits if logits.dtype == torch.float64 else logits.float()
    some = lengths > 1
    if not some.any():
        return x[:, :0].sum()
    n = lengths[some] - 1
    rows = pack_padded_sequence(x[some, :-1], n, batch_first=True).data
    targets = pack_padded_sequence(ids[some, 1:], n, batch_first=True).data
    return F.cross_entropy(rows, targets)
