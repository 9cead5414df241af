# wrong: makes the list from all names, so a tied parameter that fits by both is there twice.
# shows: a tied model, kept ["body", "head"]; the list has body.0.weight twice.


def freeze(model, kept):
    def fits(name):
        return any(name == entry or name.startswith(entry + ".") for entry in kept)

    named = list(model.named_parameters(remove_duplicate=False))
    for entry in kept:
        if not any(name == entry or name.startswith(entry + ".") for name, _ in named):
            raise ValueError(entry)
    trained = [parameter for name, parameter in named if fits(name)]
    ids = {id(parameter) for parameter in trained}
    for parameter in model.parameters():
        parameter.requires_grad = id(parameter) in ids
        if id(parameter) not in ids:
            parameter.grad = None
    return trained
