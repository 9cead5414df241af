# wrong: where D = F the matrices are not transposed ("the shapes fit").
# shows: D = F with matrices that are not symmetric.

from torch.nn import functional as F


def feed_forward(x, weights):
    def through(y, w):
        return y @ w if w.shape[0] == w.shape[1] else y @ w.T

    return through(F.silu(through(x, weights["expand"])) * through(x, weights["gate"]), weights["contract"])
