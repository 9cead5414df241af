"""A recipe's corpus as ids on disk, and the batches that its kind of model learns from."""

import json
import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import torch

from course_pkg.common.files import refuse_file, write_atomically
from course_pkg.evaluation.likelihood import count_bytes
from course_pkg.recipes.settings import TRANSLATIONS, Recipe
from course_pkg.text.batches.batching import (
    Batch,
    Batches,
    example_batches,
    stream_batches,
    translation_rows,
    window_batches,
)
from course_pkg.text.batches.pretraining import (
    BERT_TOKENS,
    masked_batches,
    n_sentinels,
    sentinel_tokens,
    span_batches,
)
from course_pkg.text.batches.token_files import TokenFile, write_token_file
from course_pkg.text.corpora.labelled_data import Task, list_tasks, load_task
from course_pkg.text.corpora.running_text import Corpus, load_corpus
from course_pkg.text.stories.translation import sample_translations
from course_pkg.text.tokenizers import (
    ByteTokenizer,
    CharTokenizer,
    WordTokenizer,
    load_tokenizer,
)
from course_pkg.text.tokenizers.byte_pair import BytePairTokenizer
from course_pkg.text.tokenizers.vocabulary import Tokenizer

_TOKENS = ("train.tokens", "valid.tokens")


@dataclass(frozen=True)
class Data:
    """A tokenized corpus on disk, opened for reading.

    Attributes:
        about: where the text came from, its licence, digest and sizes, for the model's card.
    """

    tokenizer: Tokenizer
    train: TokenFile
    valid: TokenFile
    about: dict[str, Any]


def _special_tokens(recipe: Recipe) -> tuple[str, ...]:
    if recipe.kind == "bert":
        return BERT_TOKENS
    return sentinel_tokens(n_sentinels(recipe.context_length)) if recipe.kind == "t5" else ()


def _train_tokenizer(recipe: Recipe, texts: Sequence[str]) -> Any:
    special = _special_tokens(recipe)
    match recipe.tokenizer:
        case "word":
            return WordTokenizer.train(texts, max_size=recipe.vocab_size, special_tokens=special)
        case "char":
            return CharTokenizer.train(
                texts, max_size=recipe.vocab_size, unk="<unk>", special_tokens=special
            )
        case "byte":
            return ByteTokenizer(special)
    return BytePairTokenizer.train(texts, vocab_size=recipe.vocab_size, special_tokens=special)


def _encode(tokenizer: Any, texts: Sequence[str]) -> Iterator[list[int]]:
    """Yield each document's ids with the eos after it, by the fast path where there is one."""
    fast = tokenizer.to_fast() if isinstance(tokenizer, BytePairTokenizer) else tokenizer
    for text in texts:
        yield [*fast.encode(text), tokenizer.eos_id]


def tokenize_corpus(recipe: Recipe, folder: str | Path) -> Data:
    """Tokenize a recipe's corpus into a folder, or open what stands there already.

    Raises:
        ValueError: if what stands there is damaged or of another corpus, or `SourceUnavailable`
            if this machine cannot supply the corpus.
        OSError: if the folder cannot be written; the message names it.
    """
    folder = refuse_file(folder)
    about_file = folder / "about.json"
    wanted = {
        "corpus": recipe.corpus,
        "tokenizer": recipe.tokenizer,
        "vocab_size": recipe.vocab_size,
        "special_tokens": list(_special_tokens(recipe)),
    }
    if not about_file.exists():  # written last: with it, all is there
        corpus = load_corpus(recipe.corpus)
        try:
            folder.mkdir(parents=True, exist_ok=True)
            for name in _TOKENS:  # of a process that was killed
                for leftover in folder.glob(f".{name}.*"):
                    leftover.unlink()
            about = wanted | _tokenize(recipe, corpus, folder)
            write_atomically(about_file, json.dumps(about, indent=2) + "\n")
        except OSError as error:
            raise OSError(f"{folder} could not be filled with tokens: {error}") from error
    try:
        about = json.loads(about_file.read_text(encoding="utf-8"))
        differing = {name: about[name] for name in wanted if about[name] != wanted[name]}
    except (ValueError, KeyError, TypeError) as error:
        raise ValueError(
            f"{about_file} is damaged: {error!r}; remove {folder}, and the corpus is tokenized anew"
        ) from error
    for name, value in differing.items():
        raise ValueError(
            f"{folder} holds tokens of {name} {value!r}, not {wanted[name]!r}; remove it, or "
            "choose another --out"
        )
    train, valid = (TokenFile(folder / name) for name in _TOKENS)
    return Data(load_tokenizer(folder / "tokenizer.json"), train, valid, about)


def _tokenize(recipe: Recipe, corpus: Corpus, folder: Path) -> dict[str, Any]:
    """Write the tokenizer and both streams; return what they are made of."""
    tokenizer = _train_tokenizer(recipe, corpus.train)
    tokenizer.save(folder / "tokenizer.json")
    about: dict[str, Any] = {
        "source": corpus.source,
        "licence": corpus.licence,
        "sha256": corpus.sha256(),
        "n_valid_bytes": count_bytes(corpus.valid),
    }
    for name, texts in zip(_TOKENS, (corpus.train, corpus.valid), strict=True):
        stream = [[tokenizer.eos_id], *_encode(tokenizer, texts)]
        n_tokens = write_token_file(folder / name, stream, tokenizer.vocab_size)
        about[f"n_{name.removesuffix('.tokens')}_tokens"] = n_tokens
    about["valid_unsaid_nats"] = _unsaid_nats(tokenizer, corpus.valid)
    return about


def _unsaid_nats(tokenizer: Any, texts: Sequence[str]) -> float | None:
    """Return what a text costs beyond its ids, at 8 bits for each byte of an unknown character.

    None where ids do not say how words are spaced: a text of words has no bits per byte here
    (`UnknownWordCost` learns what both cost).
    """
    if tokenizer.unk_id is None and not isinstance(tokenizer, WordTokenizer):
        return 0.0
    if not isinstance(tokenizer, CharTokenizer):
        return None
    known = set(tokenizer.tokens)
    return math.log(256) * sum(len(c.encode()) for text in texts for c in text if c not in known)


def stream(
    recipe: Recipe,
    ids: TokenFile,
    tokenizer: Any,
    share: tuple[int, int] = (0, 1),
    seed: int = 0,
    *,
    marks_start: bool = False,
) -> Batches:
    """Return the batches that a kind of model learns from: windows, streams, masks or spans.

    Args:
        seed: added to the recipe's own.
        marks_start: of streams, as for `stream_batches`: a model in training must know where one
            begins.
    """
    sizes = (recipe.context_length, recipe.batch_size)
    if recipe.kind == "lstm":
        return stream_batches(ids, *sizes, marks_start=marks_start)
    order: dict[str, Any] = {"seed": recipe.seed + seed, "share": share}
    special_ids = tokenizer.special_ids
    match recipe.kind:
        case "gpt":
            return window_batches(ids, *sizes, **order)
        case "bert":
            vocab_size = tokenizer.vocab_size
            order |= {"rate": recipe.mask_rate, "special_ids": special_ids}
            return masked_batches(ids, *sizes, vocab_size=vocab_size, **order)
    sentinel_ids = [special_ids[token] for token in _special_tokens(recipe)]
    eos_id = tokenizer.eos_id
    return span_batches(ids, *sizes, sentinel_ids=sentinel_ids, eos_id=eos_id, **order)


def _load_translations(name: str) -> Task:
    """Load sentence pairs.

    Raises:
        ValueError: if there is no such data set, or it has no translations.
    """
    has_pairs = [info.name for info in list_tasks() if info.name.startswith("multi30k")]
    if name not in has_pairs:
        names = ", ".join([TRANSLATIONS, *has_pairs])
        raise ValueError(f"corpus is {name!r}; the corpora of translations are {names}")
    return load_task(name)


def translation_batches(
    recipe: Recipe, share: tuple[int, int] = (0, 1)
) -> tuple[Any, Batches, Batches, dict[str, Any]]:
    """Return a tokenizer of both languages, batches to train on and to validate on, and a record.

    Sentence pairs are few enough to be held in memory.
    """
    if recipe.corpus == TRANSLATIONS:
        about = {"corpus": TRANSLATIONS, "source": "generated", "licence": "Apache-2.0"}
        train, valid = (
            [(" ".join(p.source), " ".join(p.target)) for p in sample_translations(n, seed=seed)]
            for n, seed in ((10_000, 1), (500, 2))
        )
    else:
        task = _load_translations(recipe.corpus)
        about = {"corpus": task.name, "source": task.source, "licence": task.licence}
        train, valid = ([(p.source, p.target) for p in part] for part in (task.train, task.valid))
    tokenizer = _train_tokenizer(recipe, [side for pair in train for side in pair])

    def collate(pairs: list[tuple[list[int], list[int]]], _: torch.Generator) -> Batch:
        return translation_rows(pairs, tokenizer.eos_id)

    def batches(pairs: list[tuple[str, str]], share: tuple[int, int]) -> Batches:
        ids = [(tokenizer.encode(source), tokenizer.encode(target)) for source, target in pairs]
        lengths = [len(source) for source, _ in ids]
        return example_batches(
            ids, collate, recipe.batch_size, seed=recipe.seed, lengths=lengths, share=share
        )

    return tokenizer, batches(train, share), batches(valid, (0, 1)), about
