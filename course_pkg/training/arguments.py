"""What a trainer is given, looked at before it is used: a mistake is named where it was made.

Chapter: training transformers.
"""

import inspect
from collections.abc import Mapping, Sequence
from typing import Any

import torch
from torch import Tensor, nn

from course_pkg.common.checks import is_model
from course_pkg.training.precision import check_weights
from course_pkg.training.run import Batch, check_batches
from course_pkg.training.settings import TrainerConfig


def check_arguments(
    model: Any,
    batches: Any,
    config: Any,
    evaluate: Any,
    optimizer: torch.optim.Optimizer | None,
    learning_rate: Any,
) -> None:
    """Refuse what a trainer cannot be made of.

    Raises:
        ValueError: naming the argument.
    """
    is_model(model)
    check_weights(model)
    if not isinstance(config, TrainerConfig):
        raise ValueError(
            f"config is {type(config).__name__}; make it by TrainerConfig(n_steps=...)"
        )
    if batches is not None:
        check_batches(batches)
    if evaluate is not None and not callable(evaluate):
        raise ValueError(f"evaluate is {type(evaluate).__name__}; it must be a function of a model")
    if learning_rate is not None and not callable(learning_rate):
        raise ValueError(
            f"learning_rate is {learning_rate!r}; it must be a function of the updates done, "
            "such as constant_schedule makes; a constant one is lr of the config"
        )
    if optimizer is not None:
        _check_optimizer(optimizer, model, None if learning_rate else config.lr)


def _check_optimizer(optimizer: Any, model: nn.Module, lr: float | None) -> None:
    """Refuse an optimizer that is none, is another model's, or would be overruled.

    Args:
        lr: of the config, if the schedule is the config's too.

    Raises:
        ValueError: saying what is wrong with it.
    """
    if not isinstance(optimizer, torch.optim.Optimizer):
        raise ValueError(
            f"optimizer is {optimizer!r:.60}; it must be one over the model's parameters, such "
            "as torch.optim.SGD(model.parameters(), lr=0.1)"
        )
    if _needs_closure(optimizer):
        raise ValueError(
            f"optimizer is {type(optimizer).__name__}, whose step evaluates the loss several "
            "times; the trainer evaluates it once an update, so take one that asks once"
        )
    own = {id(weight) for weight in model.parameters()}
    groups = optimizer.param_groups
    n_others = sum(id(weight) not in own for group in groups for weight in group["params"])
    if n_others:
        raise ValueError(
            f"optimizer has {n_others} parameters that are not the model's; make it of this "
            "very model's parameters()"
        )
    held = {id(weight) for group in groups for weight in group["params"]}
    lacking = [
        name
        for name, weight in model.named_parameters()
        if weight.requires_grad and id(weight) not in held
    ]
    if lacking:
        raise ValueError(
            f"optimizer lacks {len(lacking)} parameters that are to be trained, such as "
            f"{lacking[0]}: make it after the last of them (add_lora makes new ones), or "
            "freeze what shall stay as it is by requires_grad_(False)"
        )
    rates = sorted({float(group["lr"]) for group in groups})
    if len(rates) > 1:
        raise ValueError(
            f"optimizer's groups have the rates {', '.join(map(str, rates))}; the trainer sets one "
            "rate for all of them, that of its schedule"
        )
    if lr is not None and rates != [lr]:
        raise ValueError(
            f"optimizer has lr {rates[0]}, but the config {lr}, which its schedule sets; give both "
            "the same, or the trainer a learning_rate"
        )


def _needs_closure(optimizer: torch.optim.Optimizer) -> bool:
    """Say whether an optimizer asks for the loss itself, as L-BFGS does."""
    parameters = inspect.signature(optimizer.step).parameters
    return any(p.name == "closure" and p.default is p.empty for p in parameters.values())


def check_fit(model: nn.Module, batch: Batch) -> None:
    """Refuse batches that are not the arguments of a model, such as one of another package.

    Raises:
        ValueError: naming what the batches have and what the model takes.
    """
    taken = inspect.signature(model.forward).parameters.values()
    named = [p.name for p in taken if p.kind in (p.POSITIONAL_OR_KEYWORD, p.KEYWORD_ONLY)]
    takes_others = any(p.kind == p.VAR_KEYWORD for p in taken)
    unknown = [name for name in batch if name not in named]
    if unknown and named and (not takes_others or len(unknown) == len(batch)):
        raise ValueError(
            f"the batches have {', '.join(batch)}, and {type(model).__name__} takes "
            f"{', '.join(named[:6])}; wrap it in a module whose forward takes what they have and "
            "returns (logits, loss)"
        )


Kinds = Mapping[str, tuple[torch.dtype, torch.device, bool]]
"""Of each weight: in which floats and where it is kept, and whether it is trained."""


def kinds_of(model: nn.Module) -> Kinds:
    """Return the kinds of all weights."""
    return {n: (w.dtype, w.device, w.requires_grad) for n, w in model.named_parameters()}


def first_change(before: Kinds, after: Kinds) -> str | None:
    """Name the first weight of another kind, and say of which; None if all are as before."""
    for name in {**before, **after}:
        old, new = before.get(name), after.get(name)
        if old is None or new is None:
            return f"{name} {'in' if old is None else 'out of'} the model"
        if old != new:
            trained = "trained" if new[2] else "frozen"
            return f"{name} as {new[0]} on {new[1]}, {trained}"
    return None


def checked_losses(output: Any, n_parts: int) -> Sequence[Tensor]:
    """Return the parts of the loss that a model has returned; refuse what is none.

    Raises:
        ValueError: saying what the model returned.
    """
    loss = output[1] if isinstance(output, tuple | list) and len(output) > 1 else output
    losses = getattr(output, "losses", None)
    if losses is None:
        losses = [loss]
    if not all(isinstance(part, Tensor) and part.dim() == 0 for part in losses):
        shown = f"a tensor of shape {tuple(loss.shape)}" if isinstance(loss, Tensor) else repr(loss)
        raise ValueError(
            f"the model returned {shown:.60} as its loss; it must be (logits, loss), "
            "the loss a mean over targets"
        )
    if len(losses) != n_parts:
        raise ValueError(
            f"the model returned {len(losses)} losses, but counts targets of {n_parts}; n_targets "
            "and losses must have the same parts, see models.CountsTargets"
        )
    if not any(part.requires_grad for part in losses):
        raise ValueError("the model's loss does not depend on any weight that is to be trained")
    return losses
