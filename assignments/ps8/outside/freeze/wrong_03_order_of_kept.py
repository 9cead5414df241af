# wrong: returns the parameters in the order of the entries.
# shows: kept ["head", "body"]: the head's parameters come first.


def freeze(model, kept):
    named = list(model.named_parameters(remove_duplicate=False))
    trained = {}
    for entry in kept:
        found = [p for name, p in named if name == entry or name.startswith(entry + ".")]
        if not found:
            raise ValueError(entry)
        trained.update({id(p): p for p in found})
    for parameter in model.parameters():
        parameter.requires_grad = id(parameter) in trained
        if not parameter.requires_grad:
            parameter.grad = None
    return list(trained.values())
