import torch


def causal_mask(n_queries: int, n_keys: int) -> torch.Tensor:
    key_places = torch.arange(n_keys)
    query_places = torch.arange(n_queries) + (n_keys - n_queries)
    return key_places.unsqueeze(0) <= query_places.unsqueeze(1)
