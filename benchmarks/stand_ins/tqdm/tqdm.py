"""In place of tqdm: no bar, the same calls."""

from collections.abc import Iterable, Iterator
from typing import Any


class tqdm:  # noqa: N801 (the library's own name)
    """Counts, and shows nothing."""

    def __init__(self, items: Iterable[Any] = (), *_: Any, initial: int = 0, **__: Any) -> None:
        self.items, self.n = items, initial

    def __iter__(self) -> Iterator[Any]:
        return iter(self.items)

    def update(self, n: int = 1) -> None:
        """Count."""
        self.n += n

    def set_postfix(self, *_: Any, **__: Any) -> None:
        """Show nothing."""

    def close(self) -> None:
        """Do nothing."""
