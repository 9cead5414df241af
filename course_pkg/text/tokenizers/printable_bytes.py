"""GPT-2's way of writing bytes as characters that a file of tokens can show.

A token of byte-pair encoding may hold a space, a newline or half a character. Its files therefore
write every byte as one printable character, and "Ġ" stands for the space.
Chapter: tokenization. Radford et al. 2019 (released code).
"""

from functools import cache


@cache
def _printable() -> dict[int, str]:
    """GPT-2's printable stand-in for each byte: itself if it shows, else one from U+0100 on."""
    shown = [*range(33, 127), *range(161, 173), *range(174, 256)]
    hidden = [b for b in range(256) if b not in shown]
    return {b: chr(b) for b in shown} | {b: chr(256 + n) for n, b in enumerate(hidden)}


@cache
def _from_printable() -> dict[str, int]:
    return {character: b for b, character in _printable().items()}


def to_printable(token: bytes) -> str:
    """Write bytes in GPT-2's printable alphabet: a space becomes "Ġ"."""
    return "".join(_printable()[b] for b in token)


def from_printable(text: str) -> bytes:
    """Read what `to_printable` wrote.

    Raises:
        ValueError: a character outside that alphabet.
    """
    try:
        return bytes(_from_printable()[character] for character in text)
    except KeyError as error:
        raise ValueError(f"token {text!r} has {error}, which stands for no byte") from error
