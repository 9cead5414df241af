"""How large a model, on how many tokens, for a given budget: scaling laws turned into a plan.

The loss of a trained model falls with its parameters N and its tokens D as
`L = E + A / N^alpha + B / D^beta`; a run costs C = 6 N D operations. For a given C one N is best: a
smaller model cannot hold what the tokens teach, a larger one sees too few of them.

    python -m course_pkg.training.planning --flops 5.76e23
    python -m course_pkg.training.planning --gpus 8 --days 1 --gpu A100 --mfu 0.4

The laws were fitted to decoders of 44M to 16B parameters on web text; outside they are guesses.
Hoffmann et al. 2022, section 3.3 and appendix D.3; Besiroglu et al. 2024.
"""

import argparse
import math
from collections.abc import Sequence
from dataclasses import dataclass

from course_pkg.common.checks import whole_numbers
from course_pkg.training.compute import DATA_SHEETS, training_flops

BYTES_PER_PARAM = 16
"""Float32 weights, gradients and AdamW's two moments; activations come on top.

There is no gradient checkpointing, which computes activations twice in order to keep fewer.
"""


@dataclass(frozen=True)
class Plan:
    """A training run that a law calls best for its cost.

    Attributes:
        loss: nats per token, on the law's own data and tokenizer.
    """

    n_params: float
    n_tokens: float
    loss: float

    @property
    def flops(self) -> float:
        """Operations of the run."""
        return training_flops(self.n_params, self.n_tokens)


@dataclass(frozen=True)
class ScalingLaw:
    """Loss as a function of parameters and tokens: Hoffmann et al. 2022, eq. 2.

    Attributes:
        entropy: E, what no model of any size gets rid of, in nats per token.
        params_scale: A, with `params_exponent` alpha.
        tokens_scale: B, with `tokens_exponent` beta.
    """

    source: str
    entropy: float
    params_scale: float
    tokens_scale: float
    params_exponent: float
    tokens_exponent: float

    def loss(self, n_params: float, n_tokens: float) -> float:
        """Return the predicted loss of a run, in nats per token."""
        for name, number in (("n_params", n_params), ("n_tokens", n_tokens)):
            if not number > 0:
                raise ValueError(f"{name} is {number}; it must be positive")
        lack_of_params = self.params_scale / n_params**self.params_exponent
        return self.entropy + lack_of_params + self.tokens_scale / n_tokens**self.tokens_exponent

    def best(self, flops: float) -> Plan:
        """Return the run of least loss among those of this cost: Hoffmann et al. 2022, eq. 4.

        With D = C / 6N the loss depends on N alone; its derivative is zero where
        alpha A / N^alpha equals beta B / D^beta.
        """
        if not flops > 0:
            raise ValueError(f"flops is {flops}; it must be positive")
        alpha, beta = self.params_exponent, self.tokens_exponent
        ratio = (alpha * self.params_scale / (beta * self.tokens_scale)) ** (1 / (alpha + beta))
        n_params = ratio * (flops / 6) ** (beta / (alpha + beta))
        n_tokens = flops / 6 / n_params
        return Plan(n_params, n_tokens, self.loss(n_params, n_tokens))


HOFFMANN = ScalingLaw("Hoffmann et al. 2022, approach 3", 1.69, 406.4, 410.7, 0.34, 0.28)
BESIROGLU = ScalingLaw("Besiroglu et al. 2024", 1.8172, 482.01, 2085.43, 0.3478, 0.3658)
"""The same runs fitted anew; agrees with the other two approaches of Hoffmann et al. and with
Chinchilla itself, about 20 tokens a parameter, where the original third fit does not."""


LEAST_FLOPS, MOST_FLOPS = 1e12, 1e30
"""Beyond these budgets the command plans nothing."""


def device_hours(flops: float, peak: float, mfu: float) -> float:
    """Return how long one device takes.

    Args:
        peak: operations a second that the device could do.
        mfu: share of them that training reaches; 0.3 to 0.5 is usual on GPUs.
    """
    if not 0 < mfu <= 1:
        raise ValueError(f"mfu is {mfu}; it must be above 0 and at most 1")
    return flops / (peak * mfu) / 3600


def training_memory(n_params: float) -> float:
    """Return the bytes that weights, gradients and AdamW's state take, before any activation."""
    return BYTES_PER_PARAM * n_params


def describe(plan: Plan, law: ScalingLaw, gpu: str, n_gpus: int, mfu: float) -> str:
    """Write a plan as a few lines of text."""
    hours = device_hours(plan.flops, DATA_SHEETS[gpu], mfu)
    memory = training_memory(plan.n_params) / 1e9
    return "\n".join(
        [
            f"compute      {plan.flops:.3g} operations",
            f"parameters   {_short(plan.n_params)}",
            f"tokens       {_short(plan.n_tokens)} "
            f"({plan.n_tokens / plan.n_params:.0f} for each parameter)",
            f"loss         {plan.loss:.3f} nats per token, perplexity {math.exp(plan.loss):.1f}, "
            "on web text",
            f"time         {hours:,.1f} hours of one {gpu} at {mfu:.0%} of its peak; "
            f"{hours / n_gpus / 24:,.1f} days on {n_gpus}",
            f"memory       {memory:,.1f} GB for weights, gradients and AdamW, before activations",
            f"law          {law.source}",
        ]
    )


def _short(number: float) -> str:
    for size, letter in ((1e12, "T"), (1e9, "B"), (1e6, "M")):
        if number >= size:
            return f"{number / size:.3g}{letter}"
    return f"{number:,.0f}"


def main(arguments: Sequence[str] | None = None) -> None:
    """Print the best run for a budget of operations, or of GPUs and days."""
    parser = argparse.ArgumentParser(
        prog="python -m course_pkg.training.planning",
        description=__doc__,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("--flops", type=float, help="budget in operations, for example 1e21")
    parser.add_argument("--gpus", type=int, default=8, help="how many GPUs [default: 8]")
    parser.add_argument("--days", type=float, help="for how long; gives the budget in operations")
    parser.add_argument("--gpu", choices=list(DATA_SHEETS), default="H100", help="[default: H100]")
    parser.add_argument("--mfu", type=float, default=0.4, help="share of peak [default: 0.4]")
    options = parser.parse_args(arguments)
    if (options.flops is None) == (options.days is None):
        parser.error("give the budget as --flops or as --days, one of the two")
    flops = options.flops
    try:
        whole_numbers(**{"--gpus": options.gpus})
        for name in ("flops", "days"):
            number = getattr(options, name)
            if number is not None and not 0 < number < math.inf:
                raise ValueError(f"--{name} is {number}; it must be positive and finite")
        if flops is None:
            seconds = options.days * 86_400
            flops = options.gpus * DATA_SHEETS[options.gpu] * options.mfu * seconds
        if not LEAST_FLOPS <= flops <= MOST_FLOPS:
            raise ValueError(
                f"the budget is {flops:.3g} operations; it must be {LEAST_FLOPS:g} to "
                f"{MOST_FLOPS:g}: the law was fitted to runs of some 1e20, too far from there"
            )
        plan = BESIROGLU.best(flops)
        print(describe(plan, BESIROGLU, options.gpu, options.gpus, options.mfu))
    except ValueError as error:
        parser.error(str(error))


if __name__ == "__main__":
    main()
