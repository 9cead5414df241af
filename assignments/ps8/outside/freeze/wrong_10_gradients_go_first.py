# wrong: clears gradients before it knows that all entries fit.
# shows: kept ["head", "bod"]: ValueError, but the gradients of the body are gone.


def freeze(model, kept):
    named = list(model.named_parameters(remove_duplicate=False))
    fits = {id(p) for n, p in named for e in kept if n == e or n.startswith(e + ".")}
    for parameter in model.parameters():
        if id(parameter) not in fits:
            parameter.grad = None
    for entry in kept:
        if not any(name == entry or name.startswith(entry + ".") for name, _ in named):
            raise ValueError(entry)
    for parameter in model.parameters():
        parameter.requires_grad = id(parameter) in fits
    return [parameter for parameter in model.parameters() if parameter.requires_grad]
