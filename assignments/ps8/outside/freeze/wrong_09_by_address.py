# wrong: takes two parameters for one if their numbers begin at the same address.
# shows: two parameters without numbers (nn.Linear(0, 3).weight): both addresses are 0, so both train.


def freeze(model, kept):
    named = list(model.named_parameters(remove_duplicate=False))
    fits = set()
    for entry in kept:
        found = {p.data_ptr() for n, p in named if n == entry or n.startswith(entry + ".")}
        if not found:
            raise ValueError(entry)
        fits |= found
    for parameter in model.parameters():
        parameter.requires_grad = parameter.data_ptr() in fits
        if not parameter.requires_grad:
            parameter.grad = None
    return [parameter for parameter in model.parameters() if parameter.requires_grad]
