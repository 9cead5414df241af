"""Batches drawn ahead, so that the model does not wait for them.

While one batch is being trained on, a thread draws the next ones and, for a GPU, puts them into
pinned memory, from which a copy runs beside the computation. What a checkpoint records is the
place of the batches that were *used*, so a resumed run meets the same ones.
Chapter: training transformers.
"""

from collections import deque
from collections.abc import Mapping
from concurrent.futures import Future, ThreadPoolExecutor
from typing import Any

from course_pkg.common.checks import whole_numbers
from course_pkg.training.run import Batch, BatchSource, check_batches


class Prefetched:
    """A `BatchSource` that draws from another one in a thread.

    Args:
        batches: what to draw from; nobody else may draw from it meanwhile.
        n_ahead: how many batches wait at most.
        pin: put them into pinned memory; needs CUDA.
    """

    def __init__(self, batches: BatchSource, *, n_ahead: int = 2, pin: bool = False) -> None:
        whole_numbers(n_ahead=n_ahead)
        check_batches(batches)
        self.batches, self.n_ahead, self.pin = batches, n_ahead, pin
        self._used = batches.state_dict()
        self._pool = ThreadPoolExecutor(1, "prefetch")
        self._drawn: deque[Future[tuple[Batch, dict[str, Any]]]] = deque()

    def next_batch(self) -> Batch:
        """Return the next batch; what went wrong while it was drawn is raised here."""
        while len(self._drawn) < self.n_ahead:
            self._drawn.append(self._pool.submit(self._draw))
        batch, self._used = self._drawn.popleft().result()
        self._drawn.append(self._pool.submit(self._draw))
        return batch

    def reshuffle(self) -> None:
        """Change the order of everything after the last batch that was used."""
        self._go_back()
        self.batches.reshuffle()
        self._used = self.batches.state_dict()

    def state_dict(self) -> dict[str, Any]:
        """Return the place after the last batch that was used, not after the last one drawn."""
        return self._used

    def load_state_dict(self, state: Mapping[str, Any]) -> None:
        """Go on from the place that `state_dict` returned."""
        self._used = dict(state)
        self._go_back()

    def _draw(self) -> tuple[Batch, dict[str, Any]]:
        batch = self.batches.next_batch()
        if self.pin:
            batch = {name: tensor.pin_memory() for name, tensor in batch.items()}
        return batch, self.batches.state_dict()

    def _go_back(self) -> None:
        """Forget what was drawn ahead."""
        while self._drawn:
            ahead = self._drawn.pop()
            if not ahead.cancel():
                ahead.exception()  # waits for the one that is being drawn
        self.batches.load_state_dict(self._used)
