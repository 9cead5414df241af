"""The task "dot-product attention"."""

from collections.abc import Callable
from typing import Any

import torch
from torch import Tensor
from torch.nn import functional as F  # noqa: F401  (read by a replacement)

from autograder.authoring.checks import Case, Check, Inputs, Part, mistake, mistakes
from course_pkg.layers.attention import DotScore, masked_softmax

from ..contracts import LOWER_THAN_ANY, Contract, far_scores
from ..tensors import (
    FLOWS,
    Generator,
    any_layout,
    call,
    differentiate,
    keeps,
    near,
    near_part,
    normal,
    tensor_case,
)

# -- inputs ----------------------------------------------------------------------------------------

CONTRACT = Contract("B K; B S K; B S M")
SIZES = [  # rows, places, width of keys, width of values
    (1, 2, 3, 1, "float64"),
    (2, 5, 3, 4, "float64"),
    (5, 3, 7, 2, "float32"),
    (4, 4, 4, 4, "float64"),
    (1, 1, 2, 3, "float64"),
    (3, 1, 1, 2, "float64"),
]


def _case(query: Tensor, keys: Tensor, values: Tensor, what: str = "") -> Case:
    B, S, K = keys.shape
    label = f"B {B}, S {S}, K {K}, M {values.shape[-1]}{what}"
    return tensor_case(label, str(query.dtype).removeprefix("torch."), query, keys, values)


def draw_reads(rng: Generator) -> list[Case]:
    """Ordinary scores, and sizes of 1; at last two equal keys with different values."""
    cases = [
        _case(normal(rng, d, B, K), normal(rng, d, B, S, K), normal(rng, d, B, S, M))
        for B, S, K, M, d in SIZES
    ]
    keys = normal(rng, "float64", 2, 4, 3)
    keys[:, 2] = keys[:, 0]
    query, values = normal(rng, "float64", 2, 3), normal(rng, "float64", 2, 4, 5)
    return [*cases, _case(query, keys, values, ", two keys equal")]


def _far(dtype: str) -> Case:
    keys, values = far_scores(dtype).unsqueeze(-1), torch.arange(24.0).reshape(3, 4, 2)
    what = f", scores such as {LOWER_THAN_ANY[dtype]:g}"
    return _case(torch.ones_like(keys[:, 0]), keys, values.to(keys.dtype), what)


def draw_precise(rng: Generator) -> list[Case]:
    """Cases in which a wrong value is a wrong accuracy: float64 has lower scores than float32."""
    keys = torch.tensor([[0.0, -14.0, -17.0, -20.0], [-15.0, 0.0, -16.0, -21.0]])[..., None]
    small = torch.ones(2, 1), keys, torch.tensor([3.0, -1e6, 1e6, 2e6]).expand(2, 4)[..., None]
    faint = _case(*(x.double() for x in small), ", weights down to a billionth")
    return [*draw_reads(rng), _far("float64"), faint]


def draw_large_scores(rng: Generator) -> list[Case]:
    """Scores whose exponentials are too large, or too small, for their dtype."""
    cases = []
    for base, dtype in [(50_000.0, "float64"), (-50_000.0, "float64"), (300.0, "float32")]:
        # Every key holds 1 in its first number, where the query holds the base. Its other numbers
        # are small multiples of 1/8, so that no accuracy is lost to the base.
        query = torch.from_numpy(rng.integers(-8, 9, (2, 4)) / 8)
        keys = torch.from_numpy(rng.integers(-8, 9, (2, 5, 4)) / 8)
        query[:, 0], keys[..., 0] = base, 1.0
        values = normal(rng, dtype, 2, 5, 3)
        query, keys = query.to(values.dtype), keys.to(values.dtype)
        cases.append(_case(query, keys, values, f", scores near {base:g}"))
    query = torch.from_numpy(rng.integers(-60, 61, (3, 5))).double()  # whole, so exact everywhere
    keys = torch.from_numpy(rng.integers(-60, 61, (3, 4, 5))).double()
    cases.append(_case(query, keys, normal(rng, "float64", 3, 4, 2), ", scores far apart"))
    cases.append(_far("float32"))
    return cases


# -- probes ----------------------------------------------------------------------------------------


def scores(implementation, inputs):
    """Return the scores."""
    return implementation(*inputs["arguments"])[0]


def weights(implementation, inputs):
    """Return the weights, after the scores that they are made of."""
    return tuple(implementation(*inputs["arguments"])[:2])


def context(implementation, inputs):
    """Return the context, after the weights that it is made with."""
    return tuple(implementation(*inputs["arguments"])[1:])


# -- the reference version -------------------------------------------------------------------------


def dot_attention(query: Tensor, keys: Tensor, values: Tensor) -> tuple[Tensor, Tensor, Tensor]:
    """Score with the package's layer, and weigh with its softmax."""
    found = DotScore()(query.unsqueeze(1), keys)  # (B, 1, S)
    shares = masked_softmax(found)
    return found.squeeze(1), shares.squeeze(1), (shares @ values).squeeze(1)


# -- parts -----------------------------------------------------------------------------------------


def _follows(found: Any, expected: Any, inputs: Inputs, step: Callable[[Tensor], Tensor]) -> Any:
    """Judge the second of two results by what follows from the student's own first one."""
    fits = type(found) is tuple and len(found) == 2 and type(found[0]) is Tensor
    if not fits or found[0].shape != expected[0].shape or not found[0].is_floating_point():
        return near(found, expected, inputs)
    own = step(found[0].double()).to(expected[1].dtype)
    return near(found[1], own, inputs)


def weights_follow(found: Any, expected: Any, inputs: Inputs) -> Any:
    """A slip in the scores is paid for once, and not again in the weights."""
    return _follows(found, expected, inputs, lambda scores: scores.softmax(dim=-1))


def context_follows(found: Any, expected: Any, inputs: Inputs) -> Any:
    """A slip in the weights is paid for once, and not again in the context."""
    values = inputs["arguments"][2].double()
    return _follows(found, expected, inputs, lambda shares: (shares[:, None] @ values)[:, 0])


PARTS = (
    near_part("scores", "Each score is the dot product of query and key.", draw_reads, scores, 2),
    Part(
        "weights",
        "The weights are the softmax of a row's scores.",
        draw_reads,
        weights,
        judge=weights_follow,
        weight=3,
    ),
    Part(
        "context",
        "The context is the weighted sum of the values.",
        draw_reads,
        context,
        judge=context_follows,
        weight=3,
    ),
    near_part("large scores", "Scores may be very large or small.", draw_large_scores, call, 1.5),
    near_part("gradients", FLOWS, draw_reads, differentiate, 1),
    any_layout(draw_reads, 0.5, CONTRACT),
    *keeps(draw_precise),
)


# -- mistakes --------------------------------------------------------------------------------------


def right_answer(query, keys, values):
    """The answer that the mistakes start from."""
    found = (keys * query.unsqueeze(1)).sum(dim=-1)
    shares = torch.softmax(found, dim=-1)
    return found, shares, (shares.unsqueeze(-1) * values).sum(dim=1)


@mistake(
    hint="Your `squeeze()` without an axis also removes the axis of a batch of one, or of a single "
    "place. Say which axis is to go.",
)
def squeeze_everything(query, keys, values):
    """All axes of length 1 are squeezed away."""
    found = torch.bmm(keys, query.unsqueeze(2)).squeeze()
    shares = torch.softmax(found, dim=-1)
    return found, shares, (shares.unsqueeze(-2) @ values).squeeze()


@mistake(
    hint="You write numbers into the query that you were given. The decoder still needs it: make a "
    "new tensor instead.",
)
def change_the_query(query, keys, values):
    """The query is changed in place."""
    found = (keys * query.unsqueeze(1)).sum(dim=-1)
    shares = torch.softmax(found, dim=-1)
    with torch.no_grad():
        query.clamp_(-0.5, 0.5)
    return found, shares, (shares.unsqueeze(-1) * values).sum(dim=1)


MISTAKES = mistakes(
    right_answer,
    mistake(
        "The scores are divided by the square root of the width.",
        replace={"sum(dim=-1)": "sum(dim=-1) / keys.shape[-1] ** 0.5"},
        hint="You divide by the square root of the width. That comes in task 4; this task asks for "
        "the dot product as it is.",
    ),
    mistake(
        "The softmax runs over the rows of the batch.",
        replace={"(found, dim=-1)": "(found, dim=0)"},
        hint="Your weights sum to 1 over the batch. Rows of a batch are separate texts: each row's "
        "weights sum to 1 over its own places.",
    ),
    mistake(
        "The context is made of the keys.",
        replace={"shares.unsqueeze(-1) * values": "shares.unsqueeze(-1) * keys"},
        hint="Your context is a sum of the keys. A key says whether a place fits; what is handed "
        "over is its value.",
    ),
    mistake(
        "The scores are divided by their sum, without a softmax.",
        replace={"torch.softmax(found, dim=-1)": "found / found.sum(dim=-1, keepdim=True)"},
        hint="You divide the scores by their sum. Scores may be negative and their sum 0, so these "
        "are no weights: take the softmax.",
    ),
    mistake(
        "The exponentials overflow.",
        replace={
            "torch.softmax(found, dim=-1)": "found.exp() / found.exp().sum(dim=-1, keepdim=True)",
        },
        hint="You take exponentials of the scores themselves, and those of large scores are "
        "infinite. Subtract the row's largest score first, or use torch.softmax.",
    ),
    mistake(
        "Only the best place is read.",
        replace={
            "torch.softmax(found, dim=-1)": "F.one_hot(found.argmax(-1), found.shape[-1]).to(found)"
        },
        hint="You give all the weight to the best place. Then nothing is learned about the others: "
        "softmax gives each place its share.",
    ),
    mistake(
        "Every place has its own sigmoid.",
        replace={"torch.softmax(found, dim=-1)": "torch.sigmoid(found)"},
        hint="You take a sigmoid of each score, so your weights do not sum to 1. The places of a "
        "row compete: take a softmax over them.",
    ),
    mistake(
        "The softmax is taken twice.",
        replace={"torch.softmax(found, dim=-1)": "torch.softmax(torch.softmax(found, -1), -1)"},
        hint="You take the softmax of a softmax. The second one flattens all weights towards being "
        "equal.",
    ),
    mistake(
        "The logarithms of the weights are returned in their place.",
        replace={
            "return found, shares,": "return found, torch.log_softmax(found, -1),",
        },
        hint="Your second result holds logarithms of the weights. The contract asks for the "
        "weights themselves, which sum to 1.",
        keeps=0.5,
    ),
    mistake(
        "Query and keys are brought to length 1 first.",
        replace={
            "(keys * query.unsqueeze(1))": (
                "(F.normalize(keys, dim=-1) * F.normalize(query, dim=-1).unsqueeze(1))"
            ),
        },
        hint="You compare directions only, as a cosine does. The dot product also counts how long "
        "query and key are.",
    ),
    mistake(
        "The context is the mean of the weighted values, not their sum.",
        replace={"values).sum(dim=1)": "values).mean(dim=1)"},
        hint="You take the mean over the places after you have weighted them. The weights sum to 1 "
        "already: take the sum.",
    ),
    mistake(
        "The scores compare the query with the values.",
        replace={"(keys * query": "(values * query"},
        hint="You compare the query with the values. It is compared with the keys; the values are "
        "what is read afterwards.",
    ),
    mistake(
        "The context comes first.",
        replace={
            "return found, shares, (shares.unsqueeze(-1) * values).sum(dim=1)": (
                "return (shares.unsqueeze(-1) * values).sum(dim=1), shares, found"
            ),
        },
        hint="All three results are right, but you return them in another order: scores, weights, "
        "context.",
        keeps=0.5,
    ),
    mistake(
        "The weights are detached from the graph.",
        replace={"torch.softmax(found, dim=-1)": "torch.softmax(found, dim=-1).detach()"},
        hint="You detach the weights, so no gradient reaches query and keys, and nobody learns "
        "where to look.",
    ),
    mistake(
        "Everything is computed in float32.",
        replace={"(keys * query.unsqueeze(1))": "(keys.float() * query.float().unsqueeze(1))"},
        hint="You turn the tensors into float32. Whoever gives you float64 wants its accuracy "
        "back: keep the dtype.",
    ),
    squeeze_everything,
    change_the_query,
)

CHECK = Check(
    item="ps4_dot_attention",
    points=12,
    target="dot_attention",
    reference=dot_attention,
    parts=PARTS,
    mistakes=MISTAKES,
    seconds=5.0,
    equivalent_mutants={
        "weights = torch.softmax(scores, dim=-1)  →  "
        "weights = torch.softmax(scores, dim=1)": "the scores have two axes",
    },
)
