from torch.nn import functional as F


def multi_head_attention(x, weights, n_heads, mask=None):
    B, T, D = x.shape

    def heads(name):
        return F.linear(x, weights[name]).reshape(B, T, n_heads, D // n_heads).transpose(1, 2)

    found = F.scaled_dot_product_attention(heads("query"), heads("key"), heads("value"), attn_mask=mask)
    return F.linear(found.transpose(1, 2).reshape(B, T, D), weights["output"])
