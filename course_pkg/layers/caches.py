"""The KV cache: attention keeps keys and values, so that no position is computed twice.

One cache grows with the text. The other has all its room from the start and notes on the device how
much of it is in use, so that every step is the same sequence of kernels on the same memory: what a
compiler, or a recorded CUDA graph, needs.

Chapter: self-attention.
"""

from copy import deepcopy

import torch
from jaxtyping import Bool, Float, Int
from torch import Tensor, nn

from course_pkg.common.checks import whole_numbers


class KeyValueCache:
    """A KV cache: keys and values of every position read so far, so that none is computed twice.

    It is written in place; only what gradients are wanted of is copied instead, since a backward
    pass needs it as it was: read without them, by `torch.no_grad`, where nothing is learned.

    Example:
        >>> cache = KeyValueCache()
        >>> first = cache.append(torch.zeros(1, 2, 3, 5), torch.zeros(1, 2, 3, 5))
        >>> keys, values = cache.append(torch.ones(1, 2, 1, 5), torch.ones(1, 2, 1, 5))
        >>> cache.length, tuple(keys.shape)
        (4, (1, 2, 4, 5))
    """

    def __init__(self) -> None:
        self.length = 0
        self._room: Tensor | None = None  # (2, B, G, length or more, K): keys, values

    @property
    def pair(self) -> tuple[Tensor, Tensor] | None:
        """All keys and all values, the oldest first; None if nothing was read."""
        if self._room is None:
            return None
        keys, values = self._room[:, :, :, : self.length]
        return keys, values

    def append(
        self, key: Float[Tensor, "B G T K"], value: Float[Tensor, "B G T K"]
    ) -> tuple[Float[Tensor, "B G S K"], Float[Tensor, "B G S K"]]:
        """Add the newest positions and return all of them, the oldest first."""
        start, end = self.length, self.length + key.shape[2]
        if self._room is not None and self._room.shape[1] != key.shape[0]:
            raise ValueError(
                f"the cache holds a batch of {self._room.shape[1]}, and what is to be added is one "
                f"of {key.shape[0]}; begin with a new cache, or choose its rows by select"
            )
        held = () if self._room is None else (self._room,)
        if any(tensor.requires_grad for tensor in (key, value, *held)):
            return self._append_copied(torch.stack([key, value]))
        if self._room is None or end > self._room.shape[3]:
            # Twice the room whenever it is used up: each position moves about once in all, where
            # joining the old and the new would move all of them at every step.
            room = key.new_empty(2, *key.shape[:2], 2 * end, key.shape[3])
            if self._room is not None:
                room[:, :, :, :start] = self._room[:, :, :, :start]
            self._room = room
        self._room[0, :, :, start:end] = key
        self._room[1, :, :, start:end] = value
        self.length = end
        keys, values = self._room[:, :, :, :end]
        return keys, values

    def _append_copied(self, newest: Tensor) -> tuple[Tensor, Tensor]:
        """As `append`, with all in a place of its own, as wide as it is long."""
        if self._room is not None:
            newest = torch.cat([self._room[:, :, :, : self.length], newest], dim=3)
        self._room, self.length = newest, newest.shape[3]
        keys, values = newest
        return keys, values

    def shorten(self, length: int) -> None:
        """Forget what was read after the first `length` positions, if there is any."""
        self.length = min(self.length, length)

    def branch(self) -> "KeyValueCache":
        """Return a cache that holds the same and grows by itself."""
        return self._with_room(None if self._room is None else self._room.clone())

    def select(self, rows: Int[Tensor, " N"]) -> "KeyValueCache":
        """Return a cache that holds the given rows of the batch, in that order."""
        return self._with_room(None if self._room is None else self._room[:, rows])

    def _with_room(self, room: Tensor | None) -> "KeyValueCache":
        cache = KeyValueCache()
        cache.length, cache._room = self.length, room
        return cache


class FixedKeyValueCache(nn.Module):
    """A cache of a fixed size, for a text that grows to at most `length` positions.

    What is beyond the text so far is hidden by a mask rather than cut off. The caller sees to it
    that the text does not outgrow the room: to check it, the CPU would have to wait for the GPU.
    """

    keys: Tensor
    values: Tensor
    length: Tensor

    def __init__(
        self,
        batch_size: int,
        n_kv_heads: int,
        length: int,
        d_head: int,
        *,
        like: Tensor,
    ) -> None:
        super().__init__()
        whole_numbers(batch_size=batch_size, n_kv_heads=n_kv_heads, length=length, d_head=d_head)
        shape = (batch_size, n_kv_heads, length, d_head)
        self.register_buffer("keys", like.new_zeros(shape))
        self.register_buffer("values", like.new_zeros(shape))
        self.register_buffer("length", like.new_zeros((), dtype=torch.int64))

    def visible(self, T: int) -> Bool[Tensor, "1 T S"]:
        """Return which positions the next T may see: themselves and what precedes them."""
        positions = self.length + torch.arange(T, device=self.keys.device)
        places = torch.arange(self.keys.shape[2], device=self.keys.device)
        return (places <= positions.unsqueeze(-1)).unsqueeze(0)

    def append(
        self, key: Float[Tensor, "B G T K"], value: Float[Tensor, "B G T K"]
    ) -> tuple[Float[Tensor, "B G S K"], Float[Tensor, "B G S K"]]:
        """Add the newest positions and return all the room, used or not.

        Raises:
            ValueError: if gradients are wanted: it is written in place.
        """
        if key.requires_grad or value.requires_grad:
            raise ValueError(
                "a cache of fixed size keeps no gradients; read within torch.no_grad(), or use "
                "the model's new_cache()"
            )
        T = key.shape[2]
        places = self.length + torch.arange(T, device=key.device)
        self.keys.index_copy_(2, places, key)
        self.values.index_copy_(2, places, value)
        self.length.add_(T)
        return self.keys, self.values

    def branch(self) -> "FixedKeyValueCache":
        """Return a cache that holds the same and grows by itself."""
        return deepcopy(self)

    def select(self, rows: Int[Tensor, " N"]) -> "FixedKeyValueCache":
        """Return a cache that holds the given rows of the batch, in that order."""
        cache = deepcopy(self)
        cache.keys, cache.values = self.keys[rows], self.values[rows]
        return cache

    def clear(self) -> None:
        """Forget the text; what is left of it in the room is never seen."""
        self.length.zero_()
