# wrong: takes "contract" out of the caller's dict.
# shows: the dict after the call; a second call.

from torch.nn import functional as F


def feed_forward(x, weights):
    contract = weights.pop("contract")
    hidden = F.silu(x @ weights["expand"].T) * (x @ weights["gate"].T)
    return hidden @ contract.T
