"""Every class of attack has variants, and each works on graders that know no wall.

The naive graders run as cells inside the sandbox, since an attack is never let loose elsewhere.
"""

import ast
import re
from pathlib import Path

import pytest

from autograder.inside.process_limits import Limits
from autograder.sandbox.hoards import HOARDS
from autograder.sandbox.sandbox import Sandbox
from tests.autograder.attacks.cheats import CHEATS
from tests.autograder.attacks.harm import HARM
from tests.autograder.attacks.honest import HONEST
from tests.autograder.attacks.naive import NAIVE
from tests.autograder.attacks.searches import LEAKS, SEARCHES
from tests.autograder.attacks.toy import RIGHT_FOR_ALL, WRONG, complete

HERE = Path(__file__).parent

# Classes that attack what surrounds the cells, by the tests that hold them off.
ELSEWHERE = {
    "script and HTML injection": (
        "reports/test_student_feedback.py::test_nothing_that_a_student_wrote_becomes_markup",
        "test_attacks_on_pages.py::test_no_page_of_a_class_holds_what_a_student_injects",
        "test_attacks_on_pages.py::test_formgrader_draws_formulas_by_itself_and_none_acts",
    ),
    "fills the grader": (
        "sandbox/test_session.py::test_answers_that_would_fill_the_graders_memory_are_not_kept",
        "sandbox/test_session.py::test_error_of_a_cell_is_kept_only_where_a_worker_may_have_sent_it",
        "intake/test_watch.py::test_file_of_lists_without_end_is_not_built_up_to_be_looked_at",
        "inside/test_wire.py::test_memory_of_a_message_is_never_more_than_is_said",
    ),
    "stops what is done for the class": (
        "class_run/test_containment.py::test_student_who_fills_the_folder_ends_nobodys_grading",
        "test_attacks.py::test_attack_in_another_sandbox_costs_an_honest_submission_nothing",
        "class_run/test_containment.py::test_name_that_is_no_utf_8_ends_nobodys_grading",
        "class_run/test_containment.py::test_answer_that_cannot_be_compared_is_named_and_all_others_are",
        "class_run/test_containment.py::test_answer_that_breaks_a_score_leaves_the_leaderboard_standing",
    ),
    "symbolic links": (
        "intake/test_collection.py::test_symbolic_link_is_recorded_but_never_followed",
        "intake/test_collection.py::test_read_notebook_rejects_what_is_no_plain_file",
        "intake/test_archives.py::test_zip_rejects_what_is_no_plain_file",
    ),
    "zip bombs handed in": (
        "intake/test_archives.py::test_zip_rejects_a_bomb_without_unpacking_it",
        "intake/test_archives.py::test_zip_rejects_a_path_that_leads_out",
        "intake/test_archives.py::test_zip_bounds_what_all_members_together_may_cost",
    ),
    "files beside the notebook": (
        "test_attacks_on_pages.py::test_files_beside_the_notebook_are_not_looked_at",
        "intake/test_collection.py::test_collect_chooses_the_set_s_own_file_and_says_so_when_there_are_several",
    ),
    "changed graded cells": (
        "intake/test_repair.py::test_deleted_locked_cell_is_put_back_where_it_was",
        "intake/test_repair.py::test_changed_locked_cell_is_put_back",
        "intake/test_repair.py::test_moved_locked_cell_is_put_back",
        "intake/test_repair.py::test_copied_cells_are_harmless_and_noticed",
        "intake/test_repair.py::test_answer_split_over_cells_runs_whole",
        "intake/test_repair.py::test_lost_metadata_is_found_again_by_cell_id_or_text",
        "intake/test_repair.py::test_forged_marks_have_no_effect",
    ),
    "malformed notebooks": (
        "intake/test_repair.py::test_other_kernel_is_noticed_and_run_as_python",
        "intake/test_repair.py::test_old_format_is_converted",
        "intake/test_repair.py::test_damaged_cells_are_left_out_one_by_one",
        "intake/test_repair.py::test_repair_rejects_what_is_no_notebook",
        "intake/test_repair.py::test_repair_never_fails_in_another_way",
    ),
    "forged timestamps": (
        "class_run/test_late_policy.py::test_time_that_cannot_be_true_counts_as_unknown",
        "class_run/test_late_policy.py::test_lateness_is_real_time_when_clocks_are_put_forward",
        "inside/test_process_limits.py::test_system_call_is_refused",
    ),
}

FOOLED = [
    ("patched comparisons", "torch comparisons"),
    ("patched comparisons", "numpy comparisons"),
    ("patched comparisons", "assert switched off"),
    ("patched random generators", "random generators"),
    ("patched references", "torch's product"),
    ("patched references", "numpy's product"),
    ("equal to everything", "equal to everything"),
    ("equal to everything", "tensor subclass"),
    ("equal to everything", "float subclass"),
    ("equal to everything", "property that lies"),
    ("hostile values", "none"),
    ("hostile exceptions", "hostile dunder text"),
    ("syntax-tree and input transformers", "input transformer"),
    ("syntax-tree and input transformers", "syntax-tree transformer"),
    ("replaced runners, hooks and handlers", "cell runner"),
]
"""Attacks that earn full marks from a naive grader, or from one that expects exceptions."""

_ENDS_WITH_IT = "a grader in the same process ends, waits or starves with what it judges"
_SAME_RIGHTS = "a grader in the same process holds what is looked for, or may reach it"
ARGUED = {
    "forged or erased outputs": "who grades by outputs reads what student code may print or clear",
    "shadowed modules": "a kernel has the notebook's folder first on its path, and imports later",
    **dict.fromkeys(HARM, _ENDS_WITH_IT),
    **dict.fromkeys(SEARCHES, _SAME_RIGHTS),
}


def table():
    """Return every class with the names of its variants."""
    inside = {**CHEATS, **HARM, **SEARCHES, "prints the tests": LEAKS}
    inside["memory that nobody counts"] = HOARDS
    return {name: tuple(variants) for name, variants in inside.items()} | ELSEWHERE


@pytest.mark.parametrize("name", table())
def test_class_of_attacks_has_several_variants(name):
    assert len(set(table()[name])) >= 2


def test_number_of_variants_only_grows():
    assert len(table()) >= 40
    assert sum(map(len, table().values())) >= 220
    assert len(HONEST) >= 30


def test_security_page_counts_no_attack_that_there_is_not():
    page = (HERE.parents[1] / "SECURITY.md").read_text("utf-8")
    variants, classes = re.findall(r"more than (\d+) in (\d+) classes", page)[0]
    assert sum(map(len, table().values())) > int(variants)
    assert len(table()) >= int(classes)


@pytest.mark.parametrize("test", [test for tests in ELSEWHERE.values() for test in tests])
def test_test_of_an_attack_exists(test):
    file, _, name = test.partition("::")
    tree = ast.parse((HERE / file).read_text())
    assert name in {node.name for node in tree.body if isinstance(node, ast.FunctionDef)}


def test_variants_are_all_different():
    cells = [
        cell
        for classes in (CHEATS, HARM, SEARCHES, {"": LEAKS})
        for variants in classes.values()
        for cell in variants.values()
    ]
    assert len(set(cells)) == len(cells)


def test_every_class_works_on_a_naive_grader_or_is_argued():
    assert {name for name, _ in FOOLED} | set(ARGUED) == {*CHEATS, *HARM, *SEARCHES}


@pytest.fixture(scope="module")
def sandbox():
    with Sandbox(limits=Limits(cell_seconds=5, submission_seconds=60)) as sandbox:
        yield sandbox


def fooled(sandbox, cell):
    """Name the naive graders that find nothing wrong."""
    run = sandbox.run([cell, *NAIVE.values()], [])
    return [
        name
        for name, result in zip(NAIVE, run.cells[1:], strict=True)
        if result.error is None or result.error.startswith("SystemExit")
    ]


@pytest.mark.sandbox
def test_naive_graders_know_right_from_wrong(sandbox):
    assert fooled(sandbox, WRONG) == []
    assert len(fooled(sandbox, RIGHT_FOR_ALL)) == len(NAIVE)


@pytest.mark.sandbox
@pytest.mark.parametrize(("name", "variant"), FOOLED, ids=map(": ".join, FOOLED))
def test_attack_works_on_a_naive_grader(sandbox, name, variant):
    assert fooled(sandbox, complete(CHEATS[name][variant]))
