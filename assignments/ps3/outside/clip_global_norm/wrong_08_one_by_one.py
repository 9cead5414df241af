# wrong: clips each tensor as soon as its own part is known, with the norm summed so far.
# shows: two tensors and more.

def clip_global_norm(gradients, max_norm):
    square = 0.0
    for g in gradients:
        if g is None:
            continue
        square += g.pow(2).sum().item()
        if square**0.5 > max_norm:
            g *= max_norm / square**0.5
    return square**0.5
