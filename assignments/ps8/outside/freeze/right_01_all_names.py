# right: all names of each parameter, by identity; then one pass over the parameters.


def freeze(model, kept):
    fitting, used = set(), set()
    for name, parameter in model.named_parameters(remove_duplicate=False):
        for entry in kept:
            if name == entry or name.startswith(entry + "."):
                fitting.add(id(parameter))
                used.add(entry)
    if used != set(kept):
        raise ValueError(f"fits nothing: {set(kept) - used}")
    trained = []
    for parameter in model.parameters():
        parameter.requires_grad = id(parameter) in fitting
        if parameter.requires_grad:
            trained.append(parameter)
        else:
            parameter.grad = None
    return trained
