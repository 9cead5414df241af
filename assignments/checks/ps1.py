"""The checks of problem set 1, n-gram models: what is asked and demanded of each answer.

Students count words; the grader counts numbers and pairs too, since a right answer does not care.
In every part something depends on real values, so that no answer earns points by merely not
failing.
"""

import math
from importlib import import_module
from typing import Any

from assignments.checks import ps1_draws as draws
from assignments.checks import ps1_probes as probes
from assignments.checks import ps1_references as references
from assignments.checks.judges import changes_nothing_else
from autograder.authoring.checks import Check, Inputs, Part, ProblemSet
from autograder.authoring.compare import agree

# -- judges ----------------------------------------------------------------------------------------

_agree = agree()


def sums_to_one(observed: Any, expected: Any, inputs: Inputs) -> str | None:
    """Hold where distributions agree; if not, say first whether they are distributions at all."""
    wrong = _agree(observed, expected, inputs)
    if wrong is None or type(observed) is not list:
        return wrong
    for probs in observed:
        if type(probs) is list and all(type(prob) is float for prob in probs):
            total = math.fsum(probs)
            if not abs(total - 1) < 1e-9:  # rounding of a few terms; nan is caught too
                return f"after some history the probabilities of all tokens sum to {total:.4g}"
    return wrong


def stays_linear(observed: Any, expected: Any, inputs: Inputs) -> str | None:
    """Hold where the counts agree and the work grew no faster than the text."""
    if type(observed) is not tuple:
        return _agree(observed, expected, inputs)
    wrong = _agree(observed[:2], expected[:2], inputs)
    if wrong is None and _agree(observed, expected, inputs) is not None:
        return "twice the text takes more than three times the work"
    return wrong


# -- the set ---------------------------------------------------------------------------------------

_KEEPS = "The arguments stay as they were, and a second call leaves the first answer alone."
_LOOKS_UP = "The arguments stay as they were; looking up adds no keys, to a defaultdict either."


def _leaves_alone(says: str, draw: Any, probe: Any) -> Part:
    return Part("nothing else changes", says, draw, probe, judge=changes_nothing_else())


def _check(item: str, points: float, *parts: Part) -> Check:
    answers = import_module(f"assignments.answers.ps1.{item}")
    return Check(
        item=f"ps1_{item}",
        points=points,
        target=item,
        reference=getattr(references, item),
        parts=parts,
        mistakes=answers.MISTAKES,
        alternatives=answers.ALTERNATIVES,
        seconds=5.0,
    )


PROBLEM_SET = ProblemSet(
    name="ps1",
    title="n-gram models",
    checks=(
        _check(
            "count_ngrams",
            14,
            Part(
                "values",
                "Every history has the right followers, each with the right count.",
                draws.draw_documents,
                probes.count_once,
                weight=6.5,
            ),
            Part(
                "short documents",
                "Documents that are empty, or shorter than a history, are counted too.",
                draws.draw_edge_documents,
                probes.count_once,
                weight=1.5,
            ),
            _leaves_alone(_KEEPS, draws.draw_documents, probes.count_twice),
            Part(
                "cost",
                "The work grows in proportion to the length of the text.",
                draws.draw_growing_documents,
                probes.count_growing,
                judge=stays_linear,
            ),
        ),
        _check(
            "mle_prob",
            6,
            Part(
                "values",
                "After a history that was seen, the estimate is the relative frequency.",
                draws.draw_mle,
                probes.estimate,
                weight=6,
            ),
            Part(
                "unseen",
                "After a history that was never seen, every token has probability 0.",
                draws.draw_mle_unseen,
                probes.estimate,
                weight=3,
            ),
            _leaves_alone(_LOOKS_UP, draws.draw_mle_unseen, probes.estimate_and_keep),
        ),
        _check(
            "visible_history",
            8,
            Part(
                "values",
                "The last order - 1 tokens are returned as a tuple, none from before the last eos.",
                draws.draw_histories,
                probes.cut,
                weight=6,
            ),
            Part(
                "order 1",
                "A model of order 1 sees nothing, however long the text is.",
                draws.draw_first_order,
                probes.cut,
                weight=3,
            ),
            _leaves_alone(_KEEPS, draws.draw_histories, probes.cut_and_keep),
        ),
        _check(
            "sample",
            10,
            Part(
                "values",
                "The token that owns the place u is drawn.",
                draws.draw_lines,
                probes.draw,
                weight=6,
            ),
            Part(
                "ends",
                "Each piece owns its left end only, and a token of probability 0 owns nothing.",
                draws.draw_boundary_lines,
                probes.draw,
                weight=2,
            ),
            Part(
                "rounding",
                "Where rounding leaves the sum below u, the last possible token is drawn.",
                draws.draw_uneven_lines,
                probes.draw,
            ),
            _leaves_alone(
                "The answer depends on the arguments only; no random generator is asked.",
                draws.draw_lines,
                probes.draw_alone,
            ),
        ),
        _check(
            "perplexity",
            8,
            Part(
                "values",
                "The perplexity is the exponential of the mean negative log-probability.",
                draws.draw_log_probs,
                probes.score,
                weight=6,
            ),
            Part(
                "long texts",
                "Long texts do not run out of digits, and one impossible token gives infinity.",
                draws.draw_long_log_probs,
                probes.score,
                weight=3,
            ),
            _leaves_alone(_KEEPS, draws.draw_log_probs, probes.score_and_keep),
        ),
        _check(
            "add_k_prob",
            8,
            Part(
                "values",
                "After a history that was seen, k is added to every count.",
                draws.draw_add_k,
                probes.estimate,
                weight=6,
            ),
            Part(
                "unseen",
                "After every history, seen or not, the probabilities of all tokens sum to 1.",
                draws.draw_add_k_unseen,
                probes.estimate_everything,
                judge=sums_to_one,
                weight=3,
            ),
            _leaves_alone(_LOOKS_UP, draws.draw_add_k_unseen, probes.estimate_and_keep),
        ),
        _check(
            "interpolated_prob",
            14,
            Part(
                "values",
                "Where all orders know the history, their estimates are mixed by weight.",
                draws.draw_interpolated,
                probes.estimate,
                weight=6,
            ),
            Part(
                "unseen",
                "Orders without an opinion are left out, and the probabilities still sum to 1.",
                draws.draw_interpolated_unseen,
                probes.estimate_everything,
                judge=sums_to_one,
                weight=3,
            ),
            _leaves_alone(_LOOKS_UP, draws.draw_interpolated_unseen, probes.estimate_and_keep),
        ),
        _check(
            "continuation_counts",
            12,
            Part(
                "values",
                "Each n-gram is counted once for every different token seen before it.",
                draws.draw_continuations,
                probes.continue_once,
                weight=6,
            ),
            Part(
                "starts",
                "Histories at the start of a document keep their counts.",
                draws.draw_start_continuations,
                probes.continue_once,
                weight=3,
            ),
            _leaves_alone(
                "The old counts stay as they are, even when the new ones change later.",
                draws.draw_start_continuations,
                probes.continue_and_change,
            ),
        ),
        _check(
            "kneser_ney_prob",
            12,
            Part(
                "order 2",
                "With two orders, the probabilities after histories that were seen are right.",
                draws.draw_kneser_ney_bigrams,
                probes.estimate,
                weight=3,
            ),
            Part(
                "any order",
                "With one order or with many, the probabilities are right.",
                draws.draw_kneser_ney,
                probes.estimate,
                weight=3,
            ),
            Part(
                "unseen",
                "After histories never seen, or too short, the probabilities still sum to 1.",
                draws.draw_kneser_ney_unseen,
                probes.estimate_everything,
                judge=sums_to_one,
                weight=3,
            ),
            _leaves_alone(_LOOKS_UP, draws.draw_kneser_ney_unseen, probes.estimate_and_keep),
        ),
    ),
)

EQUIVALENT_MUTANTS = {
    "ps1_sample": {
        "last = None  →  pass": "Some probability is above 0, so the loop always sets `last`.",
    },
}
