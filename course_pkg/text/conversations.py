"""Conversations as one text: the template by which an instructed model was shown who says what.

A template is a small program in Jinja that stands in the model's file. It is run locked in, and it
never sees what people wrote, only a mark in its place: so nobody can end a turn, or speak for
another, by writing the name of a special token.

Chapter: assistants.
"""

import re
from collections.abc import Mapping, Sequence

from course_pkg.text.tokenizers import BytePairTokenizer

ROLES = ("system", "user", "assistant")
"""Who may speak."""

_MARK = "\ue000{}\ue001"  # of Unicode's private use: no template has it
_MARKS = re.compile("\ue000(\\d+)\ue001")


def conversation_ids(
    template: str | None, tokenizer: BytePairTokenizer, messages: Sequence[Mapping[str, str]]
) -> list[int]:
    """Return the ids of a conversation, up to where the assistant is to answer.

    Args:
        template: the model's own, in Jinja.
        messages: each with a "role" of `ROLES` and its "content", which is read as plain text.

    Raises:
        ModuleNotFoundError: if Jinja is not installed.
        ValueError: if there is no template, it fails or writes what it does not know, or what
            should be a message is none, or its role unknown.
    """
    if not template:
        raise ValueError(
            "the model's file has no chat template; it can go on with a text: complete"
        )
    for number, message in enumerate(messages):
        if not isinstance(message, Mapping) or not {"role", "content"} <= message.keys():
            raise ValueError(
                f'messages[{number}] is {message!r:.40}; it must have a "role" and a "content"'
            )
        if message["role"] not in ROLES:
            raise ValueError(f"role is {message['role']!r}; it must be one of {', '.join(ROLES)}")
    hidden = [
        {"role": message["role"], "content": _MARK.format(number)}
        for number, message in enumerate(messages)
    ]
    pieces = _MARKS.split(_render(template, hidden))
    if messages and str(len(messages) - 1) not in pieces[1::2]:
        raise ValueError("the model's chat template fails: it leaves out what was said last")
    ids: list[int] = []
    for number, piece in enumerate(pieces):
        if number % 2:
            ids += tokenizer.encode(messages[int(piece)]["content"])
        else:
            ids += tokenizer.encode(piece, parse_special=True)
    return ids


def _render(template: str, messages: list[dict[str, str]]) -> str:
    # Here, so that a machine without it has all the rest.
    from jinja2 import TemplateError, Undefined
    from jinja2.sandbox import ImmutableSandboxedEnvironment

    class Unknown(Undefined):
        """Counts as false, and is nothing to be written: it would be left out in silence."""

        __str__ = Undefined._fail_with_undefined_error

    environment = ImmutableSandboxedEnvironment(
        trim_blocks=True, lstrip_blocks=True, undefined=Unknown
    )
    try:
        return environment.from_string(template).render(
            messages=messages, add_generation_prompt=True
        )
    except (
        TemplateError,
        TypeError,
        ValueError,
        ArithmeticError,
        LookupError,
        RecursionError,
    ) as error:
        raise ValueError(f"the model's chat template fails: {error}") from error
