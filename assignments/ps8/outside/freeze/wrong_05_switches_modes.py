# wrong: puts the model into training mode.
# shows: model.eval(), then freeze: model.training is True.


def freeze(model, kept):
    named = list(model.named_parameters(remove_duplicate=False))
    fits, missing = set(), set(kept)
    for name, parameter in named:
        for entry in kept:
            if name == entry or name.startswith(entry + "."):
                fits.add(id(parameter))
                missing.discard(entry)
    if missing:
        raise ValueError(missing)
    model.train()
    for parameter in model.parameters():
        parameter.requires_grad = id(parameter) in fits
        if id(parameter) not in fits:
            parameter.grad = None
    return [parameter for parameter in model.parameters() if parameter.requires_grad]
