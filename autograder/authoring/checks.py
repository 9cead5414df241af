"""The vocabulary in which a course says what a right answer is.

A graded item has one `Check`. A check has parts; each part is one property, worth a share of
the item's points, and consists of three pure functions:

    inputs(rng)                          cases   drawn by the judge, fresh for every student
    probe(implementation, inputs)        value   runs on the student's object inside the sandbox,
                                                 and on the reference version in the judge
    judge(observed, expected, inputs)    None if the requirement is met, else what is wrong

What a judge says is read by students, so it must not repeat what the answer holds, which may be a
hidden input. A text with other numbers than those of the requirement and the label is not shown.

A judge meets values that students choose. A minute of CPU time or 3 GB of memory over one answer
end it, and the item waits for a person: so it looks at sizes before it computes, and leaves it to
the probe to make a set of a list (numbers can be chosen over which that takes hours).

The reference version is the first submission, every `Mistake` must be caught and every right
answer (`autograder.authoring.answers`) accepted; `autograder check` proves all three.

A probe travels into the sandbox as source text. It must therefore stand alone: it imports what
it needs inside its body (the standard library, numpy or torch), reads no global but the helpers
that its part names, which travel with it, and returns plain data: None, bool, int, float, str,
bytes, list, tuple, dict, set, NumPy arrays, tensors.
"""

import ast
import builtins
import dis
import inspect
import itertools
import linecache
import re
import sys
import textwrap
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path
from types import CodeType
from typing import Any

import numpy as np

from autograder.authoring.compare import ORDINALS, agree

Inputs = dict[str, Any]
Judge = Callable[[Any, Any, Inputs], str | None]


@dataclass(frozen=True)
class Case:
    """One set of inputs.

    Attributes:
        label: names it for the student ("order 3, two documents").
        withheld: what a challenge is scored against. It never enters the sandbox.
    """

    label: str
    inputs: Inputs
    withheld: Any = None


def counted(n: int, noun: str) -> str:
    """Count something in the label of a `Case`: "1 row", "3 rows"."""
    return f"{n} {noun}" if n == 1 else f"{n} {noun}s"


@dataclass(frozen=True)
class Part:
    """One property of a right answer.

    Attributes:
        requirement: the property in one sentence for the student, shown when it is not met.
        inputs: draws the cases, smallest first, so that the first that fails is the smallest.
        weight: share of the item's points, relative to the other parts.
        judge: by default `agree()`: same structure, shapes, kinds and values as the reference.
        earns_alone: whether it earns its share where no other part holds.
        helpers: functions that the probe calls. Each stands alone as the probe does, but for those
            before it.
        price: of a rule, which earns nothing where it holds: the share of what the other parts
            earn that is lost where it does not.
        partner: source of an implementation that the probe may call (`judging.py`); empty for none.
        keeps_process: whether it fails, too, where a call leaves the process otherwise than the
            reference does: torch's settings, filters of warnings, the environment, generators.
    """

    name: str
    requirement: str
    inputs: Callable[[np.random.Generator], Sequence[Case]]
    probe: Callable[[Any, Inputs], Any]
    judge: Judge = field(default_factory=agree)
    weight: float = 1.0
    earns_alone: bool = True
    price: float = 0.0
    helpers: tuple[Callable[..., Any], ...] = ()
    partner: str = ""
    keeps_process: bool = False

    @property
    def probe_source(self) -> str:
        """The probe's text, as it is sent into the sandbox: its helpers, and last itself."""
        functions = (*self.helpers, self.probe)
        return "\n\n".join(textwrap.dedent(inspect.getsource(one)) for one in functions)


@dataclass(frozen=True)
class Mistake:
    """A typical wrong answer. A student whose observations equal its own reads `hint`.

    Attributes:
        endless: it does not end in at least one case, and is therefore stopped there.
        changed_from: the right answer of which it is a changed copy, if it is one.
        replace: the texts that were replaced in its source, and by what.
        keeps: the share of the item's points that an answer earns at least that makes this mistake
            and no other; where it makes a second one, less.
    """

    name: str
    hint: str
    implementation: Any
    endless: bool = False
    changed_from: Any = None
    replace: Mapping[str, str] = field(default_factory=dict)
    keeps: float = 0.0


@dataclass(frozen=True)
class Check:
    """What is asked of one graded item.

    Attributes:
        item: the `grade_id` of the item's test cell.
        target: the function or class that the student defines.
        reference: the version of `course_pkg` (or one built from it) with the same contract.
        seconds: CPU time that one probe may take.
        equivalent_mutants: automatic changes of the solution that do not change what it does, each
            with the reason.
        chance: the share of the parts that an answer holds without knowing anything; it earns
            nothing, and what is above it earns in proportion.
    """

    item: str
    points: float
    target: str
    reference: Any
    parts: tuple[Part, ...]
    mistakes: tuple[Mistake, ...] = ()
    seconds: float = 10.0
    equivalent_mutants: Mapping[str, str] = field(default_factory=dict)
    chance: float = 0.0

    def mistake(self, name: str) -> Mistake:
        """Return the mistake of this name.

        Raises:
            KeyError: if the item has none of this name; the message lists those it has.
        """
        for mistake in self.mistakes:
            if mistake.name == name:
                return mistake
        raise KeyError(
            f"no mistake {name!r} in {self.item}; it has {[m.name for m in self.mistakes]}"
        )


@dataclass(frozen=True)
class Challenge:
    """The open end of a set, for a leaderboard.

    The number that ranks is never one that student code states: it is the CPU time of a right
    answer, or a score that the grader computes from what came back and from what it has withheld.

    Attributes:
        task: what is measured, in one sentence for the page.
        check: what a right answer is. Only an answer that earns all its points is ranked. Its item
            is no cell and counts in no grade; its target is defined in a cell of the workshop that
            does nothing else.
        to_beat: name of the answer that the solution's notebook gives.
        score: of the answers to the check's cases and what each case withholds. Raises ValueError
            where they earn no rank, with the reason. Without it, CPU time ranks.
        unit: of the score.
        shown: how the page writes a score; those that it writes alike share a rank.
        higher_is_better: else the lowest comes first.
        then: makes, of the answers, a second challenge, which is asked in a fresh process that
            knows nothing of the first; its score ranks.
    """

    task: str
    check: Check
    to_beat: str
    score: Callable[[Sequence[Any], Sequence[Any]], float] | None = None
    unit: str = "CPU seconds"
    shown: str = "{:.2f}"
    higher_is_better: bool = False
    then: "Callable[[Sequence[Any]], Challenge] | None" = None


@dataclass(frozen=True)
class ProblemSet:
    """All checks of one set, and its open challenge.

    Attributes:
        challenge: None if there is none; a text if it cannot be ranked fairly: why.
        points: of the whole set, hand-graded questions included.
    """

    name: str
    title: str
    checks: tuple[Check, ...]
    challenge: Challenge | str | None = None
    points: float = 100

    def check(self, item: str) -> Check:
        """Return the check of a graded item.

        Raises:
            KeyError: if the set has no such item; the message lists those it has.
        """
        for check in self.checks:
            if check.item == item:
                return check
        raise KeyError(f"no item {item!r} in {self.name}; it has {[c.item for c in self.checks]}")


# -- how a set writes down what it knows of its answers --------------------------------------------


MOST_KEPT = 0.5
"""What a mistake may keep: no more than a right answer that uses what its task does not allow."""


def mistakes(
    base: Callable[..., Any], *made: Mistake | Callable[[Callable[..., Any]], Mistake]
) -> tuple[Mistake, ...]:
    """Make the mistakes of an item: changes of a right answer, and answers wrong as a whole.

        MISTAKES = mistakes(
            by_walking,
            mistake("A merged id is used again.", replace={"+= 2": "+= 1"}, hint="..."),
            merge_from_the_right,  # a function below `@mistake(hint="...")`
        )

    Args:
        base: a right answer. Its changed copies see the names that its module has by now.
        made: in the order in which a wrong answer is compared with them.
    """
    return tuple(entry if isinstance(entry, Mistake) else entry(base) for entry in made)


def mistake(
    name: str = "",
    *,
    hint: str,
    replace: Mapping[str, str] | None = None,
    endless: bool = False,
    keeps: float = 0.0,
) -> Callable[[Callable[..., Any]], Mistake]:
    """Say what is wrong with an answer, or what must be changed in a right one to make it wrong.

    Args:
        name: says in one sentence what is misunderstood; by default the answer's docstring.
        hint: what the student reads beside the name.
        replace: texts, each of which occurs exactly once in the answer's source, and what is to
            stand in their place. Where either has several lines, both are whole lines, and may be
            indented as is convenient.
        endless: it does not end in at least one case.
        keeps: the share of the points that is kept where nothing else is wrong: for an answer that
            has the idea of its task, and yet no value right. What the parts earn counts if it is
            more.

    Raises:
        ValueError: where it is applied, if a text does not occur exactly once, if the change reads
            a name that its file does not have, or if more is kept than `MOST_KEPT`; names item and
            mistake.
    """

    def make(answer: Callable[..., Any]) -> Mistake:
        title = name or _docstring(answer)
        try:
            if not 0 <= keeps <= MOST_KEPT:
                raise ValueError(f"keeps is {keeps}; it must be from 0 to {MOST_KEPT}")
            if replace is None:
                return Mistake(title, hint, answer, endless, keeps=keeps)
            changed = _changed(answer, replace, title)
            return Mistake(title, hint, changed, endless, answer, replace, keeps)
        except ValueError as error:
            item = Path(answer.__code__.co_filename).stem
            raise ValueError(f"{item}, mistake {title!r}: {error}") from None

    return make


def _changed(
    answer: Callable[..., Any], replace: Mapping[str, str], title: str
) -> Callable[..., Any]:
    """Compile an answer anew with some texts replaced; its source can be read as any other's."""
    source = changed_source(answer, replace)
    file = f"{answer.__code__.co_filename}: {title}"
    linecache.cache[file] = len(source), None, source.splitlines(keepends=True), file
    namespace, code = dict(answer.__globals__), compile(source, file, "exec")
    for name in globals_read(code) - {answer.__name__, *namespace, *vars(builtins)}:
        raise ValueError(f"it uses the name {name}, which its file does not define")
    exec(code, namespace)
    made: Callable[..., Any] = namespace[answer.__name__]
    return made


def both(one: Mistake, two: Mistake) -> Callable[..., Any] | None:
    """Make the answer that makes two mistakes at once, as far as both are replacements that fit."""
    if not (one.replace and two.replace and one.changed_from is two.changed_from):
        return None
    if one.endless or two.endless or one.replace.keys() & two.replace.keys():
        return None
    changes = (*one.replace.items(), *two.replace.items())
    return _changed_if_fitting(one.changed_from, changes, f"{one.name} {two.name}")


@cache
def _changed_if_fitting(
    answer: Callable[..., Any], changes: tuple[tuple[str, str], ...], title: str
) -> Callable[..., Any] | None:
    try:
        return _changed(answer, dict(changes), title)
    except (ValueError, SyntaxError):
        return None


def changed_source(answer: Callable[..., Any], replace: Mapping[str, str]) -> str:
    """Return the source of an answer with some texts replaced.

    Raises:
        ValueError: if a text does not occur exactly once, or shares a place with another.
    """
    source = textwrap.dedent(inspect.getsource(answer))
    changes = []
    for old, new in replace.items():
        pattern = re.escape(old)
        if is_block := "\n" in old + new:
            lines = map(re.escape, textwrap.dedent(old).strip("\n").split("\n"))
            pattern = "(?m:^)(?P<indent> *)" + "\n(?P=indent)".join(lines) + "(?m:$)"
        matches = list(re.finditer(pattern, source))
        if len(matches) != 1:
            times = f"{len(matches)} times in {answer.__name__}; it must occur once"
            raise ValueError(f"{old!r} occurs {times}")
        if is_block:
            new = textwrap.indent(textwrap.dedent(new).strip("\n"), matches[0]["indent"])
        changes.append((*matches[0].span(), new))
    changes.sort(reverse=True)
    for (start, _, new), (_, end, _) in itertools.pairwise(changes):
        if end > start:
            raise ValueError(f"{new!r} is to replace what another text replaces, too")
    for start, end, new in changes:
        source = source[:start] + new + source[end:]
    return source


def as_answer(check: Check, implementation: Callable[..., object]) -> str:
    """Return the source of a recorded answer under the name that students are asked to define."""
    source = textwrap.dedent(inspect.getsource(implementation))
    start = re.search(r"^def ", source, flags=re.MULTILINE)  # without decorators
    assert start is not None
    source = re.sub(rf"\b{implementation.__name__}\b", check.target, source[start.start() :])
    # What the notebook does not import, whoever uses it does.
    used = {node.id for node in ast.walk(ast.parse(source)) if isinstance(node, ast.Name)}
    known = implementation.__globals__
    modules = [name for name in sorted(used & sys.stdlib_module_names) if name in known]
    return "".join(f"import {name}\n" for name in modules) + source


def globals_read(code: CodeType) -> set[str]:
    """Name what code reads that it does not define itself, builtins included."""
    names = {
        instruction.argval
        for instruction in dis.get_instructions(code)
        if instruction.opname in {"LOAD_GLOBAL", "LOAD_NAME"}
        and not instruction.argval.startswith("__")
    }
    return names.union(*(globals_read(c) for c in code.co_consts if isinstance(c, CodeType)))


def _docstring(answer: Callable[..., Any]) -> str:
    if not answer.__doc__:
        raise ValueError(f"{answer.__name__} has no docstring; it names the answer")
    return answer.__doc__.strip()


ARGUMENTS = "the call changes its {} argument"
"""Said of a list of arguments after the call."""
SHARED = "the result shares its memory with the {} argument"
"""Said of a list of arguments after somebody has written into the result."""
_SOMETHING = "the call changes something besides its result"


def changes_nothing_else(judge: Judge | None = None, says: Sequence[str] = ()) -> Judge:
    """Return a judge of tuples: the answer, then everything else that the probe has looked at.

    The answer is not judged: whether it is right is another property.

    Args:
        judge: compares whatever stands beside the answer; by default `agree()`.
        says: what is wrong where one of them is another, in their order.
    """
    same = judge or agree()

    def judge_rest(observed: Any, expected: Any, inputs: Inputs) -> str | None:
        if type(observed) is not tuple or len(observed) != len(expected):
            return _SOMETHING
        said = itertools.chain(says, itertools.repeat(_SOMETHING))
        for ours, theirs, text in zip(observed[1:], expected[1:], said, strict=False):
            if same(ours, theirs, inputs) is None:
                continue
            are_lists = type(ours) is list and len(ours) == len(theirs)
            if text not in (ARGUMENTS, SHARED) or not are_lists:
                return re.sub(r"(its|the) \{\} argument", "an argument", text)
            pairs = zip(ORDINALS, ours, theirs, strict=False)
            others = [name for name, a, b in pairs if same(a, b, inputs) is not None]
            return text.format(others[0]) if others else _SOMETHING
        return None

    return judge_rest


def nothing_else_changes(
    requirement: str,
    inputs: Callable[[np.random.Generator], Sequence[Case]],
    probe: Callable[[Any, Inputs], Any],
    judge: Judge | None = None,
    helpers: tuple[Callable[..., Any], ...] = (),
    *,
    says: Sequence[str],
) -> Part:
    """Make the part that almost every item has: the call leaves everything else alone.

    Its probe returns a tuple: the answer, then everything that must stay as it was. Doing nothing
    changes nothing, so the part earns its share only where another one holds. What a process has
    only one of (settings, generators) is looked at for every probe.
    """
    judge_rest = changes_nothing_else(judge, says)
    return Part(
        "nothing else changes",
        requirement,
        inputs,
        probe,
        judge=judge_rest,
        earns_alone=False,
        helpers=helpers,
        keeps_process=True,
    )
