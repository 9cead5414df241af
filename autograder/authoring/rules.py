"""What a task does not allow: one property, one name and one price, in every task that says so.

Whoever hands in torch's own function where the task is to write it out, asks autograd for a
derivative that is to be derived, or loops where one operation does, may have a right result. So
this is a property of its own: it earns nothing, and breaking it costs `PRICE` of what the results
earn, whichever rule it is and however many are broken. A copy of the reference needs no rule: the
package cannot be imported where answers are judged.
"""

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from autograder.authoring.checks import Case, Inputs, Part

NAME = "what is not allowed"
PRICE = 0.5
REQUIREMENT = "Nothing is used that the task does not allow, or else half of the points are lost."

Draw = Callable[[np.random.Generator], Sequence[Case]]


def not_allowed(
    functions: Sequence[str] = (),
    inputs: Draw | None = None,
    *,
    autograd: bool = True,
    longer: Draw | None = None,
) -> Part:
    """Make the rule of a function of tensors, which gets the `arguments` of a case.

    Args:
        functions: names of torch's functions that the answer may not call, in whatever module; a
            name with a dot is a module, of which it may call nothing.
        inputs: ordinary cases, in which nothing but the rule is looked at.
        autograd: whether the answer may use autograd; if not, it must work where that does not run.
        longer: cases with `long`, the arguments of a longer input, and `n_more`, by how many
            positions it is longer: the answer may not make as many calls more as half of that.
            With `seed`, a generator of that seed follows the arguments.
    """

    def draw(rng: np.random.Generator) -> list[Case]:
        rule = {"functions": list(functions), "autograd": autograd}
        cases = [(case, None, 0) for case in (inputs(rng) if inputs else ())]
        cases += [
            (c, c.inputs["long"], c.inputs["n_more"]) for c in (longer(rng) if longer else ())
        ]
        return [
            Case(
                case.label,
                {
                    "arguments": case.inputs["arguments"],
                    "seed": case.inputs.get("seed"),
                    "long": long,
                    "n_more": n_more,
                    **rule,
                },
            )
            for case, long, n_more in cases
        ]

    return Part(NAME, REQUIREMENT, draw, look, judge=_judge, weight=0.0, price=PRICE)


def look(implementation, inputs):
    """Return what is used that is not allowed: a function's name, "autograd", "loop", or None.

    Whatever else the answer does, also that it breaks, is looked at by other parts.
    """
    import sys

    import torch

    used, n_calls = [], 0

    class Watch(torch.overrides.TorchFunctionMode):
        def __torch_function__(self, function, types, args=(), kwargs=None):
            used.append(getattr(function, "__name__", ""))
            tensors = [arg for arg in args if isinstance(arg, torch.Tensor)]
            if any(map(torch._C._functorch.is_gradtrackingtensor, tensors)):
                used.append("torch.func")
            return function(*args, **(kwargs or {}))

    def copied(value):
        if isinstance(value, dict):
            return {key: copied(part) for key, part in value.items()}
        if isinstance(value, (list, tuple)):
            return type(value)(map(copied, value))
        return value.clone() if isinstance(value, torch.Tensor) else value

    def breaks(arguments):
        chance = [] if inputs["seed"] is None else [torch.Generator().manual_seed(inputs["seed"])]
        try:
            with Watch():
                implementation(*copied(arguments), *chance)
        except Exception:
            return True
        return False

    modules = tuple(name for name in inputs["functions"] if "." in name)

    def count(arguments):
        nonlocal n_calls
        n_calls = 0

        def see(frame, event, argument):
            nonlocal n_calls
            n_calls += event in ("call", "c_call")
            home = frame.f_globals.get("__name__", "") if modules else ""
            used.extend(name for name in modules if f"{home}.".startswith(f"{name}."))

        before = sys.getprofile()
        sys.setprofile(see)
        try:
            breaks(arguments)
        finally:
            sys.setprofile(before)
        return n_calls

    broken = breaks(inputs["arguments"])
    if not inputs["autograd"]:
        if "torch.func" in used:
            return "torch.func"
        if {"backward", "grad"} & set(used):  # also where the answer switches autograd on again
            return "autograd"
        with torch.inference_mode():
            if not broken and breaks(inputs["arguments"]):
                return "autograd"
    if modules:
        count(inputs["arguments"])
    for name in used:
        if name in inputs["functions"]:
            return name
    if inputs["long"] is not None and not broken:
        # In this order, since the first call of all may import something.
        n_long, n_short = count(inputs["long"]), count(inputs["arguments"])
        if n_long - n_short > inputs["n_more"] / 2:
            return "loop"
    return None


def _judge(observed: Any, expected: Any, inputs: Inputs) -> str | None:
    if observed is None:
        return None
    for name in ("autograd", "torch.func"):
        if observed == name:
            return f"it asks {name} for what this task asks you to derive"
    for name in inputs["functions"]:
        if observed == name:
            return f"it calls torch's own `{name}`, which this task asks you to write out"
    return "a longer input takes as many calls more as a loop along it"
