"""The open challenge of problem set 1: the fewest bits per token, on stories nobody has seen."""

import math
from collections.abc import Sequence
from typing import Any

from autograder.authoring.checks import Challenge

from ..unseen_stories import N_ASKED, nats_per_token, prediction_check


def bits_per_token(values: Sequence[Any], withheld: Sequence[Any]) -> float:
    """Return the mean surprise in bits."""
    return nats_per_token(values, withheld) / math.log(2)


CHALLENGE = Challenge(
    task=f"Say how {N_ASKED:,} stories go on that nobody has seen, each at one place.",
    check=prediction_check("ps1", seconds=30.0),
    to_beat="Kneser–Ney of order 5",
    score=bits_per_token,
    unit="bits per token",
    shown="{:.3f}",
)
