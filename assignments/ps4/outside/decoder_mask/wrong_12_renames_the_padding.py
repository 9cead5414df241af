# wrong: writes -1 over the padding in the caller's own ids; breaks "Do not change your arguments. The caller still needs them."
# shows: ids = torch.tensor([[5, 9]]); decoder_mask(ids, 9) leaves [[5, -1]]
import torch


def decoder_mask(ids, pad_id):
    ids[ids == pad_id] = -1
    n = ids.shape[1]
    causal = torch.ones(n, n, dtype=torch.bool).tril()
    return causal & (ids >= 0)[:, None, None, :]
