# ruff: noqa: E501 - a cell's metadata stands on one line
"""A course small enough to read at a glance: two functions and one question in words."""

from pathlib import Path

import pytest

from autograder.course import Course

TOY_SOURCE = '''\
# %% [markdown]
# # Toy set
#
# Write two functions.

# %% nbgrader={"grade": false, "grade_id": "toy_imports", "locked": true, "schema_version": 3, "solution": false, "task": false}
import math

# %% [markdown]
# ## 1. Double
#
# `double(numbers)` returns a list of every number times two.

# %% nbgrader={"grade": false, "grade_id": "toy_double_answer", "locked": false, "schema_version": 3, "solution": true, "task": false}
def double(numbers):
    """Double every number."""
    ### BEGIN SOLUTION
    return [2 * number for number in numbers]
    ### END SOLUTION

# %% nbgrader={"grade": true, "grade_id": "toy_double", "locked": true, "points": 60, "schema_version": 3, "solution": false, "task": false}
assert double([1, 2]) == [2, 4], "double every number"

### BEGIN HIDDEN TESTS
__import__("autograder.plain_nbgrader").plain_nbgrader.score("toy", "toy_double", globals())
### END HIDDEN TESTS

# %% [markdown]
# ## 2. Mean
#
# `mean(numbers)` returns the average, nan for an empty list.

# %% nbgrader={"grade": false, "grade_id": "toy_mean_answer", "locked": false, "schema_version": 3, "solution": true, "task": false}
def mean(numbers):
    """Average the numbers."""
    ### BEGIN SOLUTION
    return sum(numbers) / len(numbers) if numbers else math.nan
    ### END SOLUTION

# %% nbgrader={"grade": true, "grade_id": "toy_mean", "locked": true, "points": 30, "schema_version": 3, "solution": false, "task": false}
assert mean([1, 3]) == 2, "add them up and divide by how many there are"

### BEGIN HIDDEN TESTS
__import__("autograder.plain_nbgrader").plain_nbgrader.score("toy", "toy_mean", globals())
### END HIDDEN TESTS

# %% [markdown]
# ## 3. Why? (10 points)

# %% [markdown] nbgrader={"grade": true, "grade_id": "toy_essay", "locked": false, "points": 10, "schema_version": 3, "solution": true, "task": false}
# Answer in one sentence.
#
# ### BEGIN SOLUTION
# Because the model answer says so.
# ### END SOLUTION

# %% tags=["workshop"]
raise RuntimeError("the workshop never runs while grading")
'''

TOY_CHECKS = '''\
"""Checks of the toy set."""

import math

from autograder.checks import Alternative, Case, Check, Mistake, Part, ProblemSet


def _numbers(rng):
    return [
        Case(f"{size} numbers", {"numbers": [float(x) for x in rng.normal(size=size)]})
        for size in (1, 3, 7)
    ]


def _nothing(rng):
    return [Case("no numbers", {"numbers": []})]


def _ask(implementation, inputs):
    return implementation(inputs["numbers"])


def _double(numbers):
    return [2 * number for number in numbers]


def _squares(numbers):
    return [number * number for number in numbers]


def _adds(numbers):
    return [number + number for number in numbers]


def _mean(numbers):
    return sum(numbers) / len(numbers) if numbers else math.nan


def _floor_mean(numbers):
    return sum(numbers) // len(numbers) if numbers else math.nan


PROBLEM_SET = ProblemSet(
    name="toy",
    title="Toy set",
    checks=(
        Check(
            item="toy_double",
            points=60,
            target="double",
            reference=_double,
            parts=(
                Part("values", "Every number is doubled.", _numbers, _ask, weight=2),
                Part("empty", "An empty list stays empty.", _nothing, _ask),
            ),
            mistakes=(Mistake("squares", "Twice a number is not its square.", _squares),),
            alternatives=(Alternative("adds", _adds),),
        ),
        Check(
            item="toy_mean",
            points=30,
            target="mean",
            reference=_mean,
            parts=(
                Part("values", "The average is right.", _numbers, _ask),
                Part("empty", "An empty list has no average: nan.", _nothing, _ask),
            ),
            mistakes=(Mistake("floor", "// throws the fraction away.", _floor_mean),),
        ),
    ),
)
'''


@pytest.fixture
def toy_course(tmp_path: Path) -> Course:
    """A course of its own for each test, so that a test may change its files."""
    folder = tmp_path / "course"
    for kind, text in (("sets", TOY_SOURCE), ("checks", TOY_CHECKS)):
        (folder / kind).mkdir(parents=True)
        (folder / kind / "toy.py").write_text(text)
    return Course(folder)
