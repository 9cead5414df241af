"""The task "bytes per token"."""

from collections.abc import Sequence
from typing import Protocol

from autograder.authoring.checks import Case, Check, Part, mistake, mistakes, nothing_else_changes
from autograder.authoring.compare import refusing
from course_pkg.evaluation import likelihood
from course_pkg.text.tokenizers import ByteTokenizer

from .inputs import (
    HOSTILE,
    Generator,
    draw_nonsense,
)

# -- inputs ----------------------------------------------------------------------------------------


def _measured(rng: Generator, size: str, texts: list[str]) -> Case:
    """Give every text ids, fewer than it has bytes.

    Some id occurs twice in a text, there are not as many as words, and the quotient is broken.
    """
    ids = {
        text: rng.integers(0, 9, rng.integers(1, max(2, len(text) // 2))).tolist() if text else []
        for text in texts
    }
    longest = ids[max(texts, key=len)] if any(texts) else []
    n_bytes, n_words = len("".join(texts).encode()), len(" ".join(texts).split())
    while longest:
        n_ids = sum(map(len, ids.values()))
        if len(set(longest)) < len(longest) and n_bytes % n_ids and n_ids != n_words:
            break
        longest.append(longest[0])
    return Case(size, {"texts": texts, "ids": ids})


def draw_measured(rng: Generator) -> list[Case]:
    """Texts of very different length."""
    one, two, three = (" ".join(draw_nonsense(rng, n)) for n in (5, 2, 31))
    return [
        _measured(rng, "one text", [one]),
        Case("one text of one token", {"texts": ["abc"], "ids": {"abc": [4]}}),
        _measured(rng, "3 texts of different length", [two + ".", three, one]),
        _measured(rng, "equal texts", [one, two, one, one]),
        _measured(rng, "spaces at the ends and in a row", ["  a  b  ", " \n\n c\t"]),
    ]


def draw_measured_characters(rng: Generator) -> list[Case]:
    """Texts whose characters take more than one byte."""
    accents = [HOSTILE[i] * 3 for i in rng.permutation(len(HOSTILE))]
    return [
        _measured(rng, "texts with accents and signs", ["naïve Ärger", *accents[:3]]),
        _measured(rng, "more of them", accents[3:]),
        _measured(rng, "line ends of both kinds", ["a b\r\nc\n\r\n\td  e ", "é\r\n\u2028x"]),
    ]


def draw_nothing_to_measure(rng: Generator) -> list[Case]:
    """Texts that give no token, and some of which one does."""
    text = " ".join(draw_nonsense(rng, 5))
    return [
        _measured(rng, "an empty text among others", ["", text]),
        _measured(rng, "empty texts only", ["", ""]),
        Case(
            "an empty text that gives a token", {"texts": ["", "ab"], "ids": {"": [7], "ab": [1]}}
        ),
        _measured(rng, "no texts", []),
        Case("a text that gives no token", {"texts": ["abc"], "ids": {"abc": []}}),
        Case(
            "a text that gives no token among others",
            {"texts": ["ab ", "  ", "c"], "ids": {"ab ": [1, 2], "  ": [], "c": [1]}},
        ),
    ]


def draw_all(rng: Generator) -> list[Case]:
    """Texts of all kinds."""
    kinds = (draw_measured, draw_measured_characters, draw_nothing_to_measure)
    return [case for draw in kinds for case in draw(rng)]


# -- probes ----------------------------------------------------------------------------------------


def measure(implementation, inputs):
    """Return how many bytes a token covers, by a tokenizer that knows a few texts by heart."""

    class Tokenizer:
        def encode(self, text):
            return list(inputs["ids"][text])

    return float(implementation(Tokenizer(), inputs["texts"]))


def measure_or_refuse(implementation, inputs):
    """Do as `measure`, or say that the texts were refused."""

    class Tokenizer:
        def encode(self, text):
            return list(inputs["ids"][text])

    try:
        return float(implementation(Tokenizer(), inputs["texts"]))
    except ValueError:
        return ("ValueError",)


def measure_and_keep(implementation, inputs):
    """Return the measure, and what became of the texts and of the ids."""

    class Tokenizer:
        def encode(self, text):
            return inputs["ids"][text]

    try:
        value = float(implementation(Tokenizer(), inputs["texts"]))
    except Exception:
        value = None  # whether there is a result is the business of other parts
    return value, inputs["texts"], inputs["ids"]


# -- the reference version -------------------------------------------------------------------------


class Encoder(Protocol):
    """All that measuring asks of a tokenizer."""

    def encode(self, text: str) -> list[int]:
        """Return the ids of a text."""
        ...


class _Whole(ByteTokenizer):
    """A whole tokenizer that encodes by another one."""

    def __init__(self, encoder: Encoder) -> None:
        super().__init__()
        self._encoder = encoder

    def encode(self, text: str) -> list[int]:
        return self._encoder.encode(text)


def bytes_per_token(tokenizer: Encoder, texts: Sequence[str]) -> float:
    """Measure with the package."""
    return likelihood.bytes_per_token(_Whole(tokenizer), texts)


# -- parts -----------------------------------------------------------------------------------------

PARTS = (
    Part(
        "values",
        "All bytes of the texts are divided by all their tokens.",
        draw_measured,
        measure,
        weight=6,
    ),
    Part(
        "characters",
        "Characters that take several bytes count as several.",
        draw_measured_characters,
        measure,
        weight=2,
    ),
    Part(
        "nothing to divide by",
        "Texts that give no token raise a ValueError.",
        draw_nothing_to_measure,
        measure_or_refuse,
        refusing(),
    ),
    nothing_else_changes(
        "The texts, and the ids that the tokenizer returns, stay as they were.",
        draw_all,
        measure_and_keep,
        says=("the call changes the texts", "the ids that the tokenizer has returned are changed"),
    ),
)


# -- mistakes --------------------------------------------------------------------------------------


def right_answer(tokenizer, texts):
    """The answer that the mistakes start from."""
    n_tokens = sum(len(tokenizer.encode(text)) for text in texts)
    if n_tokens == 0:
        raise ValueError("no tokens")
    return sum(len(text.encode()) for text in texts) / n_tokens


@mistake(
    hint="You divide for each text and take the mean. Then a text of three words weighs as much "
    "as a book. Sum up first, and divide once.",
    keeps=0.3,
)
def mean_of_texts(tokenizer, texts):
    """The texts' own values are averaged, so that a short text counts as much as a long one."""
    ids = [tokenizer.encode(text) for text in texts]
    values = [len(t.encode()) / len(i) for t, i in zip(texts, ids, strict=True) if i]
    if not values:
        raise ValueError("no tokens")
    return sum(values) / len(values)


@mistake(
    hint="Your answer measures only one text. Look where your return stands: is it inside the loop?"
)
def first_text_only(tokenizer, texts):
    """Only the first text is measured."""
    for text in texts:
        ids = tokenizer.encode(text)
        if ids:
            return len(text.encode()) / len(ids)
    raise ValueError("no tokens")


MISTAKES = mistakes(
    right_answer,
    mistake(
        "Characters are counted, not bytes.",
        replace={"text.encode()": "text"},
        hint="You count characters. In UTF-8 'é' has two bytes and an emoji four. Encode the text "
        "before you ask for its length.",
    ),
    mistake(
        "The fraction stands upside down.",
        replace={
            "sum(len(text.encode()) for text in texts) / n_tokens": (
                "n_tokens / sum(len(text.encode()) for text in texts)"
            ),
        },
        hint="Your fraction is upside down: for bytes per token, divide the bytes by the tokens.",
        keeps=0.5,
    ),
    mean_of_texts,
    mistake(
        "The division drops everything after the decimal point.",
        replace={"/ n_tokens": "// n_tokens"},
        hint="Your values have no digits after the decimal point. Look at the division: // drops "
        "the rest.",
        keeps=0.5,
    ),
    mistake(
        "Texts without a token divide by zero.",
        replace={"if n_tokens == 0:": "", 'raise ValueError("no tokens")': ""},
        hint="Texts that give no token make you divide by zero. Ask first, and raise a ValueError "
        "that says what is missing.",
    ),
    mistake(
        "Texts without a token give 0 in silence.",
        replace={'raise ValueError("no tokens")': "return 0.0"},
        hint="Texts that give no token have no value, and 0 would look like a very bad one. Your "
        "function should raise a ValueError.",
    ),
    mistake(
        "Each token counts once, however often it occurs.",
        replace={"tokenizer.encode(text)": "set(tokenizer.encode(text))"},
        hint="You seem to count different ids only. A token that occurs twice is two tokens for "
        "the model to read.",
    ),
    first_text_only,
    mistake(
        "The tokenizer is not asked: words are counted.",
        replace={"tokenizer.encode(text)": "text.split()"},
        hint="You count words. Only the tokenizer knows how many tokens a text has: call its "
        "method encode.",
    ),
    mistake(
        "Spaces are not counted among the bytes.",
        replace={"text.encode()": 'text.replace(" ", "").encode()'},
        hint="You leave the spaces out of the bytes. They are part of the text, and the tokens "
        "have to cover them too.",
        keeps=0.5,
    ),
    mistake(
        "The caller's texts are emptied.",
        replace={
            "n_tokens = sum(len(tokenizer.encode(text)) for text in texts)": """
                n_bytes = n_tokens = 0
                while texts:
                    text = texts.pop()
                    n_bytes += len(text.encode())
                    n_tokens += len(tokenizer.encode(text))
            """,
            "sum(len(text.encode()) for text in texts)": "n_bytes",
        },
        hint="The value is right, but the caller's list of texts is empty afterwards. Loop over "
        "it without removing anything.",
    ),
)

CHECK = Check(
    item="ps2_bytes_per_token",
    points=8,
    target="bytes_per_token",
    reference=bytes_per_token,
    parts=PARTS,
    mistakes=MISTAKES,
    seconds=5.0,
)
