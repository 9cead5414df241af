# wrong: finds the entry as whole parts anywhere in the name.
# shows: ModuleDict with "a" and "old" (which has an "a"), kept ["a"]: old.a.weight trains, too.


def freeze(model, kept):
    named = list(model.named_parameters(remove_duplicate=False))
    fits = set()
    for entry in kept:
        found = {id(p) for name, p in named if f".{entry}." in f".{name}."}
        if not found:
            raise ValueError(entry)
        fits |= found
    for parameter in model.parameters():
        parameter.requires_grad = id(parameter) in fits
        if id(parameter) not in fits:
            parameter.grad = None
    return [parameter for parameter in model.parameters() if parameter.requires_grad]
