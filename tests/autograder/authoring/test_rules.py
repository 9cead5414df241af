"""What tasks do not allow: whichever it is, it is noticed, costs the same, and earns nothing."""

import pytest
import torch
from torch.nn import functional as F

from autograder.authoring.checks import Case, Check, Part
from autograder.authoring.rules import not_allowed
from autograder.grading.judge import ItemJudge
from autograder.inside.probe import probe_or_failure
from autograder.records import Observation


def draw(rng):
    """Draw rows of logits."""
    logits = torch.from_numpy(rng.normal(size=(3, 5)))
    return [Case("3 rows", {"arguments": [logits]})]


def draw_longer(rng):
    """Draw few and many rows."""
    few, many = (torch.from_numpy(rng.normal(size=(n, 5))) for n in (3, 103))
    return [Case("3 and 103 rows", {"arguments": [few], "long": [many], "n_more": 100})]


def probe(implementation, inputs):
    """Return the result."""
    return implementation(*inputs["arguments"])


def ask_shape(implementation, inputs):
    """Return the shape."""
    return list(implementation(*inputs["arguments"]).shape)


def slope(x):
    """Derive log(sum(exp(x))) of each row."""
    powers = torch.exp(x - x.amax(dim=1, keepdim=True))
    return powers / powers.sum(dim=1, keepdim=True)


def by_torch(x):
    return F.softmax(x, dim=1)


def by_rows(x):
    return torch.stack([slope(row[None])[0] for row in x])


def by_autograd(x):
    leaf = x.clone().requires_grad_()
    leaf.logsumexp(dim=1).sum().backward()
    return leaf.grad


def by_torch_func(x):
    return torch.func.grad(lambda y: y.logsumexp(dim=1).sum())(x)


def by_torch_and_rows(x):
    return torch.stack([F.softmax(row, dim=0) for row in x])


def wrong(x):
    return slope(x) + 1


def broken(x):
    raise KeyError


def wrong_by_torch(x):
    return F.softmax(x, dim=0)


CHECK = Check(
    item="toy_slope",
    points=10,
    target="slope",
    reference=slope,
    parts=(
        Part("values", "The slope is right.", draw, probe, weight=3),
        Part("shape", "Its shape is right.", draw, ask_shape),
        not_allowed(["softmax"], draw, autograd=False, longer=draw_longer),
    ),
)


def verdict(answer):
    judge = ItemJudge()
    seen = [
        Observation(r.item, r.part, r.case, probe_or_failure(r, {"slope": answer}))
        for r in judge.requests(CHECK, 0)
    ]
    return judge.verdict(CHECK, 0, seen)


@pytest.mark.parametrize(
    ("answer", "points", "complaint"),
    [
        (slope, 10, ""),
        (by_torch, 5, "torch's own `softmax`, which this task asks you to write out"),
        (by_rows, 5, "a longer input takes as many calls more as a loop along it"),
        (by_autograd, 5, "it asks autograd for what this task asks you to derive"),
        (by_torch_func, 5, "it asks torch.func for what"),
        (by_torch_and_rows, 5, "torch's own `softmax`"),  # two rules, one price
        (wrong, 2.5, ""),  # what another part is about is paid for there
        (wrong_by_torch, 1.25, "torch's own `softmax`"),
        (broken, 0, ""),  # and to break no rule earns nothing
    ],
)
def test_each_rule_has_the_same_price(answer, points, complaint):
    found = verdict(answer)
    rule = found.parts[-1]
    assert found.points == points and found.fault == ""
    assert complaint in rule.message and rule.passed == (not complaint)
    assert rule.weight == 0
