"""Checks of the small set that the grading benchmark hands out."""

import torch

from autograder.authoring.checks import Case, Check, Mistake, Part, ProblemSet
from autograder.authoring.compare import agree


def _square(rng):
    shapes = [(1, 1), (3, 3), (2, 5, 5), (4, 3, 7, 7), (2, 16, 16)]
    return [
        Case(f"scores of shape {shape}", {"scores": torch.from_numpy(rng.normal(size=shape))})
        for shape in shapes
    ]


def _large(rng):
    return [
        Case(f"scores near {size:g}", {"scores": torch.from_numpy(size + rng.normal(size=(3, 3)))})
        for size in (100.0, 1000.0)
    ]


def _ask(implementation, inputs):
    return implementation(inputs["scores"])


def _softmax(scores):
    return torch.softmax(scores, dim=-1)


def _no_shift(scores):
    return scores.exp() / scores.exp().sum(dim=-1, keepdim=True)


def _wrong_axis(scores):
    return torch.softmax(scores, dim=0)


def _causal(scores):
    future = torch.ones(scores.shape[-2:], dtype=torch.bool).triu(1)
    return torch.softmax(scores.masked_fill(future, -torch.inf), dim=-1)


def _masked_after(scores):
    return torch.softmax(scores, dim=-1).tril()


def _no_mask(scores):
    return torch.softmax(scores, dim=-1)


_close = agree(rtol=1e-6, atol=1e-9)  # sums in another order, in double precision

PROBLEM_SET = ProblemSet(
    name="attention",
    title="Attention weights",
    checks=(
        Check(
            item="attention_softmax",
            points=50,
            target="softmax",
            reference=_softmax,
            parts=(
                Part("values", "Every row holds the softmax.", _square, _ask, _close, weight=3),
                Part("large", "Large scores do not overflow.", _large, _ask, _close),
            ),
            mistakes=(
                Mistake("no shift", "Subtract the largest score first.", _no_shift),
                Mistake("wrong axis", "Sum over the last axis.", _wrong_axis),
            ),
        ),
        Check(
            item="attention_causal",
            points=50,
            target="causal",
            reference=_causal,
            parts=(Part("values", "Only the past has weight.", _square, _ask, _close),),
            mistakes=(
                Mistake("masked after", "Mask before the softmax, or rows lose.", _masked_after),
                Mistake("no mask", "Nothing hides the future.", _no_mask),
            ),
        ),
    ),
)
