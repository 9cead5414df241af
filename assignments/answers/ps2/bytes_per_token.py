"""Answers to the task "bytes per token"."""

from assignments.answers import alternatives, mistakes


def count_characters(tokenizer, texts):
    """Characters are counted, not bytes."""
    n_tokens = sum(len(tokenizer.encode(text)) for text in texts)
    if n_tokens == 0:
        raise ValueError("no tokens")
    return sum(len(text) for text in texts) / n_tokens


def tokens_per_byte(tokenizer, texts):
    """The fraction stands upside down."""
    n_bytes = sum(len(text.encode()) for text in texts)
    if n_bytes == 0:
        raise ValueError("no bytes")
    return sum(len(tokenizer.encode(text)) for text in texts) / n_bytes


def mean_of_texts(tokenizer, texts):
    """The texts' own values are averaged, so that a short text counts as much as a long one."""
    ids = [tokenizer.encode(text) for text in texts]
    values = [len(t.encode()) / len(i) for t, i in zip(texts, ids, strict=True) if i]
    if not values:
        raise ValueError("no tokens")
    return sum(values) / len(values)


def divide_whole_numbers(tokenizer, texts):
    """The division drops everything behind the point."""
    n_tokens = sum(len(tokenizer.encode(text)) for text in texts)
    if n_tokens == 0:
        raise ValueError("no tokens")
    return float(sum(len(text.encode()) for text in texts) // n_tokens)


def divide_by_zero(tokenizer, texts):
    """Texts without a token divide by zero."""
    n_tokens = sum(len(tokenizer.encode(text)) for text in texts)
    return sum(len(text.encode()) for text in texts) / n_tokens


def say_nothing_of_nothing(tokenizer, texts):
    """Texts without a token give 0 in silence."""
    n_tokens = sum(len(tokenizer.encode(text)) for text in texts)
    return sum(len(text.encode()) for text in texts) / n_tokens if n_tokens else 0.0


def count_different_tokens(tokenizer, texts):
    """Each token counts once, however often it occurs."""
    n_tokens = sum(len(set(tokenizer.encode(text))) for text in texts)
    if n_tokens == 0:
        raise ValueError("no tokens")
    return sum(len(text.encode()) for text in texts) / n_tokens


def first_text_only(tokenizer, texts):
    """Only the first text is measured."""
    for text in texts:
        ids = tokenizer.encode(text)
        if ids:
            return len(text.encode()) / len(ids)
    raise ValueError("no tokens")


def count_words(tokenizer, texts):
    """The tokenizer is not asked: words are counted."""
    n_words = sum(len(text.split()) for text in texts)
    if n_words == 0:
        raise ValueError("no words")
    return sum(len(text.encode()) for text in texts) / n_words


def count_spaces_out(tokenizer, texts):
    """Spaces are not counted among the bytes."""
    n_tokens = sum(len(tokenizer.encode(text)) for text in texts)
    if n_tokens == 0:
        raise ValueError("no tokens")
    return sum(len(word.encode()) for text in texts for word in text.split(" ")) / n_tokens


def use_up_texts(tokenizer, texts):
    """The texts of the caller are used up."""
    n_bytes = n_tokens = 0
    while texts:
        text = texts.pop()
        n_bytes += len(text.encode())
        n_tokens += len(tokenizer.encode(text))
    if n_tokens == 0:
        raise ValueError("no tokens")
    return n_bytes / n_tokens


def by_one_walk(tokenizer, texts):
    """Counts both in one walk."""
    n_bytes = n_tokens = 0
    for text in texts:
        n_bytes += len(bytes(text, "utf-8"))
        n_tokens += len(tokenizer.encode(text))
    if not n_tokens:
        raise ValueError("there is no token")
    return n_bytes / n_tokens


def by_joining_bytes(tokenizer, texts):
    """Joins the texts to count bytes, and the ids to count tokens."""
    ids = [i for text in texts for i in tokenizer.encode(text)]
    if ids:
        return len("".join(texts).encode("utf-8")) / len(ids)
    raise ValueError("there is no token")


def by_catching_the_division(tokenizer, texts):
    """Divides first and asks afterwards."""
    n_tokens = sum(map(len, map(tokenizer.encode, texts)))
    try:
        return sum(len(text.encode()) for text in texts) / n_tokens
    except ZeroDivisionError:
        raise ValueError("there is no token") from None


def by_pairs(tokenizer, texts):
    """Sums up columns of pairs."""
    table = [(len(text.encode("utf8")), len(tokenizer.encode(text))) for text in texts]
    n_bytes, n_tokens = (sum(column) for column in zip(*table, (0, 0), strict=True))
    if n_tokens < 1:
        raise ValueError("there is no token")
    return n_bytes * 1.0 / n_tokens


MISTAKES = mistakes(
    (
        count_characters,
        "You count characters. In UTF-8 'é' has two bytes and an emoji four. Encode the text "
        "before you ask for its length.",
    ),
    (
        tokens_per_byte,
        "Your fraction stands upside down: bytes per token means that you divide the bytes by the "
        "tokens.",
    ),
    (
        mean_of_texts,
        "You divide for each text and take the mean. Then a text of three words weighs as much as "
        "a book. Sum up first, and divide once.",
    ),
    (
        divide_whole_numbers,
        "Your values have no digits behind the point. Look at the division: // drops the rest.",
    ),
    (
        divide_by_zero,
        "Texts that give no token make you divide by zero. Ask first, and raise a ValueError that "
        "says what is missing.",
    ),
    (
        say_nothing_of_nothing,
        "Texts that give no token have no value, and 0 would look like a very bad one. Your "
        "function should raise a ValueError.",
    ),
    (
        count_different_tokens,
        "You seem to count different ids only. A token that occurs twice is two tokens for the "
        "model to read.",
    ),
    (
        first_text_only,
        "Your answer knows one text only. Look at the place of your return: is it inside the loop?",
    ),
    (
        count_words,
        "You count words. How many tokens a text has, only the tokenizer can say: call its method "
        "encode.",
    ),
    (
        count_spaces_out,
        "You leave the spaces out of the bytes. They are part of the text, and the tokens have to "
        "cover them too.",
    ),
    (
        use_up_texts,
        "The value is right, but the caller's list of texts is empty afterwards. Walk over it "
        "without taking anything out; you need no pop.",
    ),
)

ALTERNATIVES = alternatives(by_one_walk, by_joining_bytes, by_catching_the_division, by_pairs)
