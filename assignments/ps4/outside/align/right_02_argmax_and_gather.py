import torch


def align(weights, threshold):
    places = weights.argmax(dim=1)
    best = weights.gather(1, places.unsqueeze(1)).squeeze(1)
    rows = torch.arange(weights.shape[0])[best >= threshold]
    return list(zip(rows.tolist(), places[rows].tolist()))
