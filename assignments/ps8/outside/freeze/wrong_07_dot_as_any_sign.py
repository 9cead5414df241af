# wrong: a regular expression in which the entry's dots stand for any sign.
# shows: ModuleDict with "a" (a Sequential) and "a_0" (a linear layer), kept ["a.0"]: a_0.weight trains, too.

import re


def freeze(model, kept):
    named = list(model.named_parameters(remove_duplicate=False))
    fits = set()
    for entry in kept:
        found = {id(p) for name, p in named if re.match(entry + r"(\.|$)", name)}
        if not found:
            raise ValueError(entry)
        fits |= found
    for parameter in model.parameters():
        parameter.requires_grad = id(parameter) in fits
        if id(parameter) not in fits:
            parameter.grad = None
    return [parameter for parameter in model.parameters() if parameter.requires_grad]
