# wrong: touches only what trains now; what is frozen already keeps its old gradient.
# shows: a parameter with requires_grad False and a grad, not in kept: its grad is still there.


def freeze(model, kept):
    named = list(model.named_parameters(remove_duplicate=False))
    fits = set()
    for entry in kept:
        found = {id(p) for name, p in named if name == entry or name.startswith(entry + ".")}
        if not found:
            raise ValueError(entry)
        fits |= found
    trained = []
    for parameter in model.parameters():
        if id(parameter) in fits:
            parameter.requires_grad = True
            trained.append(parameter)
        elif parameter.requires_grad:
            parameter.requires_grad = False
            parameter.grad = None
    return trained
