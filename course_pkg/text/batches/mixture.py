"""Windows of several kinds of text, the scarce kinds more than once an epoch.

Every epoch cuts each kind anew, beginning at another token, so that a text that is read many times
is not always cut in the same places. Chapter: GPT.
"""

from collections.abc import Sequence

import torch
from jaxtyping import Integer
from torch import Tensor

from course_pkg.common.checks import whole_numbers
from course_pkg.text.batches.batching import Batch, Batches, require_stream
from course_pkg.text.batches.token_files import TokenFile


def mixed_windows(
    ids: Integer[Tensor, " N"] | TokenFile,
    parts: Sequence[tuple[int, int, int]],
    context_length: int,
    batch_size: int,
    *,
    seed: int,
) -> Batches:
    """Cut the parts of a stream into windows and shuffle all of them together.

    A window lies within its part. What is left over at both ends of a part, less than two windows
    in all, is not read in that epoch, nor are the windows that do not fill the last batch.

    Args:
        parts: first token, end (exclusive), and how many times an epoch reads each part.

    Raises:
        ValueError: if a part is empty, outside the stream, read less than once, or shorter than two
            windows; if all windows together do not fill a batch.

    Example:
        >>> ids = torch.arange(100)
        >>> batches = mixed_windows(ids, [(0, 50, 1), (50, 100, 3)], 8, batch_size=4, seed=0)
        >>> sum(int((batch["ids"] >= 50).sum()) for batch in batches)  # 3 readings of 5 windows
        120
    """
    require_stream(ids)
    whole_numbers(context_length=context_length, batch_size=batch_size)
    length = context_length
    for number, part in enumerate(parts):
        if not isinstance(part, tuple | list) or len(part) != 3:
            raise ValueError(f"parts[{number}] is {part!r}; it must be (first, end, n_times)")
        first, end, n_times = part
        numbers = {"first": first, "end": end, "n_times": n_times}
        whole_numbers(at_least=0, **{f"parts[{number}] {n}": v for n, v in numbers.items()})
        if not 0 <= first <= end - 2 * length or end > len(ids) or n_times < 1:
            raise ValueError(
                f"parts has ({first}, {end}, {n_times}); each must lie within {len(ids)} tokens, "
                f"hold two windows of {length} and be read at least once"
            )

    n_windows = sum(n_times * ((end - first) // length - 1) for first, end, n_times in parts)
    if n_windows < batch_size:
        raise ValueError(f"batch_size is {batch_size}; the parts have only {n_windows} windows")

    def plan(generator: torch.Generator) -> Sequence[Tensor]:
        starts = []
        for first, end, n_times in parts:
            n_windows = (end - first) // length - 1  # whatever token the first one begins at
            for _ in range(n_times):
                offset = int(torch.randint(length, (1,), generator=generator))
                starts.append(first + offset + length * torch.arange(n_windows))
        every = torch.cat(starts)
        order = every[torch.randperm(len(every), generator=generator)]
        return order[: len(order) // batch_size * batch_size].split(int(batch_size))

    def collate(starts: Tensor, _: torch.Generator) -> Batch:
        text = ids[starts.unsqueeze(1) + torch.arange(length + 1)].long()
        return {"ids": text[:, :-1], "targets": text[:, 1:]}

    settings = {
        "batches": "mixed_windows",
        "context_length": length,
        "batch_size": batch_size,
        "parts": [*map(list, parts)],
    }
    return Batches(plan, collate, seed=seed, settings=settings, content=ids)
