# right: its own recursive walk through the modules, prefixes of each name as sets.

from itertools import accumulate


def freeze(model, kept):
    def walk(module, path):
        for name, parameter in module._parameters.items():
            if parameter is not None:
                yield parameter, [*path, name]
        for name, child in module._modules.items():
            if child is not None:
                yield from walk(child, [*path, name])

    wanted = frozenset(kept)
    missing, chosen = set(wanted), {}
    for parameter, path in walk(model, []):
        starts = set(accumulate(path, lambda a, b: a + "." + b))
        missing -= starts
        if starts & wanted:
            chosen[id(parameter)] = parameter
    if missing:
        raise ValueError(sorted(missing))
    for parameter in model.parameters():
        if id(parameter) in chosen:
            parameter.requires_grad_(True)
        else:
            parameter.requires_grad_(False)
            parameter.grad = None
    return [parameter for parameter in model.parameters() if parameter.requires_grad]
