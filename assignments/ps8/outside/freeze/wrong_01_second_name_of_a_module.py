# wrong: walks through named_children, which passes over a module that stands twice under one parent.
# shows: ModuleDict({"a": layer, "b": layer}), kept ["b"]: ValueError.


def freeze(model, kept):
    def walk(module, prefix):
        for name, parameter in module._parameters.items():
            if parameter is not None:
                yield prefix + name, parameter
        for name, child in module.named_children():
            yield from walk(child, prefix + name + ".")

    all_names = list(walk(model, ""))
    fits = set()
    for entry in kept:
        found = {id(p) for name, p in all_names if name == entry or name.startswith(entry + ".")}
        if not found:
            raise ValueError(entry)
        fits |= found
    for parameter in model.parameters():
        parameter.requires_grad = id(parameter) in fits
        if id(parameter) not in fits:
            parameter.grad = None
    return [parameter for parameter in model.parameters() if parameter.requires_grad]
