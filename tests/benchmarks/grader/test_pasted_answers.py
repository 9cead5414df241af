"""What the guide says about pasted functions of the package is what the command finds."""

import ast
import json
from pathlib import Path

import pytest

from autograder.authoring.course import Course
from autograder.authoring.release import ReleasedSet
from autograder.reports.similarity import fingerprint_code
from benchmarks.grader.pasted_answers import NEAREST, RECORD, disguised, measure

ROOT = Path(__file__).resolve().parents[3]
COURSE = Course(ROOT / "assignments")
RECORDED = json.loads(RECORD.read_text())

METHOD = '''def scale(self, x: Tensor, *, by: float = 2.0) -> Tensor:
        """Multiply."""
        if by < 0:
            raise ValueError(by)
        weight: Tensor = self.weight * by
        return torch.relu(x) * weight'''


def test_disguise_leaves_what_is_computed_and_nothing_that_names_it():
    shown = disguised(METHOD)
    assert ast.dump(ast.parse(shown)) == ast.dump(
        ast.parse("def x0(x1, *, x2=2.0):\n    x3 = x3 * x2\n    return torch.relu(x1) * x3")
    )
    left, right = fingerprint_code(METHOD).hashes, fingerprint_code(shown).hashes
    assert len(left - right) <= 2 < len(left)  # those that reach over the argument `self`


def _hold(name):
    found = list(measure(ReleasedSet(COURSE, name)))
    silent = [one.item for one in found if one.pasted is False]
    assert silent == [i for i in RECORDED["pasted and not reported"] if i.startswith(name)]
    assert not any(one.reported for one in found)
    return found


def test_pasted_span_functions_are_reported_and_no_right_answer_is():
    found = {one.item: one for one in _hold("ps7")}
    assert found["ps7_hide_spans"].pasted and found["ps7_fill_spans"].pasted


@pytest.mark.exhaustive
def test_record_holds_for_every_set():
    found = [one for name in COURSE.sets() for one in _hold(name)]
    unseen = sum(one.reported_unseen for one in found)
    assert unseen == RECORDED["of these reported if unseen"]
    assert {one.item for one in found} == set(NEAREST)


def test_guide_gives_the_recorded_rates_and_names_the_items_where_copies_are_not_seen():
    guide = (ROOT / "book" / "back" / "instructors.md").read_text(encoding="utf-8")
    possible = RECORDED["items with a function to paste"]
    assert f"{RECORDED['pasted and reported']} of {possible} items" in guide
    assert f"{RECORDED['of these reported']} of {RECORDED['independent right answers']}" in guide
    for item in RECORDED["pasted and not reported"]:
        assert f"`{item}`" in guide
