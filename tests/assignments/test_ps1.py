"""Problem set 1: the proof of its checks, and the notebook as a student meets it."""

import ast
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
from nbclient import NotebookClient

from assignments.answers.ps1 import count_ngrams as counting
from assignments.answers.ps1 import kneser_ney_prob as smoothing
from assignments.checks import ps1, ps1_draws, ps1_references
from autograder.judge import case_requests
from autograder.notebooks import is_autograded, is_ungraded_work
from autograder.probing import probe_or_failure
from autograder.quality import check_set
from autograder.records import Failure
from autograder.release import build, leaks, lint

SOURCE = Path(ps1.__file__).parent.parent / "sets" / "ps1.py"
CHECKS = {check.item: check for check in ps1.PROBLEM_SET.checks}


@pytest.fixture(scope="module")
def release():
    return build(SOURCE)


def _run(notebook):
    """Run the cells but the workshop's in order; return errors by cell id, and the names made."""
    namespace: dict[str, object] = {"__name__": "__main__"}
    errors = {}
    for cell in notebook.cells:
        if cell.cell_type == "code" and not is_ungraded_work(cell):
            try:
                exec(compile(cell.source, cell.id, "exec"), namespace)
            except Exception as error:
                errors[cell.id] = error
    return errors, namespace


# -- the checks ------------------------------------------------------------------------------------


def test_notebook_and_checks_agree_and_the_points_sum_to_100(release):
    assert lint(release, ps1.PROBLEM_SET) == ()


@pytest.mark.parametrize("item", CHECKS)
def test_reference_answers_every_question(item):
    for seed in range(3):
        for request in case_requests(CHECKS[item], seed):
            value = probe_or_failure(request, {request.target: CHECKS[item].reference})
            assert not isinstance(value, Failure), (request.part, request.inputs, value)


@pytest.mark.slow
def test_checks_judge_well():
    report = check_set(
        ps1.PROBLEM_SET, SOURCE, equivalent_mutants=ps1.EQUIVALENT_MUTANTS, seeds=(0, 1, 2)
    )
    assert report.problems == ()
    assert report.survivors == []
    assert len(report.of(kind="mutant")) > 100


def test_checks_accept_and_catch_one_answer_of_each_kind():
    """A quick look at the heart of the slow proof: two items, one draw."""
    two = tuple(CHECKS[item] for item in ("ps1_mle_prob", "ps1_continuation_counts"))
    others = {f"{item}: the notebook grades it, but there is no check" for item in CHECKS}
    quick = type(ps1.PROBLEM_SET)("ps1", "n-gram models", two)
    report = check_set(quick, SOURCE, with_mutants=False, seeds=(5,))
    assert set(report.problems) <= others
    assert all(trial.share == 1 for trial in report.of(kind="alternative"))
    assert all(trial.share < 1 for trial in report.of(kind="mistake"))


def test_the_heart_of_each_item_is_worth_three_fifths():
    for check in CHECKS.values():
        names = [part.name for part in check.parts]
        heart = {"values", "order 2", "any order"} & set(names)
        worth = sum(part.weight for part in check.parts if part.name in heart)
        assert worth >= 0.6 * sum(part.weight for part in check.parts), check.item


def test_hints_are_for_students_to_read():
    """Whole sentences, in the second person where they speak of the answer, and no code block."""
    for check in CHECKS.values():
        hints = [mistake.hint for mistake in check.mistakes]
        assert len(set(hints)) == len(hints), check.item
        for hint in hints:
            assert hint[-1] in ".?", hint
            assert 60 < len(hint) < 260, hint
            assert "\n" not in hint and " = " not in hint.replace("k = 1", "").replace("u = 0", "")
        assert sum("you" in hint.lower() for hint in hints) > len(hints) / 2, check.item


# -- the draws, against definitions ----------------------------------------------------------------


@pytest.mark.parametrize("kind", ["words", "numbers", "pairs"])
@pytest.mark.parametrize("order", [1, 2, 3])
def test_continuation_counts_match_their_definition(kind, order):
    rng = np.random.default_rng(11)
    tokens, eos = ps1_draws.alphabet(kind, 4)
    documents = ps1_draws.text(rng, tokens, (9, 0, 5, 2))
    longer = ps1_references.count_ngrams(documents, order + 1, eos)
    made = ps1_references.continuation_counts(longer, order)
    assert made == ps1_draws.continuations(documents, order, eos)


def test_draws_keep_the_contracts():
    for seed in range(5):
        for item in ("ps1_add_k_prob", "ps1_interpolated_prob", "ps1_kneser_ney_prob"):
            for request in case_requests(CHECKS[item], seed):
                settings, everything = request.inputs["settings"], request.inputs["everything"]
                assert len(set(everything)) == settings["vocab_size"]
                for table in request.inputs["tables"]:
                    assert {w for row in table.values() for w in row} < set(everything)
                assert sum(settings.get("weights", [1.0])) == pytest.approx(1, abs=1e-12)
                assert min(settings.get("weights", [1.0])) > 0
                assert all(0 < d < 1 for d in settings.get("discounts", []))
                assert settings.get("k", 1) > 0
        for request in case_requests(CHECKS["ps1_sample"], seed):
            assert all(0 <= u < 1 for u in request.inputs["us"])
            # 2e-10: some sums are made to lie 1e-10 below 1.
            assert sum(p for _, p in request.inputs["probs"]) == pytest.approx(1, abs=2e-10)


def test_cost_is_counted_the_same_in_every_draw():
    """Growth is measured in operations, not in seconds, so a slow machine changes nothing."""
    cost = next(part for part in CHECKS["ps1_count_ngrams"].parts if part.name == "cost")
    for seed in range(20):
        (case,) = cost.draw(np.random.default_rng(seed))
        for answer, faster in [
            *((a.implementation, False) for a in counting.ALTERNATIVES),
            (counting.count_by_searching, True),
        ]:
            assert cost.probe(answer, case.inputs)[2] is faster


# -- the examples in the text ----------------------------------------------------------------------


def test_examples_by_hand_match_the_package():
    eos, vocab_size = "<eos>", 7
    sentences = [["the", "cat", "sat"], ["the", "cat", "ran"], ["the", "dog", "sat"]]
    unigrams, bigrams = (ps1_references.count_ngrams(sentences, n, eos) for n in (1, 2))
    mix = {"weights": [0.1, 0.3, 0.6], "vocab_size": vocab_size}
    for history, by_hand in [(("the",), 0.4643), (("bird",), 0.1607)]:
        p = ps1_references.interpolated_prob([unigrams, bigrams], history, "cat", **mix)
        assert p == pytest.approx(by_hand, abs=5e-5)  # as printed
    contexts = ps1_references.continuation_counts(bigrams, 1)
    assert contexts == {(): {"the": 1, "cat": 1, "dog": 1, "sat": 2, "ran": 1, eos: 2}}
    discount = {"discounts": [0.5, 0.5], "vocab_size": vocab_size}
    for history, token, by_hand in [
        ((), "bird", 3 / 56),
        ((), "cat", 13 / 112),
        (("the",), "cat", 1.5 / 3 + (0.5 * 2 / 3) * 13 / 112),
        (("bird",), "cat", 13 / 112),
    ]:
        p = ps1_references.kneser_ney_prob([contexts, bigrams], history, token, **discount)
        assert p == pytest.approx(by_hand, abs=1e-12)


# -- the notebook ----------------------------------------------------------------------------------


def test_student_notebook_leaks_nothing(release):
    assert leaks(release) == ()


def test_student_notebook_runs_and_only_its_visible_tests_fail(release):
    errors, _ = _run(release.student)
    graded = {cell.id for cell in release.source.cells if is_autograded(cell)}
    assert set(errors) == graded
    assert {type(error) for error in errors.values()} == {NotImplementedError}


def test_solution_notebook_passes_its_visible_tests(release):
    errors, _ = _run(release.solution)
    assert errors == {}


@pytest.mark.parametrize(
    ("item", "answer", "message"),
    [
        (
            "count_ngrams",
            counting.count_without_start,
            "the first word of a sentence has a history",
        ),
        ("count_ngrams", counting.count_without_end, "the end of a sentence is counted"),
        ("count_ngrams", counting.count_start_as_target, "the start EOS is given"),
        ("kneser_ney_prob", smoothing.discount_zeros, "a count of 0 has nothing to give up"),
        ("kneser_ney_prob", smoothing.stop_at_unigrams, "is 1/V below order 1"),
        ("kneser_ney_prob", smoothing.unseen_is_impossible, "after an unseen history P2 is P1"),
    ],
)
def test_visible_tests_name_what_is_wrong(release, item, answer, message):
    _, namespace = _run(release.solution)
    cell = next(cell for cell in release.student.cells if cell.id == f"ps1_{item}")
    with pytest.raises(AssertionError, match=message):
        exec(cell.source, {**namespace, item: answer})


def test_every_visible_assertion_explains_itself(release):
    for cell in release.student.cells:
        if is_autograded(cell):
            for node in ast.walk(ast.parse(cell.source)):
                if isinstance(node, ast.Assert):
                    assert node.msg is not None, ast.unparse(node)


def test_tasks_work_without_grader_and_without_package(release):
    """As on a laptop without network, where nothing can be installed."""
    code = [cell for cell in release.solution.cells if cell.cell_type == "code"]
    cells = [c.source for c in code if c.id == "ps1_install" or not is_ungraded_work(c)]
    program = """
import subprocess, sys
sys.modules["autograder"] = sys.modules["course_pkg"] = None
subprocess.run = lambda command, check: type("Done", (), {"returncode": 1})
"""
    done = subprocess.run(
        [sys.executable, "-W", "error", "-c", "\n\n".join([program, *cells])],
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    assert "could not be installed; all tasks work without it" in done.stdout


def test_grading_runs_no_cell_that_imports_the_package_or_installs_it(release):
    for cell in release.source.cells:
        if cell.cell_type == "code" and not is_ungraded_work(cell):
            assert "course_pkg" not in cell.source
            assert "subprocess" not in cell.source


@pytest.mark.slow
def test_solution_notebook_runs_whole_and_agrees_with_the_package(release):
    notebook = NotebookClient(release.solution.copy(), timeout=600, kernel_name="python3").execute()
    outputs = [output for cell in notebook.cells for output in cell.get("outputs", ())]
    printed = "".join(output.text for output in outputs if output.output_type == "stream")
    assert "The two Kneser–Ney models agree." in printed
    rows = {
        line[:26].strip(): [float(word) for word in line[26:].split()]
        for line in printed.splitlines()
        if line.startswith(("your ", "the package's "))
    }
    # What the text tells the student to expect, to the digits that it prints.
    assert rows["your Kneser–Ney"] == pytest.approx([67.7, 3.85, 2.47, 2.35, 2.15], rel=5e-3)
    add_k = rows["your add-k"]
    assert add_k[1] < 1.02 * rows["your Kneser–Ney"][1]
    assert add_k[2] < add_k[3] < add_k[4]
    assert any("image/png" in output.get("data", {}) for output in outputs)


@pytest.mark.slow
def test_student_notebook_runs_whole_in_a_kernel(release):
    client = NotebookClient(
        release.student.copy(), timeout=600, kernel_name="python3", allow_errors=True
    )
    errors = {
        cell.id: output.ename
        for cell in client.execute().cells
        for output in cell.get("outputs", ())
        if output.output_type == "error"
    }
    graded = {cell.id for cell in release.source.cells if is_autograded(cell)}
    assert {name: errors[name] for name in graded} == dict.fromkeys(graded, "NotImplementedError")
