# wrong: F.rms_norm is not allowed.
# shows: by reading.

from torch.nn import functional as F


def rms_norm(x, weight, eps):
    return F.rms_norm(x, (x.shape[-1],), weight, eps)
