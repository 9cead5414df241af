# wrong: a mask of three axes whose first is as long as the batch is taken for one mask a text, also where it is one a head, B and H being equal; breaks "mask: bool, broadcasts to (B, H, T, T)"
# shows: B = H = 2 and a mask of shape (2, T, T) whose two parts differ
import torch
from torch.nn import functional as F


def multi_head_attention(x, weights, n_heads, mask=None):
    n_texts, n_places, width = x.shape
    if mask is not None and mask.dim() == 3 and mask.shape[0] == n_texts:
        mask = mask.unsqueeze(1)

    def heads(name):
        return (x @ weights[name].T).reshape(n_texts, n_places, n_heads, -1).transpose(1, 2)

    found = F.scaled_dot_product_attention(heads("query"), heads("key"), heads("value"), mask)
    return found.transpose(1, 2).reshape(n_texts, n_places, width) @ weights["output"].T
