# right: one escaped pattern for each entry, all names of a parameter in a list.

import re


def freeze(model, kept):
    all_names = {}
    for name, parameter in model.named_parameters(remove_duplicate=False):
        all_names.setdefault(parameter, []).append(name)
    patterns = [re.compile(re.escape(entry) + r"(\..+)?", re.DOTALL) for entry in kept]
    fits = {
        parameter: [bool(pattern.fullmatch(name)) for name in names for pattern in patterns]
        for parameter, names in all_names.items()
    }
    flat = [name for names in all_names.values() for name in names]
    if not all(any(pattern.fullmatch(name) for name in flat) for pattern in patterns):
        raise ValueError("an entry fits no parameter")
    trained = [parameter for parameter in model.parameters() if any(fits[parameter])]
    for parameter, found in fits.items():
        parameter.requires_grad = any(found)
        parameter.grad = parameter.grad if any(found) else None
    return trained
