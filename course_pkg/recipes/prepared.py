"""A recipe turned into what the `Trainer` takes: a model, batches, and an evaluation."""

import math
from collections.abc import Callable
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import torch
from torch import nn

from course_pkg.models.bert import MaskedLMLoss, bert_tiny
from course_pkg.models.gpt import gpt_tiny
from course_pkg.models.recurrent import TruncatedBPTT
from course_pkg.models.transformer import transformer_tiny
from course_pkg.recipes.data import stream, tokenize_corpus, translation_batches
from course_pkg.recipes.reports import StreamReport, TranslationReport
from course_pkg.recipes.settings import Recipe
from course_pkg.recipes.warm_start import adopt_weights
from course_pkg.text.tokenizers.vocabulary import Tokenizer
from course_pkg.training.run import BatchSource
from course_pkg.weights.model_folders import build_model, load_model

_PRESETS = {"gpt": gpt_tiny, "bert": bert_tiny, "t5": transformer_tiny}


@dataclass(frozen=True)
class Prepared:
    """A recipe made ready for the `Trainer`.

    Attributes:
        model: what the trainer trains.
        plain: the same weights without anything that only training needs.
        structure: what `model_folders.build_model` makes such a model from.
        evaluate: figures and a sample of a model, for the log.
        about: where the text came from.
    """

    model: nn.Module
    plain: nn.Module
    structure: dict[str, Any]
    tokenizer: Tokenizer
    batches: BatchSource
    evaluate: Callable[[nn.Module], dict[str, float | str]]
    about: dict[str, Any]


def prepare(recipe: Recipe, folder: str | Path, share: tuple[int, int] = (0, 1)) -> Prepared:
    """Make a recipe ready to train.

    Args:
        folder: where the tokenized corpus is or will be.
        share: this process's number and the number of processes.

    Raises:
        ValueError: if the corpus is too short, or the kind cannot be shared among processes.
    """
    if recipe.kind == "lstm" and share[1] > 1:
        raise ValueError(
            f"kind is 'lstm' and there are {share[1]} processes; each row of a stream carries a "
            "state from batch to batch, so train it in one process"
        )
    evaluate: Callable[[nn.Module], dict[str, float | str]]
    if recipe.kind == "seq2seq":
        tokenizer, batches, valid, about = translation_batches(recipe, share)
        evaluate = TranslationReport(tokenizer, valid)
    else:
        data = tokenize_corpus(recipe, folder)
        tokenizer, about = data.tokenizer, data.about
        batches = stream(recipe, data.train, tokenizer, share, marks_start=True)
        evaluate = StreamReport(recipe, data)
    structure = _structure(recipe, tokenizer)
    generator = torch.Generator().manual_seed(recipe.seed)
    plain = build_model(recipe.kind, structure, dropout=recipe.dropout, generator=generator)
    if recipe.begin_with is not None:
        adopt_weights(plain, tokenizer, load_model(recipe.begin_with))
    if recipe.kind == "bert":
        # Masked LM alone asks nothing of pairs, and processes wait for every gradient.
        for unused in (plain.pooler, plain.pair_head):
            unused.requires_grad_(False)  # type: ignore[union-attr, operator]
    model = plain
    if recipe.kind == "lstm":
        model = TruncatedBPTT(plain, recipe.batch_size)  # type: ignore[arg-type]
    if recipe.kind == "bert" and not recipe.trainer.compile:
        model = MaskedLMLoss(plain)  # type: ignore[arg-type]
    return Prepared(model, plain, structure, tokenizer, batches, evaluate, about)


def _structure(recipe: Recipe, tokenizer: Tokenizer) -> dict[str, Any]:
    vocab_size = math.ceil(tokenizer.vocab_size / recipe.pad_vocab) * recipe.pad_vocab
    width = recipe.d_model
    if recipe.kind in _PRESETS:
        preset = asdict(_PRESETS[recipe.kind](vocab_size, recipe.context_length))
        sizes: dict[str, Any] = {"n_heads": recipe.n_heads, "n_layers": recipe.n_layers}
        sizes |= {"d_ff": 4 * width}
        if recipe.kind == "bert":
            # As encoders are built now (Warner et al. 2024), for the same reason: post-norm and a
            # table of positions take millions of tokens before a token finds its neighbours.
            sizes |= {"block": "pre_norm", "positions": "rotary"}
        return preset | sizes | {"d_model": width}
    structure = {
        "vocab_size": vocab_size,
        "d_embedding": width,
        "d_hidden": width,
        "n_layers": min(recipe.n_layers, 2),
    }
    if recipe.kind == "lstm":
        return structure | {"is_tied": True}
    return structure | {"source_vocab_size": vocab_size, "eos_id": tokenizer.eos_id}
