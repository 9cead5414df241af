# wrong: F.layer_norm is not allowed.
# shows: by reading, or if the grader takes it away.

from torch.nn import functional as F


def layer_norm(x, weight, bias, eps):
    return F.layer_norm(x, (x.shape[-1],), weight, bias, eps)
