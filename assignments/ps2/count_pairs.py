"""The task "count pairs"."""

from collections import Counter
from itertools import pairwise

from autograder.authoring.checks import Case, Check, Part, mistake, mistakes, nothing_else_changes
from course_pkg.text.tokenizers import merges as learning

from .inputs import (
    Generator,
    uneven,
)

# -- inputs ----------------------------------------------------------------------------------------


def _counted(name: str, rng: Generator, words: list[list[int]]) -> Case:
    counts = [*(2 + rng.permutation(30)[: len(words) - 1]).tolist(), 1]
    return Case(name, {"words": words, "counts": counts})


def draw_words(rng: Generator) -> list[Case]:
    """Words in which no id stands beside itself."""
    return [
        _counted("one word of 3 ids", rng, [uneven(rng, 3, 3)]),
        _counted("2 words", rng, [uneven(rng, n, 3) for n in (5, 2)]),
        _counted("5 words", rng, [uneven(rng, n, 4) for n in (7, 3, 9, 4, 6)]),
        _counted("7 words with long ids", rng, [[i + 300 for i in uneven(rng, 5, 3)]] * 7),
        _counted("ids that follow the bytes", rng, [[255, 256, 257, 256, 0], [256], [257, 256]]),
        _counted("ids beyond 16 bits", rng, [[0, 65_536, 1, 99_999, 0, 100_000], [1, 0, 65_537]]),
        _counted("equal words, and a pair in both orders", rng, [[0, 1, 0, 1, 0], [1, 0, 2]] * 3),
        _counted("a word of 200 ids", rng, [uneven(rng, 200, 5), [0, 1]]),
    ]


def draw_runs(rng: Generator) -> list[Case]:
    """Words with runs of one id, and words too short for a pair."""
    first, second = (int(i) for i in rng.permutation(5)[:2])
    zeros, ones = [0, 0, 0, 0, 300, 300], [0, 0, 0]
    return [
        _counted("a run of 3 equal ids", rng, [[first] * 3]),
        _counted("runs of several lengths", rng, [[first] * 2, [second, *[first] * 5, second] * 2]),
        _counted("words of no or one id", rng, [[], [first], [first, second], [second], []]),
        _counted("runs of the id 0", rng, [zeros, ones, zeros]),
        Case("no words at all", {"words": [], "counts": []}),
    ]


def draw_all(rng: Generator) -> list[Case]:
    """Words of both kinds."""
    return [*draw_words(rng), *draw_runs(rng)]


# -- probes ----------------------------------------------------------------------------------------


def count_once(implementation, inputs):
    """Return the counts as a plain dictionary."""
    import operator

    pairs = implementation(inputs["words"], inputs["counts"])
    return {pair: operator.index(n) for pair, n in pairs.items()}


def count_twice(implementation, inputs):
    """Return the counts, whether a second call leaves them alone, and the arguments after both."""
    import operator

    words, counts = inputs["words"], inputs["counts"]
    try:
        first = implementation(words, counts)
        before = {pair: operator.index(n) for pair, n in first.items()}
        implementation(words[:1], counts[:1])
    except Exception:
        return None, True, words, counts  # whether there is a result is for other parts to say
    same = before == {pair: operator.index(n) for pair, n in first.items()}
    return before, same, words, counts


# -- the reference version -------------------------------------------------------------------------

count_pairs = learning.count_pairs


# -- parts -----------------------------------------------------------------------------------------

PARTS = (
    Part(
        "values",
        "Each pair of neighbours is counted as often as it occurs in the corpus.",
        draw_words,
        count_once,
        weight=6,
    ),
    Part(
        "runs",
        "Pairs may overlap, and words of no or one id have none.",
        draw_runs,
        count_once,
        weight=3,
    ),
    nothing_else_changes(
        "The arguments stay as they were, and a second call leaves the first answer alone.",
        draw_all,
        count_twice,
        says=(
            "a second call changes the first result",
            "the call changes the words",
            "the call changes the counts",
        ),
    ),
)


# -- mistakes --------------------------------------------------------------------------------------


def right_answer(words, counts):
    """The answer that the mistakes start from."""
    pairs = Counter()
    for ids, n in zip(words, counts, strict=True):
        for pair in pairwise(ids):
            pairs[pair] += n
    return pairs


@mistake(
    hint="In a run of three equal ids there are two pairs of neighbours. Merging uses each id "
    "once, but here you only count: do not skip any position.",
)
def count_without_overlaps(words, counts):
    """Pairs that overlap are counted once, as if they were merged already."""
    pairs = Counter()
    for ids, n in zip(words, counts, strict=True):
        last = None
        for pair in pairwise(ids):
            if pair == last and pair[0] == pair[1]:
                last = None
                continue
            pairs[pair] += n
            last = pair
    return pairs


@mistake(
    hint="Your pairs run from one word into the next. The words come from a table, not from a "
    "text: start afresh with each.",
    keeps=0.5,
)
def count_across_words(words, counts):
    """The last id of a word and the first of the next count as neighbours."""
    pairs = Counter()
    last = None
    for ids, n in zip(words, counts, strict=True):
        for i in ids:
            if last is not None:
                pairs[last, i] += n
            last = i
    return pairs


MISTAKES = mistakes(
    right_answer,
    mistake(
        "Every word counts once, however often it occurs.",
        replace={"+= n": "+= 1"},
        hint="You find the right pairs, but a word that occurs five times gives each of its pairs "
        "five times. Look at what you do with the list counts.",
        keeps=0.3,
    ),
    mistake(
        "A pair counts once in a word, even if the word has it twice.",
        replace={"pairwise(ids)": "set(pairwise(ids))"},
        hint="Some words have the same pair at two places. You seem to collect the pairs of a "
        "word in something that holds each only once.",
    ),
    count_without_overlaps,
    mistake(
        "The words are cut into pairs that do not touch.",
        replace={"pairwise(ids)": "zip(ids[::2], ids[1::2], strict=False)"},
        hint="A word of three ids has two pairs: first and second, second and third. Look at the "
        "step of your loop: which pairs does it jump over?",
    ),
    count_across_words,
    mistake(
        "A pair and its reverse are counted as the same pair.",
        replace={"pairs[pair]": "pairs[min(pair), max(pair)]"},
        hint="You seem to sort the two ids. But the order matters: 'on' and 'no' are different "
        "tokens.",
    ),
    mistake(
        "The last pair of each word is forgotten.",
        replace={"pairwise(ids)": "pairwise(ids[:-1])"},
        hint="A word of two ids has one pair, and yours has none. Look at the place where your "
        "loop over a word ends.",
        keeps=0.5,
    ),
    mistake(
        "A later word overwrites the count of an earlier one.",
        replace={
            "for pair in pairwise(ids):": "for pair, times in Counter(pairwise(ids)).items():",
            "+= n": "= times * n",
        },
        hint="If two words share a pair, your answer keeps only the last count. Add to what is "
        "there already, and do not replace it.",
        keeps=0.3,
    ),
    mistake(
        "Any two ids of a word are counted, neighbours or not.",
        replace={
            "for pair in pairwise(ids):": """
                for place, first in enumerate(ids):
                    for second in ids[place + 1 :]:
                        pairs[first, second] += n
            """,
            "pairs[pair] += n": "",
        },
        hint="You count all combinations of two ids in a word. Only neighbours can be merged, so "
        "only neighbours count.",
    ),
    mistake(
        "The caller's words are emptied.",
        replace={
            "for pair in pairwise(ids):": """
                while len(ids) > 1:
                    first = ids.pop(0)
                    pairs[first, ids[0]] += n
            """,
            "pairs[pair] += n": "",
        },
        hint="The counts are right, but afterwards the words of the caller are empty. Loop over "
        "each word without removing anything.",
    ),
)

CHECK = Check(
    item="ps2_count_pairs",
    points=10,
    target="count_pairs",
    reference=count_pairs,
    parts=PARTS,
    mistakes=MISTAKES,
    seconds=5.0,
    equivalent_mutants={
        "for ids, n in zip(words, counts, strict=True):  →  "
        "for ids, n in zip(words, counts, strict=False):": "The two lists are equally long.",
    },
)
