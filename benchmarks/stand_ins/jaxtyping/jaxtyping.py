"""In place of jaxtyping: a shape in a signature is read by people; nothing checks it."""

from typing import Any


class _Shaped:
    """`Float[Tensor, "B T"]` is `Tensor`."""

    def __class_getitem__(cls, item: tuple[Any, str]) -> Any:
        return item[0]


Bool = Float = Int = Int8 = Integer = UInt8 = _Shaped
