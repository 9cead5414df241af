# wrong: reads the first name of each parameter only.
# shows: a tied head, kept ["head"]: the tied weight is frozen.


def freeze(model, kept):
    for entry in kept:
        names = [name for name, _ in model.named_parameters()]
        if not any(name == entry or name.startswith(entry + ".") for name in names):
            raise ValueError(entry)
    trained = []
    for name, parameter in model.named_parameters():
        parameter.requires_grad = any(name == e or name.startswith(e + ".") for e in kept)
        if parameter.requires_grad:
            trained.append(parameter)
        else:
            parameter.grad = None
    return trained
