"""Checkpoints so small that an experiment takes a second."""

from dataclasses import asdict
from pathlib import Path

import pytest
import torch

from course_pkg.models.bert import BERT, bert_tiny
from course_pkg.models.gpt import GPT, gpt_tiny
from course_pkg.text.batches.pretraining import BERT_TOKENS
from course_pkg.text.tokenizers import ByteTokenizer
from course_pkg.weights.model_folders import save_model


@pytest.fixture(scope="session")
def checkpoints(tmp_path_factory) -> dict[str, Path]:
    """A folder of random weights and a byte tokenizer for each kind of model."""
    folder = tmp_path_factory.mktemp("checkpoints")
    made = {}
    for kind, model, preset in (("gpt", GPT, gpt_tiny), ("bert", BERT, bert_tiny)):
        tokenizer = ByteTokenizer(BERT_TOKENS if kind == "bert" else ())
        config = preset(tokenizer.vocab_size, 64)
        weights = model(config, generator=torch.Generator().manual_seed(3))
        made[kind] = folder / f"{kind}-random"
        save_model(made[kind], weights, tokenizer, kind=kind, structure=asdict(config), card="-")
    return made
