"""The task "beam search"."""

import math
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import torch
from torch import Tensor

from autograder.authoring.checks import Case, Check, Part, mistake, mistakes, nothing_else_changes
from autograder.authoring.compare import agree, saying
from course_pkg.decoding.beam_search import length_penalty

from ..tensors import Generator

Found = list[tuple[float, tuple[int, ...]]]

# -- inputs ----------------------------------------------------------------------------------------
# The model is a table: which row follows a beginning depends on all of its ids and their order.

# Most tables are the same for everybody: whether a wrong search goes astray depends on all numbers.

N_ROWS = 23


def _fixed(seed: int) -> Generator:
    return np.random.default_rng(seed)


def _case(
    label: str,
    table: Tensor,
    n_beams: int,
    eos_id: int,
    max_length: int,
    alpha: float,
    root: Sequence[float] | None = None,
) -> Case:
    inputs = {
        "table": table,
        "root": table[0] if root is None else torch.tensor(root, dtype=table.dtype).log(),
        "options": [n_beams, eos_id, max_length, alpha],
    }
    return Case(f"{label}: {n_beams} beams, length {max_length}, alpha {alpha:g}", inputs)


def _table(
    rng: Generator, vocab_size: int, eos_id: int, eos: float, *, sharp: float = 1.0
) -> Tensor:
    """Draw log probabilities in which eos has about the share that is given."""
    logits = torch.from_numpy(sharp * rng.standard_normal((N_ROWS, vocab_size)))
    others = torch.cat([logits[:, :eos_id], logits[:, eos_id + 1 :]], dim=1).log_softmax(dim=1)
    shares = eos * (0.5 + torch.from_numpy(rng.random((N_ROWS, 1))))
    rest = others + (1 - shares).log()
    return torch.cat([rest[:, :eos_id], shares.log(), rest[:, eos_id:]], dim=1)


def _row(ids: Sequence[int]) -> int:
    """Return the row of the table that follows a beginning, as the probes find it."""
    return 1 + sum((n + 2) * (3 * i + 1) for n, i in enumerate(ids)) % (N_ROWS - 1)


def _trap(rng: Generator) -> Tensor:
    """Make a model in which the best beginning is not that of the best text."""
    table = _table(rng, 4, 0, 0.1)
    root = torch.tensor([0.05, 0.45, 0.3, 0.2], dtype=torch.float64)
    table[0] = root.log()
    return table


def draw_greedy(rng: Generator) -> list[Case]:
    """One beam: the best id at each step."""
    return [
        _case("a single id", _table(_fixed(21), 3, 0, 0.2), 1, 0, 1, 0.0),
        _case("4 ids, eos is 0", _table(_fixed(22), 4, 0, 0.1), 1, 0, 5, 0.0),
        _case("5 ids, eos is 4", _table(_fixed(23), 5, 4, 0.15), 1, 4, 6, 0.0),
        _case("eos at once", _table(_fixed(24), 3, 1, 0.2), 1, 1, 4, 0.0, [0.1, 0.8, 0.1]),
        _case("eos is never the best", _same_row(0.3, 0.4, 0.3), 1, 0, 4, 0.0),
        _case("another table", _table(rng, 4, 2, 0.15), 1, 2, 5, 0.0),
    ]


def draw_beams(rng: Generator) -> list[Case]:
    """Several beams, short texts and long ones, ends of every length."""
    return [
        _case("4 ids, eos is 0", _trap(_fixed(1)), 2, 0, 3, 0.0),
        _case("6 ids, eos is 3", _table(_fixed(2), 6, 3, 0.25), 3, 3, 5, 0.0),
        _case("5 ids, eos is 4", _table(_fixed(3), 5, 4, 0.3), 4, 4, 6, 0.0),
        _case("7 ids, eos is 0", _table(_fixed(4), 7, 0, 0.2), 5, 0, 4, 0.0),
        _case("4 ids, one much likelier", _table(_fixed(5), 4, 2, 0.3, sharp=3.0), 3, 2, 6, 0.0),
        # The best end comes after others have ended: whoever stops early misses it.
        _case("ends early and late", _late(), 2, 0, 4, 0.0),
        _case("another table", _table(rng, 6, 1, 0.25), 3, 1, 5, 0.0),
    ]


def _late() -> Tensor:
    """Make a model whose best text ends last: 1, 1, 1, eos; worse ones end before it."""
    return _same_row(0.2, 0.7, 0.1)


def _same_row(*probs: float) -> Tensor:
    return torch.tensor(probs, dtype=torch.float64).repeat(N_ROWS, 1).log()


def draw_penalties(rng: Generator) -> list[Case]:
    """Ends of all lengths, compared with a penalty."""
    return [
        _case("ends early and late", _late(), 2, 0, 4, 1.0),
        _case("5 ids, eos is 0", _table(_fixed(6), 5, 0, 0.3), 3, 0, 6, 0.6),
        _case("4 ids, eos is 3", _table(_fixed(7), 4, 3, 0.35), 4, 3, 7, 1.0),
        _case("6 ids, eos is 2", _table(_fixed(8), 6, 2, 0.3), 3, 2, 5, 2.0),
        _case("5 ids, eos is 1", _table(_fixed(9), 5, 1, 0.3, sharp=2.0), 2, 1, 8, 0.3),
        _case("the longest is best, though halfway worse", _patient(), 2, 0, 3, 3.0),
    ]


def _patient() -> Tensor:
    """Make a model in which 1, 1 is worse than all that has ended, and 1, 1, eos the best."""
    table = _same_row(0.5, 0.5)
    table[_row((1,))] = torch.tensor([0.5, 0.45]).log()
    table[_row((1, 1))] = torch.tensor([1.0, 0.0]).log()
    return table


def draw_ends(rng: Generator) -> list[Case]:
    """Texts cut at the length, more beams than ids, ids of probability 0."""
    never = _table(_fixed(10), 4, 0, 0.2)
    never[:, 0] = -torch.inf
    two_only = _table(_fixed(11), 5, 4, 0.3)
    two_only[:, 1] = two_only[:, 3] = -torch.inf
    only_end = torch.full((N_ROWS, 3), -torch.inf, dtype=torch.float64)
    only_end[:, 2] = 0.0
    dead_ends = _table(_fixed(16), 4, 0, 0.2)
    dead_ends[[_row((1,)), _row((2, 3)), _row((3, 1))]] = -torch.inf
    return [
        _case("eos never comes", never, 3, 0, 3, 1.0),
        _case("more beams than ids", _table(_fixed(12), 3, 1, 0.3), 8, 1, 2, 0.0),
        _case("one step", _table(_fixed(13), 5, 0, 0.3), 3, 0, 1, 1.0),
        _case("two ids are impossible", two_only, 6, 4, 3, 0.5),
        _case("only eos is possible", only_end, 3, 2, 4, 1.0),
        _case("some are cut, some end", _table(_fixed(14), 4, 3, 0.15), 4, 3, 3, 1.0),
        _case("some beginnings lead nowhere", dead_ends, 4, 0, 4, 0.5),
        _case("possible, but hardly", _table(_fixed(15), 4, 1, 0.3) - 1e12, 3, 1, 3, 0.0),
    ]


def draw_ties(rng: Generator) -> list[Case]:
    """Probabilities that are powers of 2, in all rows the same: sums are equal, and exactly so."""
    halves = torch.tensor([-2.0, -1.0, -2.0, -1.0], dtype=torch.float64).repeat(N_ROWS, 1)
    even = torch.full((N_ROWS, 3), -1.5, dtype=torch.float64)
    last = torch.tensor([-1.0, -1.0, -1.0, -2.0], dtype=torch.float64).repeat(N_ROWS, 1)
    turned = torch.full((N_ROWS, 3), -8.0, dtype=torch.float64)
    turned[0] = torch.tensor([-4.0, -2.0, -1.0])
    for ids, log_prob in (((1,), -1.0), ((2,), -2.0)):  # so all extensions of both have the sum -3
        turned[_row(ids)] = log_prob
    # The end of (1, 0) comes before that of (0, 1, 2), which has the same sum and smaller ids.
    early = torch.full((N_ROWS, 3), -9.0, dtype=torch.float64)
    early[0] = torch.tensor([-1.0, -1.0, -9.0])
    early[_row((1,)), 2], early[_row((0,)), 1], early[_row((0, 1)), 2] = -1.0, -0.5, -0.5
    # Those that stand last are better by a hair, which rounding to twelve places would hide.
    nearly = torch.tensor([-2.0, -1.0, -1.0 + 2**-44], dtype=torch.float64).repeat(N_ROWS, 1)
    return [
        _case("nearly equal sums", nearly, 2, 0, 3, 0.0),
        _case("equal sums of unequal lengths", early, 3, 2, 4, 0.0),
        _case("equal sums from unequal beginnings", turned, 2, 0, 2, 0.0),
        _case("all equal", even, 2, 0, 3, 0.0),
        _case("two and two equal", halves, 3, 2, 3, 0.0),
        _case("eos is the last and rarest", last, 2, 3, 3, 0.0),
        _case("two and two equal, eos is 0", halves, 4, 0, 4, 0.0),
    ]


def draw_all(rng: Generator) -> list[Case]:
    """Take cases of all kinds."""
    return [*draw_greedy(rng)[1:2], *draw_beams(rng)[1:3], *draw_penalties(rng)[1:3]]


def draw_long(rng: Generator) -> list[Case]:
    """Searches in which it matters how often the model is asked."""
    return [
        _case("6 ids, eos is 5", _table(_fixed(31), 6, 5, 0.05), 2, 5, 12, 0.0),
        _case("8 ids, eos is 0", _table(_fixed(32), 8, 0, 0.1), 4, 0, 8, 1.0),
        _case("4 ids, eos is 1", _table(_fixed(33), 4, 1, 0.3), 3, 1, 9, 0.6),
    ]


# -- probes ----------------------------------------------------------------------------------------


def search(implementation, inputs):
    """Return scores and ids of the hypotheses."""
    table, root = inputs["table"], inputs["root"]

    def next_log_probs(ids):
        ids = tuple(int(i) for i in ids)
        place = 1 + sum((n + 2) * (3 * i + 1) for n, i in enumerate(ids)) % (len(table) - 1)
        return (table[place] if ids else root).clone()

    found = implementation(next_log_probs, *inputs["options"])
    return [(float(score), tuple(int(i) for i in ids)) for score, ids in found]


def ask_sparingly(implementation, inputs):
    """Return the best hypothesis, and whether the model was asked only what it had to be."""
    table, root = inputs["table"], inputs["root"]
    n_beams, eos_id, max_length, _ = inputs["options"]
    asked = []

    def next_log_probs(ids):
        ids = tuple(int(i) for i in ids)
        asked.append(ids)
        if len(asked) > 20 * n_beams * max_length:
            raise RuntimeError("asked far too often")
        place = 1 + sum((n + 2) * (3 * i + 1) for n, i in enumerate(ids)) % (len(table) - 1)
        return (table[place] if ids else root).clone()

    found = implementation(next_log_probs, *inputs["options"])
    ended = sum(eos_id in ids or len(ids) >= max_length for ids in asked)
    few = len(asked) <= 1 + n_beams * (max_length - 1)
    return len(found) > 0, ended == 0, few


def form(implementation, inputs):
    """Return whether the result is a list, not empty, of pairs of a float and a tuple of int."""
    table, root = inputs["table"], inputs["root"]

    def next_log_probs(ids):
        place = 1 + sum((n + 2) * (3 * i + 1) for n, i in enumerate(ids)) % (len(table) - 1)
        return (table[place] if ids else root).clone()

    found = implementation(next_log_probs, *inputs["options"])
    is_list = type(found) is list and len(found) > 0
    pairs = all(type(pair) is tuple and len(pair) == 2 for pair in found)
    scores = all(type(score) is float for score, _ in found)
    texts = all(type(ids) is tuple and all(type(i) is int for i in ids) for _, ids in found)
    return is_list, pairs, scores, texts


def search_twice(implementation, inputs):
    """Return what comes, whether a second search gives the same, and what else may change."""
    import torch

    table, root = inputs["table"], inputs["root"]
    kept = table.clone(), root.clone()

    def next_log_probs(ids, /):
        if type(ids) is not tuple:
            raise TypeError("ids is no tuple")
        place = 1 + sum((n + 2) * (3 * i + 1) for n, i in enumerate(ids)) % (len(table) - 1)
        return table[place] if ids else root

    found = implementation(next_log_probs, *inputs["options"])
    again = implementation(next_log_probs, *inputs["options"])
    untouched = torch.equal(kept[0], table) and torch.equal(kept[1], root)
    return None, found == again, untouched


# -- the reference version -------------------------------------------------------------------------


def beam_search(
    next_log_probs: Callable[[tuple[int, ...]], Tensor],
    n_beams: int,
    eos_id: int,
    max_length: int,
    alpha: float,
) -> Found:
    """Do what the package's search does, one text at a time, and with a rule for ties."""
    live: Found = [(0.0, ())]
    finished: Found = []
    for length in range(1, max_length + 1):
        longer = [
            (log_prob + step, (*ids, i))
            for log_prob, ids in live
            for i, step in enumerate(next_log_probs(ids).tolist())
            if step > -math.inf
        ]
        best = sorted(longer, key=_rank)[:n_beams]
        is_last = length == max_length
        finished += [
            (log_prob / length_penalty(length, alpha), ids)
            for log_prob, ids in best
            if is_last or ids[-1] == eos_id
        ]
        live = [text for text in best if text[1][-1] != eos_id]
    return sorted(finished, key=_rank)[:n_beams]


def _rank(text: tuple[float, tuple[int, ...]]) -> tuple[float, tuple[int, ...]]:
    return -text[0], text[1]


# -- parts -----------------------------------------------------------------------------------------


_same: Any = agree(rtol=1e-6, atol=1e-9)
PARTS = (
    Part(
        "one beam",
        "With one beam the best id is taken at each step, until eos or the length.",
        draw_greedy,
        search,
        judge=_same,
        weight=2,
    ),
    Part(
        "several beams",
        "At each step the best beginnings go on; the best complete texts are returned.",
        draw_beams,
        search,
        judge=_same,
        weight=4,
    ),
    Part(
        "length penalty",
        "Complete texts, and only these, are compared by their sum over the length penalty.",
        draw_penalties,
        search,
        judge=_same,
        weight=3,
    ),
    Part(
        "ends",
        "Texts are cut at the length, few ids are no harm, and nothing impossible is found.",
        draw_ends,
        search,
        judge=_same,
        weight=2,
    ),
    Part(
        "ties",
        "Of equal sums, the one whose ids sort first comes first.",
        draw_ties,
        search,
        judge=_same,
        weight=1,
    ),
    Part(
        "accuracy",
        "Scores are right to nine digits.",
        lambda rng: draw_penalties(rng)[1:3],
        search,
        judge=agree(rtol=5e-9, atol=0.0),
        weight=0.5,
    ),
    Part(
        "cost",
        "The model is asked once for each live beginning, and never after the end of a text.",
        draw_long,
        ask_sparingly,
        judge=saying(
            "nothing is found",
            "the model is asked to continue a text that has ended",
            "the model is asked more often than once for each live beginning",
        ),
        weight=1,
    ),
    Part(
        "form",
        "The result is a list of tuples, of a float and a tuple of int.",
        draw_greedy,
        form,
        judge=saying(
            "the result is no list, or an empty one",
            "an item of the result is no tuple of two",
            "a score is no float",
            "a text is no tuple of int",
        ),
        weight=0.5,
    ),
    nothing_else_changes(
        "The model gets tuples, its answers stay as they were, and a second search agrees.",
        draw_all,
        search_twice,
        says=("a second call gives something else", "what the model has returned is changed"),
    ),
)


# -- mistakes --------------------------------------------------------------------------------------


def right_answer(next_log_probs, n_beams, eos_id, max_length, alpha):
    """The answer that the mistakes start from."""
    live, finished = [(0.0, ())], []
    for length in range(1, max_length + 1):
        longer = []
        for log_prob, ids in live:
            steps = next_log_probs(ids).tolist()
            longer += [(log_prob + p, (*ids, i)) for i, p in enumerate(steps) if p > -math.inf]
        longer.sort(key=lambda text: (-text[0], text[1]))
        live = []
        for log_prob, ids in longer[:n_beams]:
            if ids[-1] == eos_id or length == max_length:
                finished.append((log_prob / ((5 + len(ids)) / 6) ** alpha, ids))
            else:
                live.append((log_prob, ids))
    finished.sort(key=lambda text: (-text[0], text[1]))
    return finished[:n_beams]


@mistake(
    hint="You search with one beam, whatever n_beams says. The best beginning need not lead to the "
    "best text: keep n_beams of them at each step."
)
def greedy(next_log_probs, n_beams, eos_id, max_length, alpha):
    """The search is greedy, whatever the number of beams."""
    ids, total = (), 0.0
    while len(ids) < max_length and (not ids or ids[-1] != eos_id):
        steps = next_log_probs(ids).tolist()
        best = max(range(len(steps)), key=steps.__getitem__)
        ids, total = (*ids, best), total + steps[best]
    return [(total / ((5 + len(ids)) / 6) ** alpha, ids)]


@mistake(
    hint="You extend complete texts too, or keep them among the live beginnings, where they take a "
    "place from those that could go on. Put a complete text aside, and fill all n_beams places."
)
def finished_stay_in_the_beam(next_log_probs, n_beams, eos_id, max_length, alpha):
    """A complete text keeps its place in the beam."""
    beam = [(0.0, ())]
    for _ in range(max_length):
        longer = []
        for log_prob, ids in beam:
            if ids and ids[-1] == eos_id:
                longer.append((log_prob, ids))
                continue
            steps = next_log_probs(ids).tolist()
            longer += [(log_prob + p, (*ids, i)) for i, p in enumerate(steps) if p > -math.inf]
        longer.sort(key=lambda text: (-text[0], text[1]))
        beam = longer[:n_beams]
    found = [(log_prob / ((5 + len(ids)) / 6) ** alpha, ids) for log_prob, ids in beam]
    return sorted(found, key=lambda text: (-text[0], text[1]))


MISTAKES = mistakes(
    right_answer,
    greedy,
    mistake(
        "A text goes on after eos.",
        replace={"ids[-1] == eos_id or length == max_length": "length == max_length"},
        hint="Your texts go on after eos. With eos a text is complete: put it aside with its "
        "score, and extend only the others.",
    ),
    finished_stay_in_the_beam,
    mistake(
        "The length penalty multiplies.",
        replace={"log_prob / (": "log_prob * ("},
        hint="You multiply by the length penalty. Sums are negative, so that makes long texts "
        "worse: divide by it.",
    ),
    mistake(
        "The length penalty leaves out eos.",
        replace={"(5 + len(ids))": "(5 + len(ids) - (ids[-1] == eos_id))"},
        hint="Your length does not count eos. It was generated like all other ids, and its log "
        "probability is in the sum: count it.",
    ),
    mistake(
        "The penalty is the length itself.",
        replace={"((5 + len(ids)) / 6)": "len(ids)"},
        hint="You divide by the length to the power alpha. The contract's penalty grows more "
        "slowly: 5 plus the length, divided by 6.",
    ),
    mistake(
        "The penalty is not used.",
        replace={"log_prob / ((5 + len(ids)) / 6) ** alpha": "log_prob"},
        hint="Your scores are plain sums of log probabilities. They favour short texts: divide the "
        "sum of a complete text by the length penalty.",
    ),
    mistake(
        "The search stops as soon as one text is complete.",
        replace={"live = []": "if finished:\n    break\nlive = []"},
        hint="You stop at the first complete text. A longer one may still have a better sum or "
        "score: go on until nothing is live.",
    ),
    mistake(
        "The search stops when as many texts are complete as there are beams.",
        replace={"live = []": "if len(finished) >= n_beams:\n    break\nlive = []"},
        hint="You stop once n_beams texts are complete. A live beginning may still become better "
        "than the worst of them, or than the best: go on.",
    ),
    mistake(
        "Texts that are cut at the length are lost.",
        replace={"ids[-1] == eos_id or length == max_length": "ids[-1] == eos_id"},
        hint="You return only texts that end with eos. A text that reaches max_length is cut "
        "there, and counts as complete.",
        keeps=0.5,
    ),
    mistake(
        "Texts may be longer than the length by one.",
        replace={
            "range(1, max_length + 1)": "range(1, max_length + 2)",
            "length == max_length": "length == max_length + 1",
        },
        hint="Your texts may have max_length ids and eos on top. The length counts all that is "
        "generated, eos too.",
        keeps=0.5,
    ),
    mistake(
        "The texts are returned without eos.",
        replace={
            "finished[:n_beams]": (
                "[(s, ids[:-1] if ids[-1] == eos_id else ids) for s, ids in finished[:n_beams]]"
            )
        },
        hint="You remove eos from the texts that you return. Leave it in: it tells a complete text "
        "from one that was cut.",
        keeps=0.5,
    ),
    mistake(
        "Probabilities are added, not their logarithms.",
        replace={"log_prob + p, (*ids, i)": "log_prob + math.exp(p), (*ids, i)"},
        hint="You add probabilities. The probability of a text is a product; its logarithm is the "
        "sum of the log probabilities, which you are given.",
    ),
    mistake(
        "Each beginning goes on with its best id only.",
        replace={
            "enumerate(steps) if p > -math.inf": "sorted(enumerate(steps), key=lambda e: (-e[1]"
            ", e[0]))[: n_beams if not ids else 1] if p > -math.inf"
        },
        hint="After the first step each of your beginnings goes on with its best id only, so they "
        "never compete. Compare all extensions of all beginnings.",
    ),
    mistake(
        "Only the last step's log probability is compared.",
        replace={
            "longer.sort(key=lambda text: (-text[0], text[1]))": """
                sums = {ids: s for s, ids in live}
                longer.sort(key=lambda text: (sums[text[1][:-1]] - text[0], text[1]))
            """
        },
        hint="You compare extensions by their last step alone. What came before counts as well: "
        "compare the sums over whole beginnings.",
    ),
    mistake(
        "All complete texts are returned.",
        replace={"finished[:n_beams]": "finished"},
        hint="You return every complete text that was met. The contract asks for the best n_beams "
        "of them.",
    ),
    mistake(
        "The worst text comes first.",
        replace={"return finished[:n_beams]": "return finished[:n_beams][::-1]"},
        hint="Your list ends with the best text. Log probabilities are negative: the best is the "
        "one nearest to 0, and it comes first.",
    ),
    mistake(
        "Of equal sums the one whose ids are larger comes first.",
        replace={
            "longer.sort(key=lambda text: (-text[0], text[1]))": "longer.sort(reverse=True)",
        },
        hint="Where two sums are equal, your beam prefers larger ids. Sort by the sum downwards, "
        "but by the ids upwards.",
    ),
    mistake(
        "Texts of probability 0 are found.",
        replace={" if p > -math.inf": ""},
        hint="You return texts whose log probability is minus infinity. An impossible text is "
        "not a hypothesis, even if that leaves places in the beam empty.",
    ),
    mistake(
        "The ids are a list.",
        replace={
            "return finished[:n_beams]": "return [(s, list(t)) for s, t in finished[:n_beams]]"
        },
        hint="Your texts are lists. The contract asks for tuples of int, which can be compared and "
        "used as keys.",
    ),
    mistake(
        "Every beginning keeps as many extensions as there are beams.",
        replace={
            "in longer[:n_beams]": "in [t for p in live_before for t in "
            "[x for x in longer if x[1][:-1] == p[1]][:n_beams]]",
            "live = []": "live_before, live = live, []",
        },
        hint="You keep n_beams extensions of every beginning, so their number grows at each step. "
        "Keep n_beams in all.",
    ),
)

CHECK = Check(
    item="ps4_beam_search",
    points=13,
    target="beam_search",
    reference=beam_search,
    parts=PARTS,
    mistakes=MISTAKES,
    seconds=5.0,
    equivalent_mutants={
        "for length in range(1, max_length + 1):  →  for length in range(1, max_length + 2):": (
            "after the last length nothing is live"
        ),
    },
)
