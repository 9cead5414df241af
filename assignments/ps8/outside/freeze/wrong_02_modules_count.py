# wrong: takes the name of a module without parameters for good.
# shows: a model with a dropout "drop", kept ["drop"]: no ValueError.


def freeze(model, kept):
    names = {name for name, _ in model.named_parameters(remove_duplicate=False)}
    names |= {name for name, _ in model.named_modules(remove_duplicate=False)}
    for entry in kept:
        if entry not in names:
            raise ValueError(entry)
    for parameter in model.parameters():
        parameter.requires_grad = False
    for name, parameter in model.named_parameters(remove_duplicate=False):
        if any((name + ".").startswith(entry + ".") for entry in kept):
            parameter.requires_grad = True
    for parameter in model.parameters():
        if not parameter.requires_grad:
            parameter.grad = None
    return [parameter for parameter in model.parameters() if parameter.requires_grad]
