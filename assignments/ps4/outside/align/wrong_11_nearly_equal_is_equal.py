# wrong: takes weights that are nearly equal to the largest for equal, and so the leftmost of these; breaks "s is the place of the largest weight in row t. If several are equally large: the leftmost."
# shows: align(torch.tensor([[0.499999, 0.5]]), 0.5) is [(0, 0)] in place of [(0, 1)]
import torch


def align(weights, threshold):
    pairs = []
    for t, row in enumerate(weights.detach()):
        best = row.max()
        if best >= threshold:
            pairs.append((t, int(torch.isclose(row, best).int().argmax())))
    return pairs
