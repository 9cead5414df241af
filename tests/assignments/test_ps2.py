"""Problem set 2: the proof of its checks, and the notebook as a student meets it."""

import ast
import re
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
from nbclient import NotebookClient
from tokenizers import models

from assignments.answers.ps2 import decode as decoding
from assignments.answers.ps2 import encode as encoding
from assignments.answers.ps2 import encode_word as word_encoding
from assignments.answers.ps2 import learn_merges as learning
from assignments.answers.ps2 import merge_pair as merging
from assignments.checks import ps2, ps2_draws, ps2_references
from autograder.judge import case_requests
from autograder.notebooks import is_autograded, is_ungraded_work
from autograder.probing import probe_or_failure
from autograder.quality import check_set
from autograder.records import Failure
from autograder.release import build, leaks, lint
from course_pkg.text.printable_bytes import to_printable

SOURCE = Path(ps2.__file__).parent.parent / "sets" / "ps2.py"
CHECKS = {check.item: check for check in ps2.PROBLEM_SET.checks}


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


def _cases(item, seed):
    return [request.inputs for request in case_requests(CHECKS[item], seed)]


# -- the checks ------------------------------------------------------------------------------------


def test_notebook_and_checks_agree_and_the_points_sum_to_100(release):
    assert lint(release, ps2.PROBLEM_SET) == ()


@pytest.mark.parametrize("item", CHECKS)
def test_reference_answers_every_question(item):
    for seed in range(3):
        for request in case_requests(CHECKS[item], seed):
            value = probe_or_failure(request, {request.target: CHECKS[item].reference})
            assert not isinstance(value, Failure), (request.part, request.inputs, value)


@pytest.mark.parametrize("item", CHECKS)
def test_right_answer_agrees_with_the_reference_in_many_draws(item):
    """Rare draws must not cost a student points: accents that two libraries cut differently did."""
    check = CHECKS[item]
    for seed in range(100, 125):
        for request in case_requests(check, seed):
            right = probe_or_failure(
                request, {request.target: check.alternatives[0].implementation}
            )
            expected = probe_or_failure(request, {request.target: check.reference})
            assert right == expected, (seed, request.part, request.inputs)


@pytest.mark.slow
def test_checks_judge_well():
    report = check_set(
        ps2.PROBLEM_SET, SOURCE, equivalent_mutants=ps2.EQUIVALENT_MUTANTS, seeds=(3, 4, 5)
    )
    assert report.problems == ()
    assert report.survivors == []
    assert len(report.of(kind="mutant")) > 80


def test_checks_accept_and_catch_one_answer_of_each_kind():
    """A quick look at the heart of the slow proof: two items, one draw."""
    two = tuple(CHECKS[item] for item in ("ps2_merge_pair", "ps2_encode"))
    others = {f"{item}: the notebook grades it, but there is no check" for item in CHECKS}
    quick = type(ps2.PROBLEM_SET)("ps2", "tokenization", two)
    report = check_set(quick, SOURCE, with_mutants=False, seeds=(7,))
    assert set(report.problems) <= others
    assert all(trial.share == 1 for trial in report.of(kind="alternative"))
    assert all(trial.share < 1 for trial in report.of(kind="mistake"))


def test_the_heart_of_each_item_is_worth_three_fifths():
    hearts = {"ps2_encode": {"values", "borders"}, "ps2_decode": {"values", "characters"}}
    for item, check in CHECKS.items():
        heart = hearts.get(item, {"values"})
        worth = sum(part.weight for part in check.parts if part.name in heart)
        assert worth >= 0.6 * sum(part.weight for part in check.parts), item


@pytest.mark.parametrize(
    ("item", "slip", "lost"),
    [
        ("ps2_merge_pair", merging.merge_from_the_right, {"runs"}),
        ("ps2_learn_merges", learning.ties_to_the_first_seen, {"ties"}),
        ("ps2_learn_merges", learning.ignore_min_count, {"stopping"}),
        ("ps2_encode", encoding.encode_without_cutting, {"borders", "spaces"}),
        ("ps2_decode", decoding.fail_at_broken_bytes, {"broken bytes"}),
    ],
)
def test_one_slip_costs_one_part(item, slip, lost):
    check = CHECKS[item]
    wrong = set()
    for request in case_requests(check, 11):
        part = next(part for part in check.parts if part.name == request.part)
        expected = probe_or_failure(request, {request.target: check.reference})
        observed = probe_or_failure(request, {request.target: slip})
        if isinstance(observed, Failure) or part.judge(observed, expected, request.inputs):
            wrong.add(part.name)
    assert wrong
    assert wrong <= lost


def test_hints_are_for_students_to_read():
    """Whole sentences, in the second person where they speak of the answer, and no code block."""
    for check in CHECKS.values():
        hints = [mistake.hint for mistake in check.mistakes]
        assert len(set(hints)) == len(hints), check.item
        for hint in hints:
            assert hint[-1] in ".?", hint
            assert 60 < len(hint) < 260, hint
            assert "\n" not in hint and " = " not in hint
        assert sum("you" in hint.lower() for hint in hints) > len(hints) / 2, check.item


# -- the draws, against definitions ----------------------------------------------------------------


def test_corpora_have_no_ties_where_ties_are_not_asked_for():
    for seed in range(5):
        for case in ps2_draws.draw_corpora(np.random.default_rng(seed)):
            steps = ps2_draws.best_counts(case.inputs["words"], case.inputs["n_tokens"] - 256)
            assert steps
            assert {n_best for _, n_best in steps} == {1}


def test_stops_are_one_count_apart():
    for seed in range(5):
        enough, rare, few, full = ps2_draws.draw_stops(np.random.default_rng(seed))
        n_merges = [len(ps2_references.learn_merges(**c.inputs)[1]) for c in (enough, rare, few)]
        assert n_merges[0] > n_merges[1]
        assert n_merges[2] == 2  # one for each word of two letters
        assert full.inputs["n_tokens"] == 256


def test_patterns_lose_nothing_of_any_text():
    characters = "".join(chr(c) for c in range(0x3000) if not 0xD800 <= c < 0xE000)
    for text in [characters, *ps2_draws.HOSTILE, " a  b\t\n"]:
        assert "".join(re.findall(ps2_draws.SPLIT, text)) == text
    for inputs in _cases("ps2_encode", 3):
        for text in inputs["texts"]:
            assert "".join(re.findall(inputs["pattern"], text)) == text


def test_no_pair_is_learned_twice_and_no_token_made_twice():
    """Else replaying the merges once, and taking the smallest rank each time, could differ."""
    for seed in range(5):
        for item in ("ps2_encode_word", "ps2_encode"):
            for inputs in _cases(item, seed):
                made = [first + second for first, second in inputs["merges"]]
                assert len(set(made)) == len(made)
                assert len(set(inputs["merges"])) == len(inputs["merges"])


def test_ids_match_tokenizers():
    """The expected ids do not only come from our own package."""
    for inputs in [*_cases("ps2_encode_word", 2), *_cases("ps2_encode", 2)]:
        vocabulary, merges = inputs["vocabulary"], inputs["merges"]
        printable = {to_printable(t): i for i, t in enumerate(vocabulary) if isinstance(t, bytes)}
        pairs = [(to_printable(a), to_printable(b)) for a, b in merges]
        library = models.BPE(vocab=printable, merges=pairs)
        for word in inputs.get("words", []):
            ids = [token.id for token in library.tokenize(to_printable(word))]
            assert ids == ps2_references.encode_word(word, vocabulary, merges)
        for text in inputs.get("texts", []):
            pieces = re.findall(inputs["pattern"], text)
            ids = [t.id for p in pieces for t in library.tokenize(to_printable(p.encode()))]
            assert ids == ps2_references.encode(text, vocabulary, merges, inputs["pattern"])


# -- the examples in the text ----------------------------------------------------------------------


def test_examples_by_hand_match_the_package(release):
    _, made = _run(release.solution)
    words, merges, vocabulary = made["WORDS"], made["MERGES"], made["toy_vocabulary"]()
    tokens, learned = ps2_references.learn_merges(words, 261, 1)
    assert learned == merges
    assert [*tokens, "<eos>"] == vocabulary
    assert ps2_draws.best_counts(words, 5) == [(9, 2), (9, 1), (7, 2), (7, 1), (6, 3)]
    assert ps2_references.count_pairs([[7, 7, 7], [7, 5]], [2, 3]) == {(7, 7): 4, (7, 5): 3}
    assert ps2_references.merge_pair([7, 7, 7, 5], (7, 7), 9) == [9, 7, 5]
    assert ps2_references.encode_word(b"newest", vocabulary, merges) == [110, 260, 257]
    assert made["SPLIT"] == ps2_draws.SPLIT
    text = "low  lowest!"
    assert re.findall(made["SPLIT"], text) == ["low", " ", " lowest", "!"]
    ids = ps2_references.encode(text, vocabulary, merges, made["SPLIT"])
    assert ids == [259, 32, 32, 259, 257, 33]
    assert ps2_references.decode([195, 259], vocabulary) == "\ufffdlow"


def test_numbers_of_the_question_in_words_are_right():
    losses, bytes_per_token = np.array([3.2, 4.5]), np.array([2.5, 4.0])
    # As printed in the model answer: three digits.
    assert np.exp(losses) == pytest.approx([24.5, 90.0], abs=0.05)
    assert losses / bytes_per_token / np.log(2) == pytest.approx([1.85, 1.62], abs=5e-3)


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
        ("merge_pair", merging.merge_from_the_right, "the first two become 9"),
        ("merge_pair", merging.lose_the_last, "an id in no pair stays, at the end too"),
        ("learn_merges", learning.ties_to_the_largest, "the smaller ids win"),
        ("learn_merges", learning.stop_at_min_count, "occurs 7 times or more"),
        ("encode_word", word_encoding.leftmost_pair_first, "the smallest rank comes first"),
        ("encode", encoding.encode_without_cutting, "no merge crosses the border"),
        ("encode", encoding.cut_at_spaces_and_lose_them, "the space has an id too"),
        ("decode", decoding.decode_each_token, "join before you decode"),
        ("decode", decoding.fail_at_broken_bytes, "broken UTF-8 must not raise an error"),
    ],
)
def test_visible_tests_name_what_is_wrong(release, item, answer, message):
    _, namespace = _run(release.solution)
    cell = next(cell for cell in release.student.cells if cell.id == f"ps2_{item}")
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
    cells = [c.source for c in code if c.id == "ps2_install" or not is_ungraded_work(c)]
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
    for claim in (
        "merges equal the package's: True",
        "ids equal the package's and the library's: True",
        "every text comes back: True",
    ):
        assert claim in printed
    rows = {
        line[:18].strip(): [float(word) for word in line[18:].split()]
        for line in printed.splitlines()
        if line.startswith(("held-out text", "German and Greek"))
    }
    # What the text tells the student to expect, to the digits that it prints.
    held_out = rows["held-out text"]
    assert (held_out[0], held_out[1], held_out[-1]) == pytest.approx((1, 1.22, 2.66), abs=5e-3)
    assert rows["German and Greek"][-1] == pytest.approx(1.32, abs=5e-3)
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
