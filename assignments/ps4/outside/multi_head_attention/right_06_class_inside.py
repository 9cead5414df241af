import torch


class _Heads:
    def __init__(self, weights, n_heads):
        self.weights, self.n_heads = weights, n_heads

    def project(self, x, name):
        y = x @ self.weights[name].transpose(0, 1)
        return torch.stack(y.chunk(self.n_heads, dim=-1), dim=1)

    def __call__(self, x, mask):
        q, k, v = map(lambda n: self.project(x, n), ("query", "key", "value"))
        scores = torch.matmul(q, k.mT).div(q.size(-1) ** 0.5)
        if mask is not None:
            scores = scores.masked_fill(mask == False, torch.finfo(scores.dtype).min)  # noqa: E712
        found = torch.matmul(torch.softmax(scores, -1), v)
        return torch.cat(found.unbind(1), dim=-1) @ self.weights["output"].transpose(0, 1)


def multi_head_attention(x, weights, n_heads, mask=None):
    return _Heads(weights, n_heads)(x, mask)
