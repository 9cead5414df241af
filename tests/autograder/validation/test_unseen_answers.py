"""Answers that the author of the checks has not seen: which are tried, and what is said of them."""

import numpy as np
import pytest

from autograder.authoring.answers import KnownAnswer
from autograder.authoring.checks import (
    Case,
    Check,
    Mistake,
    Part,
    mistake,
    mistakes,
)
from autograder.grading import diagnosis
from autograder.grading.judge import ItemJudge, part_seed
from autograder.validation import unseen_answers
from autograder.validation.mutant_fates import observe_counted
from autograder.validation.unseen_answers import try_unseen, try_written

SOLUTION = """
def total(numbers):
    result = 0
    for number in numbers:
        result += number
    return result
"""


@pytest.fixture(autouse=True)
def few(monkeypatch):
    """Keep the tests short."""
    monkeypatch.setattr(unseen_answers, "MOST", 8)
    monkeypatch.setattr(diagnosis, "ENDLESS_CPU_SECONDS", 0.1)


def draw(rng):
    """Draw lists of two sizes."""
    return [Case(f"{n} numbers", {"numbers": rng.uniform(2, 9, n).tolist()}) for n in (1, 5)]


def ask(implementation, inputs):
    """Return the sum."""
    return float(implementation(inputs["numbers"]))


def right_answer(numbers):
    """Adds them up."""
    result = 0
    for number in numbers[0:]:
        result += number
    return result


def one_too_many(numbers):
    """One is added."""
    return sum(numbers) + 1


CHECK = Check(
    item="toy_total",
    points=10,
    target="total",
    reference=sum,
    parts=(Part("values", "The sum is right.", draw, ask),),
    mistakes=mistakes(
        right_answer,
        mistake("The sum starts at 1.", replace={"result = 0": "result = 1"}, hint="?"),
        mistake("The first is left out.", replace={"[0:]": "[1:]"}, hint="?"),
        mistake("The sum starts at 2.", replace={"result = 0": "result = 2"}, hint="?"),
        mistake("It is negative.", replace={"return result": "return -result"}, hint="?"),
    ),
)
OTHER = Check(
    item="toy_mean",
    points=10,
    target="mean",
    reference=lambda numbers: sum(numbers) / len(numbers),
    parts=(),
    mistakes=(
        Mistake("It is no mean.", "?", one_too_many),
        Mistake("It takes two.", "?", lambda numbers, places: 0),
    ),
)


def solved():
    namespace = {"__name__": "__main__"}
    exec(SOLUTION, namespace)
    return namespace


def tried(check=CHECK, others=(OTHER,), solution=SOLUTION):
    found = try_unseen(check, others, 0, solved, solution)
    return {(one.kind, one.name): one for one in found}


def tried_written(*answers):
    """Try wrong answers, given as a name and the last line of each."""
    cells = [
        KnownAnswer(False, name, f"def total(numbers):\n    {body}\n") for name, body in answers
    ]
    return {one.name: one for one in try_written(CHECK, cells, 0, solved)}


def test_written_answers_are_judged_correctly():
    found = tried_written(
        ("plus one", "return sum(numbers) + 1"),
        ("not drawn", "return sum(numbers) + (len(numbers) == 3)"),
        ("endless", "while True: pass"),
    )
    assert (found["plus one"].problem, found["plus one"].named) == ("", "The sum starts at 1.")
    assert found["not drawn"].problem == "is not caught"
    assert (found["endless"].share, found["endless"].named) == (0, "")


def test_diagnosis_that_fresh_draws_contradict_is_a_problem():
    """The answer is like the mistake on this seed's numbers only."""
    drawn = draw(np.random.default_rng(part_seed(0, CHECK.item, "values")))
    known = [case.inputs["numbers"][0] for case in drawn]
    body = f"return sum(numbers) + (1 if numbers[0] in {known} else 7)"
    one = tried_written(("now and then", body))["now and then"]
    assert one.untrue
    assert one.problem == "is said to be 'The sum starts at 1.', which it is not"


def test_mistakes_are_combined_where_both_changes_fit():
    pairs = [name for kind, name in tried() if kind == unseen_answers.TWO_MISTAKES]
    assert pairs == [
        "The sum starts at 1. The first is left out.",
        "The sum starts at 1. It is negative.",
        "The first is left out. The sum starts at 2.",
        "The first is left out. It is negative.",
        "The sum starts at 2. It is negative.",
    ]


def test_another_items_answers_are_tried_where_the_signatures_fit():
    names = [name for kind, name in tried() if kind == unseen_answers.ANOTHER_ITEMS]
    assert names == ["mean: the reference", "mean: It is no mean."]


def test_mutants_of_two_changes_are_the_same_each_time_and_differ_from_those_of_one():
    first, second = (
        [one for one in tried().values() if one.kind == unseen_answers.TWO_CHANGES]
        for _ in range(2)
    )
    assert first == second
    assert len(first) == len({one.name for one in first}) > 4
    assert all(len(one.name.split("  →  ")) == 3 for one in first)


def test_version_that_never_ends_is_stopped_by_its_steps_once_for_each_part():
    requests = ItemJudge().requests(CHECK, 0)
    right, own_steps = observe_counted(requests, solved, SOLUTION, None)
    assert [seen.value for seen in right] == [sum(r.inputs["numbers"]) for r in requests]
    endless = SOLUTION.replace("in numbers:", "in iter(int, 1):")
    seen, steps = observe_counted(requests, solved, endless, own_steps)
    assert [one.value.kind for one in seen] == ["timeout", "timeout"]
    assert steps[0] > 1000 and steps[1] == 0
