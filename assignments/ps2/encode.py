"""The task "encode a text"."""

import re
import unicodedata  # noqa: F401  (read by a replacement)
from collections.abc import Sequence
from typing import Any

from autograder.authoring.checks import Case, Check, Part, mistake, mistakes, nothing_else_changes
from course_pkg.text.tokenizers.byte_pair import BytePairTokenizer

from .encode_word import distinguishes_encoders, words_and_merges
from .encode_word import right_answer as encode_word
from .inputs import (
    HOSTILE,
    SPLIT,
    WHOLE,
    Generator,
    Pair,
    draw_letters,
    draw_nonsense,
    trained,
)

# -- inputs ----------------------------------------------------------------------------------------


def _text_case(size: str, texts: list[str], pattern: str, learned: dict[str, Any]) -> Case:
    return Case(size, {"texts": texts, "pattern": pattern, **learned})


def draw_texts(rng: Generator) -> list[Case]:
    """Words with one space between, and merges that know no border."""
    cases = []
    for n_words, n_merges in [(2, 5), (7, 11), (19, 29)]:
        learned = trained([" ".join(draw_nonsense(rng, 23))], n_merges, SPLIT)
        # The first text needs no merge that the others need.
        texts = ["!", *(" ".join(draw_nonsense(rng, n_words)) for _ in range(2))]
        cases.append(_text_case(f"texts of {n_words} words", texts, SPLIT, learned))
    return [*cases, _distinguishing_text(rng)]


def _distinguishing_text(rng: Generator) -> Case:
    """A text of which some word shows each wrong way to merge."""
    while True:
        inputs = words_and_merges(rng, "abcd", 21, (13, 8, 17, 5))
        if distinguishes_encoders(**inputs):
            break
    text = " " + " ".join(word.decode() for word in inputs.pop("words"))
    return _text_case("words of few letters", [text], SPLIT, inputs)


def draw_borders(rng: Generator) -> list[Case]:
    """Merges that would cross a border if they were let; cuts at other places than spaces."""
    first, second = draw_nonsense(rng, 2)
    phrase = f"{first} {second}, {first} {second}"
    learned = trained([phrase] * 3, 13, WHOLE)
    halves, lines = draw_letters(rng, "almnoz", 15), f"{first}\n{second}"
    return [
        _text_case("two words", [f"{first} {second}"], SPLIT, learned),
        _text_case("two words and a comma", [phrase], SPLIT, learned),
        _text_case("another pattern", [halves], r"[a-m]+|[^a-m]+", trained([halves] * 2, 9, WHOLE)),
        _text_case("a pattern for lines", [lines], r".+|\n", trained([lines], 99, WHOLE)),
        _text_case("spaces behind the words", [phrase], r"\S+\s*", learned),
        # A token that no text leads to: h and e come together first, so t and h never do.
        _text_case("a word that is a token", ["the the", "the"], SPLIT, _unreachable()),
    ]


def _unreachable() -> dict[str, Any]:
    merges = [(b"h", b"e"), (b"t", b"h"), (b"th", b"e")]
    vocabulary = [*(bytes([i]) for i in range(256)), *(x + y for x, y in merges), "<eos>"]
    return {"vocabulary": vocabulary, "merges": merges}


def draw_spaces(rng: Generator) -> list[Case]:
    """Spaces at both ends, in a row, and of other kinds; merges would cross them if let."""
    first, second, third = draw_nonsense(rng, 3)
    first = f"{first}7"  # which the pattern cuts
    texts = {
        "a space at the start": f" {first} {second}",
        "a space at the end": f"{second} {first} ",
        "spaces in a row": f"{first}  {second}   {third}",
        "lines and tabs": f"{first}\n\n    {second}\t{third}\r\n",
        "line ends of both kinds": f"{first}\r\n{second}\n\r\n{third}\r",
        "nothing but spaces": " \n \t",
        "other spaces": f"{first}\u00a0{second}\u3000\u2028{third}",
    }
    return [
        _text_case(size, [text], SPLIT, trained([text] * 2, 25, WHOLE))
        for size, text in texts.items()
    ]


def draw_any_text(rng: Generator) -> list[Case]:
    """Characters of several bytes, a text of none, and the name of a special token."""
    first, second = draw_nonsense(rng, 2)
    special = f"{first}<eos>{second}"
    learned = trained([special, special, *HOSTILE], 40, WHOLE)
    accents = f"{first}7 Ärger {second} naïve"
    return [
        _text_case("a text with accents", [accents], SPLIT, trained([accents] * 2, 99, WHOLE)),
        _text_case("an empty text", [first, ""], SPLIT, learned),
        _text_case("characters of all kinds", [first.join(HOSTILE), *HOSTILE], SPLIT, learned),
        _text_case("capital letters", [f"{first} {second.upper()}"], SPLIT, learned),
        _text_case("the name of a special token", [special, "<eos>"], SPLIT, learned),
        _text_case(
            "the name of a special token as a piece",
            ["<eos>", f"{first} <eos>"],
            r"\S+|\s+",
            learned,
        ),
        _text_case("a long text", [f"{first} {second}, " * 60], SPLIT, learned),
    ]


def draw_all(rng: Generator) -> list[Case]:
    """Texts of all kinds."""
    return [*draw_texts(rng)[:2], *draw_borders(rng), *draw_spaces(rng), *draw_any_text(rng)]


# -- probes ----------------------------------------------------------------------------------------


def encode_texts(implementation, inputs):
    """Return the ids of each text."""
    import operator

    vocabulary, merges, pattern = inputs["vocabulary"], inputs["merges"], inputs["pattern"]
    return [
        [operator.index(i) for i in implementation(text, vocabulary, merges, pattern)]
        for text in inputs["texts"]
    ]


def encode_texts_and_keep(implementation, inputs):
    """Return the ids of each text, and the vocabulary and the merges after that."""
    import operator

    vocabulary, merges, pattern = inputs["vocabulary"], inputs["merges"], inputs["pattern"]
    ids = []
    for text in inputs["texts"]:
        try:
            found = implementation(text, vocabulary, merges, pattern)
            ids.append([operator.index(i) for i in found])
        except Exception:
            ids.append(None)  # whether there is a result is the business of other parts
    return ids, vocabulary, merges


# -- the reference version -------------------------------------------------------------------------


def encode(
    text: str, vocabulary: Sequence[bytes | str], merges: Sequence[Pair], pattern: str
) -> list[int]:
    """Cut with Python's `re`, as the task asks, and encode each piece with the package.

    The package cuts with `regex`, which takes a loose accent for part of a word; `re` does not.
    """
    tokenizer = BytePairTokenizer(vocabulary, merges, pattern=WHOLE)
    return [i for piece in re.findall(pattern, text) for i in tokenizer.encode(piece)]


# -- parts -----------------------------------------------------------------------------------------

PARTS = (
    Part(
        "values",
        "Texts with one space between words get the right ids.",
        draw_texts,
        encode_texts,
        weight=4,
    ),
    Part(
        "borders",
        "The pattern alone decides where a text is cut, and no merge crosses a cut.",
        draw_borders,
        encode_texts,
        weight=2,
    ),
    Part(
        "spaces",
        "Spaces at the start, at the end, in a row, and of other kinds survive.",
        draw_spaces,
        encode_texts,
        weight=1.5,
    ),
    Part(
        "any text",
        "Every text has ids: empty, in any script, or spelling a special token.",
        draw_any_text,
        encode_texts,
        weight=1.5,
    ),
    nothing_else_changes(
        "The vocabulary and the merges stay as they were.",
        draw_all,
        encode_texts_and_keep,
        says=("the call changes the vocabulary", "the call changes the merges"),
    ),
)


# -- mistakes --------------------------------------------------------------------------------------


def right_answer(text, vocabulary, merges, pattern):
    """The answer that the mistakes start from."""
    pieces = re.findall(pattern, text)
    return [i for piece in pieces for i in encode_word(piece.encode(), vocabulary, merges)]


@mistake(
    hint="A text that spells the name of a special token gives that token in your answer. Then "
    "any stranger could end your document. Treat it as ordinary text.",
)
def read_special_names(text, vocabulary, merges, pattern):
    """The name of a special token in the text becomes that token."""
    ids = []
    for part in re.split("(<eos>)", text):
        if part in vocabulary:
            ids.append(vocabulary.index(part))
            continue
        for piece in re.findall(pattern, part):
            ids += encode_word(piece.encode(), vocabulary, merges)
    return ids


@mistake(
    hint="The ids are right, but merges are missing from the caller's list afterwards, and the "
    "next text may need them. Leave your arguments as they are.",
)
def use_up_merges(text, vocabulary, merges, pattern):
    """Merges of which the text has no bytes are thrown away."""
    used = set(text.encode())
    for pair in list(merges):
        if not set(b"".join(pair)) <= used:
            merges.remove(pair)
    pieces = re.findall(pattern, text)
    return [i for piece in pieces for i in encode_word(piece.encode(), vocabulary, merges)]


MISTAKES = mistakes(
    right_answer,
    mistake(
        "The text is not cut, and merges run across the borders.",
        replace={"re.findall(pattern, text)": "[text]"},
        hint="You encode the text as if it were one word. Then merges run across borders. Cut it "
        "by the pattern first.",
    ),
    mistake(
        "The text is split at its spaces, and they are lost.",
        replace={"re.findall(pattern, text)": "text.split()"},
        hint="You seem to use str.split, which throws all spaces away. They are bytes of the text "
        "like any other. Let the pattern cut.",
    ),
    mistake(
        "The text is split at its spaces, and each word but the first is given one.",
        replace={
            "re.findall(pattern, text)": (
                '[" " * (place > 0) + word for place, word in enumerate(text.split())]'
            ),
        },
        hint="You put one space before each word. But the text may have two, a tab, or one at its "
        "end. Do not rebuild what you can keep: let the pattern cut.",
    ),
    mistake(
        "The text is always cut before spaces, and the pattern is not read.",
        replace={"re.findall(pattern, text)": 're.findall(r"\\s?\\S+|\\s+(?!\\S)|\\s", text)'},
        hint="You cut well at spaces, but the pattern that you were given may cut elsewhere: "
        "before a comma, or by quite another rule. Use it.",
    ),
    mistake(
        "Spaces at both ends of the text are cut off.",
        replace={"pattern, text)": "pattern, text.strip())"},
        hint="Spaces at the start and at the end of the text are missing from your ids. Nothing "
        "may be cut off.",
    ),
    mistake(
        "Spaces are cut off every piece.",
        replace={
            "re.findall(pattern, text)": "[piece.strip() for piece in re.findall(pattern, text)]",
        },
        hint="The pieces come with the spaces before them, and you cut these off. A space is part "
        "of the piece, and often of the token.",
    ),
    mistake(
        "A space is put before the text.",
        replace={"pattern, text)": 'pattern, " " + text)'},
        hint="You put a space before the text. Some tokenizers do, but then the text does not "
        "come back as it was. Leave it as it is.",
        keeps=0.5,
    ),
    mistake(
        "Capital letters become small ones.",
        replace={"pattern, text)": "pattern, text.lower())"},
        hint="You put the text into lower case, so decoding cannot bring it back. Encode the "
        "text as it is.",
    ),
    mistake(
        "Characters outside ASCII are dropped.",
        replace={"piece.encode()": 'piece.encode("ascii", errors="ignore")'},
        hint="Characters outside ASCII are missing from your ids. In UTF-8 every character has "
        "bytes, so no text needs to lose any.",
    ),
    mistake(
        "The text becomes bytes of Latin-1, not of UTF-8.",
        replace={"piece.encode()": 'piece.encode("latin-1", errors="replace")'},
        hint="You turn text into Latin-1 bytes, which has only 256 characters. Look at the "
        "encoding that you name: it should be UTF-8.",
    ),
    read_special_names,
    mistake(
        "A letter and its accent are put together before encoding.",
        replace={"pattern, text)": 'pattern, unicodedata.normalize("NFC", text))'},
        hint="You put letters and accents together before encoding. The text looks the same, but "
        "its bytes are different, and decoding cannot bring back the original ones.",
    ),
    mistake(
        "Every piece has a list of its own.",
        replace={"i for piece in pieces for i in": "", "merges)]": "merges) for piece in pieces]"},
        hint="You return a list of lists. The ids of all your pieces should be in one list; "
        "extend it piece by piece.",
        keeps=0.5,
    ),
    mistake(
        "Each character is encoded apart, so that nothing is merged.",
        replace={"re.findall(pattern, text)": "text"},
        hint="You encode character by character, so there are never neighbours to merge. The "
        "pattern says what you should encode together.",
    ),
    use_up_merges,
)

CHECK = Check(
    item="ps2_encode",
    points=12,
    target="encode",
    reference=encode,
    parts=PARTS,
    mistakes=MISTAKES,
    seconds=5.0,
)
