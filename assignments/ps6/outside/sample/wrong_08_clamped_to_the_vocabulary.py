# wrong: if u is above the sum, the last id of all, even with probability 0.
# shows: probs (0.5, 0.4999, 0, 0), u = 0.99995: id 3.


def sample(probs, uniforms):
    found = (probs.double().cumsum(dim=1) <= uniforms[:, None]).sum(dim=1)
    return found.clamp(max=probs.shape[1] - 1)
