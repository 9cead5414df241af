# %% right: Collects parameters in a set.
def freeze(model, kept):
    chosen, used = set(), set()
    for name, parameter in model.named_parameters(remove_duplicate=False):
        for entry in kept:
            if (name + ".").startswith(entry + "."):
                chosen.add(parameter)
                used.add(entry)
    if set(kept) - used:
        raise ValueError("some entry fits no parameter")
    for parameter in model.parameters():
        parameter.requires_grad_(parameter in chosen)
        if parameter not in chosen:
            parameter.grad = None
    return [parameter for parameter in model.parameters() if parameter in chosen]


# %% right: Lists all beginnings of a name, up to each dot.
def freeze(model, kept):
    found, entries = {}, set(kept)
    for name, parameter in model.named_parameters(remove_duplicate=False):
        parts = name.split(".")
        beginnings = {".".join(parts[: n + 1]) for n in range(len(parts))}
        for entry in beginnings & entries:
            found.setdefault(entry, []).append(parameter)
    if len(found) < len(entries):
        raise ValueError(f"{entries - found.keys()} fit nothing")
    trained = []
    chosen = {id(parameter) for some in found.values() for parameter in some}
    for parameter in model.parameters():
        if id(parameter) in chosen:
            parameter.requires_grad = True
            trained.append(parameter)
        else:
            parameter.requires_grad, parameter.grad = False, None
    return trained


# %% right: Compares with a regular expression for each entry.
def freeze(model, kept):
    import re

    named = list(model.named_parameters(remove_duplicate=False))
    chosen = []
    for entry in kept:
        pattern = re.compile(re.escape(entry) + r"(\..*)?")
        fitting = [parameter for name, parameter in named if pattern.fullmatch(name)]
        if len(fitting) == 0:
            raise ValueError(entry)
        chosen.extend(fitting)
    model.requires_grad_(False)
    for parameter in chosen:
        parameter.requires_grad_(True)
    for parameter in model.parameters():
        if not parameter.requires_grad:
            parameter.grad = None
    return [parameter for parameter in model.parameters() if parameter.requires_grad]


# %% right: Walks through modules, and knows the path of each.
def freeze(model, kept):
    fits = {entry: set() for entry in kept}
    for path, module in model.named_modules(remove_duplicate=False):
        for name, parameter in module.named_parameters(recurse=False, remove_duplicate=False):
            full = f"{path}.{name}" if path else name
            for entry, parameters in fits.items():
                if full == entry or full[: len(entry) + 1] == f"{entry}.":
                    parameters.add(parameter)
    if not all(fits.values()):
        raise ValueError("an entry fits no parameter")
    everything = set().union(*fits.values())
    for parameter in model.parameters():
        parameter.requires_grad = parameter in everything
        parameter.grad = parameter.grad if parameter in everything else None
    return list(filter(everything.__contains__, model.parameters()))


# %% right: Gives each parameter its list of names first.
def freeze(model, kept):
    names = {parameter: [] for parameter in model.parameters()}
    for name, parameter in model.named_parameters(remove_duplicate=False):
        names[parameter].append(name)

    def fits(entry, parameter):
        return any(n == entry or n.startswith(f"{entry}.") for n in names[parameter])

    for entry in kept:
        if not any(fits(entry, parameter) for parameter in names):
            raise ValueError(f"{entry} fits no parameter")
    trained = [p for p in names if any(fits(entry, p) for entry in kept)]
    for parameter in names:
        parameter.requires_grad_(any(parameter is p for p in trained))
        if not parameter.requires_grad:
            parameter.grad = None
    return trained


# %% right: Decides for each name, and undoes nothing.
def freeze(model, kept):
    decisions, left = {}, list(dict.fromkeys(kept))
    for name, parameter in model.named_parameters(remove_duplicate=False):
        fitting = [e for e in kept if name == e or name.removeprefix(e).startswith(".")]
        fitting = [e for e in fitting if name.startswith(e)]
        left = [entry for entry in left if entry not in fitting]
        decisions[id(parameter)] = decisions.get(id(parameter), False) or bool(fitting)
    if left:
        raise ValueError(f"nothing fits {left}")
    result = []
    for parameter in model.parameters():
        if decisions[id(parameter)]:
            result.append(parameter.requires_grad_())
        else:
            parameter.requires_grad_(False)
            parameter.grad = None
    return result


# %% right: all names
# all names of each parameter, by identity; then one pass over the parameters.


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


# %% right: walk
# its own recursive walk through the modules, prefixes of each name as sets.

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


# %% right: lookup
# checks by names, then freezes all and thaws by get_parameter or get_submodule.


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


# %% right: regular expression
# one escaped pattern for each entry, all names of a parameter in a list.

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


# %% wrong: second name of a module
# walks through named_children, which passes over a module that stands twice under one parent.
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


# %% wrong: modules count
# takes the name of a module without parameters for good.
# shows: a model with a dropout "drop", kept ["drop"]: no ValueError.


def freeze(model, kept):
    names = {name for name, _ in model.named_parameters(remove_duplicate=False)}
    names |= {name for name, _ in model.named_modules(remove_duplicate=False)}
    for entry in kept:
        if entry not in names:
            raise ValueError(entry)
    for parameter in model.parameters():
        parameter.requires_grad = False
    for name, parameter in model.named_parameters(remove_duplicate=False):
        if any((name + ".").startswith(entry + ".") for entry in kept):
            parameter.requires_grad = True
    for parameter in model.parameters():
        if not parameter.requires_grad:
            parameter.grad = None
    return [parameter for parameter in model.parameters() if parameter.requires_grad]


# %% wrong: order of kept
# returns the parameters in the order of the entries.
# shows: kept ["head", "body"]: the head's parameters come first.


def freeze(model, kept):
    named = list(model.named_parameters(remove_duplicate=False))
    trained = {}
    for entry in kept:
        found = [p for name, p in named if name == entry or name.startswith(entry + ".")]
        if not found:
            raise ValueError(entry)
        trained.update({id(p): p for p in found})
    for parameter in model.parameters():
        parameter.requires_grad = id(parameter) in trained
        if not parameter.requires_grad:
            parameter.grad = None
    return list(trained.values())


# %% wrong: tied twice
# makes the list from all names, so a tied parameter that fits by both is there twice.
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


# %% wrong: switches modes
# puts the model into training mode.
# shows: model.eval(), then freeze: model.training is True.


def freeze(model, kept):
    named = list(model.named_parameters(remove_duplicate=False))
    fits, missing = set(), set(kept)
    for name, parameter in named:
        for entry in kept:
            if name == entry or name.startswith(entry + "."):
                fits.add(id(parameter))
                missing.discard(entry)
    if missing:
        raise ValueError(missing)
    model.train()
    for parameter in model.parameters():
        parameter.requires_grad = id(parameter) in fits
        if id(parameter) not in fits:
            parameter.grad = None
    return [parameter for parameter in model.parameters() if parameter.requires_grad]


# %% wrong: anywhere in the name
# finds the entry as whole parts anywhere in the name.
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


# %% wrong: dot as any sign
# a regular expression in which the entry's dots stand for any sign.
# shows: ModuleDict with "a" (a Sequential) and "a_0" (a linear layer), kept ["a.0"]: a_0.weight trains, too.

import re


def freeze(model, kept):
    named = list(model.named_parameters(remove_duplicate=False))
    fits = set()
    for entry in kept:
        found = {id(p) for name, p in named if re.match(entry + r"(\.|$)", name)}
        if not found:
            raise ValueError(entry)
        fits |= found
    for parameter in model.parameters():
        parameter.requires_grad = id(parameter) in fits
        if id(parameter) not in fits:
            parameter.grad = None
    return [parameter for parameter in model.parameters() if parameter.requires_grad]


# %% wrong: old gradient stays
# touches only what trains now; what is frozen already keeps its old gradient.
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


# %% wrong: by address
# takes two parameters for one if their numbers begin at the same address.
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


# %% wrong: gradients go first
# clears gradients before it knows that all entries fit.
# shows: kept ["head", "bod"]: ValueError, but the gradients of the body are gone.


def freeze(model, kept):
    named = list(model.named_parameters(remove_duplicate=False))
    fits = {id(p) for n, p in named for e in kept if n == e or n.startswith(e + ".")}
    for parameter in model.parameters():
        if id(parameter) not in fits:
            parameter.grad = None
    for entry in kept:
        if not any(name == entry or name.startswith(entry + ".") for name, _ in named):
            raise ValueError(entry)
    for parameter in model.parameters():
        parameter.requires_grad = id(parameter) in fits
    return [parameter for parameter in model.parameters() if parameter.requires_grad]


# %% wrong: first names only
# reads the first name of each parameter only.
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


# %% wrong: contained entry
# gives each parameter to the first entry that it fits, and misses an entry that another one contains.
# shows: kept ["body", "body.0"]: ValueError.


def freeze(model, kept):
    named = list(model.named_parameters(remove_duplicate=False))
    fits, used = set(), set()
    for name, parameter in named:
        for entry in kept:
            if name == entry or name.startswith(entry + "."):
                fits.add(id(parameter))
                used.add(entry)
                break
    if len(used) != len(kept):
        raise ValueError(set(kept) - used)
    for parameter in model.parameters():
        parameter.requires_grad = id(parameter) in fits
        if id(parameter) not in fits:
            parameter.grad = None
    return [parameter for parameter in model.parameters() if parameter.requires_grad]
