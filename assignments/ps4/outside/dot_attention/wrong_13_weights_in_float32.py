# wrong: takes the softmax in float32 always; the context becomes float64 again by itself, but the weights do not; breaks "A result has the dtype of the tensors that you were given"
# shows: float64 tensors: weights.dtype is torch.float32
import torch


def dot_attention(query, keys, values):
    scores = (keys * query[:, None, :]).sum(dim=2)
    weights = torch.softmax(scores, dim=1, dtype=torch.float32)
    return scores, weights, (weights[:, :, None] * values).sum(dim=1)
