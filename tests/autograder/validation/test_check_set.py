"""The proof of a set's quality: it must hold for good checks and fail for each kind of bad one."""

import io
import json
from dataclasses import replace

import numpy as np
import pytest
from rich.console import Console

from autograder.authoring.answers import KnownAnswer
from autograder.authoring.checks import Case, Check, Mistake, Part, ProblemSet
from autograder.authoring.release import build
from autograder.grading import diagnosis
from autograder.grading.judge import part_seed
from autograder.inside.probe import call_probe
from autograder.records import CheckFault, GraderError
from autograder.validation import check_set as checking
from autograder.validation import trials, unseen_answers
from autograder.validation.check_report import plain_report, print_overview, print_report
from autograder.validation.check_set import check_set

SOLUTION = """\
total, place = 0, 0
    while place < len(numbers):
        total += numbers[place]
        place += 1
    return total"""


def _cell(name: str, **flags: object) -> str:
    base = {"grade": False, "locked": False, "solution": False, "task": False, "schema_version": 3}
    return "# %% nbgrader=" + json.dumps({**base, "grade_id": name, **flags})


def _source(solution: str = SOLUTION, visible: str = "assert total([1, 2]) == 3, 'add them'"):
    return f"""\
{_cell("toy_total_answer", solution=True)}
def total(numbers):
    ### BEGIN SOLUTION
    {solution}
    ### END SOLUTION

{_cell("toy_total", grade=True, locked=True, points=100)}
{visible}

# %% tags=["workshop"]
raise RuntimeError("never run by a grader")
"""


@pytest.fixture
def source(tmp_path):
    """Writes a notebook source and returns its path."""

    def write(**parts):
        path = tmp_path / "toy.py"
        path.write_text(_source(**parts))
        return path

    return write


def draw_numbers(rng):
    """Draw lists of two sizes."""
    sizes = (1, 5)
    return [Case(f"{n} numbers", {"numbers": rng.uniform(2, 9, n).tolist()}) for n in sizes]


def draw_nothing(rng):
    """Draw an empty list behind one that is not."""
    return [Case("no numbers", {"numbers": [], "before": rng.uniform(2, 9, 3).tolist()})]


def ask(implementation, inputs):
    """Return the sum."""
    return float(implementation(inputs["numbers"]))


def ask_twice(implementation, inputs):
    """Return both sums."""
    return [float(implementation(inputs[name])) for name in ("before", "numbers")]


def ask_by_global(implementation, inputs):
    """Read a name that does not travel with the probe."""
    return float(implementation(inputs["numbers"])) + OFFSET


def shifted(numbers):
    return [number + 10 for number in numbers]


def ask_shifted(implementation, inputs):
    """Ask with what the sandbox has only if it is sent along."""
    return implementation(shifted(inputs["numbers"]))


OFFSET = 0.0


def _mistakes(*wrong):
    return tuple(Mistake(f"mistake {i}", "Look again.", answer) for i, answer in enumerate(wrong))


WRONG = _mistakes(
    lambda numbers: sum(numbers) / max(1, len(numbers)) + 1,
    lambda numbers: sum(numbers[1:]) - 1,
    lambda numbers: sum(numbers) + 1,
    lambda numbers: -sum(numbers) - 2,
    lambda numbers: numbers[0] + sum(numbers),
    lambda numbers: 1 / 0,
)
RIGHT = tuple(
    KnownAnswer(True, f"right {i}", f"def total(numbers):\n    return {answer}\n")
    for i, answer in enumerate(["sum(numbers)", "sum(list(numbers))", "sum(x for x in numbers)"])
)
CHECK = Check(
    item="toy_total",
    points=100,
    target="total",
    reference=sum,
    parts=(
        Part("values", "The sum is right.", draw_numbers, ask, weight=3),
        Part("nothing", "Nothing sums to 0.", draw_nothing, ask_twice),
    ),
    mistakes=WRONG,
    seconds=2.0,
)


def _report(path, *, with_mutants=False, right=RIGHT, **changes):
    problem_set = ProblemSet("toy", "Toy set", (replace(CHECK, **changes),))
    answers = {"total": right}
    return check_set(
        problem_set, build(path), answers=answers, with_mutants=with_mutants, seeds=(0, 1)
    )


def test_good_checks_have_no_problems(source):
    report = _report(source())
    assert report.problems == ()
    assert report.ok
    assert [trial.share for trial in report.of(kind="solution")] == [1]
    assert [trial.share for trial in report.of(kind="stub")] == [0]
    assert all(trial.share == 0 for trial in report.of(kind="meaningless"))
    assert len(report.of("toy_total", "mistake")) == 6
    assert report.of(kind="mistake")[4].seen, "the visible test fails on this mistake"
    *named, breaks = report.of(kind="mistake")
    assert all(trial.recognised == trial.name for trial in named)
    assert breaks.recognised == "", "an exception says too little to be named"


def test_a_solution_that_loses_points_is_a_problem(source):
    report = _report(source(solution="return sum(numbers[:3])"))
    assert any("solution" in p and "loses points: values" in p for p in report.problems)


def test_a_refused_right_answer_is_a_problem(source):
    never_empty = KnownAnswer(True, "picky", "total = lambda n: sum(n) if n else 1 / 0")
    report = _report(source(), right=(*RIGHT, never_empty))
    assert [p for p in report.problems if "'picky'" in p and "nothing" in p]


def test_a_mistake_that_earns_full_points_is_a_problem(source):
    unseen = Mistake("unseen", "Look.", lambda numbers: sum(numbers) + (len(numbers) == 4))
    report = _report(source(), mistakes=(*WRONG, unseen))
    assert report.problems == ("toy_total: mistake 'unseen': is not caught",)


def test_a_mistake_taken_for_another_is_a_problem(source):
    twin = Mistake("twin", "Look.", WRONG[2].implementation)
    report = _report(source(), mistakes=(*WRONG, twin))
    assert report.problems == ("toy_total: mistake 'twin': is recognised as 'mistake 2'",)


def test_a_mistake_that_keeps_more_than_a_lesser_fault_earns_is_a_problem(source):
    values, nothing = CHECK.parts
    lesser = Mistake("lesser", "Look.", lambda numbers: sum(numbers) or 5)
    parts = (replace(values, weight=2), replace(nothing, name="a"), replace(nothing, name="b"))
    parts = (*parts, replace(nothing, name="c"))
    kept = replace(WRONG[2], keeps=0.5)
    report = _report(source(), parts=parts, mistakes=(*WRONG[:2], kept, *WRONG[3:], lesser))
    rule = "although what weighs most holds there: let 'mistake 2' keep less"
    found = "'mistake 2' keeps 50%, but 'lesser' earns 40%"
    assert report.problems == (f"toy_total: {found}, {rule}",)


def test_points_for_a_stub_are_a_problem(source):
    exists = Part("exists", "It exists.", draw_numbers, _exists)
    report = _report(source(), parts=(*CHECK.parts, exists))
    assert any("stub" in p and "20% of the points" in p for p in report.problems)


def _exists(implementation, inputs):
    return callable(implementation)


def test_visible_tests_that_a_right_answer_fails_are_a_problem(source):
    report = _report(source(visible="assert total([1]) == 2, 'wrong on purpose'"))
    assert any("visible tests fail: AssertionError: wrong on purpose" in p for p in report.problems)


def test_visible_tests_that_the_stub_passes_are_a_problem(source):
    report = _report(source(visible="assert callable(total)"))
    assert any("stub" in p and "visible tests pass" in p for p in report.problems)


def test_a_probe_that_reads_a_global_is_a_problem(source):
    part = Part("values", "Right.", draw_numbers, ask_by_global)
    with pytest.raises(CheckFault, match="OFFSET"):
        _report(source(), parts=(part,))
    assert list(checking._free_names(replace(CHECK, parts=(part,)))) == [
        "toy_total: the probe of part 'values' reads the global name OFFSET"
    ]
    assert list(checking._free_names(CHECK)) == []


def test_a_helper_travels_with_the_probe_that_names_it():
    part = Part("values", "Right.", draw_numbers, ask_shifted, helpers=(shifted,))
    assert list(checking._free_names(replace(CHECK, parts=(part,)))) == []
    assert call_probe(part.probe_source, sum, {"numbers": [1, 2]}, 0) == 23
    alone = replace(part, helpers=())
    (problem,) = checking._free_names(replace(CHECK, parts=(alone,)))
    assert problem == "toy_total: the probe of part 'values' reads the global name shifted"


@pytest.mark.parametrize(
    ("solution", "complaints"),
    [
        (
            SOLUTION,
            (
                "toy_total: 1 mistake; a solution of 5 statements needs at least 5",
                "toy_total: 0 right answers; a solution of 5 statements needs at least 2",
            ),
        ),
        (
            "return sum(numbers)",
            (
                "toy_total: 1 mistake; a solution of 1 statement needs at least 2",
                "toy_total: 0 right answers; a solution of 1 statement needs at least 1",
            ),
        ),
    ],
)
def test_a_thin_catalogue_is_a_problem_the_more_the_longer_the_solution(
    source, solution, complaints
):
    report = _report(source(solution=solution), mistakes=WRONG[:1], right=())
    assert report.problems == complaints


def test_points_that_differ_between_notebook_and_check_are_a_problem(source):
    report = _report(source(), points=90)
    assert any("100 points in the notebook, 90 in its check" in p for p in report.problems)


def test_mutants_that_never_end_are_stopped_and_counted(source):
    report = _report(source(), with_mutants=True)
    changes = {trial.name: trial for trial in report.of(kind="mutant")}
    assert changes["place += 1  →  pass"].share < 1
    assert changes["place += 1  →  pass"].stopped
    assert not changes["return total  →  return None"].stopped
    assert report.survivors == []
    assert report.mutation_score == 1
    assert report.ok
    console = Console(width=150, record=True, file=io.StringIO())
    print_report(report, console)
    n_stopped = sum(trial.stopped for trial in report.trials)
    assert f"{n_stopped} by being stopped" in console.export_text()


def test_mutant_that_takes_its_time_is_not_stopped(source):
    """Ten times the steps of the solution are no loop without end."""
    solution = "answer = 0\n    for n in numbers * 1:\n        answer += n\n    return answer"
    slow = "for n in numbers * 1:  →  for n in numbers * 2:"
    report = _report(source(solution=solution), with_mutants=True)
    (trial,) = (trial for trial in report.of(kind="mutant") if trial.name == slow)
    assert not trial.stopped and trial.caught_by == ("values",)


def _endless(numbers):
    while True:
        pass


def test_a_mistake_that_never_ends_must_be_declared(source, monkeypatch):
    monkeypatch.setattr(diagnosis, "ENDLESS_CPU_SECONDS", 0.1)
    declared = Mistake("endless", "Does your loop end?", _endless, endless=True)
    report = _report(source(), mistakes=(*WRONG, declared))
    assert report.problems == ()
    trial = report.of("toy_total", "mistake")[-1]
    assert (trial.stopped, trial.recognised) == (True, "")

    ends = Mistake("ends", "Look.", lambda numbers: sum(numbers) + 3, endless=True)
    report = _report(source(), mistakes=(*WRONG, ends))
    assert report.problems == (
        "toy_total: mistake 'ends': is declared endless, but it ends in every case",
    )

    monkeypatch.setattr(trials, "LONGEST_CPU_SECONDS", 1)
    report = _report(source(), mistakes=(replace(declared, endless=False), *WRONG))
    assert report.problems == (
        "toy_total: mistake 'endless': stopped after 1 s of CPU: declare it endless or fix it",
    )


def test_survivors_are_counted_unless_listed_with_a_reason(source):
    solution = "answer = 7\n    return sum(numbers)"
    survivors = [f"answer = 7  →  {new}" for new in ("answer = 8", "answer = 6", "pass")]
    report = _report(source(solution=solution), with_mutants=True)
    assert [trial.name for trial in report.survivors] == survivors
    assert any("of the mutants are caught; at least 98%" in p for p in report.problems)

    reasons = dict.fromkeys(survivors, "Nobody reads it.")
    report = _report(source(solution=solution), with_mutants=True, equivalent_mutants=reasons)
    assert report.ok
    assert len(report.equivalent) == 3


def test_a_stale_list_of_equivalent_mutants_is_a_problem(source):
    listed = {"return sum(numbers)  →  return None": "?", "x  →  y": "?"}
    solution = "return sum(numbers)"
    report = _report(source(solution=solution), with_mutants=True, equivalent_mutants=listed)
    assert report.problems == (
        "toy_total: listed as equivalent, but caught: return sum(numbers)  →  return None",
        "toy_total: no such mutant is made: x  →  y",
    )


def test_a_source_without_the_item_is_refused(tmp_path):
    path = tmp_path / "toy.py"
    path.write_text("# %%\nx = 1\n")
    with pytest.raises(GraderError, match="toy_total"):
        _report(path)


def test_report_shows_the_proof_and_every_problem(source):
    unseen = Mistake("[red]unseen", "Look.", lambda numbers: sum(numbers) + (len(numbers) == 4))
    report = _report(source(), mistakes=(*WRONG, unseen))
    console = Console(width=150, record=True, file=io.StringIO())
    print_report(report, console)
    text = console.export_text()
    assert "toy_total" in text
    assert "6 of 7" in text
    assert "100%" in text
    assert "mistake '[red]unseen': is not caught" in text


def test_overview_has_a_row_for_each_set_and_one_for_all(source):
    unseen = Mistake("unseen", "Look.", lambda numbers: sum(numbers) + (len(numbers) == 4))
    good, bad = _report(source()), _report(source(), mistakes=(*WRONG, unseen))
    assert good.cpu_seconds > 0
    console = Console(width=200, record=True, file=io.StringIO())
    print_overview([good, replace(bad, name="other", cpu_seconds=1000.0)], console)
    first, second, total = (
        [cell.strip() for cell in line.split("│")[1:-1]]
        for line in console.export_text().splitlines()
        if line.startswith("│")
    )
    assert first[:3] == ["toy", "1", "6 of 6"] and first[-2] == "0"
    assert second[:3] == ["other", "1", "6 of 7"] and second[-2:] == ["1", "1000"]
    assert total[:3] == ["all", "2", "12 of 13"] and total[-2] == "1"


def test_unseen_answers_are_counted_and_their_problems_listed(source, monkeypatch):
    monkeypatch.setattr(unseen_answers, "MOST", 3)
    answers = [
        *RIGHT,
        KnownAnswer(False, "mean", "def total(n): return sum(n) / max(1, len(n)) + 1"),
        KnownAnswer(False, "of four", "def total(n): return sum(n) + (len(n) == 4)"),
    ]
    problem_set = ProblemSet("toy", "Toy set", (CHECK,))
    report = check_set(
        problem_set,
        build(source()),
        with_mutants=False,
        with_unseen=True,
        answers={"total": answers},
        seeds=(0,),
    )
    assert report.problems == ("toy_total: wrong answer 'of four': is not caught",)
    console = Console(width=150, record=True, file=io.StringIO())
    print_report(report, console)
    lines = console.export_text().splitlines()
    ((place, row),) = (
        (n, line) for n, line in enumerate(lines) if "1 of 2" in line and "all" in line
    )
    assert "3 of 3" in row and "50.0%" in lines[place + 1]
    plain = plain_report(report)
    assert "of four" in [one["name"] for one in plain["unseen"]]
    assert plain["unseen_judged_well"]["wrong answers caught"] == (1, 2)


def test_a_mistake_that_keeps_points_by_luck_is_a_problem(source):
    values, nothing = CHECK.parts
    drawn = [
        draw_numbers(np.random.default_rng(part_seed(s, CHECK.item, "values"))) for s in (0, 1)
    ]
    threshold = sum(cases[1].inputs["numbers"][0] for cases in drawn) / 2
    lucky = Mistake(
        "lucky",
        "Look.",
        lambda n: sum(n) + (not n or (len(n) == 5 and n[0] > threshold)),
    )
    report = _report(source(), parts=(values, nothing), mistakes=(*WRONG, lucky))
    assert any("'lucky': keeps" in p and "by the draw" in p for p in report.problems)


@pytest.mark.parametrize("item", ["total", "toy_total"])
def test_one_item_is_tried_by_itself_by_either_name(item):
    other = replace(CHECK, item="toy_mean", target="mean")
    chosen = checking._chosen(ProblemSet("toy", "Toy set", (other, CHECK)), [item])
    assert chosen == [CHECK]


def test_notebook_whose_own_cells_stop_is_refused_before_an_answer_is_blamed(source):
    path = source(solution="return sum(numbers)")
    path.write_text(path.read_text() + "\n# %%\nimport helpers_beside_it\n")
    stops = "the cells of toy stop with its own solution: ModuleNotFoundError: No module named 'hel"
    with pytest.raises(GraderError, match=stops):
        check_set(ProblemSet("toy", "Toy set", (CHECK,)), build(path), with_mutants=False)


def test_unknown_item_is_refused_and_the_known_ones_are_named(source):
    with pytest.raises(GraderError, match="no item 'mean' in toy; it has: total"):
        check_set(ProblemSet("toy", "Toy set", (CHECK,)), build(source()), items=["mean"])
