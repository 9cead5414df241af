"""The task "a step of AdamW"."""

from typing import cast

import torch
from torch import Tensor

from autograder.authoring.checks import Case, Check, mistake, mistakes
from autograder.authoring.rules import not_allowed
from course_pkg.training.optim import AdamW

from ..contracts import Contract
from ..tensors import Generator, any_layout, call, keeps, near_part, normal, tensor_case
from .inputs import new_tensor, shape_text

# -- inputs ----------------------------------------------------------------------------------------

CONTRACT = Contract("*entries; *entries; *entries; *entries; -; -; -; -; -", empty="entries")
Settings = tuple[int, float, tuple[float, float], float, float]


def _tensors(rng: Generator, dtype: str, shape: tuple[int, ...], *, is_first: bool) -> list[Tensor]:
    """Draw weights and gradients away from 0, and running means of unlike sizes."""
    weight = 2 + normal(rng, dtype, *shape, scale=0.3)
    gradient = 0.7 * normal(rng, dtype, *shape).sign() + normal(rng, dtype, *shape, scale=0.1)
    if is_first:
        return [weight, gradient, torch.zeros_like(weight), torch.zeros_like(weight)]
    mean = 0.3 + normal(rng, dtype, *shape, scale=0.05)
    return [weight, gradient, mean, 0.9 + normal(rng, dtype, *shape, scale=0.1).abs()]


def _case(
    rng: Generator,
    settings: Settings,
    shape: tuple[int, ...] = (3, 4),
    dtype: str = "float64",
    take: int | None = 0,
    *,
    is_first: bool = False,
) -> Case:
    step, lr, betas, eps, decay = settings
    label = f"shape {shape_text(shape)}, update {step}, lr {lr:g}, betas {betas}, eps {eps:g}"
    arguments = [*_tensors(rng, dtype, shape, is_first=is_first), *settings]
    return tensor_case(f"{label}, decay {decay:g}", dtype, *arguments, take=take)


def _draw_updates(rng: Generator, take: int) -> list[Case]:
    return [
        _case(rng, settings, shape, dtype, take)
        for shape, dtype, settings in [
            ((1,), "float64", (2, 0.2, (0.8, 0.9), 1e-8, 0.3)),
            ((3, 4), "float64", (3, 0.1, (0.9, 0.95), 1e-8, 0.5)),
            ((2, 5), "float32", (5, 0.3, (0.7, 0.98), 1e-6, 0.2)),
            ((2, 3, 4), "float64", (7, 0.2, (0.95, 0.9), 1e-8, 0.4)),
            ((6,), "float32", (4, 0.5, (0.9, 0.6), 1e-8, 0.25)),
        ]
    ]


def draw_weights(rng: Generator) -> list[Case]:
    """Later updates, whose weights are looked at."""
    return _draw_updates(rng, 0)


def draw_means(rng: Generator) -> list[Case]:
    """Later updates, whose running mean is looked at."""
    still = (2, 0.2, (0.0, 0.9), 1e-8, 0.3)
    return [*_draw_updates(rng, 1), _case(rng, still, (2, 3), "float64", 1)]


def draw_squares(rng: Generator) -> list[Case]:
    """Later updates, whose running mean square is looked at."""
    still = (2, 0.2, (0.9, 0.0), 1e-8, 0.3)
    return [*_draw_updates(rng, 2), _case(rng, still, (2, 3), "float64", 2)]


def draw_first(rng: Generator) -> list[Case]:
    """The first update: both running means are zeros."""
    return [
        _case(rng, (1, 0.2, (0.9, 0.99), 1e-8, 0.3), (2, 3), is_first=True),
        _case(rng, (1, 0.1, (0.8, 0.95), 1e-8, 0.0), (4,), "float32", is_first=True),
        _case(rng, (1, 0.3, (0.5, 0.999), 1e-8, 0.5), (5, 2), is_first=True),
    ]


def draw_decay(rng: Generator) -> list[Case]:
    """Much decay and none, large gradients and small ones, a rate of 0."""
    large = _case(rng, (3, 0.2, (0.9, 0.95), 1e-12, 0.8), (4, 2))
    weight, gradient, mean, mean_square, *rest = large.inputs["arguments"]
    scales = torch.tensor([[1e-4], [1e-2], [1.0], [1e3]], dtype=torch.float64)
    scaled = [weight, gradient * scales, mean * scales, mean_square * scales**2, *rest]
    return [
        _case(rng, (3, 0.2, (0.9, 0.95), 1e-8, 0.0)),
        tensor_case("gradients of all sizes, decay 0.8", "float64", *scaled, take=0),
        _case(rng, (2, 0.0, (0.9, 0.95), 1e-8, 0.5)),
        _case(rng, (2, 0.5, (0.9, 0.95), 1e-8, 2.0), (3,), "float32"),
        _case(rng, (9, 0.1, (0.9, 0.95), 1e-8, 3.0), (1, 4)),
    ]


def draw_eps(rng: Generator) -> list[Case]:
    """An eps that shows, and gradients that have always been 0."""
    still = _case(rng, (4, 0.2, (0.9, 0.95), 1e-3, 0.5), (2, 3))
    weight, *_, step, lr, betas, eps, decay = still.inputs["arguments"]
    zero = torch.zeros_like(weight)
    tiny = [1e-9 * torch.ones_like(weight), zero, 1e-18 * torch.ones_like(weight)]
    return [
        tensor_case(
            "gradients near 1e-9", "float64", weight, *tiny, step, lr, betas, 1e-9, decay, take=0
        ),
        tensor_case(
            "nothing to do: all 0", "float64", weight, zero, zero, zero, 3, 0.0, betas, 1e-8, 0.0,
            take=0,
        ),
        _case(rng, (3, 0.5, (0.9, 0.95), 0.5, 0.2)),
        _case(rng, (1, 0.5, (0.9, 0.99), 2.0, 0.0), (5,), is_first=True),
        _case(rng, (6, 0.4, (0.8, 0.98), 0.1, 0.0), (2, 2), "float32"),
        tensor_case(
            "all gradients 0", "float64", weight, zero, zero, zero, step, lr, betas, eps, decay,
            take=0,
        ),
    ]  # fmt: skip


def draw_ends(rng: Generator) -> list[Case]:
    """Very late updates, and betas of 0."""
    return [
        _case(rng, (1_000_000, 0.3, (0.9, 0.999), 1e-8, 0.3)),
        _case(rng, (1_000_000, 0.3, (0.9, 0.999999), 1e-8, 0.3), (2, 2)),
        _case(rng, (40, 0.3, (0.99, 0.999), 1e-8, 0.3), (4,)),
        _case(rng, (3, 0.3, (0.0, 0.9), 1e-8, 0.3), (2, 2)),
        _case(rng, (3, 0.3, (0.9, 0.0), 1e-8, 0.3), (3, 1), "float32"),
        _case(rng, (5, 0.3, (0.0, 0.0), 1e-8, 0.3), (2,)),
        _case(rng, (1500, 0.3, (0.9, 0.9999), 1e-8, 0.3), (3,)),
        _case(rng, (1, 0.3, (0.9, 0.999999), 1e-8, 0.3), (4,), "float32", is_first=True),
        _case(rng, (2, 0.3, (0.9999, 0.99999), 1e-8, 0.3), (2, 3), "float32"),
    ]


def draw_shapes(rng: Generator) -> list[Case]:
    """A single number, many axes."""
    settings = (3, 0.2, (0.9, 0.95), 1e-8, 0.4)
    shapes = ((), (1, 2, 1, 3, 2))
    return [_case(rng, settings, shape, take=None) for shape in shapes]


def draw_all(rng: Generator) -> list[Case]:
    """All three results."""
    settings = (3, 0.2, (0.9, 0.95), 1e-8, 0.4)
    number = _case(rng, settings, (), "float32")
    return [Case(c.label, {**c.inputs, "take": None}) for c in [*draw_weights(rng), number]]


def draw_hard_cases(rng: Generator) -> list[Case]:
    """Cases in which only the dtype, and what else changes, is looked at."""
    hard = [*draw_first(rng), *draw_decay(rng), *draw_eps(rng), *draw_ends(rng), *draw_shapes(rng)]
    return [Case(case.label, {**case.inputs, "take": None}) for case in hard]


# -- the reference version -------------------------------------------------------------------------


def adamw_step(
    weight: Tensor,
    gradient: Tensor,
    mean: Tensor,
    mean_square: Tensor,
    step: int,
    lr: float,
    betas: tuple[float, float],
    eps: float,
    decay: float,
) -> tuple[Tensor, Tensor, Tensor]:
    """Let the package's optimizer go on from this state; for that it need not be made."""
    after = weight.clone()
    after.grad = gradient.clone()
    group = {"lr": lr, "betas": betas, "eps": eps, "weight_decay": decay, "is_decoupled": True}
    state = {"step": step - 1, "mean": mean.clone(), "mean_square": mean_square.clone()}
    with torch.no_grad():
        AdamW._update(cast("AdamW", None), after, group, state)
    return after, cast("Tensor", state["mean"]), cast("Tensor", state["mean_square"])


# -- parts -----------------------------------------------------------------------------------------

PARTS = (
    near_part(
        "weights",
        "The weights go against the corrected mean over the corrected root, and decay.",
        draw_weights,
        call,
        4,
    ),
    near_part(
        "first update",
        "At the first update, number 1, the corrected mean is the gradient itself.",
        draw_first,
        call,
        1.5,
    ),
    near_part(
        "running mean",
        "The second result is the running mean of the gradient, as it is.",
        draw_means,
        call,
        1.5,
    ),
    near_part(
        "running mean square",
        "The third result is the running mean of the squared gradient, as it is.",
        draw_squares,
        call,
        1.5,
    ),
    near_part(
        "decay",
        "Each weight loses lr times decay of itself, whatever its gradient.",
        draw_decay,
        call,
        1.5,
    ),
    near_part("eps", "Eps, as it is given, is added to the root.", draw_eps, call, 1),
    near_part(
        "ends",
        "The update may be a very late one, and a beta 0 or very near 1.",
        draw_ends,
        call,
        1,
    ),
    near_part("shapes", "Any shape will do: a number, nothing, many axes.", draw_shapes, call, 0.5),
    any_layout(draw_all, 0.5, CONTRACT),
    *keeps(draw_all, draw_hard_cases),
    new_tensor(draw_hard_cases),
    not_allowed(
        ("torch.optim", "_fused_adamw_", "_fused_adam_"),
        longer=CONTRACT.longer(lambda rng: draw_means(rng)[3:4], "entries"),
    ),
)


# -- mistakes --------------------------------------------------------------------------------------


def right_answer(weight, gradient, mean, mean_square, step, lr, betas, eps, decay):
    """The answer that the mistakes start from."""
    beta_1, beta_2 = betas
    mean = beta_1 * mean + (1 - beta_1) * gradient
    mean_square = beta_2 * mean_square + (1 - beta_2) * gradient**2
    corrected = mean / (1 - beta_1**step)
    root = (mean_square / (1 - beta_2**step)).sqrt()
    direction = corrected / (root + eps)
    after = weight - lr * (direction + decay * weight)
    return after, mean, mean_square


@mistake(
    hint="You let an optimizer of `torch.optim` do the update. This task is to write it: two "
    "running means, two corrections, a root, and the decay."
)
def library_optimizer(weight, gradient, mean, mean_square, step, lr, betas, eps, decay):
    """Torch's own optimizer makes the step."""
    twin = torch.nn.Parameter(weight.clone())
    twin.grad = gradient.clone()
    optimizer = torch.optim.AdamW([twin], lr=lr, betas=betas, eps=eps, weight_decay=decay)
    state = {
        "step": torch.tensor(float(step - 1)),
        "exp_avg": mean.clone(),
        "exp_avg_sq": mean_square.clone(),
    }
    optimizer.state[twin] = state
    optimizer.step()
    return twin.detach().clone(), state["exp_avg"], state["exp_avg_sq"]


@mistake(
    hint="Your numbers are right, but they are made piece by piece, in a loop. A model has "
    "millions of weights: each operation takes all entries of a tensor at once."
)
def weight_by_weight(weight, gradient, mean, mean_square, step, lr, betas, eps, decay):
    """A loop goes from weight to weight."""
    columns = [x.reshape(-1) for x in (weight, gradient, mean, mean_square)]
    rows = [
        right_answer(*entries, step, lr, betas, eps, decay)
        for entries in zip(*columns, strict=True)
    ]
    if not rows:
        return weight.clone(), mean.clone(), mean_square.clone()
    return tuple(torch.stack(column).reshape(weight.shape) for column in zip(*rows, strict=True))


MISTAKES = mistakes(
    right_answer,
    mistake(
        "Neither running mean is corrected.",
        replace={
            "mean / (1 - beta_1**step)": "mean",
            "(mean_square / (1 - beta_2**step))": ("mean_square"),
        },
        hint="You use the running means as they are. Both began as zeros, so at first they are too "
        "small, and not by the same factor: divide by 1 minus beta to the power of the step.",
        keeps=0.3,
    ),
    mistake(
        "The mean square is not corrected.",
        replace={"(mean_square / (1 - beta_2**step))": "mean_square"},
        hint="You correct the mean, but not the mean square. So the first steps are far too "
        "long: you divide by the root of a number that began as 0.",
        keeps=0.5,
    ),
    mistake(
        "The mean is not corrected.",
        replace={"mean / (1 - beta_1**step)": "mean"},
        hint="You correct the mean square, but not the mean itself. It began as 0 as well, and its "
        "own beta says how much of that zero is left.",
        keeps=0.5,
    ),
    mistake(
        "Updates are counted from zero.",
        replace={"beta_1**step": "beta_1 ** (step + 1)", "beta_2**step": "beta_2 ** (step + 1)"},
        hint="You correct by the power of step + 1. The first update is number 1 already: after it "
        "a share of beta to the power 1 is left of the zeros.",
        keeps=0.5,
    ),
    mistake(
        "Late updates are not corrected.",
        replace={
            "mean / (1 - beta_1**step)": "mean / (1 - beta_1**step if step < 1000 else 1)",
            "(mean_square / (1 - beta_2**step))": (
                "(mean_square / (1 - beta_2**step if step < 1000 else 1))"
            ),
        },
        hint="You leave the correction out after many updates. How long it matters depends on the "
        "beta: for one near 1 there is much left of the zeros even after a thousand.",
    ),
    mistake(
        "The corrections are computed in float32.",
        replace={
            "beta_1, beta_2 = betas": """
                beta_1, beta_2 = betas
                first, second = (1 - torch.tensor(b, dtype=weight.dtype) ** step for b in betas)
            """,
            "mean / (1 - beta_1**step)": "mean / first",
            "(mean_square / (1 - beta_2**step))": "(mean_square / second)",
        },
        hint="Your corrections lose their digits where a beta is near 1: in float32, 1 minus such "
        "a number has few left. Compute them from Python's own floats.",
    ),
    mistake(
        "The decay is added to the gradient, as in Adam with an L2 penalty.",
        replace={
            "beta_1, beta_2 = betas": """
                beta_1, beta_2 = betas
                gradient = gradient + decay * weight
            """,
            "(direction + decay * weight)": "direction",
        },
        hint="You add the decay to the gradient. There the root divides it, too, so weights with "
        "large gradients hardly decay. The W of AdamW means that it stands beside the quotient.",
        keeps=0.3,
    ),
    mistake(
        "The decay is not multiplied by the learning rate.",
        replace={"lr * (direction + decay * weight)": "lr * direction - decay * weight"},
        hint="You subtract decay times the weight, whatever the learning rate. It belongs inside "
        "the brackets: where the rate falls to 0, the weights come to rest.",
        keeps=0.5,
    ),
    mistake(
        "There is no decay.",
        replace={"(direction + decay * weight)": "direction"},
        hint="You leave out the weight decay: the quotient alone is Adam. Besides, each weight "
        "loses lr times decay of itself.",
    ),
    mistake(
        "The decay takes its share of the weight after the step.",
        replace={
            "weight - lr * (direction + decay * weight)": (
                "(weight - lr * direction) * (1 - lr * decay)"
            )
        },
        hint="You let the weight decay after it has been moved. The contract's $w$ is the weight "
        "before the update, in both of its places.",
        keeps=0.5,
    ),
    mistake(
        "Eps is added under the root.",
        replace={
            "(1 - beta_2**step)).sqrt()": "(1 - beta_2**step) + eps).sqrt()",
            "(root + eps)": ("root"),
        },
        hint="You add eps to the mean square, under the root. It is added to the root: where all "
        "gradients are small, that makes a great difference.",
    ),
    mistake(
        "Eps is added to the root before the correction.",
        replace={"(root + eps)": "(root + eps / (1 - beta_2**step) ** 0.5)"},
        hint="You add eps to the root of the uncorrected mean square, and correct afterwards. Eps "
        "is added to the corrected root, so it means the same at every step.",
    ),
    mistake(
        "Eps is a constant of the answer's own.",
        replace={"(root + eps)": "(root + 1e-8)"},
        hint="You add 0.00000001 whatever `eps` is. Recipes differ in it, so the caller names it: "
        "use the argument.",
    ),
    mistake(
        "The two betas are swapped.",
        replace={"beta_1, beta_2 = betas": "beta_2, beta_1 = betas"},
        hint="You take the betas in the wrong order. The first belongs to the mean of the "
        "gradient, the second to the mean of its square.",
        keeps=0.5,
    ),
    mistake(
        "Each beta weighs what is new instead of what is old.",
        replace={
            "beta_1 * mean + (1 - beta_1) * gradient": "(1 - beta_1) * mean + beta_1 * gradient",
            "beta_2 * mean_square + (1 - beta_2) * gradient**2": (
                "(1 - beta_2) * mean_square + beta_2 * gradient**2"
            ),
        },
        hint="You give the new gradient the share beta. Beta is the share that is *kept* of the "
        "old mean; with 0.9, a tenth is new.",
        keeps=0.5,
    ),
    mistake(
        "The corrected means are returned as running means.",
        replace={
            "return after, mean, mean_square": (
                "return after, corrected, mean_square / (1 - beta_2**step)"
            )
        },
        hint="You return the corrected means. The next update would correct them a second time: "
        "return the running means as they are.",
    ),
    mistake(
        "The quotient is divided by the mean square, without a root.",
        replace={"(mean_square / (1 - beta_2**step)).sqrt()": "mean_square / (1 - beta_2**step)"},
        hint="You divide by the mean square. Its root is in the unit of the gradient, and only so "
        "is a step as long as the learning rate says, whatever the unit.",
    ),
    mistake(
        "The weights go along the gradient.",
        replace={
            "weight - lr * (direction + decay * weight)": (
                "weight + lr * (direction - decay * weight)"
            )
        },
        hint="You go in the direction of the gradient: uphill. The loss falls the other way, so "
        "the quotient is subtracted.",
        keeps=0.5,
    ),
    mistake(
        "The mean of the gradient is squared, instead of the gradient.",
        replace={"(1 - beta_2) * gradient**2": "(1 - beta_2) * mean**2"},
        hint="You average the square of the running mean. The mean square is that of the "
        "gradients themselves, which says how much they vary.",
    ),
    mistake(
        "All weights of a tensor share one mean square.",
        replace={"gradient**2": "(gradient**2).mean().expand_as(gradient) + 0 * gradient"},
        hint="You average the squares over the whole tensor. Every weight has a mean square of its "
        "own: that is why small gradients still make progress.",
    ),
    mistake(
        "The weights are changed in place.",
        replace={
            "after = weight - lr * (direction + decay * weight)": (
                "after = weight.sub_(lr * (direction + decay * weight))"
            )
        },
        hint="Your numbers are right, but you have written into the caller's weights. Return new "
        "tensors: `weight - ...`, and not `weight -= ...`.",
    ),
    mistake(
        "The running means are changed in place.",
        replace={
            "mean = beta_1 * mean + (1 - beta_1) * gradient": (
                "mean.mul_(beta_1).add_(gradient, alpha=1 - beta_1)"
            ),
            "mean_square = beta_2 * mean_square + (1 - beta_2) * gradient**2": (
                "mean_square.mul_(beta_2).addcmul_(gradient, gradient, value=1 - beta_2)"
            ),
        },
        hint="Your numbers are right, but you have written into the caller's running means. "
        "Methods with an underscore at their end change the tensor itself.",
    ),
    mistake(
        "Everything is computed in float32, whatever was given.",
        replace={
            "return after, mean, mean_square": (
                "return tuple(x.float().to(weight.dtype) for x in (after, mean, mean_square))"
            )
        },
        hint="For float64 you lose half of the digits: somewhere you go over to float32. Compute "
        "in the dtype of the weights.",
    ),
    library_optimizer,
    weight_by_weight,
)

CHECK = Check(
    item="ps6_adamw_step",
    points=12,
    target="adamw_step",
    reference=adamw_step,
    parts=PARTS,
    mistakes=MISTAKES,
    seconds=5.0,
)
