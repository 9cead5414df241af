"""What the course's models are pretrained on: kinds of text, each in three splits.

The held-out text is of the same kinds as the training text; whole documents are held out. Of the
tales a part is read, from all books, which `MIXTURES` names. The n-gram model that a network is
measured against counts every document once.
"""

import json
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from benchmarks.chapters.continuations import lower_case_words
from course_pkg.common.files import write_atomically
from course_pkg.evaluation.likelihood import bits_per_byte, count_bytes, evaluate
from course_pkg.models.ngram import NGram
from course_pkg.text.batches.token_files import TokenFile, write_token_file
from course_pkg.text.corpora import load_corpus
from course_pkg.text.corpora.sources import Splits, digest
from course_pkg.text.corpora.wikitext import prose_articles
from course_pkg.text.tokenizers.byte_pair import BytePairTokenizer

ONCE = {
    "stories": 1,
    "Wikipedia (gensim)": 1,
    "Wikipedia (WikiText-2)": 1,
    "War and Peace": 1,
}
MIXTURES = {
    "eighth": (8, {"tales": 2, "TinyStories": 3, **ONCE}),
    "quarter": (4, {"tales": 1, "TinyStories": 2, **ONCE}),
}
"""By the part of the tales: one document in how many is read, and how many times an epoch reads
each kind of text. An hour of one core does not see all of an eighth; the quarter is for runs that
read all of it several times."""

ORDER = 5
"""Of the n-grams that a network is measured against."""

STORIES = "TinyStories"
"""The kind whose stories show what names are, and how a person's are judged."""

N_CHARACTERS = 30_000
"""Of each kind's validation text are read for the curve; the test text is read in full."""


def load_shelves(mixture: str = "eighth") -> dict[str, Splits]:
    """Return the documents of each kind of text in three splits.

    Args:
        mixture: a name in `MIXTURES`; the training text of the tales depends on it.

    Raises:
        SourceUnavailableError: the folder COURSE_DATA lacks one of them.
    """
    names = {"tales": "tales", "TinyStories": "tinystories_excerpt", "stories": "stories"}
    names |= {"Wikipedia (gensim)": "wikipedia", "Wikipedia (WikiText-2)": "wikitext2"}
    names |= {"War and Peace": "warandpeace"}
    shelves = {}
    for title, name in names.items():
        corpus = load_corpus(name)
        splits = (corpus.train, corpus.valid, corpus.test)
        if name == "wikitext2":
            splits = tuple(prose_articles(split) for split in splits)
        if name == "stories":  # a quarter of them teaches their grammar
            splits = tuple(split[: len(split) // 4] for split in splits)
        if name == "tales":  # some of every book
            splits = (splits[0][:: MIXTURES[mixture][0]], *splits[1:])
        shelves[title] = splits
    return shelves


@dataclass(frozen=True)
class Text:
    """The training text as tokens, and excerpts of the validation text.

    Attributes:
        parts: first token, end, and readings an epoch of each kind: `mixed_windows`.
        held_out: for each kind, some documents' ids and their length in bytes.
        about: counts and digests, for the card.
    """

    tokenizer: BytePairTokenizer
    ids: TokenFile
    parts: list[tuple[int, int, int]]
    held_out: dict[str, tuple[list[list[int]], int]]
    about: dict[str, Any]


def prepare_text(
    folder: Path,
    vocab_size: int,
    tokenizer: BytePairTokenizer | None = None,
    mixture: str = "eighth",
) -> Text:
    """Tokenize the text into a folder, or open what stands there already.

    Args:
        tokenizer: of a model that goes on; by default one is trained on this text.
        mixture: a name in `MIXTURES`.

    Raises:
        ValueError: if what stands there is damaged or has another vocabulary.
    """
    about_file, tokens, held_out = (
        folder / name for name in ("about.json", "train.tokens", "held_out.json")
    )
    if not about_file.exists():  # written last: with it, all is there
        folder.mkdir(parents=True, exist_ok=True)
        _tokenize(folder, vocab_size, tokenizer, mixture)
    about = json.loads(about_file.read_text(encoding="utf-8"))
    if about["vocab_size"] != vocab_size:
        raise ValueError(f"{folder} has {about['vocab_size']} tokens; vocab_size is {vocab_size}")
    parts = [(part["first"], part["end"], part["n_times"]) for part in about["parts"].values()]
    return Text(
        BytePairTokenizer.load(folder / "tokenizer.json"),
        TokenFile(tokens),
        parts,
        json.loads(held_out.read_text(encoding="utf-8")),
        about,
    )


def _tokenize(
    folder: Path, vocab_size: int, tokenizer: BytePairTokenizer | None, mixture: str
) -> None:
    shelves = load_shelves(mixture)
    if tokenizer is None:
        every = [text for train, _, _ in shelves.values() for text in train]
        tokenizer = BytePairTokenizer.train(every, vocab_size=vocab_size)
    tokenizer.save(folder / "tokenizer.json")
    encode = tokenizer.to_fast().encode
    stream: list[list[int]] = []
    parts, held_out, first = {}, {}, 0
    for name, (train, valid, test) in shelves.items():
        # Every part begins with the end of a document that is not there.
        documents = [[tokenizer.eos_id], *([*encode(text), tokenizer.eos_id] for text in train)]
        end = first + sum(len(ids) for ids in documents)
        parts[name] = {
            "first": first,
            "end": end,
            "n_times": MIXTURES[mixture][1][name],
            "n_documents": [len(train), len(valid), len(test)],
            "n_words": [sum(len(t.split()) for t in split) for split in (train, valid, test)],
            "n_bytes": [count_bytes(split) for split in (train, valid, test)],
            "sha256": digest((train, valid, test)),
        }
        texts = excerpt(valid, N_CHARACTERS)
        held_out[name] = ([encode(text) for text in texts], count_bytes(texts))
        stream, first = stream + documents, end
    n_tokens = write_token_file(folder / "train.tokens", stream, tokenizer.vocab_size)
    write_atomically(folder / "held_out.json", json.dumps(held_out) + "\n")
    about = {"vocab_size": tokenizer.vocab_size, "n_train_tokens": n_tokens, "parts": parts}
    write_atomically(folder / "about.json", json.dumps(about, indent=2) + "\n")


def excerpt(documents: Sequence[str], n_characters: int) -> list[str]:
    """Return the first documents up to a length in all; the last one may be cut."""
    texts, left = [], n_characters
    for document in documents:
        if left <= 0:
            break
        texts.append(document[:left])
        left -= len(document)
    return texts


def bits_of(model: Any, held_out: dict[str, Any], eos_id: int) -> tuple[float, dict[str, float]]:
    """Return a model's nats per token over all held-out texts, and its bits per byte on each."""
    nats, n_tokens, bits = 0.0, 0, {}
    for name, (documents, n_bytes) in held_out.items():
        result = evaluate(model, documents, n_bytes, eos_id=eos_id)
        n_tokens += result.n_tokens
        nats += result.nats_per_token * result.n_tokens
        bits[name] = bits_per_byte(result.nats_per_token * result.n_tokens, n_bytes)
    return nats / n_tokens, bits


def test_text(tokenizer: BytePairTokenizer) -> dict[str, tuple[list[list[int]], int]]:
    """Return the whole test text of each kind, as `Text.held_out` has the validation text."""
    encode = tokenizer.to_fast().encode
    return {
        name: ([encode(text) for text in test], count_bytes(test))
        for name, (_, _, test) in load_shelves().items()
    }


def story_words() -> set[str]:
    """Return the words of the training stories that are no names: `lower_case_words`."""
    return lower_case_words(load_shelves()[STORIES][0])


def held_out_stories() -> list[str]:
    """Return the stories of the test text."""
    return load_shelves()[STORIES][2]


def counted(text: Text) -> NGram:
    """Count and smooth the n-grams of the tokens that the network learns from, each text once."""
    documents: list[list[int]] = [[]]
    for i in text.ids[:].tolist():
        if i != text.tokenizer.eos_id:
            documents[-1].append(i)
        elif documents[-1]:
            documents.append([])
    return NGram.fit(
        [d for d in documents if d], ORDER, text.tokenizer.vocab_size, text.tokenizer.eos_id
    )
