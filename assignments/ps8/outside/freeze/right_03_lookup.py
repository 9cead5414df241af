# right: checks by names, then freezes all and thaws by get_parameter or get_submodule.


def freeze(model, kept):
    names = [name for name, _ in model.named_parameters(remove_duplicate=False)]
    for entry in kept:
        if not any((name + ".").startswith(entry + ".") for name in names):
            raise ValueError(entry)
    model.requires_grad_(False)
    for entry in kept:
        if entry in names:
            model.get_parameter(entry).requires_grad_(True)
        else:
            model.get_submodule(entry).requires_grad_(True)
    for parameter in model.parameters():
        if not parameter.requires_grad:
            parameter.grad = None
    return [parameter for parameter in model.parameters() if parameter.requires_grad]
