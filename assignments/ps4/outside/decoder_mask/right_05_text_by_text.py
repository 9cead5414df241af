import torch


def decoder_mask(ids: torch.Tensor, pad_id: int) -> torch.Tensor:
    T = ids.size(1)
    triangle = torch.tril(torch.full((T, T), True))

    def of_one(text):
        return torch.where(text.eq(pad_id), torch.tensor(False), triangle)

    return torch.stack([of_one(text) for text in ids]).unsqueeze(1)
