"""Every written answer of the sets has a rubric of three levels with an example for each."""

import re
from pathlib import Path

import pytest
from click.testing import CliRunner

from autograder.authoring.course import find_course
from autograder.authoring.release import ReleasedSet
from autograder.authoring.rubrics import rubric_of
from autograder.cli import main as cli
from tests.autograder.conftest import make_toy_course

ROOT = Path(__file__).parents[2]
COURSE = find_course(ROOT / "assignments")


def written(name: str) -> dict[str, float]:
    """Grade id and points of the answers that people grade."""
    cells = ReleasedSet(COURSE, name).notebooks.source.cells
    settings = [cell.metadata.get("nbgrader", {}) for cell in cells]
    return {s["grade_id"]: s["points"] for s in settings if s.get("grade") and s.get("solution")}


@pytest.mark.parametrize("name", COURSE.sets())
def test_levels_fall_from_the_question_s_points_and_each_has_an_example(name):
    rubric = rubric_of(COURSE, name)
    heads = re.findall(r"^## \w+: (\w+) \((\d+) points\)$", rubric, re.MULTILINE)
    assert {item: float(points) for item, points in heads} == written(name)
    questions = re.split(r"^### ", rubric, flags=re.MULTILINE)[1:]
    given = [int(re.search(r"\((\d+) points\)$", q.splitlines()[0])[1]) for q in questions]
    assert sum(given) == sum(int(points) for _, points in heads)
    for question, points in zip(questions, given, strict=True):
        levels = re.findall(r"^- (\d)(?: or (\d))?: (.+)$", question, re.MULTILINE)
        best = [int(high or low) for low, high, _ in levels]
        assert best[0] == points and best == sorted(best, reverse=True) and len(set(best)) == 3
        for *_, said in levels:
            assert len(said) > 15
        assert all(re.search(r'".+"', said) for *_, said in levels), question  # an example each


def test_release_puts_the_rubric_beside_the_solution_and_nowhere_else(tmp_path):
    course = make_toy_course(tmp_path / "tree" / "assignments")
    (course.folder / "rubrics.md").write_text(
        "# All\n\n## other: x (1 points)\n\nno\n\n## toy: essay (4 points)\n\n- 4: *because*\n"
    )
    out = tmp_path / "out"
    done = CliRunner().invoke(
        cli.main, [f"--course={course.folder}", "release", "toy", f"--out={out}"]
    )
    assert done.exit_code == 0, done.output
    (page,) = out.rglob("rubric.html")
    assert page.parent == out / "solution" / "toy"
    text = page.read_text(encoding="utf-8")
    assert "<em>because</em>" in text and "other" not in text
