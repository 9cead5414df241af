"""The task "from counts to probabilities"."""

from collections import Counter

from autograder.authoring.checks import Case, Check, Part, mistake, mistakes, nothing_else_changes
from course_pkg.models import ngram

from .inputs import (
    LOOKS_UP,
    Counts,
    Generator,
    History,
    Ids,
    Token,
    ask_everything,
    draw_counts,
    estimate,
    estimate_and_keep,
    same,
)

# -- inputs ----------------------------------------------------------------------------------------


def draw_mle(rng: Generator) -> list[Case]:
    """Counts and histories that they contain."""
    return draw_counts(rng, unseen=False, smoothed=False)


def draw_mle_unseen(rng: Generator) -> list[Case]:
    """Counts and histories that they lack, behind a few that they contain."""
    # Read aloud, the history that is asked about is one that was seen.
    alike = {("a b",): {"c": 2}, ("a", "b c"): {"d": 1}, ("<eos>",): {"a b": 1}}
    histories = [("a", "b"), ("a b", "c"), ("a b",)]
    case = Case("tokens with a space", ask_everything([alike], histories, ["c", "d", "a b"], {}))
    return [*draw_counts(rng, unseen=True, smoothed=False), case]


# -- the reference version -------------------------------------------------------------------------


def mle_prob(counts: Counts, history: History, token: Token) -> float:
    """Estimate with the package."""
    ids = Ids()
    return ngram.mle_prob(ids.of_counts(counts), ids.of(history), ids[token])


# -- parts -----------------------------------------------------------------------------------------

PARTS = (
    Part(
        "values",
        "After a history that was seen, the estimate is the relative frequency.",
        draw_mle,
        estimate,
        judge=same,
        weight=6,
    ),
    Part(
        "unseen",
        "After a history that was never seen, every token has probability 0.",
        draw_mle_unseen,
        estimate,
        judge=same,
        weight=3,
    ),
    nothing_else_changes(
        LOOKS_UP,
        draw_mle_unseen,
        estimate_and_keep,
        says=("the call changes the counts", "the call changes its settings"),
    ),
)


# -- mistakes --------------------------------------------------------------------------------------


def right_answer(counts, history, token):
    """The answer that the mistakes start from."""
    followers = counts.get(history, Counter())
    total = sum(followers.values())
    return followers[token] / total if total else 0.0


MISTAKES = mistakes(
    right_answer,
    mistake(
        "The joint probability is returned, not the conditional one.",
        replace={
            "sum(followers.values())": "sum(n for row in counts.values() for n in row.values())",
        },
        hint="You divide by all n-grams of the text. That says how probable history and token are "
        "together. Here the history is given: divide only by what followed it.",
    ),
    mistake(
        "The count is divided by the number of different followers.",
        replace={"sum(followers.values())": "len(followers)"},
        hint="len of a Counter is the number of different tokens in it. You need how many tokens "
        "were counted in all.",
    ),
    mistake(
        "The count is divided by how often the token occurs anywhere.",
        replace={"sum(followers.values())": "sum(row[token] for row in counts.values())"},
        hint="You ask how often this history comes before the token. The question is the other "
        "way round: how often the token follows this history.",
    ),
    mistake(
        "A history that was never seen divides by zero.",
        replace={" if total else 0.0": ""},
        hint="After a history that was never seen, the sum of the counts is 0, and nobody can "
        "divide by that. The contract says what to return.",
    ),
    mistake(
        "The division drops everything after the decimal point.",
        replace={"followers[token] / total": "float(followers[token] // total)"},
        hint="Your probabilities are all 0 or 1. Look at the operator: one slash or two?",
        keeps=0.5,
    ),
    mistake(
        "Only the last token of the history is looked up.",
        replace={"counts.get(history,": "counts.get(history[-1:],"},
        hint="You shorten the history. That is right for bigrams only. Look it up as it comes.",
    ),
    mistake(
        "A history that was never seen makes all tokens equally probable.",
        replace={"0.0": "1 / len({w for row in counts.values() for w in row})"},
        hint="To treat all tokens alike is a good idea, but it is smoothing, and comes in a later "
        "task. Maximum likelihood says 0 after a history that was never seen.",
    ),
    mistake(
        "Tokens that were never seen get a small probability.",
        replace={
            "followers[token] / total if total else 0.0": (
                "max(followers[token] / max(total, 1), 1e-10)"
            ),
        },
        hint="You avoid zeros. Maximum likelihood is honest: what was never seen has probability "
        "0. With your floor, the probabilities sum to more than 1.",
    ),
    mistake(
        "The count is returned, not its share.",
        replace={"followers[token] / total if total else 0.0": "float(followers[token])"},
        hint="You return how often the token came. Compare it with how often anything came after "
        "this history.",
    ),
    mistake(
        "Looking up a history adds it to the counts.",
        replace={"counts.get": "counts.setdefault"},
        hint="The numbers are right. But after your function the counts contain histories that "
        "nobody has seen. Look at how you look up: does it store something?",
    ),
)

CHECK = Check(
    item="ps1_mle_prob",
    points=6,
    target="mle_prob",
    reference=mle_prob,
    parts=PARTS,
    mistakes=MISTAKES,
    seconds=5.0,
)
