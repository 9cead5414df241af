"""The task "what may move"."""

from collections.abc import Collection
from typing import Any

from torch import nn

from autograder.authoring.checks import (
    Case,
    Check,
    Inputs,
    Judge,
    Part,
    changes_nothing_else,
    mistake,
    mistakes,
)
from autograder.authoring.compare import saying

from ..token_ids import Generator

# -- inputs ----------------------------------------------------------------------------------------

# A model is a list of modules and parameters, each at its place. "same" is one that stands
# elsewhere already: a tied parameter, or a module with two names.
PLAIN = [
    ("embedding", "table", (7, 3)),
    ("blocks.0.query", "linear", (3, 3)),
    ("blocks.0.norm", "norm", (3,)),
    ("blocks.1.query", "linear", (3, 3)),
    ("blocks.1.norm", "norm", (3,)),
    ("blocks.1.drop", "dropout", ()),
    ("head", "linear", (3, 2)),
]
ALIKE = [
    ("blocks.1.norm", "norm", (2,)),
    ("blocks.10.norm", "norm", (2,)),
    ("old.blocks.1.norm", "norm", (2,)),
    ("blocks.1.normal.weight", "parameter", (3,)),
    ("head", "linear", (2, 2)),
    ("head_of_old", "linear", (2, 1)),
    ("my.head", "linear", (2, 1)),
    ("blocks_1", "linear", (2, 2)),
    ("scale", "parameter", (1,)),
    ("empty", "parameter", (0,)),
    ("nothing", "parameter", (0, 2)),
]
TIED = [
    ("embedding", "table", (4, 3)),
    ("body.0", "linear", (3, 3)),
    ("body.1", "linear", (3, 3)),
    ("body.1.weight", "same", "body.0.weight"),
    ("head.bias", "parameter", (4,)),
    ("head.weight", "same", "embedding.weight"),
    ("encoder", "same", "body.1"),
    ("body.2", "same", "body.1"),
    ("state", "buffer", (2,)),
]


def _case(model: list[Any], kept: Collection[str], *, still: Collection[str] = ()) -> Case:
    """Make a case; `still` are the parameters that are frozen at first, by their ends."""
    name = {id(PLAIN): "plain", id(ALIKE): "like names", id(TIED): "tied"}[id(model)]
    frozen = f", {len(still)} frozen before" if still else ""
    label = f"{name}: keep {', '.join(sorted(kept)) or 'nothing'} ({type(kept).__name__}){frozen}"
    return Case(label, {"model": model, "kept": kept, "still": list(still)})


def draw_values(rng: Generator) -> list[Case]:
    """Modules and parameters of a model without difficult names."""
    return [
        _case(PLAIN, ["head"]),
        _case(PLAIN, ("head", "blocks.1")),
        _case(PLAIN, {"blocks"}),
        _case(PLAIN, ["head.bias", "embedding.weight", "blocks.0.norm"]),
        _case(PLAIN, ["blocks.1.query", "head.bias"]),
        _case(PLAIN, ["embedding", "blocks", "head"]),
        _case(PLAIN, []),
        _case(PLAIN, set()),
    ]


def draw_again(rng: Generator) -> list[Case]:
    """Some parameters are frozen at first, among them some that are to train."""
    ends = ["query.weight", "head.weight", "norm.bias"]
    return [
        _case(PLAIN, ["head"], still=["weight", "bias"]),
        _case(PLAIN, ["blocks.1", "head"], still=ends),
        _case(PLAIN, {"embedding"}, still=ends),
        _case(PLAIN, [], still=ends),
    ]


def draw_names(rng: Generator) -> list[Case]:
    """Names that are the beginning, the end or the middle of others."""
    return [
        _case(ALIKE, ["blocks.1"]),
        _case(ALIKE, ["head"]),
        _case(ALIKE, ("blocks.1.norm", "my")),
        _case(ALIKE, {"scale", "head.weight"}),
        _case(ALIKE, ["empty"]),
        _case(ALIKE, ["blocks.1.normal", "my.head.bias"]),
        _case(ALIKE, ["blocks", "blocks.10", "head", "head"]),
    ]


def draw_tied(rng: Generator) -> list[Case]:
    """Parameters with two names, by the first, the second, or both; modules with two."""
    return [
        _case(TIED, ["embedding"]),
        _case(TIED, ["head"]),
        _case(TIED, ["head", "embedding"]),
        _case(TIED, ["body.1"]),
        _case(TIED, ["encoder"]),
        _case(TIED, ["body.2"]),
        _case(TIED, {"encoder.bias", "head.bias"}),
        _case(TIED, ("body.0.bias", "encoder.weight")),
    ]


def draw_unknown(rng: Generator) -> list[Case]:
    """Entries that fit no parameter, alone and beside others that do."""
    return [
        _case(PLAIN, ["hed"]),
        _case(PLAIN, ["head", "blocks.2"]),
        _case(PLAIN, ("blocks.1", "query"), still=["weight"]),
        _case(PLAIN, ["head", "blocks.1.drop"]),
        _case(PLAIN, {"head.weight.data"}),
        _case(PLAIN, ["lock", "head"]),
        _case(PLAIN, ["Head", "embedding"], still=["bias"]),
        _case(ALIKE, ["blocks.1.no", "head"]),
        _case(TIED, ["state", "head"]),
    ]


def draw_all(rng: Generator) -> list[Case]:
    """Take cases of all kinds that are right."""
    return [*draw_values(rng)[:3], *draw_again(rng)[:2], *draw_names(rng)[:2], *draw_tied(rng)[:3]]


# -- probes ----------------------------------------------------------------------------------------


def freeze_and_look(implementation, inputs):
    """Return all that can be seen of a model afterwards, as `look` says."""
    import copy

    import torch
    from torch import nn

    model = nn.Module()

    def find(path):
        place = model
        for name in path.split(".") if path else ():
            place = getattr(place, name)
        return place

    def put(path, thing):
        *above, name = path.split(".")
        place = model
        for part in above:
            if not hasattr(place, part):
                place.add_module(part, nn.Module())
            place = getattr(place, part)
        if isinstance(thing, nn.Parameter):
            place.register_parameter(name, thing)
        elif isinstance(thing, nn.Module):
            place.add_module(name, thing)
        else:
            place.register_buffer(name, thing)

    with torch.random.fork_rng(devices=[]):  # the answer's own draws are looked at
        torch.manual_seed(1)
        makers = {
            "linear": nn.Linear,
            "table": nn.Embedding,
            "norm": nn.LayerNorm,
            "dropout": nn.Dropout,
            "parameter": lambda *shape: nn.Parameter(torch.ones(shape)),
            "buffer": lambda *shape: torch.ones(shape),
        }
        for path, kind, detail in inputs["model"]:
            put(path, find(detail) if kind == "same" else makers[kind](*detail))
    for number, parameter in enumerate(model.parameters()):
        parameter.grad = None if number % 4 == 3 else torch.full_like(parameter, number + 1.0)
    first_names = {id(parameter): name for name, parameter in model.named_parameters()}
    named = list(model.named_parameters(remove_duplicate=False))
    for name, parameter in named:
        if name.endswith(tuple(inputs["still"])):
            parameter.requires_grad_(False)
    for number, module in enumerate(model.modules()):
        module.training = number % 3 != 0
    before = {name: parameter.detach().clone() for name, parameter in named}
    modes = [module.training for module in model.modules()]
    gradients = {name: None if p.grad is None else p.grad.clone() for name, p in named}
    kept = copy.copy(inputs["kept"])

    raised, result = False, None
    try:
        result = implementation(model, kept)
    except ValueError:
        raised = True
    except Exception:
        if "rest" not in inputs["look"]:
            raise  # what else changes is looked at whether there is a result or not
    after = dict(model.named_parameters(remove_duplicate=False))

    frozen = [p for p in after.values() if not p.requires_grad and p.numel()]

    def same_gradient(name):
        one, other = gradients[name], after[name].grad
        return one is other if one is None or other is None else torch.equal(one, other)

    everything = {
        "raised": raised,
        "trains": {name: after[name].requires_grad for name in before if name in after},
        "returned": None
        if not isinstance(result, list)
        else [first_names.get(id(parameter), type(parameter).__name__) for parameter in result],
        "no gradient": [
            any(p.grad is not None and bool(p.grad.any()) == is_old for p in frozen)
            for is_old in (True, False)
        ],
        "all gradients": [same_gradient(name) for name in before],
        "rest": (
            before.keys() == after.keys(),
            all(id(after[name]) == id(parameter) for name, parameter in named),
            all(torch.equal(after[name], value) for name, value in before.items()),
            all(same_gradient(name) for name in before if after[name].requires_grad),
            modes == [module.training for module in model.modules()],
            type(kept) is type(inputs["kept"]) and kept == inputs["kept"],
        ),
    }
    return tuple(everything.get(name) for name in inputs["look"])


# -- the reference version -------------------------------------------------------------------------


def freeze(model: nn.Module, kept: Collection[str]) -> list[nn.Parameter]:
    """Look every entry up by its path, as the package's `add_lora` does by their ends."""
    fitting: set[nn.Parameter] = set()
    for entry in kept:
        names = model.named_parameters(remove_duplicate=False)
        found = [p for name, p in names if name == entry or name.startswith(f"{entry}.")]
        if not found:
            raise ValueError(f"kept has {entry!r}; no parameter of the model fits it")
        fitting.update(found)
    model.requires_grad_(False)
    for parameter in model.parameters():
        parameter.requires_grad_(parameter in fitting)
        if parameter not in fitting:
            parameter.grad = None
    return [parameter for parameter in model.parameters() if parameter in fitting]


# -- parts -----------------------------------------------------------------------------------------


def _part(
    name: str, requirement: str, draw: Any, look: tuple[str, ...], weight: float, **more: Any
) -> Part:
    """Make a part that looks at some of what a call has done to the model."""

    def looking(rng: Generator) -> list[Case]:
        return [Case(c.label, {**c.inputs, "look": list(look)}) for c in draw(rng)]

    judge = more.pop("judge", None) or _judge_each(look)
    return Part(name, requirement, looking, freeze_and_look, judge, weight, **more)


def _judge_each(look: tuple[str, ...]) -> Judge:
    def judge(observed: Any, expected: Any, inputs: Inputs) -> str | None:
        found = zip(look, observed, expected, strict=True)
        wrong = (_JUDGES[name](ours, theirs, inputs) for name, ours, theirs in found)
        return next((text for text in wrong if text), None)

    return judge


def _judge_what_trains(observed: Any, expected: Any, inputs: Inputs) -> str | None:
    if type(observed) is not dict or observed.keys() != expected.keys():
        return "the model has other parameters than before"
    if any(observed[name] and not trains for name, trains in expected.items()):
        return "a parameter trains that is to be frozen"
    return None if observed == expected else "a parameter is frozen that is to train"


def _judge_list(observed: Any, expected: Any, inputs: Inputs) -> str | None:
    if type(observed) is not list:
        return "the result is no list"
    if len(observed) != len(expected):
        return f"the list has too {'many' if len(observed) > len(expected) else 'few'} parameters"
    return None if observed == expected else "the list has other parameters, or in another order"


_JUDGES: dict[str, Judge] = {
    "raised": saying("no ValueError is raised"),
    "trains": _judge_what_trains,
    "returned": _judge_list,
    "no gradient": saying("what is frozen still has a gradient"),
    "all gradients": saying("a gradient changes although a ValueError is raised"),
}


PARTS = (
    _part(
        "what trains",
        "What fits an entry trains, and all the rest is frozen.",
        draw_values,
        ("trains",),
        4,
    ),
    _part(
        "what was frozen before",
        "What fits an entry trains, also if it was frozen before.",
        draw_again,
        ("trains",),
        1.5,
    ),
    _part(
        "names",
        "An entry is a whole name, or its beginning up to a dot.",
        draw_names,
        ("trains",),
        2,
    ),
    _part(
        "tied parameters",
        "A parameter with two names trains if one of them fits.",
        draw_tied,
        ("trains",),
        2,
    ),
    _part(
        "what is returned",
        "The list has the model's own parameters that train, once each, in the model's order.",
        lambda rng: [*draw_values(rng), *draw_names(rng)[-1:], *draw_tied(rng)[:4]],
        ("returned",),
        2,
    ),
    _part(
        "old gradients",
        "What is frozen has no gradient left.",
        lambda rng: [*draw_values(rng), *draw_tied(rng)[:2], *draw_again(rng)],
        ("no gradient",),
        1.5,
        earns_alone=False,
    ),
    _part(
        "unknown names",
        "An entry that fits nothing raises a ValueError before anything is changed.",
        draw_unknown,
        ("raised", "trains", "all gradients"),
        2,
        earns_alone=False,
    ),
    _part(
        "nothing else changes",
        "Nothing but requires_grad, and gradients of what is frozen, changes.",
        draw_all,
        ("the result", "rest"),
        1,
        judge=changes_nothing_else(
            says=["something else of the model changes: a value, a mode, a gradient or a name"]
        ),
        earns_alone=False,
        keeps_process=True,
    ),
)


# -- mistakes --------------------------------------------------------------------------------------


def right_answer(model, kept):
    """The answer that the mistakes start from."""
    named = list(model.named_parameters(remove_duplicate=False))
    chosen = []
    for entry in kept:
        fitting = [p for name, p in named if name == entry or name.startswith(entry + ".")]
        if not fitting:
            raise ValueError(entry)
        chosen += fitting
    numbers = {id(p) for p in chosen}
    for parameter in model.parameters():
        trains = id(parameter) in numbers
        parameter.requires_grad = trains
        if not trains:
            parameter.grad = None
    return [p for p in model.parameters() if id(p) in numbers]


@mistake(
    hint="You raise the ValueError after you have begun to freeze. Whoever catches it has another "
    "model than before: look all entries up first."
)
def freezes_first(model, kept):
    """Everything is frozen before the names are looked up."""
    for parameter in model.parameters():
        parameter.requires_grad = False
    named = list(model.named_parameters(remove_duplicate=False))
    for entry in kept:
        fitting = [p for name, p in named if name == entry or name.startswith(entry + ".")]
        if not fitting:
            raise ValueError(entry)
        for parameter in fitting:
            parameter.requires_grad = True
    for parameter in model.parameters():
        if not parameter.requires_grad:
            parameter.grad = None
    return [p for p in model.parameters() if p.requires_grad]


MISTAKES = mistakes(
    right_answer,
    mistake(
        "Only the first name of a tied parameter is known.",
        replace={"remove_duplicate=False": "remove_duplicate=True"},
        hint="You look at one name of each parameter. A tied one has two, and may be kept by the "
        "second: ask for all names, with `remove_duplicate=False`.",
    ),
    mistake(
        "An entry is the beginning of a name, wherever it ends.",
        replace={'entry + "."': "entry"},
        hint='You take everything that begins with an entry. "blocks.1" is also the beginning of '
        '"blocks.10.norm.weight": a dot has to follow, or nothing.',
    ),
    mistake(
        "An entry may stand anywhere in a name.",
        replace={'name == entry or name.startswith(entry + ".")': "entry in name"},
        hint="You take every name that contains an entry. It has to be the whole name, or its "
        "beginning up to a dot: else old and new heads are mixed up.",
    ),
    mistake(
        "Only whole names of parameters fit.",
        replace={'name == entry or name.startswith(entry + ".")': "name == entry"},
        hint="You only take entries that are the name of a parameter. They may name a module, too: "
        "then all parameters in it fit.",
        keeps=0.3,
    ),
    mistake(
        "Only names of modules fit.",
        replace={'name == entry or name.startswith(entry + ".")': 'name.startswith(entry + ".")'},
        hint="You only take entries that name a module. They may also be the whole name of a "
        "single parameter, such as a bias.",
    ),
    mistake(
        "What is frozen never trains again.",
        replace={"parameter.requires_grad = trains": "parameter.requires_grad &= trains"},
        hint="You freeze what does not fit, but do not free what does. A parameter that was frozen "
        "before has to train again if it is kept.",
    ),
    mistake(
        "What fits is frozen, and the rest trains.",
        replace={"trains = id(parameter) in numbers": "trains = id(parameter) not in numbers"},
        hint="You have it the wrong way round: what fits an entry of `kept` is to train, and all "
        "the rest is frozen.",
        keeps=0.5,
    ),
    mistake(
        "Old gradients stay.",
        replace={"parameter.grad = None": "pass"},
        hint="You leave old gradients at frozen parameters. An optimizer that still knows them "
        "would go on moving them: set `grad` to None.",
    ),
    mistake(
        "Old gradients become 0.",
        replace={"parameter.grad = None": "parameter.grad = 0 * parameter.detach()"},
        hint="You set old gradients to 0. Weight decay and momentum move a parameter with a "
        "gradient of 0 all the same: only None is left alone.",
    ),
    mistake(
        "All gradients go.",
        replace={
            """
            if not trains:
                parameter.grad = None
            """: "parameter.grad = None"
        },
        hint="You also remove the gradients of what trains. They are none of this function's "
        "business: only what is frozen loses them.",
    ),
    mistake(
        "A tied parameter is returned twice.",
        replace={
            "[p for p in model.parameters() if id(p) in numbers]": (
                "[p for _, p in named if id(p) in numbers]"
            )
        },
        hint="Your list has a tied parameter once for each of its names. An optimizer refuses "
        "such a list, or moves the parameter twice.",
    ),
    mistake(
        "Parameters are returned in the order of the entries.",
        replace={
            "[p for p in model.parameters() if id(p) in numbers]": "list(dict.fromkeys(chosen))"
        },
        hint="Your list is in the order of the entries. It is to be in the model's own order, "
        "whatever container the entries came in.",
    ),
    mistake(
        "All parameters are returned.",
        replace={"[p for p in model.parameters() if id(p) in numbers]": "list(model.parameters())"},
        hint="You return all parameters of the model. The optimizer should be given those that "
        "train, and no others.",
    ),
    mistake(
        "Names are returned.",
        replace={
            "[p for p in model.parameters() if id(p) in numbers]": (
                "[name for name, p in model.named_parameters() if id(p) in numbers]"
            )
        },
        hint="You return the names of what trains. An optimizer needs the parameters themselves, "
        "the very objects of the model.",
    ),
    mistake(
        "Copies are returned.",
        replace={
            "[p for p in model.parameters() if id(p) in numbers]": (
                "[p.clone() for p in model.parameters() if id(p) in numbers]"
            )
        },
        hint="You return copies of the parameters. An optimizer would move the copies, and the "
        "model would stay as it is.",
    ),
    mistake(
        "Entries that fit nothing are passed over.",
        replace={"raise ValueError(entry)": "continue"},
        hint="You pass over an entry that fits nothing. It is most likely a typing error, and "
        "would freeze what should train: raise a ValueError.",
    ),
    mistake(
        "The model is put into another mode.",
        replace={
            "numbers = {id(p) for p in chosen}": """
                numbers = {id(p) for p in chosen}
                model.eval()
            """
        },
        hint="You also call `eval` or `train` on the model. Whether dropout is on is another "
        "question than what trains, and not asked here.",
    ),
    freezes_first,
)

CHECK = Check(
    item="ps8_freeze",
    points=10,
    target="freeze",
    reference=freeze,
    parts=PARTS,
    mistakes=MISTAKES,
    seconds=5.0,
)
