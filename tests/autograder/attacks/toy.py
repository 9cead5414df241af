"""One graded function, a wrong and a right answer to it."""

from autograder.authoring.checks import Case, Check, Part
from autograder.authoring.compare import agree
from autograder.grading.judge import ItemJudge
from autograder.grading.visible_tests import differences, raised, visible_requests

JUDGE = ItemJudge()


def reference(x):
    return x @ x.T / x.shape[1]


def draw(rng):
    import torch

    return [Case(f"{n} rows", {"x": torch.from_numpy(rng.normal(size=(n, 3)))}) for n in (1, 4)]


def probe(implementation, inputs):
    return implementation(inputs["x"])


CHECK = Check(
    item="toy_gram",
    points=10.0,
    target="gram",
    reference=reference,
    parts=(Part("values", "The products are right.", draw, probe, agree()),),
    seconds=0.5,
)
VISIBLE_TESTS = {
    "one": "assert gram('hang') == 'right'",
    "two": "assert gram('look') == 'right'",
}

WRONG = "def gram(x):\n    return x\n"
RIGHT = "def gram(x):\n    return (x @ x.T) / 3\n"
RIGHT_FOR_ALL = "def gram(x):\n    return (x @ x.T) / x.shape[1]\n"


def complete(cell):
    """Put a wrong answer in front of a cell that has none."""
    return cell if "def gram" in cell or "class gram" in cell else WRONG + cell


def grade(sandbox, *cells, seed=7):
    """Return the verdict and the run of a submission made of these cells."""
    run = sandbox.run(cells, JUDGE.requests(CHECK, seed))
    assert len(run.cells) == len(cells)
    return JUDGE.verdict(CHECK, seed, run.observations), run


def grade_with_visible_tests(sandbox, *cells, seed=7):
    """Return all that its student may read of a submission, as one text, and the points."""
    items = tuple(VISIBLE_TESTS)
    shown = visible_requests(VISIBLE_TESTS, dict.fromkeys(items, "gram"), items)
    run = sandbox.run(cells, [*shown, *JUDGE.requests(CHECK, seed)])
    hidden = [seen for seen in run.observations if seen.item == CHECK.item]
    verdict = JUDGE.verdict(CHECK, seed, hidden, raised(run.observations, shown).get("one", ""))
    words = [f"{cell.output} {cell.error}" for cell in run.cells]
    words += [part.message for part in verdict.parts]
    words += [str(found) for found in differences(run.observations, shown)]
    return "\n".join(words), verdict.points
