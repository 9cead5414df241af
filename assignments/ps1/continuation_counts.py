"""The task "continuation counts"."""

from collections import Counter

from autograder.authoring.checks import (
    Case,
    Check,
    Part,
    counted,
    mistake,
    mistakes,
    nothing_else_changes,
)
from autograder.authoring.compare import saying
from course_pkg.models import ngram

from .inputs import (
    Counts,
    Generator,
    Ids,
    Sizes,
    alphabet,
    count,
    text,
)

# -- inputs ----------------------------------------------------------------------------------------


def _draw_continuations(rng: Generator, sizes: Sizes) -> list[Case]:
    cases = []
    for kind, order, lengths in sizes:
        tokens, eos = alphabet(kind, 4)
        counts = count(text(rng, tokens, lengths), order + 1, eos)
        label = f"order {order}, {counted(len(lengths), 'document')} of {kind}"
        cases.append(Case(label, {"counts": counts, "order": order}))
    return cases


def draw_continuations(rng: Generator) -> list[Case]:
    """Counts of one long document, so that little depends on its start."""
    sizes = [("words", 1, (9,)), ("numbers", 1, (23, 6)), ("pairs", 1, (15, 8, 4))]
    sizes += [("words", 2, (31,)), ("numbers", 3, (41,)), ("ids", 2, (300,))]
    alike = {(1,): {"x": 2}, ("1",): {"x": 1, 1: 3}, ((1,),): {"1": 1, "x": 1}, ("(1,)",): {1: 1}}
    mixed = {(3,): {"x": 2}, ("x",): {(1, 2): 1, 3: 1}, ((1, 2),): {"x": 5}, ("<eos>",): {3: 1}}
    kinds = [
        Case("order 1, tokens of several kinds", {"counts": mixed, "order": 1}),
        Case("order 1, tokens that look alike", {"counts": alike, "order": 1}),
    ]
    return [*_draw_continuations(rng, sizes), *kinds]


def draw_all_continuations(rng: Generator) -> list[Case]:
    """Counts of all kinds."""
    return [*draw_continuations(rng), *draw_start_continuations(rng)]


def draw_start_continuations(rng: Generator) -> list[Case]:
    """Counts of many short documents, whose starts repeat."""
    return _draw_continuations(
        rng,
        [
            ("words", 2, (3, 2, 4, 1, 3, 2)),
            ("pairs", 3, (4, 1, 3, 0, 5, 4, 2)),
            ("ids", 5, (1, 0, 2, 1, 3)),
            # Of four tokens: some pairs occur again, whatever is drawn.
            ("numbers", 2, (3, 4) * 12),
        ],
    )


# -- probes ----------------------------------------------------------------------------------------


def continue_once(implementation, inputs):
    """Return the continuation counts as plain dictionaries."""
    import operator
    from collections import Counter

    counts = {history: Counter(row) for history, row in inputs["counts"].items()}
    result = implementation(counts, inputs["order"])
    return {
        history: {token: operator.index(n) for token, n in row.items()}
        for history, row in result.items()
    }


def continue_and_change(implementation, inputs):
    """Return the result, and the counts after the call and after a change to the result."""
    import operator
    from collections import Counter

    counts = {history: Counter(row) for history, row in inputs["counts"].items()}
    plain = None
    try:
        result = implementation(counts, inputs["order"])
        plain = {
            history: {token: operator.index(n) for token, n in row.items()}
            for history, row in result.items()
        }
        for row in result.values():
            row["new"] = 7
    except Exception:
        pass  # whether there is a result is the business of other parts
    return plain, {history: dict(row) for history, row in counts.items()}


def form(implementation, inputs):
    """Return whether the result is a dict of Counters, which answer 0 for what was never seen."""
    from collections import Counter

    counts = {history: Counter(row) for history, row in inputs["counts"].items()}
    result = implementation(counts, inputs["order"])
    return isinstance(result, dict), {isinstance(row, Counter) for row in result.values()}


# -- the reference version -------------------------------------------------------------------------


def continuation_counts(counts: Counts, order: int) -> Counts:
    """Count contexts with the package."""
    ids = Ids()
    return ids.back(ngram.continuation_counts(ids.of_counts(counts), order))


# -- parts -----------------------------------------------------------------------------------------

PARTS = (
    Part(
        "values",
        "Each n-gram is counted once for every different token seen before it.",
        draw_continuations,
        continue_once,
        weight=7,
    ),
    Part(
        "starts",
        "Histories at the start of a document keep their counts.",
        draw_start_continuations,
        continue_once,
        weight=3,
    ),
    Part(
        "form",
        "The result is a dict of Counters, which answer 0 for a token that was never seen.",
        draw_start_continuations,
        form,
        judge=saying(
            "the result is no dict",
            "a value of the result is no Counter, or there is none",
        ),
        weight=0.5,
    ),
    nothing_else_changes(
        "The old counts stay as they are, even when the new ones change later.",
        draw_all_continuations,
        continue_and_change,
        says=("the old counts change, with the call or with the new ones",),
    ),
)


# -- mistakes --------------------------------------------------------------------------------------


def right_answer(counts, order):
    """The answer that the mistakes start from."""
    result = {}
    for history, followers in counts.items():
        shorter = history if len(history) < order else history[1:]
        row = result.setdefault(shorter, Counter())
        for token, n in followers.items():
            row[token] += n if len(history) < order else 1
    return result


@mistake(
    hint="You count what comes after. Continuation counts ask what comes before: the first token "
    "of the history is the one to be counted away.",
    keeps=0.3,
)
def continue_forwards(counts, order):
    """The tokens after are counted instead of the tokens before."""
    result = {}
    for history, followers in counts.items():
        if len(history) < order:
            result[history] = Counter(followers)
        else:
            result.setdefault(history[:-1], Counter())[history[-1]] += len(followers)
    return result


MISTAKES = mistakes(
    right_answer,
    mistake(
        "Occurrences are added up instead of different tokens.",
        replace={"n if len(history) < order else 1": "n"},
        hint="You add up how often an n-gram occurred. Kneser and Ney ask after how many "
        "different tokens it occurred. Each pair in counts is worth one, however frequent it is.",
    ),
    continue_forwards,
    mistake(
        "Histories at the start of a document are lost.",
        replace={
            "row = result.setdefault(shorter, Counter())": """
                if len(history) < order:
                    continue
                row = result.setdefault(shorter, Counter())
            """,
        },
        hint="At the start of a document, histories are shorter, and they disappear in your "
        "answer. Nothing can come before them, so they keep what they have.",
        keeps=0.5,
    ),
    mistake(
        "Histories at the start of a document are counted once each.",
        replace={"n if len(history) < order else 1": "1"},
        hint="Nothing comes before the start of a document, so there is nothing different to "
        "count there. These histories keep their plain counts.",
    ),
    mistake(
        "Histories at the start of a document lose their eos.",
        replace={
            "history if len(history) < order else history[1:]": "history[1:]",
            "n if len(history) < order else 1": "1",
        },
        hint="You drop the first token of every history, of those at the start of a document too. "
        "There the eos is all they have. Look at their length first.",
        keeps=0.5,
    ),
    mistake(
        "The last token of a history is dropped instead of the first.",
        replace={"history[1:]": "history[:-1]"},
        hint="You drop the last token of the history. That is the one nearest to the target. The "
        "token before the n-gram is the first one.",
        keeps=0.3,
    ),
    mistake(
        "The history is forgotten: only order 1 comes out.",
        replace={
            "history if len(history) < order else history[1:]": "()",
            "n if len(history) < order else 1": "1",
        },
        hint="Your answer fits order 1 only. At higher orders a history remains: all tokens of "
        "the old one but the first.",
    ),
    mistake(
        "The starts of the new counts are the old counters themselves.",
        replace={
            "row = result.setdefault(shorter, Counter())": """
                if len(history) < order:
                    result[history] = followers
                    continue
                row = result.setdefault(shorter, Counter())
            """,
        },
        hint="The numbers are right, but some of your counters are the very objects of the "
        "argument. A later change of one changes the other. Make a new counter.",
    ),
)

CHECK = Check(
    item="ps1_continuation_counts",
    points=12,
    target="continuation_counts",
    reference=continuation_counts,
    parts=PARTS,
    mistakes=MISTAKES,
    seconds=5.0,
)
