"""What the arguments of a task are, declared once, and the hard cases that follow from it.

A contract names the axes of each argument. From it and an item's ordinary cases follows what else
the same function is to take: tensors that lie in memory in another order, rows that share their
memory, more axes than usual, axes of length 0; and which inputs are longer where no loop is
allowed. The values are the item's own, so that what follows is as valid as they are. Values that
every item of a kind has to take stand below: scores lower than any stand-in for minus infinity.
"""

import itertools
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import torch
from torch import Tensor

from autograder.authoring.checks import Case

Generator = np.random.Generator
Draw = Callable[[Generator], Sequence[Case]]
Axes = dict[int, str]
"""The names of an argument's axes, by their places from the right: -1 is the last."""

LAYOUTS = {
    "turned": "tensors that lie in memory with their axes in reverse order",
    "gaps": "tensors with gaps in memory",
    "shared": "rows that share their memory",
}
"""How tensors lie in memory, in the words of a label; `tensors.call` lays them out."""
OF_ALL = ("turned", "gaps")
"""Those that leave rows different; where all are one, a mistake about rows does not show."""
MORE = 240
"""By how much an axis grows, at least, where a loop along it is to show."""


@dataclass(frozen=True)
class Contract:
    """The shapes of arguments, with a name for each axis.

        Contract("*rows D; D; D; -")

    says that the first argument has any number of axes before its last one, which is as long as the
    second and the third argument; the fourth has no axes that matter. Axes of one name are equally
    long, or 1 where they broadcast. An argument may lack axes on the left; a tuple's members have
    the same ones.

    Attributes:
        empty: the names of axes that may have length 0; a starred one is all its axes.
    """

    shapes: str
    empty: str = ""

    @property
    def requirement(self) -> str:
        """What the part that asks for other forms says to students."""
        others = ["have more axes than usual"] * self.shapes.startswith("*")
        others += ["be empty"] * bool(self.empty)
        if not others:
            return "Tensors may lie in memory in any order, as after a transpose."
        *more, last = others
        return f"Tensors may {', '.join(['lie in memory in any order', *more])} and {last}."

    def axes(self, arguments: Sequence[Any]) -> list[Axes]:
        """Name the axes of each argument; those of a starred name are numbered from the right.

        Raises:
            ValueError: if an argument has more axes than are declared.
        """
        declared = self.shapes.split(";")
        return [_axes(text, argument) for text, argument in zip(declared, arguments, strict=True)]

    def longer(self, draw: Draw, *names: str) -> Draw:
        """Make, of each case, one for each axis of these names: a longer input of the same kind.

        Args:
            names: of one axis, or a starred one, which is all its axes.
        """

        def draw_long(rng: Generator) -> list[Case]:
            return [long for case in draw(rng) for long in self._longer(case, names)]

        return draw_long

    def _longer(self, case: Case, names: Sequence[str]) -> Iterator[Case]:
        arguments = case.inputs["arguments"]
        axes = self.axes(arguments)
        for name in dict.fromkeys(name for each in axes for name in each.values()):
            if name not in names and name.split()[0] not in names:
                continue
            places = [_place(each, name) for each in axes]
            size = max(_first(a).shape[p] for a, p in zip(arguments, places, strict=True) if p)
            times = MORE // size + 2
            long = [
                _repeated(argument, place, size, times)
                for argument, place in zip(arguments, places, strict=True)
            ]
            label = f"{size} and {size * times} along one axis ({name})"
            yield Case(label, {**case.inputs, "long": long, "n_more": size * (times - 1)})

    def forms(self, draw: Draw) -> Draw:
        """Make the same cases in other forms: layouts in memory, more axes, none along some.

        Each case is laid out in one way in turn; that of most axes in all, and with two axes more,
        in both orders of memory, if those of the first argument are starred.
        """

        def draw_forms(rng: Generator) -> list[Case]:
            cases = sorted(draw(rng), key=lambda case: sum(map(len, self._axes_of(case))))
            pairs = [*zip(cases[:-1], itertools.cycle(OF_ALL), strict=False)]
            made = [self._laid_out(*pair) for pair in [*pairs, *((cases[-1], x) for x in LAYOUTS)]]
            return [*made, *self._deeper(cases[-1]), *self._emptied(cases[-1])]

        return draw_forms

    def _deeper(self, case: Case) -> Iterator[Case]:
        """Put two axes before those of a starred name: twice the case, once in another order."""
        if not self.shapes.startswith("*"):
            return
        star, axes = self.shapes.split()[0].strip("*;"), self._axes_of(case)
        first = f"{star} 1"
        counts = [sum(name.startswith(f"{star} ") for name in each.values()) for each in axes]
        arguments = [
            _doubled(argument, _place(each, first))
            if count == max(counts) and f"*{star}" in declared.split()
            else argument
            for argument, each, count, declared in zip(
                case.inputs["arguments"], axes, counts, self.shapes.split(";"), strict=True
            )
        ]
        deeper = Case(f"{case.label}, two more axes", {**case.inputs, "arguments": arguments})
        yield from (deeper, self._laid_out(deeper, "turned"))

    def _emptied(self, case: Case) -> Iterator[Case]:
        """Take all that stands along an axis that may be empty, and along all of a starred one."""
        arguments, axes = case.inputs["arguments"], self._axes_of(case)
        found = list(dict.fromkeys(name for each in axes for name in each.values()))
        for declared in self.empty.split():
            names = [name for name in found if name.split()[0] == declared]
            for chosen in [names[:1], names][: len(names)]:
                made = list(arguments)
                for name in chosen:
                    places = [_place(each, name) for each in axes]
                    size = max(_first(a).shape[p] for a, p in zip(made, places, strict=True) if p)
                    made = [_emptied(a, p, size) for a, p in zip(made, places, strict=True)]
                what = "nothing along " + ("all its axes" if len(chosen) > 1 else "one axis")
                label = f"{case.label}, {what} ({', '.join(chosen)})"
                yield Case(label, {**case.inputs, "arguments": made})

    def _axes_of(self, case: Case) -> list[Axes]:
        return self.axes(case.inputs["arguments"])

    def _laid_out(self, case: Case, layout: str) -> Case:
        axes = self._axes_of(case)
        first = next((name for each in axes for name in each.values()), "")
        shared = [_place(each, first) for each in axes]
        inputs = {**case.inputs, "layout": layout, "shared": shared}
        return Case(f"{case.label}, {LAYOUTS[layout]}", inputs)


def _axes(declared: str, argument: Any) -> Axes:
    tensor, names = _first(argument), declared.split()
    if names == ["-"] or not isinstance(tensor, Tensor):
        return {}
    star = names.pop(0)[1:] if names[0].startswith("*") else ""
    n_more = tensor.dim() - len(names)
    if n_more > 0 and not star:
        raise ValueError(f"{declared.strip()!r} is declared, the shape is {tuple(tensor.shape)}")
    names = [f"{star} {number}" for number in range(n_more, 0, -1)] + names[max(-n_more, 0) :]
    return {place - len(names): name for place, name in enumerate(names)}


def _first(argument: Any) -> Any:
    return argument[0] if isinstance(argument, tuple) and argument else argument


def _place(axes: Axes, name: str) -> int | None:
    return next((place for place, found in axes.items() if found == name), None)


def _changed(argument: Any, change: Callable[[Tensor], Tensor]) -> Any:
    """Change a tensor, or each of a tuple; what is neither stays."""
    if isinstance(argument, tuple):
        return tuple(_changed(part, change) for part in argument)
    return change(argument) if isinstance(argument, Tensor) else argument


def _repeated(argument: Any, place: int | None, size: int, times: int) -> Any:
    """Repeat what stands along an axis; an axis of length 1 goes on broadcasting."""
    if place is None or _first(argument).shape[place] < size:
        return argument
    return _changed(argument, lambda part: part.repeat_interleave(times, dim=place))


def _doubled(argument: Any, place: int | None) -> Any:
    def twice(part: Tensor) -> Tensor:
        again = part if place is None else part.flip(place)
        return torch.stack([part, again]).unsqueeze(1)

    return _changed(argument, twice)


def _emptied(argument: Any, place: int | None, size: int) -> Any:
    if place is None or _first(argument).shape[place] < size:
        return argument
    return _changed(argument, lambda part: part.narrow(place, 0, 0))


# -- values ----------------------------------------------------------------------------------------

LOWER_THAN_ANY = {"float64": -1e100, "float32": -1e37}
"""Scores lower than what stands for minus infinity somewhere, also in another dtype."""


def far_scores(dtype: str) -> Tensor:
    """Make three rows of four scores: all as low as can be, or as far apart.

    In each, one is the largest by far: of equals, a logarithm of their sum would lose the number.
    """
    low = LOWER_THAN_ANY[dtype]
    rows = [
        [low, 2 * low, 3 * low, 2 * low],
        [2 * low, 3 * low, low, 2 * low],
        [-low, low, 0.0, low],
    ]
    return torch.tensor(rows, dtype=getattr(torch, dtype))
