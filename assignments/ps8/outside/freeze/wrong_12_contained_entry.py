# wrong: gives each parameter to the first entry that it fits, and misses an entry that another one contains.
# shows: kept ["body", "body.0"]: ValueError.


def freeze(model, kept):
    named = list(model.named_parameters(remove_duplicate=False))
    fits, used = set(), set()
    for name, parameter in named:
        for entry in kept:
            if name == entry or name.startswith(entry + "."):
                fits.add(id(parameter))
                used.add(entry)
                break
    if len(used) != len(kept):
        raise ValueError(set(kept) - used)
    for parameter in model.parameters():
        parameter.requires_grad = id(parameter) in fits
        if id(parameter) not in fits:
            parameter.grad = None
    return [parameter for parameter in model.parameters() if parameter.requires_grad]
