"""What the arguments of a task are, declared once, and the hard cases that follow from it.

A contract names the axes of each argument. From it and an item's ordinary cases follows what else
the same function is to take: tensors that lie in memory in another order, rows that share their
memory; and which inputs are longer where no loop is allowed. The values are the item's own, so that
what follows is as valid as they are.
"""

import itertools
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
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
    """

    shapes: str

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

    def layouts(self, draw: Draw) -> Draw:
        """Make the same cases, each laid out in one way in turn; that of most axes in all."""

        def draw_laid_out(rng: Generator) -> list[Case]:
            cases = sorted(draw(rng), key=lambda case: sum(map(len, self._axes_of(case))))
            pairs = [*zip(cases[:-1], itertools.cycle(OF_ALL), strict=False)]
            return [self._laid_out(*pair) for pair in [*pairs, *((cases[-1], x) for x in LAYOUTS)]]

        return draw_laid_out

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


def _repeated(argument: Any, place: int | None, size: int, times: int) -> Any:
    """Repeat what stands along an axis; an axis of length 1 goes on broadcasting."""
    if isinstance(argument, tuple):
        return tuple(_repeated(part, place, size, times) for part in argument)
    if place is None or argument.shape[place] < size:
        return argument
    return argument.repeat_interleave(times, dim=place)
