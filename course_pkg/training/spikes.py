"""When a loss is so high that the run must go back.

One that is far above its recent median, or not a number, sends the run back to the last good
checkpoint, with the data reshuffled so that it does not meet the same batch in the same state:
Chowdhery et al. 2022, section 5.1. Chapter: training transformers.
"""

import math
import statistics
from collections import deque
from collections.abc import Iterable

N_RECENT = 50
"""How many losses the median is taken of."""

N_LEAST = 5
"""With fewer losses there is no telling what is usual."""


class TrainingDivergedError(Exception):
    """The loss kept exploding although the run went back and tried other data."""


class SpikeDetector:
    """Knows which losses are usual.

    Args:
        factor: how many times the recent median a loss must reach to be a spike,
        margin: and how many nats above it: three times almost nothing is no spike.
    """

    def __init__(self, factor: float, margin: float) -> None:
        self.factor, self.margin = factor, margin
        self.recent: deque[float] = deque(maxlen=N_RECENT)

    def first_spike(self, losses: Iterable[float]) -> float | None:
        """Take note of losses in their order; return the first that is a spike, if any."""
        for loss in losses:
            if not math.isfinite(loss) or loss > self._highest():
                return loss
            self.recent.append(loss)
        return None

    def _highest(self) -> float:
        if len(self.recent) < N_LEAST:
            return math.inf
        usual = statistics.median(self.recent)
        return max(self.factor * usual, usual + self.margin)
