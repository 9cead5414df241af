"""What tasks do not allow: each task that says so has the rule, and each breach the same price."""

from pathlib import Path

import pytest

from autograder.authoring import rules
from autograder.authoring.course import find_course
from autograder.authoring.notebooks import grading
from autograder.authoring.release import ReleasedSet
from tests.assignments.notebooks import grade

COURSE = find_course(Path(__file__).parents[2] / "assignments")
SETS = {name: ReleasedSet(COURSE, name) for name in COURSE.sets()}
CHECKS = {check.item: check for each in SETS.values() for check in each.problem_set.checks}

NO_LOOPS = "No loop over positions"  # a rule for the whole set


def _tasks(released):
    """Yield each autograded item with the text that stands before its answer cell."""
    text = ""
    for cell in released.notebooks.student.cells:
        item = grading(cell).get("grade_id", "").removesuffix("_answer")
        if cell.cell_type == "markdown":
            text = cell.source
        elif item in CHECKS and grading(cell).get("solution"):
            yield item, text


@pytest.mark.parametrize("name", SETS)
def test_every_task_that_does_not_allow_something_has_the_rule(name):
    tasks = dict(_tasks(SETS[name]))
    assert tasks
    for item, text in tasks.items():
        n_rules = sum(part.name == rules.NAME for part in CHECKS[item].parts)
        if "Not allowed" in text:
            assert n_rules == 1, item
        if n_rules:
            everywhere = "".join(cell.source for cell in SETS[name].notebooks.student.cells)
            assert "Not allowed" in text or NO_LOOPS in everywhere, item
            assert "half of the points" in everywhere


@pytest.mark.parametrize(
    ("item", "mistake", "complaint"),
    [
        ("ps3_cross_entropy", "Torch's own function is called.", "`cross_entropy`"),
        ("ps3_cross_entropy_gradient", "torch.func computes the derivative.", "torch.func"),
        ("ps3_cross_entropy_gradient", "Autograd computes the derivative.", "autograd"),
        ("ps3_elman_step", "Torch's own cell is called.", "`rnn_tanh_cell`"),
        ("ps3_lstm_step", "Torch's own cell is called.", "`lstm_cell`"),
        ("ps4_attend", "Torch's own function is called.", "`scaled_dot_product_attention`"),
        (
            "ps4_multi_head_attention",
            "Torch's own function for several heads is called.",
            "`multi_head_attention_forward`",
        ),
        ("ps5_layer_norm", "Torch's own function is called.", "`layer_norm`"),
        ("ps5_rms_norm", "Torch's own function is called.", "`rms_norm`"),
        (
            "ps5_cross_attention",
            "Torch's own attention is called.",
            "`scaled_dot_product_attention`",
        ),
        ("ps5_sinusoidal_positions", "The rows are made in a loop over the positions.", "a loop"),
    ],
)
def test_right_result_by_what_is_not_allowed_is_worth_half(item, mistake, complaint):
    check = CHECKS[item]
    verdict = grade(check, check.mistake(mistake).implementation, 11)
    (broken,) = (part for part in verdict.parts if not part.passed)
    assert broken.part == rules.NAME and complaint in broken.message
    assert verdict.points == check.points / 2
    assert verdict.misconception is not None and verdict.misconception.name == mistake
