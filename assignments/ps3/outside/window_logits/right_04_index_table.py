import torch


def window_logits(ids: torch.Tensor, window: int, eos_id: int, weights: dict) -> torch.Tensor:
    B, T = ids.shape
    place = torch.arange(T).view(T, 1) - torch.arange(window - 1, -1, -1)
    windows = torch.where(place >= 0, ids[:, place.clamp(min=0)], torch.full_like(ids[:, :1], eos_id)[:, :, None])
    x = weights["embedding"].index_select(0, windows.reshape(-1)).reshape(B, T, -1)
    h = torch.einsum("btx,rx->btr", x, weights["hidden"]).add(weights["hidden_bias"]).tanh()
    return torch.einsum("btr,vr->btv", h, weights["output"]) + weights["output_bias"]
