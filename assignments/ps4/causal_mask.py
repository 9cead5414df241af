"""The task "the causal mask"."""

import torch
from torch import Tensor

from autograder.authoring.checks import Case, Check, Part, mistake, mistakes, nothing_else_changes
from autograder.authoring.compare import agree
from course_pkg.layers import attention

from ..tensors import Generator

# -- inputs ----------------------------------------------------------------------------------------


def _case(n_queries: int, n_keys: int) -> Case:
    return Case(f"{n_queries} by {n_keys}", {"arguments": [n_queries, n_keys]})


def draw_squares(rng: Generator) -> list[Case]:
    """As many queries as keys."""
    sizes = [1, 2, 3, 7, int(rng.integers(9, 40))]
    return [_case(n, n) for n in sizes]


def draw_more_keys(rng: Generator) -> list[Case]:
    """Keys of earlier steps stand before those of the queries."""
    n = int(rng.integers(5, 20))
    sizes = [(1, 2), (2, 3), (2, 7), (3, 9), (n, 2 * n + 1), (1, 6), (3, 2102)]
    return [_case(*size) for size in sizes]


# -- probes ----------------------------------------------------------------------------------------


def make(implementation, inputs):
    """Return the mask."""
    return implementation(*inputs["arguments"])


def make_twice(implementation, inputs):
    """Write into a first mask; return whether a second one is as the first was."""
    import torch

    first = implementation(*inputs["arguments"])
    kept = first.clone()
    first[0, 0] = not first[0, 0]
    written = int((first != kept).sum())  # one number, unless several share their memory
    first.fill_(0)
    second = implementation(*inputs["arguments"]).clone()
    first.copy_(kept)  # a mask that is kept must not be empty for whoever comes next
    return None, torch.equal(second, kept), written


# -- the reference version -------------------------------------------------------------------------


def causal_mask(n_queries: int, n_keys: int) -> Tensor:
    """Ask the package."""
    return attention.causal_mask(n_queries, n_keys)


# -- parts -----------------------------------------------------------------------------------------

_same = agree(exact_dtype=True)
PARTS = (
    Part(
        "squares",
        "Each place may look at itself and at all before it; the mask is bool, of shape (T, S).",
        draw_squares,
        make,
        judge=_same,
        weight=3,
    ),
    Part(
        "more keys",
        "With more keys than queries, the last query is level with the last key.",
        draw_more_keys,
        make,
        judge=_same,
        weight=2,
    ),
    nothing_else_changes(
        "Each call makes a new mask, into which the caller may write.",
        lambda rng: [*draw_squares(rng)[1:3], *draw_more_keys(rng), _case(70, 75)],
        make_twice,
        says=(
            "a second mask is not as the first one was",
            "one number of the mask cannot be changed alone",
        ),
    ),
)


# -- mistakes --------------------------------------------------------------------------------------


def right_answer(n_queries, n_keys):
    """The answer that the mistakes start from."""
    queries = torch.arange(n_keys - n_queries, n_keys).unsqueeze(1)
    keys = torch.arange(n_keys).unsqueeze(0)
    return keys <= queries


@mistake(
    hint="You keep masks from earlier calls and return the same tensor again. Whoever writes into "
    "it would change the mask of everybody: make a new one."
)
def kept_masks(n_queries, n_keys, kept={}):  # noqa: B006
    """A mask from an earlier call is returned again."""
    if (n_queries, n_keys) not in kept:
        mask = torch.ones(n_queries, n_keys, dtype=torch.bool)
        kept[n_queries, n_keys] = mask.tril(diagonal=n_keys - n_queries)
    return kept[n_queries, n_keys]


MISTAKES = mistakes(
    right_answer,
    mistake(
        "True stands where a query may not look.",
        replace={"keys <= queries": "keys > queries"},
        hint="Your mask is True where a query must not look. In this course True means: may look.",
        keeps=0.5,
    ),
    mistake(
        "A place does not see itself.",
        replace={"keys <= queries": "keys < queries"},
        hint="In your mask no place sees itself, and the first sees nothing. Each place knows "
        "its own token; it is the next one that has to be predicted.",
        keeps=0.5,
    ),
    mistake(
        "A place sees the next one.",
        replace={"keys <= queries": "keys <= queries + 1"},
        hint="In your mask each place sees the next one too. That is the very thing that it is to "
        "predict.",
        keeps=0.5,
    ),
    mistake(
        "A place sees itself and what comes after it.",
        replace={"keys <= queries": "keys >= queries"},
        hint="Your triangle is the upper one: each place sees what comes after it. A row is a "
        "query, and it may look to the left.",
        keeps=0.3,
    ),
    mistake(
        "The first query is level with the first key.",
        replace={"torch.arange(n_keys - n_queries, n_keys)": "torch.arange(n_queries)"},
        hint="With more keys than queries, your first query is level with the first key. The keys "
        "in front come from earlier steps: the last query is level with the last key.",
    ),
    mistake(
        "The shift for earlier keys has the wrong sign.",
        replace={
            "torch.arange(n_keys - n_queries, n_keys)": (
                "torch.arange(n_queries) + n_queries - n_keys"
            )
        },
        hint="Where there are more keys than queries, you move the diagonal to the left, so that "
        "queries see less. They stand further right in the text, and see more.",
        keeps=0.5,
    ),
    mistake(
        "The mask has a row for each key.",
        replace={"torch.arange(n_keys - n_queries, n_keys)": "torch.arange(n_keys)"},
        hint="Your mask has a row for each key. Rows are queries, and there may be fewer of these: "
        "the shape is (n_queries, n_keys).",
    ),
    mistake(
        "The mask has a column for each query.",
        replace={
            "torch.arange(n_keys - n_queries, n_keys)": "torch.arange(n_queries)",
            "torch.arange(n_keys).": "torch.arange(n_queries).",
        },
        hint="Your mask has a column for each query. Columns are keys, and there may be more of "
        "these: the shape is (n_queries, n_keys).",
    ),
    mistake(
        "Rows and columns are exchanged.",
        replace={
            ".unsqueeze(1)": ".unsqueeze(0)",
            "(n_keys).unsqueeze(0)": "(n_keys).unsqueeze(1)",
        },
        hint="Your mask lies on its side: its rows are keys. Rows are queries, columns are keys.",
        keeps=0.5,
    ),
    mistake(
        "The mask holds numbers.",
        replace={"keys <= queries": "(keys <= queries).long()"},
        hint="Your mask holds 1 and 0. Numbers could also mean that they are added to scores: "
        "return a tensor of dtype bool.",
        keeps=0.5,
    ),
    mistake(
        "The mask holds minus infinity, to be added to scores.",
        replace={
            "keys <= queries": (
                "torch.zeros(n_queries, n_keys).masked_fill(keys > queries, float('-inf'))"
            )
        },
        hint="Your mask is one to be added to scores. That is another convention: here it is a "
        "tensor of dtype bool, True where a query may look.",
        keeps=0.5,
    ),
    mistake(
        "A place sees only itself.",
        replace={"keys <= queries": "keys == queries"},
        hint="In your mask each place sees only itself. It may look at everything before it as "
        "well.",
    ),
    mistake(
        "Every place sees everything.",
        replace={"keys <= queries": "keys <= queries + n_keys"},
        hint="Your mask hides nothing. A place must not see what comes after it, since that is "
        "what it is to predict.",
    ),
    mistake(
        "The mask has axes for the batch and the heads.",
        replace={"keys <= queries": "(keys <= queries)[None, None]"},
        hint="Your mask has leading axes of length 1. The contract asks for two axes, queries and "
        "keys; the rest is broadcast.",
        keeps=0.5,
    ),
    kept_masks,
)

CHECK = Check(
    item="ps4_causal_mask",
    points=6,
    target="causal_mask",
    reference=causal_mask,
    parts=PARTS,
    mistakes=MISTAKES,
    seconds=5.0,
)
