"""The task "decode"."""

from collections.abc import Sequence
from typing import Any

from autograder.authoring.checks import (
    Case,
    Check,
    Inputs,
    Part,
    counted,
    mistake,
    mistakes,
    nothing_else_changes,
)
from autograder.authoring.compare import agree, refusing
from course_pkg.text.tokenizers.byte_pair import BytePairTokenizer

from .inputs import (
    HOSTILE,
    SPLIT,
    Generator,
    draw_nonsense,
    trained,
)

# -- inputs ----------------------------------------------------------------------------------------


def _ids(rng: Generator, learned: dict[str, Any], n_ids: int) -> list[int]:
    """Draw ids of tokens that are plain ASCII with no space at an end; the first is a merge."""
    tokens = [(i, t) for i, t in enumerate(learned["vocabulary"]) if isinstance(t, bytes)]
    # As text: to that, unlike to bytes, the separators 28 to 31 are spaces, too.
    plain = [i for i, t in tokens if t.isascii() and t.decode() == t.decode().strip()]
    merged = [i for i in plain if i > 255]
    return [int(rng.choice(merged)), *rng.choice(plain, n_ids - 1).tolist()]


def draw_ids(rng: Generator) -> list[Case]:
    """Ids of bytes and of merges, each plain text by itself."""
    learned = trained([" ".join(draw_nonsense(rng, 17))], 19, SPLIT)
    lists = [_ids(rng, learned, n) for n in (1, 5, 23)]
    lists[1] = [256, 0, *lists[1], 257, 32]
    return [
        Case(counted(len(ids), "id"), {"lists": [ids], "vocabulary": learned["vocabulary"]})
        for ids in lists
    ]


def draw_characters(rng: Generator) -> list[Case]:
    """Characters of which every byte is a token of its own, among merges."""
    learned = trained([" ".join(draw_nonsense(rng, 9))], 9, SPLIT)
    lists = [[*text.encode(), *_ids(rng, learned, 3)] for text in HOSTILE]
    lists += [[*"\r\n\t é\n".encode(), 10], [0, 127, *"ÿ\U0010ffff".encode()] * 30]
    return [
        Case(f"{len(ids)} ids, parts of {text!r}", {"lists": [ids], **_only(learned)})
        for text, ids in zip([*HOSTILE, "line ends", "both ends"], lists, strict=True)
    ]


def draw_broken(rng: Generator) -> list[Case]:
    """Bytes that are no UTF-8: characters cut off, and bytes that never stand alone."""
    learned = trained([" ".join(draw_nonsense(rng, 9))], 9, SPLIT)
    plain = _ids(rng, learned, 3)
    cut = [*plain, *"日".encode()[:2], *plain]
    surrogate, long_form = [*plain, 0xED, 0xA0, 0x80], [0xC0, 0x80, *plain, 0xF5]
    return [
        Case("a loose byte", {"lists": [[*plain, int(rng.integers(128, 192))]], **_only(learned)}),
        Case("half a character", {"lists": [cut, [255, *cut], [*cut, 240]], **_only(learned)}),
        Case("bytes that UTF-8 rules out", {"lists": [surrogate, long_form], **_only(learned)}),
    ]


def draw_other_ids(rng: Generator) -> list[Case]:
    """Special tokens, no ids at all, and ids that no token has."""
    learned = trained([" ".join(draw_nonsense(rng, 9))], 7, SPLIT)
    vocabulary = [*learned["vocabulary"], "<pad>"]
    size, plain = len(vocabulary), _ids(rng, learned, 5)
    lists = {
        "a special token": [[*plain, size - 2, *plain, size - 1]],
        "a byte order mark at the start": [[0xEF, 0xBB, 0xBF, *plain]],
        "special tokens at both ends": [[size - 2, *plain, size - 1, size - 1], [size - 1]],
        "a special token inside a character": [[195, size - 2, 169], [0xE6, 0x97, size - 1, 0xA5]],
        "no ids": [plain, []],
        "an id that is too large": [plain, [*plain, size]],
        "an id outside after a special token": [[size - 1, -1], [*plain, size - 2, size, *plain]],
        "an id that is far too large": [[10**6], [10**20, *plain]],
        "an id below 0": [plain, [-1, *plain], [*plain, -size]],
        "an id far below 0": [[-size - 1], [*plain, -(10**6)]],
    }
    # What a special token is called says nothing; it may be empty, or spelled like a word.
    names = ["[END]", "", "stop", "<|user|>", "é"]
    named = {
        "lists": [[*plain, *range(size, size + len(names)), *plain]],
        "vocabulary": [*vocabulary, *names],
    }
    return [
        *(Case(name, {"lists": ids, "vocabulary": vocabulary}) for name, ids in lists.items()),
        Case("special tokens of other names", named),
    ]


def draw_all(rng: Generator) -> list[Case]:
    """Ids of all kinds."""
    return [*draw_ids(rng), *draw_characters(rng), *draw_broken(rng), *draw_other_ids(rng)]


def _only(learned: dict[str, Any]) -> dict[str, Any]:
    return {"vocabulary": learned["vocabulary"]}


# -- probes ----------------------------------------------------------------------------------------


def decode_all(implementation, inputs):
    """Return the text of each list of ids."""
    return [implementation(ids, inputs["vocabulary"]) for ids in inputs["lists"]]


def decode_or_refuse(implementation, inputs):
    """Return the text of each list of ids, or that it was refused as it should be."""
    texts = []
    for ids in inputs["lists"]:
        try:
            texts.append(implementation(ids, inputs["vocabulary"]))
        except ValueError:
            texts.append(("ValueError",))
    return texts


def decode_and_keep(implementation, inputs):
    """Return the texts, and the arguments after them."""
    texts = []
    for ids in inputs["lists"]:
        try:
            texts.append(implementation(ids, inputs["vocabulary"]))
        except Exception:
            texts.append(None)  # whether there is a result is the business of other parts
    return texts, inputs["lists"], inputs["vocabulary"]


# -- the reference version -------------------------------------------------------------------------


def decode(ids: Sequence[int], vocabulary: Sequence[bytes | str]) -> str:
    """Decode with the package."""
    return BytePairTokenizer(vocabulary, []).decode(ids)


def judge_texts(observed: Any, expected: Any, inputs: Inputs) -> str | None:
    """Say how a text differs, if both are lists of as many texts."""
    texts = [*observed, *expected] if type(observed) is list else [None]
    if {*map(type, texts)} == {str} and len(observed) == len(expected):
        for ours, theirs in zip(observed, expected, strict=True):
            if len(ours) != len(theirs):
                return f"a text has too {'many' if len(ours) > len(theirs) else 'few'} characters"
        return None if observed == expected else "a text has other characters"
    return agree(item="text")(observed, expected, inputs)


# -- parts -----------------------------------------------------------------------------------------

PARTS = (
    Part(
        "values",
        "The tokens' bytes, joined, are the text.",
        draw_ids,
        decode_all,
        judge=judge_texts,
        weight=4,
    ),
    Part(
        "characters",
        "A character whose bytes lie in several tokens comes back whole.",
        draw_characters,
        decode_all,
        judge=judge_texts,
        weight=2,
    ),
    Part(
        "broken bytes",
        "Bytes that are no UTF-8 become U+FFFD, and the rest of the text survives.",
        draw_broken,
        decode_all,
        judge=judge_texts,
        weight=1.5,
    ),
    Part(
        "other ids",
        "Special tokens are left out, and ids that no token has raise a ValueError.",
        draw_other_ids,
        decode_or_refuse,
        judge=refusing(judge_texts),
        weight=1.5,
    ),
    nothing_else_changes(
        "The ids and the vocabulary stay as they were.",
        draw_all,
        decode_and_keep,
        says=("the call changes the ids", "the call changes the vocabulary"),
    ),
)


# -- mistakes --------------------------------------------------------------------------------------


def right_answer(ids, vocabulary):
    """The answer that the mistakes start from."""
    if any(i < 0 or i >= len(vocabulary) for i in ids):
        raise ValueError("an id is outside")
    tokens = [vocabulary[i] for i in ids]
    data = b"".join(token for token in tokens if isinstance(token, bytes))
    return data.decode("utf-8", errors="replace")


MISTAKES = mistakes(
    right_answer,
    mistake(
        "Each token is made text on its own.",
        replace={
            'b"".join(token for token in tokens if isinstance(token, bytes))': (
                '[t.decode(errors="replace") for t in tokens if isinstance(t, bytes)]'
            ),
            'data.decode("utf-8", errors="replace")': '"".join(data)',
        },
        hint="You decode each token on its own. A character may begin in one token and end in "
        "the next: join all bytes first, then decode once.",
    ),
    mistake(
        "Bytes that are no UTF-8 raise an error.",
        replace={', errors="replace"': ""},
        hint="Your answer fails if the bytes are no UTF-8. A model may write such bytes at any "
        "time. Python's decode can replace them: look at its argument errors.",
    ),
    mistake(
        "Bytes that are no UTF-8 are dropped.",
        replace={'errors="replace"': 'errors="ignore"'},
        hint="Broken bytes vanish from your text without a trace. A reader should see that "
        "something was there: let Python replace them.",
    ),
    mistake(
        "The bytes are read as Latin-1, each byte a character.",
        replace={'"utf-8", errors="replace"': '"latin-1"'},
        hint="You read each byte as one character. That is right for ASCII only. The bytes are "
        "UTF-8, in which a character may have up to four.",
    ),
    mistake(
        "The tokens are joined with spaces.",
        replace={'b""': 'b" "'},
        hint="You put spaces between the tokens. The tokens bring their own spaces: join them "
        "with nothing between.",
        keeps=0.3,
    ),
    mistake(
        "Bytes are returned, not text.",
        replace={'data.decode("utf-8", errors="replace")': "data"},
        hint="The bytes are right, but you return them as they are. The caller wants a str: "
        "decode them at the end.",
        keeps=0.5,
    ),
    mistake(
        "The names of special tokens are written into the text.",
        replace={
            "token for token in tokens if isinstance(token, bytes)": (
                "token if isinstance(token, bytes) else token.encode() for token in tokens"
            ),
        },
        hint="Your text contains the names of special tokens. They mark where a document ends "
        "and are not part of it. Leave them out.",
    ),
    mistake(
        "An id below 0 is read as a place from the end.",
        replace={"i < 0 or ": ""},
        hint="For an id below 0 you take a token from the end of the vocabulary, as Python's "
        "lists do. There is no such id: raise a ValueError.",
    ),
    mistake(
        "An id that is too large raises an IndexError.",
        replace={" or i >= len(vocabulary)": ""},
        hint="An id that is too large raises an IndexError in your answer, by accident. Check it "
        "yourself and raise a ValueError that names the id.",
    ),
    mistake(
        "Ids that no token has are skipped in silence.",
        replace={
            'raise ValueError("an id is outside")': (
                "ids = [i for i in ids if 0 <= i < len(vocabulary)]"
            ),
        },
        hint="You skip ids that no token has. Then a mistake somewhere else would never be "
        "noticed. Your function should raise a ValueError.",
    ),
    mistake(
        "Spaces at both ends are cut off.",
        replace={'errors="replace")': 'errors="replace").strip()'},
        hint="Spaces at the start and at the end are missing from your text. They were in the "
        "tokens, so they belong to it.",
    ),
    mistake(
        "An id is used as the number of a character.",
        replace={
            'data.decode("utf-8", errors="replace")': (
                '"".join(chr(i) for i in ids if isinstance(vocabulary[i], bytes))'
            ),
        },
        hint="You use an id as the number of a character. This works by luck for ASCII only. "
        "Look the id up in the vocabulary.",
    ),
    mistake(
        "The caller's ids are emptied.",
        replace={
            "tokens = [vocabulary[i] for i in ids]": (
                "tokens = [vocabulary[ids.pop(0)] for _ in range(len(ids))]"
            ),
        },
        hint="The text is right, but the caller's list of ids is empty afterwards. Loop over it "
        "without removing anything.",
    ),
)

CHECK = Check(
    item="ps2_decode",
    points=10,
    target="decode",
    reference=decode,
    parts=PARTS,
    mistakes=MISTAKES,
    seconds=5.0,
)
