"""Answers to the task "decode"."""

from assignments.answers import alternatives, mistakes


def decode_each_token(ids, vocabulary):
    """Each token is made text on its own."""
    text = ""
    for i in ids:
        if i < 0 or i >= len(vocabulary):
            raise ValueError(i)
        token = vocabulary[i]
        text += "" if isinstance(token, str) else token.decode("utf-8", errors="replace")
    return text


def fail_at_broken_bytes(ids, vocabulary):
    """Bytes that are no UTF-8 raise an error."""
    if any(i < 0 or i >= len(vocabulary) for i in ids):
        raise ValueError("an id is outside")
    return b"".join(t for t in (vocabulary[i] for i in ids) if isinstance(t, bytes)).decode()


def drop_broken_bytes(ids, vocabulary):
    """Bytes that are no UTF-8 are dropped."""
    if any(i < 0 or i >= len(vocabulary) for i in ids):
        raise ValueError("an id is outside")
    tokens = [vocabulary[i] for i in ids]
    data = b"".join(token for token in tokens if isinstance(token, bytes))
    return data.decode("utf-8", errors="ignore")


def read_as_latin(ids, vocabulary):
    """The bytes are read as Latin-1, each byte a character."""
    if any(i < 0 or i >= len(vocabulary) for i in ids):
        raise ValueError("an id is outside")
    tokens = [vocabulary[i] for i in ids]
    return b"".join(token for token in tokens if isinstance(token, bytes)).decode("latin-1")


def put_spaces_between(ids, vocabulary):
    """The tokens are joined with spaces."""
    if any(i < 0 or i >= len(vocabulary) for i in ids):
        raise ValueError("an id is outside")
    tokens = [vocabulary[i] for i in ids]
    data = b" ".join(token for token in tokens if isinstance(token, bytes))
    return data.decode("utf-8", errors="replace")


def return_bytes(ids, vocabulary):
    """Bytes are returned, not text."""
    if any(i < 0 or i >= len(vocabulary) for i in ids):
        raise ValueError("an id is outside")
    return b"".join(t for t in (vocabulary[i] for i in ids) if isinstance(t, bytes))


def write_special_names(ids, vocabulary):
    """The names of special tokens are written into the text."""
    if any(i < 0 or i >= len(vocabulary) for i in ids):
        raise ValueError("an id is outside")
    tokens = [vocabulary[i] for i in ids]
    data = b"".join(token.encode() if isinstance(token, str) else token for token in tokens)
    return data.decode("utf-8", errors="replace")


def count_from_the_end(ids, vocabulary):
    """An id below 0 is read as a place from the end."""
    if any(i >= len(vocabulary) for i in ids):
        raise ValueError("an id is too large")
    tokens = [vocabulary[i] for i in ids]
    data = b"".join(token for token in tokens if isinstance(token, bytes))
    return data.decode("utf-8", errors="replace")


def fail_with_another_error(ids, vocabulary):
    """An id that is too large raises an IndexError."""
    if any(i < 0 for i in ids):
        raise ValueError("an id is below 0")
    tokens = [vocabulary[i] for i in ids]
    data = b"".join(token for token in tokens if isinstance(token, bytes))
    return data.decode("utf-8", errors="replace")


def skip_unknown_ids(ids, vocabulary):
    """Ids that no token has are skipped in silence."""
    tokens = [vocabulary[i] for i in ids if 0 <= i < len(vocabulary)]
    data = b"".join(token for token in tokens if isinstance(token, bytes))
    return data.decode("utf-8", errors="replace")


def strip_the_text(ids, vocabulary):
    """Spaces at both ends are cut off."""
    if any(i < 0 or i >= len(vocabulary) for i in ids):
        raise ValueError("an id is outside")
    tokens = [vocabulary[i] for i in ids]
    data = b"".join(token for token in tokens if isinstance(token, bytes))
    return data.decode("utf-8", errors="replace").strip()


def take_ids_for_characters(ids, vocabulary):
    """An id is taken for the number of a character."""
    if any(i < 0 or i >= len(vocabulary) for i in ids):
        raise ValueError("an id is outside")
    return "".join(chr(i) for i in ids if isinstance(vocabulary[i], bytes))


def use_up_ids(ids, vocabulary):
    """The ids of the caller are used up."""
    data = b""
    while ids:
        i = ids.pop(0)
        if i < 0 or i >= len(vocabulary):
            raise ValueError("an id is outside")
        if isinstance(vocabulary[i], bytes):
            data += vocabulary[i]
    return data.decode("utf-8", errors="replace")


def by_bytearray(ids, vocabulary):
    """Fills a bytearray and asks range whether an id exists."""
    data = bytearray()
    for i in ids:
        if i not in range(len(vocabulary)):
            raise ValueError(f"there is no id {i}")
        token = vocabulary[i]
        if not isinstance(token, str):
            data.extend(token)
    return data.decode(errors="replace")


def by_adding(ids, vocabulary):
    """Adds up bytes objects."""
    data, size = b"", len(vocabulary)
    for i in ids:
        if i < 0 or i >= size:
            raise ValueError(f"{i} is not below {size}")
        data += vocabulary[i] if type(vocabulary[i]) is bytes else b""
    return str(data, "utf-8", "replace")


def by_dictionary(ids, vocabulary):
    """Looks ids up in a dictionary."""
    token_of = {i: b"" if isinstance(t, str) else t for i, t in enumerate(vocabulary)}
    try:
        tokens = [token_of[i] for i in ids]
    except KeyError as error:
        raise ValueError(f"no token has the id {error}") from None
    return b"".join(tokens).decode("utf-8", "replace")


def by_checking_first(ids, vocabulary):
    """Checks the smallest and the largest id before anything else."""
    if ids and not (min(ids) >= 0 and max(ids) < len(vocabulary)):
        raise ValueError(f"ids are {min(ids)} to {max(ids)}; there are {len(vocabulary)}")
    tokens = (vocabulary[i] for i in ids)
    return b"".join(t for t in tokens if isinstance(t, bytes)).decode("utf-8", errors="replace")


MISTAKES = mistakes(
    (
        decode_each_token,
        "You make text of each token on its own. A character may begin in one token and end in "
        "the next: join all bytes first, and decode once.",
    ),
    (
        fail_at_broken_bytes,
        "Your answer fails if the bytes are no UTF-8. A model may write such bytes at any time. "
        "Python's decode can replace them: look at its argument errors.",
    ),
    (
        drop_broken_bytes,
        "Broken bytes vanish from your text without a trace. A reader should see that something "
        "was there: let Python replace them.",
    ),
    (
        read_as_latin,
        "You read each byte as one character. That is right for ASCII only. The bytes are UTF-8, "
        "in which a character may have up to four.",
    ),
    (
        put_spaces_between,
        "You put spaces between the tokens. The tokens bring their own spaces: join them with "
        "nothing between.",
    ),
    (
        return_bytes,
        "The bytes are right, but you return them as they are. The caller wants a str: decode "
        "them at the end.",
    ),
    (
        write_special_names,
        "The names of special tokens stand in your text. They mark where a document ends, and are "
        "no part of it. Leave them out.",
    ),
    (
        count_from_the_end,
        "For an id below 0 you take a token from the end of the vocabulary, as Python's lists do. "
        "There is no such id: raise a ValueError.",
    ),
    (
        fail_with_another_error,
        "An id that is too large raises an IndexError in your answer, by accident. Check it "
        "yourself and raise a ValueError that names the id.",
    ),
    (
        skip_unknown_ids,
        "You skip ids that no token has. Then a mistake somewhere else would never be noticed. "
        "Your function should raise a ValueError.",
    ),
    (
        strip_the_text,
        "Spaces at the start and at the end are missing from your text. They were in the tokens, "
        "so they belong to it.",
    ),
    (
        take_ids_for_characters,
        "You take an id for the number of a character. This works by luck for ASCII only. Look the "
        "id up in the vocabulary.",
    ),
    (
        use_up_ids,
        "The text is right, but the caller's list of ids is empty afterwards. Walk over it "
        "without taking anything out; you need no pop.",
    ),
)

ALTERNATIVES = alternatives(by_bytearray, by_adding, by_dictionary, by_checking_first)
