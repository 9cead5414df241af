# wrong: divides the sums by the last of them, which moves every border.
# shows: probs (0.5, 0.4999), u = 0.50001: id 1 by the contract, 0 here.


def sample(probs, uniforms):
    sums = probs.double().cumsum(dim=1)
    sums = sums / sums[:, -1:]
    return (sums <= uniforms[:, None]).sum(dim=1)
