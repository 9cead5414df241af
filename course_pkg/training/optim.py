"""Optimizers and clipping: how a gradient becomes a step.

Stochastic gradient descent steps against the gradient. Momentum averages directions over time;
Adam also divides each coordinate by the size that its gradient usually has; AdamW shrinks weights
beside that, not through it; Muon makes all singular values of a matrix's step alike. Each optimizer
is written out and equals its twin in `torch.optim` step by step; `make_optimizer(..., fused=True)`
returns the twin, which updates all in one kernel. Chapter: training transformers. Kingma & Ba 2015;
Loshchilov & Hutter 2019; Jordan et al. 2024 (Muon).
"""

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from typing import Any

import torch
from torch import Tensor, nn

from course_pkg.common.checks import is_model, not_negative, real_number
from course_pkg.training import distributed


class SGD(torch.optim.Optimizer):
    """Stochastic gradient descent with momentum: v = mu v + g; w = w - lr v.

    With momentum 0 this is w = w - lr g. Decay is added to the gradient (an L2 penalty).

    Raises:
        ValueError: for a negative lr or weight_decay, a momentum outside [0, 1), or what is no
            list of parameters.
    """

    def __init__(
        self,
        params: Iterable[Any],
        lr: float,
        momentum: float = 0.0,
        weight_decay: float = 0.0,
    ):
        params = _listed(params)
        not_negative(lr=lr, momentum=momentum, weight_decay=weight_decay)
        if not momentum < 1:
            raise ValueError(f"momentum is {momentum}; it must be at least 0 and below 1")
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
        params = _listed(params)
        not_negative(lr=lr, eps=eps, weight_decay=weight_decay)
        _check_betas(betas)
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


class Adam(AdamW):
    """Adam (Kingma & Ba 2015, algorithm 1): decay, if any, goes through the gradient."""

    def __init__(
        self,
        params: Iterable[Any],
        lr: float,
        betas: tuple[float, float] = (0.9, 0.999),
        eps: float = 1e-8,
        weight_decay: float = 0.0,
    ):
        super().__init__(params, lr, betas, eps, weight_decay, is_decoupled=False)


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


def _listed(params: Any) -> list[Any]:
    """Return parameters as a list, so that they can be read twice.

    Raises:
        ValueError: of a model in place of its parameters, or of an iterator in which none are left:
            what `parameters()` returns can be read only once.
    """
    if isinstance(params, nn.Module):
        raise ValueError(f"params is {type(params).__name__}; it must be its parameters()")
    found = [params] if isinstance(params, Tensor) else list(params)
    if not found and isinstance(params, Iterator):
        raise ValueError(
            "params is used up or empty: what parameters() returns can be read only once; call it "
            "again"
        )
    return found


def _check_betas(betas: Any) -> None:
    if not isinstance(betas, tuple | list) or len(betas) != 2:
        raise ValueError(f"betas is {betas!r}; it must be two numbers, such as (0.9, 0.999)")
    for beta in betas:
        if not 0 <= real_number("betas", beta) < 1:
            raise ValueError(f"betas is {betas}; each must be at least 0 and below 1")


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


@dataclass(frozen=True)
class _Kind:
    """How to make one kind of optimizer.

    Attributes:
        ours: written out here.
        twin: the same in torch, with a fused kernel; None where there is none.
        reads: which settings of `make_optimizer` it has, besides the rate.
        decay: of matrices, unless another is asked for: 0.1 where decay is decoupled, 0 where it
            would be a penalty in the gradient.
        groups: how a model's parameters are told apart.
    """

    ours: Callable[..., torch.optim.Optimizer]
    twin: Callable[..., torch.optim.Optimizer] | None
    reads: tuple[str, ...] = ("betas",)
    decay: float = 0.0
    groups: Callable[[nn.Module, float], list[dict[str, Any]]] = decay_groups


OPTIMIZERS = {
    "sgd": _Kind(SGD, torch.optim.SGD, reads=("momentum",)),
    "adam": _Kind(Adam, torch.optim.Adam),
    "adamw": _Kind(AdamW, torch.optim.AdamW, decay=0.1),
    "muon": _Kind(Muon, None, decay=0.1, groups=muon_groups),
}
"""What `make_optimizer` makes, by name."""


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
        name: a key of `OPTIMIZERS`. Each reads only the settings that it has; the momentum of
            "muon" is 0.95.
        weight_decay: of matrices; decoupled in "adamw" and "muon", an L2 penalty in the others.
            Default: 0.1 where it is decoupled, else 0.
        fused: use torch's twin with its fused kernel; same steps, far fewer kernel launches. There
            is none of "muon".

    Raises:
        ValueError: for an unknown name, or a model of which nothing is to be trained.
    """
    is_model(model)
    if name not in OPTIMIZERS:
        raise ValueError(f"name is {name!r}; it must be one of {', '.join(OPTIMIZERS)}")
    kind = OPTIMIZERS[name]
    not_negative(lr=lr, weight_decay=0.0 if weight_decay is None else weight_decay)
    _check_betas(betas)
    groups = kind.groups(model, kind.decay if weight_decay is None else weight_decay)
    if not any(group["params"] for group in groups):
        n_params = sum(1 for _ in model.parameters())
        raise ValueError(
            f"none of the model's {n_params} parameters is to be trained: requires_grad is False "
            "for all; unfreeze some, or add a head or LoRA"
        )
    settings: dict[str, Any] = {"betas": betas, "momentum": momentum}
    settings = {"lr": lr} | {setting: settings[setting] for setting in kind.reads}
    if fused and kind.twin is not None:
        return kind.twin(groups, **settings, fused=True)
    return kind.ours(groups, **settings)


def clip_global_norm(params: Iterable[Tensor], max_norm: float) -> Tensor:
    """Gradient clipping: scale all by one factor so that their joint length is at most `max_norm`.

    One factor for all keeps the direction (Pascanu et al. 2013, algorithm 1); a gradient that is
    short enough is left alone.

    Returns:
        the length before clipping; not finite if any gradient is not, and then nothing is scaled.

    Raises:
        ValueError: if max_norm is not positive, or params is an iterator that was used up.
    """
    if not real_number("max_norm", max_norm) > 0:
        raise ValueError(f"max_norm is {max_norm}; it must be positive")
    gradients = [p.grad for p in _listed(params) if p.grad is not None]
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
