"""Stories that nobody has seen, for the challenges that learn from text.

An answer is given stories to learn from, and how other stories begin: one place of each. Or the
others have gaps. The words that come there never enter the sandbox, so that nothing can be read
off; and words are ids, numbered anew for each class, so that little of what was learned elsewhere
fits.
"""

import math
from collections.abc import Callable, Sequence
from functools import partial
from typing import Any

import numpy as np
from numpy.typing import NDArray

from autograder.authoring.checks import Case, Challenge, Check, Inputs, Part
from course_pkg.text.stories.grammar import StoryGrammar

Generator = np.random.Generator
_GRAMMAR = StoryGrammar()
_WORDS = _GRAMMAR.vocabulary()
_N_STORIES, N_ASKED = 2_000, 2_000
_MOST_NUMBERS = 1_000_000
_MOST_ARRAYS, _MOST_AXES = 1_000, 4  # what lies in their shapes is not counted
_TOLERANCE = 1e-4  # of a sum of probabilities in float32; nobody gains more by it


def draw_stories(rng: Generator) -> tuple[Inputs, list[list[int]]]:
    """Draw stories to learn from, with their numbering, and as many others, whole."""
    numbers = rng.permutation(len(_WORDS) + 1).tolist()
    ids = dict(zip(_WORDS, numbers[1:], strict=True))
    seed = int(rng.integers(2**62))
    told = [[ids[w] for w in s.words] for s in _GRAMMAR.sample(_N_STORIES + N_ASKED, seed=seed)]
    given = {"vocab_size": len(numbers), "eos_id": numbers[0]}
    return {"stories": told[:_N_STORIES], **given}, told[_N_STORIES:]


def draw_beginnings(rng: Generator) -> tuple[Inputs, NDArray[np.int64]]:
    """Draw stories to learn from and how others begin; return also what comes next in each."""
    inputs, unseen = draw_stories(rng)
    ends = [int(rng.integers(len(story) + 1)) for story in unseen]
    inputs["contexts"] = [story[:end] for story, end in zip(unseen, ends, strict=True)]
    following = [[*story, inputs["eos_id"]][end] for story, end in zip(unseen, ends, strict=True)]
    return inputs, np.array(following)


def _draw_both(rng: Generator) -> list[Case]:
    inputs, following = draw_beginnings(rng)
    return [Case(f"{N_ASKED:,} stories that begin", inputs, withheld=following)]


def log_probs(implementation, inputs):
    """Return the logarithms as an array, from whatever holds them."""
    import numpy

    rows = implementation(**inputs)
    rows = rows.detach() if hasattr(rows, "detach") else rows
    return numpy.asarray(rows, dtype=numpy.float64)


def guess_evenly(
    contexts: Sequence[Sequence[int]], vocab_size: int, **unused: Any
) -> NDArray[np.float64]:
    """Give every token the same probability: nobody's score, but of the right form."""
    return np.full((len(contexts), vocab_size), -math.log(vocab_size))


def are_distributions(observed: Any, expected: Any, inputs: Inputs) -> str | None:
    """Judge whether each row holds the logarithms of probabilities that sum to 1."""
    # Of complex numbers the phases could cancel, and what is left be anything.
    if type(observed) is not np.ndarray or observed.dtype != np.float64:
        return "the result is no array of float64"
    if observed.shape != expected.shape:
        return "the result is no array with a row for each context and a number for each token"
    if np.isnan(observed).any():
        return "the result holds nan"
    # Of a wrong answer a number may be huge: its exponential is then infinite, which is no 1.
    with np.errstate(over="ignore"):
        sums = np.exp(observed).sum(axis=1)
    if not (np.abs(sums - 1) <= _TOLERANCE).all():
        return "what a row holds are not the logarithms of probabilities that sum to one"
    return None


def nats_per_token(values: Sequence[Any], withheld: Sequence[Any]) -> float:
    """Return how surprised an answer is by what comes next, in the mean, in nats.

    Raises:
        ValueError: if it holds something for impossible that has come.
    """
    (rows,), (following,) = values, withheld
    nats = float(-rows[np.arange(len(following)), following].mean())
    if not math.isfinite(nats):
        raise ValueError("a token that came had been given the probability 0")
    return nats


def prediction_check(item: str, seconds: float, target: str = "predict_next") -> Check:
    """Make the check of a function that learns from stories and says how others go on."""
    requirement = "Each row holds the natural logarithms of probabilities that sum to one."
    part = Part("stories", requirement, _draw_both, log_probs, judge=are_distributions)
    return Check(f"{item}_challenge", 1.0, target, guess_evenly, (part,), seconds=seconds)


# -- gaps ------------------------------------------------------------------------------------------

_SHARE_HIDDEN = 0.15


def draw_gaps(rng: Generator) -> tuple[Inputs, list[list[int]]]:
    """Draw stories to learn from and others with gaps; return also what stood in each gap."""
    inputs, unseen = draw_stories(rng)
    mask_id = inputs["mask_id"] = inputs.pop("eos_id")  # the one id that is no word's
    inputs["gapped"], missing = [], []
    for story in unseen:
        n_hidden = max(1, round(_SHARE_HIDDEN * len(story)))
        places = sorted(rng.choice(len(story), n_hidden, replace=False).tolist())
        hidden = set(places)
        inputs["gapped"].append([mask_id if t in hidden else i for t, i in enumerate(story)])
        missing.append([story[place] for place in places])
    return inputs, missing


def rows_of_ids(implementation, inputs):
    """Return a list of numbers for each story, from whatever holds them."""
    rows = implementation(**inputs)
    return [row.tolist() if hasattr(row, "tolist") else [int(i) for i in row] for row in rows]


def guess_ids(gapped: Sequence[Sequence[int]], mask_id: int, **unused: Any) -> list[list[int]]:
    """Put the same id into every gap: nobody's score, but of the right form."""
    return [[0] * story.count(mask_id) for story in gapped]


def _fill_every_gap(observed: Any, expected: Any, inputs: Inputs) -> str | None:
    if type(observed) is not list or any(type(row) is not list for row in observed):
        return "the result is no list of lists"
    if [len(row) for row in observed] != [len(row) for row in expected]:
        return "the result does not hold a list for each story, with an id for each of its gaps"
    if any(type(each) is not int for row in observed for each in row):
        return "a list holds something that is no whole number"
    return None


def _share_found(values: Sequence[Any], withheld: Sequence[Any]) -> float:
    pairs = [
        (mine, right)
        for filled, missing in zip(values, withheld, strict=True)
        for row, hidden in zip(filled, missing, strict=True)
        for mine, right in zip(row, hidden, strict=True)
    ]
    return sum(mine == right for mine, right in pairs) / len(pairs)


def most_gaps(item: str, to_beat: str, seconds: float) -> Challenge:
    """Make the challenge to fill as many gaps as can be with the word that stood there."""

    def draw(rng: Generator) -> list[Case]:
        inputs, missing = draw_gaps(rng)
        return [Case(f"{N_ASKED:,} stories with gaps", inputs, withheld=missing)]

    requirement = "The result holds a list for each story, with an id for each gap."
    part = Part("stories", requirement, draw, rows_of_ids, judge=_fill_every_gap)
    check = Check(f"{item}_challenge", 1.0, "fill_gaps", guess_ids, (part,), seconds=seconds)
    return Challenge(
        task=f"Fill the gaps of {N_ASKED:,} stories that nobody has seen.",
        check=check,
        to_beat=to_beat,
        score=_share_found,
        unit="of the gaps",
        shown="{:.1%}",
        higher_is_better=True,
    )


# -- models of which nothing is kept but their numbers ---------------------------------------------


def smallest_model(item: str, task: str, to_beat: str, goal: float, seconds: float) -> Challenge:
    """Make the challenge to learn as few numbers as will do.

    Args:
        goal: the highest perplexity on unseen stories that is good enough.
    """
    shown = {"unit": "parameters", "shown": "{:,.0f}"}
    return _learned_numbers(item, task, to_beat, seconds, partial(_size, goal), **shown)


def best_small_model(item: str, task: str, to_beat: str, most: int, seconds: float) -> Challenge:
    """Make the challenge to predict as well as so many numbers allow.

    Args:
        most: how many may be learned.
    """
    shown = {"unit": "nats per token", "shown": "{:.3f}"}
    return _learned_numbers(item, task, to_beat, seconds, partial(_nats, most), **shown)


# What was learned, what an answer made of it, and what it was not told, to a score.
_Score = Callable[[Sequence[NDArray[np.float16]], Sequence[Any], Sequence[Any]], float]


def _learned_numbers(
    item: str, task: str, to_beat: str, seconds: float, score: _Score, unit: str, shown: str
) -> Challenge:
    """Make the challenge of two functions, between which nothing passes but numbers.

    `train_small` learns and returns numbers. They are counted here, and rounded to 16 bits, so that
    none hides two; in a fresh process `predict_small` is given them, and how other stories begin.
    """

    def draw(rng: Generator) -> list[Case]:
        return [Case(f"{_N_STORIES:,} stories", draw_stories(rng)[0])]

    requirement = "The result is a list of arrays of finite numbers."
    part = Part("stories", requirement, draw, arrays, judge=_are_numbers)
    check = Check(f"{item}_challenge", 1.0, "train_small", no_numbers, (part,), seconds=seconds)

    def then(values: Sequence[Any]) -> Challenge:
        (learned,) = values
        use = _use_of(learned, item, seconds / 6)  # too little to learn from the questions
        return Challenge(task, use, to_beat, partial(score, learned))

    first = partial(score, [])  # there is a score, so CPU time does not rank; `then` has it
    return Challenge(task, check, to_beat, first, unit, shown, then=then)


def arrays(implementation, inputs):
    """Return what was learned as arrays of 16-bit numbers."""
    import numpy

    learned = [x.detach() if hasattr(x, "detach") else x for x in implementation(**inputs)]
    return [numpy.asarray(x, dtype=numpy.float16) for x in learned]


def no_numbers(**unused: Any) -> list[Any]:
    """Learn nothing."""
    return []


def _are_numbers(observed: Any, expected: Any, inputs: Inputs) -> str | None:
    if type(observed) is not list or any(
        type(array) is not np.ndarray or array.dtype != np.float16 for array in observed
    ):
        return "the result is no list of arrays"
    if len(observed) > _MOST_ARRAYS or any(array.ndim > _MOST_AXES for array in observed):
        return "there are more arrays, or axes, than a small model has"
    if any(array.size == 0 for array in observed):
        return "an array is empty"  # its shape would say something that is not counted
    if sum(array.size for array in observed) > _MOST_NUMBERS:
        return "there are more numbers than a small model has"
    return None if all(np.isfinite(a).all() for a in observed) else "a number is not finite"


def _use_of(learned: list[Any], item: str, seconds: float) -> Check:
    """Make the check that asks what was learned how stories go on: the same stories."""

    def draw(rng: Generator) -> list[Case]:
        (case,) = _draw_both(rng)
        inputs = {name: value for name, value in case.inputs.items() if name != "stories"}
        return [Case(case.label, {"numbers": learned, **inputs}, case.withheld)]

    check = prediction_check(item, seconds, "predict_small")
    requirement = check.parts[0].requirement
    part = Part("stories", requirement, draw, log_probs, judge=are_distributions)
    return Check(check.item, 1.0, "predict_small", guess_evenly, (part,), seconds=seconds)


def _size(
    goal: float, learned: Sequence[Any], values: Sequence[Any], withheld: Sequence[Any]
) -> float:
    perplexity = math.exp(min(nats_per_token(values, withheld), 700.0))  # 710 overflow
    if perplexity > goal:
        raise ValueError(f"the perplexity is {perplexity:.3f}; it may be at most {goal:.2f}")
    return float(sum(array.size for array in learned))


def _nats(
    most: int, learned: Sequence[Any], values: Sequence[Any], withheld: Sequence[Any]
) -> float:
    size = sum(array.size for array in learned)
    if size > most:
        raise ValueError(f"{size:,} numbers were learned; at most {most:,} are allowed")
    return nats_per_token(values, withheld)
