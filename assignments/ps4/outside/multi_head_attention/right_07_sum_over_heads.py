# right: the matrices are cut by heads, and what each head has found is mixed at once by its own columns of the output matrix
import torch


def multi_head_attention(x, weights, n_heads, mask=None):
    width = x.shape[-1] // n_heads
    query, key, value = (
        torch.einsum("btd,hkd->bhtk", x, weights[name].unflatten(0, (n_heads, width)))
        for name in ("query", "key", "value")
    )
    scores = torch.einsum("bhtk,bhsk->bhts", query, key) / width**0.5
    if mask is not None:
        scores = scores.masked_fill(mask.logical_not(), float("-inf"))
    mix = weights["output"].unflatten(1, (n_heads, width))
    return torch.einsum("bhts,bhsk,dhk->btd", scores.softmax(dim=-1), value, mix)
