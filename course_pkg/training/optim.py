"""Optimizers, schedules and clipping: how a gradient becomes a step.

Stochastic gradient descent steps against the gradient. Momentum averages directions over time;
Adam also divides each coordinate by the size that its gradient usually has; AdamW shrinks weights
beside that, not through it; Muon makes all singular values of a matrix's step alike. Each optimizer
is written out and equals its twin in `torch.optim` step by step; `make_optimizer(..., fused=True)`
returns the twin, which updates all in one kernel. Chapter: training transformers. Kingma & Ba 2015;
Loshchilov & Hutter 2019; Vaswani et al. 2017; Hu et al. 2024 (MiniCPM); Hägele et al. 2024; Jordan
et al. 2024 (Muon).
"""

import math
from collections.abc import Callable, Iterable
from typing import Any

import torch
from torch import Tensor, nn

from course_pkg.training import distributed

NAMES = ("sgd", "adam", "adamw", "muon")
"""What `make_optimizer` makes."""

Schedule = Callable[[int], float]
"""From the number of updates done so far (0 before the first) to the learning rate of the next."""


class SGD(torch.optim.Optimizer):
    """Stochastic gradient descent with momentum: v = mu v + g; w = w - lr v.

    With momentum 0 this is w = w - lr g. Decay is added to the gradient (an L2 penalty).

    Raises:
        ValueError: for a negative lr, momentum or weight_decay.
    """

    def __init__(
        self,
        params: Iterable[Any],
        lr: float,
        momentum: float = 0.0,
        weight_decay: float = 0.0,
    ):
        _check_not_negative(lr=lr, momentum=momentum, weight_decay=weight_decay)
        super().__init__(params, {"lr": lr, "momentum": momentum, "weight_decay": weight_decay})

    @torch.no_grad()
    def step(self, closure: None = None) -> None:  # type: ignore[override]
        """Update every parameter that has a gradient."""
        for group in self.param_groups:
            for weight in group["params"]:
                if weight.grad is None:
                    continue
                gradient = weight.grad + group["weight_decay"] * weight
                if group["momentum"] > 0:
                    state = self.state[weight]
                    if "velocity" not in state:
                        state["velocity"] = torch.zeros_like(weight)
                    gradient = state["velocity"].mul_(group["momentum"]).add_(gradient)
                weight -= group["lr"] * gradient


class AdamW(torch.optim.Optimizer):
    """Adam with decoupled weight decay (Loshchilov & Hutter 2019, algorithm 2).

    m = b1 m + (1 - b1) g            the usual gradient
    v = b2 v + (1 - b2) g^2          its usual square
    w = w - lr (m^ / (sqrt(v^) + eps) + decay w)

    m^ = m / (1 - b1^t) and v^ = v / (1 - b2^t) undo the pull of the zeros that m and v start from.
    Decoupled means that decay is not divided by sqrt(v^): a weight with large gradients shrinks as
    fast as any other.

    Args:
        is_decoupled: False adds the decay to the gradient instead: `Adam`.
    """

    def __init__(
        self,
        params: Iterable[Any],
        lr: float,
        betas: tuple[float, float] = (0.9, 0.999),
        eps: float = 1e-8,
        weight_decay: float = 0.01,
        *,
        is_decoupled: bool = True,
    ):
        _check_not_negative(lr=lr, eps=eps, weight_decay=weight_decay)
        for beta in betas:
            if not 0 <= beta < 1:
                raise ValueError(f"betas is {betas}; each must be at least 0 and below 1")
        defaults = {
            "lr": lr,
            "betas": betas,
            "eps": eps,
            "weight_decay": weight_decay,
            "is_decoupled": is_decoupled,
        }
        super().__init__(params, defaults)

    @torch.no_grad()
    def step(self, closure: None = None) -> None:  # type: ignore[override]
        """Update every parameter that has a gradient."""
        for group in self.param_groups:
            for weight in group["params"]:
                if weight.grad is not None:
                    self._update(weight, group, self.state[weight])

    def _update(self, weight: Tensor, group: dict[str, Any], state: dict[str, Any]) -> None:
        beta1, beta2 = group["betas"]
        if not state:
            state["step"] = 0
            state["mean"] = torch.zeros_like(weight)
            state["mean_square"] = torch.zeros_like(weight)
        state["step"] += 1
        gradient = weight.grad
        assert gradient is not None  # `step` leaves out the weights without one
        if group["is_decoupled"]:
            weight *= 1 - group["lr"] * group["weight_decay"]
        else:
            gradient = gradient + group["weight_decay"] * weight
        mean = state["mean"].mul_(beta1).add_(gradient, alpha=1 - beta1)
        mean_square = state["mean_square"].mul_(beta2)
        mean_square.addcmul_(gradient, gradient, value=1 - beta2)
        unbiased_mean = mean / (1 - beta1 ** state["step"])
        unbiased_square = mean_square / (1 - beta2 ** state["step"])
        weight -= group["lr"] * unbiased_mean / (unbiased_square.sqrt() + group["eps"])


class Muon(AdamW):
    """Momentum, orthogonalized, in the groups with "is_orthogonal"; AdamW in the others.

    m = mu m + (1 - mu) g            the usual gradient, of a matrix
    u = (1 - mu) g + mu m            looks one step ahead (Nesterov)
    w = w - lr (0.2 sqrt(max(n_rows, n_columns)) orthogonalized(u) + decay w)

    A matrix of gradients has a few large singular values, so a step along it moves the layer in a
    few directions only; here it moves as far in all of them. The factor makes the step's typical
    coordinate as large as AdamW's, so that one rate serves both. Jordan et al. 2024; the factor is
    that of Liu et al. 2025, equation 4. Embeddings are left to AdamW: a row of theirs is a token's
    own vector, and most tokens are in few batches.

    Raises:
        ValueError: for a momentum outside [0, 1), or a parameter that is to be orthogonalized and
            is not a matrix.
    """

    def __init__(
        self,
        params: Iterable[Any],
        lr: float,
        momentum: float = 0.95,
        betas: tuple[float, float] = (0.9, 0.95),
        weight_decay: float = 0.1,
    ):
        if not 0 <= momentum < 1:
            raise ValueError(f"momentum is {momentum}; it must be at least 0 and below 1")
        super().__init__(params, lr, betas, weight_decay=weight_decay)
        for group in self.param_groups:
            group.setdefault("is_orthogonal", True)
            group["momentum"] = momentum
            for weight in group["params"]:
                if group["is_orthogonal"] and weight.dim() != 2:
                    raise ValueError(
                        f"a parameter has shape {tuple(weight.shape)}; only a matrix can be "
                        'orthogonalized: put it into a group with "is_orthogonal": False'
                    )

    def _update(self, weight: Tensor, group: dict[str, Any], state: dict[str, Any]) -> None:
        if not group["is_orthogonal"]:
            super()._update(weight, group, state)
            return
        if not state:
            state["mean"] = torch.zeros_like(weight)
        gradient = weight.grad
        assert gradient is not None  # `step` leaves out the weights without one
        mean = state["mean"].lerp_(gradient, 1 - group["momentum"])
        direction = distributed.whole(gradient.lerp(mean, group["momentum"]))
        direction = distributed.part_like(orthogonalized(direction), weight)
        weight *= 1 - group["lr"] * group["weight_decay"]
        weight.add_(direction, alpha=-group["lr"] * 0.2 * max(weight.shape) ** 0.5)


def orthogonalized(matrix: Tensor, n_rounds: int = 5) -> Tensor:
    """Return about U V^T of a matrix U S V^T: all singular values go to somewhere near 1.

    Each round applies s -> 3.4445 s - 4.775 s^3 + 2.0315 s^5 to every singular value s, by products
    alone (Newton & Schulz). The coefficients, of Jordan et al. 2024, blow small values up as fast
    as they can, and so end between 0.7 and 1.2 and not at 1. In bfloat16, which is close enough.

    Args:
        matrix: `[m, n]`.

    Returns:
        `[m, n]`, bfloat16.
    """
    is_tall = matrix.shape[0] > matrix.shape[1]
    x = matrix.bfloat16()
    x = x.T if is_tall else x  # the products are the smaller the fewer rows
    x = x / x.norm().clamp(min=1e-7)  # now no singular value is above 1
    for _ in range(n_rounds):
        gram = x @ x.T
        x = torch.addmm(x, torch.addmm(gram, gram, gram, beta=-4.775, alpha=2.0315), x, beta=3.4445)
    return x.T if is_tall else x


def Adam(  # noqa: N802 - it stands for the class of that name
    params: Iterable[Any],
    lr: float,
    betas: tuple[float, float] = (0.9, 0.999),
    eps: float = 1e-8,
    weight_decay: float = 0.0,
) -> AdamW:
    """Adam (Kingma & Ba 2015, algorithm 1): decay, if any, goes through the gradient."""
    return AdamW(params, lr, betas, eps, weight_decay, is_decoupled=False)


def decay_groups(model: nn.Module, weight_decay: float) -> list[dict[str, Any]]:
    """Split a model's trainable parameters into those that decay and those that do not.

    Matrices decay. Biases and the gains of norms do not: pulling them to zero does not make a
    function simpler, it switches features off. A tied matrix appears once.
    """
    trainable = [p for p in model.parameters() if p.requires_grad]
    return [
        {"params": [p for p in trainable if p.dim() >= 2], "weight_decay": weight_decay},
        {"params": [p for p in trainable if p.dim() < 2], "weight_decay": 0.0},
    ]


def muon_groups(model: nn.Module, weight_decay: float) -> list[dict[str, Any]]:
    """Split them as `decay_groups` does, the matrices of linear layers apart: `Muon` turns those.

    Embeddings, and an output layer that shares its matrix with one, are not among them.
    """
    tables = {
        id(p)
        for m in model.modules()
        if not isinstance(m, nn.Linear)
        for p in m.parameters(recurse=False)
    }
    matrices, vectors = decay_groups(model, weight_decay)
    parts: dict[bool, list[Tensor]] = {True: [], False: []}
    for weight in matrices["params"]:
        parts[weight.dim() == 2 and id(weight) not in tables].append(weight)
    return [
        {"params": parts[True], "weight_decay": weight_decay, "is_orthogonal": True},
        {"params": parts[False], "weight_decay": weight_decay, "is_orthogonal": False},
        vectors | {"is_orthogonal": False},
    ]


def default_decay(name: str) -> float:
    """Return 0.1 where decay is decoupled, 0 where it would be a penalty in the gradient."""
    return 0.1 if name in ("adamw", "muon") else 0.0


def make_optimizer(
    model: nn.Module,
    name: str = "adamw",
    *,
    lr: float,
    betas: tuple[float, float] = (0.9, 0.95),
    momentum: float = 0.9,
    weight_decay: float | None = None,
    fused: bool = False,
) -> torch.optim.Optimizer:
    """Build an optimizer over a model's trainable parameters.

    Args:
        name: "sgd", "adam", "adamw" or "muon". Each reads only the settings that it has; the
            momentum of "muon" is 0.95.
        weight_decay: of matrices; decoupled in "adamw" and "muon", an L2 penalty in the others.
            Default: that of `default_decay`.
        fused: use torch's twin with its fused kernel; same steps, far fewer kernel launches.

    Raises:
        ValueError: for an unknown name, or a model of which nothing is to be trained.
    """
    weight_decay = default_decay(name) if weight_decay is None else weight_decay
    groups = decay_groups(model, weight_decay)
    if not any(group["params"] for group in groups):
        n_params = sum(1 for _ in model.parameters())
        raise ValueError(
            f"none of the model's {n_params} parameters is to be trained: requires_grad is False "
            "for all; unfreeze some, or add a head or LoRA"
        )
    match name:
        case "sgd" if fused:
            return torch.optim.SGD(groups, lr=lr, momentum=momentum, fused=True)
        case "sgd":
            return SGD(groups, lr=lr, momentum=momentum)
        case "adam" if fused:
            return torch.optim.Adam(groups, lr=lr, betas=betas, fused=True)
        case "adam":
            return Adam(groups, lr=lr, betas=betas)
        case "adamw" if fused:
            return torch.optim.AdamW(groups, lr=lr, betas=betas, fused=True)
        case "adamw":
            return AdamW(groups, lr=lr, betas=betas)
        case "muon":
            return Muon(muon_groups(model, weight_decay), lr=lr, betas=betas)
    raise ValueError(f"name is {name!r}; it must be 'sgd', 'adam', 'adamw' or 'muon'")


def clip_global_norm(params: Iterable[Tensor], max_norm: float) -> Tensor:
    """Gradient clipping: scale all by one factor so that their joint length is at most `max_norm`.

    One factor for all keeps the direction (Pascanu et al. 2013, algorithm 1); a gradient that is
    short enough is left alone.

    Returns:
        the length before clipping; not finite if any gradient is not, and then nothing is scaled.

    Raises:
        ValueError: if max_norm is not positive.
    """
    if not max_norm > 0:
        raise ValueError(f"max_norm is {max_norm}; it must be positive")
    gradients = [p.grad for p in params if p.grad is not None]
    if not gradients:
        return torch.tensor(0.0)
    own = [distributed.own_part(gradient) for gradient in gradients]
    norm = torch.linalg.vector_norm(torch.stack(torch._foreach_norm(own)))
    if distributed.is_divided(gradients[0]):  # then all are
        norm = torch.linalg.vector_norm(distributed.join_tensors(norm[None]))
    # The factor stays on the device: to read it back, the CPU would have to wait for the GPU.
    factor = torch.where(norm.isfinite(), (max_norm / norm).clamp(max=1.0), 1.0)
    torch._foreach_mul_(own, factor)
    return norm


def constant_schedule(lr: float, *, n_warmup: int = 0) -> Schedule:
    """Linear warm-up over `n_warmup` updates, then constant."""
    return lambda step: lr * min(1.0, (step + 1) / max(n_warmup, 1))


def inverse_sqrt_schedule(d_model: int, *, n_warmup: int, factor: float = 1.0) -> Schedule:
    """The schedule of the first transformer: linear warm-up, then a fall with 1 / sqrt(step).

    factor d_model^-0.5 min(s^-0.5, s n_warmup^-1.5), s counting from 1: Vaswani et al. 2017, eq. 3.
    """
    _check_warmup(n_warmup, at_least=1)

    def lr(step: int) -> float:
        s = step + 1
        return factor * d_model**-0.5 * min(s**-0.5, s * n_warmup**-1.5)

    return lr


def cosine_schedule(
    peak_lr: float, *, n_warmup: int, n_steps: int, final_fraction: float = 0.1
) -> Schedule:
    """Linear warm-up to `peak_lr`, then a fall along half a cosine to `final_fraction` of it.

    Loshchilov & Hutter 2017, eq. 5, with warm-up as in Radford et al. 2018. The last of `n_steps`
    updates has the lowest rate; later ones keep it.

    Raises:
        ValueError: if the warm-up is negative or leaves nothing of n_steps.
    """
    _check_warmup(n_warmup, at_least=0)
    if n_warmup >= n_steps:
        raise ValueError(f"n_warmup is {n_warmup}; it must be below n_steps, {n_steps}")

    def lr(step: int) -> float:
        if step < n_warmup:
            return peak_lr * (step + 1) / n_warmup
        progress = min(1.0, (step - n_warmup) / max(1, n_steps - 1 - n_warmup))
        cosine = (1 + math.cos(math.pi * progress)) / 2  # 1 at the peak, 0 at the end
        return peak_lr * (final_fraction + (1 - final_fraction) * cosine)

    return lr


def warmup_stable_decay_schedule(
    peak_lr: float, *, n_warmup: int, n_steps: int, n_decay: int
) -> Schedule:
    """Linear warm-up to `peak_lr`, stay, and fall as 1 - sqrt(progress) in the last updates.

    Until the fall begins the rate does not depend on `n_steps`, so a run can go on without knowing
    its end, and be ended from any checkpoint: Hu et al. 2024, section 4; the form of the fall is
    that of Hägele et al. 2024, eq. 1. Nearly all of the loss that a cosine gains comes in the fall.

    Raises:
        ValueError: if the warm-up or the fall is negative, or both do not fit into n_steps.
    """
    _check_warmup(n_warmup, at_least=0)
    _check_not_negative(n_decay=n_decay)
    if n_warmup + n_decay > n_steps:
        raise ValueError(
            f"n_warmup is {n_warmup} and n_decay is {n_decay}; together they must not be above "
            f"n_steps, {n_steps}"
        )

    def lr(step: int) -> float:
        if step < n_warmup:
            return peak_lr * (step + 1) / n_warmup
        n_left = max(0, n_steps - step)
        if n_decay == 0 or n_left >= n_decay:
            return peak_lr
        return float(peak_lr * (1 - (1 - n_left / n_decay) ** 0.5))

    return lr


def step_schedule(lr: float, *, every: int, n_constant: int, divisor: float) -> Schedule:
    """Stay for `n_constant` periods of `every` updates, then divide at the start of each period.

    Zaremba et al. 2014, section 4.1: a period is an epoch.

    Raises:
        ValueError: if `every` is below 1 or the divisor is not positive.
    """
    if every < 1:
        raise ValueError(f"every is {every}; it must be at least 1")
    if not divisor > 0:
        raise ValueError(f"divisor is {divisor}; it must be positive")
    return lambda step: lr / divisor ** max(0, step // every + 1 - n_constant)


def _check_not_negative(**settings: float | int) -> None:
    for name, value in settings.items():
        if not value >= 0:
            raise ValueError(f"{name} is {value}; it must not be negative")


def _check_warmup(n_warmup: int, at_least: int) -> None:
    if n_warmup < at_least:
        raise ValueError(f"n_warmup is {n_warmup}; it must be at least {at_least}")
