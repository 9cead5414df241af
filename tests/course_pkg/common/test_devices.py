"""Nothing is made on the wrong device: every model, on a device that is not the CPU.

No GPU is needed: `imaginary_device` refuses what a GPU refuses, and computes the CPU's numbers.
"""

import contextlib
import copy
from collections.abc import Callable
from dataclasses import replace
from typing import Any

import pytest
import torch
from torch import Tensor, nn

from course_pkg.decoding.beam_search import beam_search, greedy_search
from course_pkg.decoding.generation import generate
from course_pkg.evaluation.likelihood import evaluate
from course_pkg.evaluation.probing import probe
from course_pkg.evaluation.scoring import pseudo_log_probs
from course_pkg.layers.attention import AdditiveScore, BilinearScore, DotScore, ScaledDotScore
from course_pkg.layers.blocks import BLOCKS
from course_pkg.layers.recurrent import Cell, ElmanCell, GRUCell, LSTMCell
from course_pkg.models.bert import BERT
from course_pkg.models.gpt import GPT, gpt_tiny
from course_pkg.models.recurrent import (
    BidirectionalEncoder,
    RecurrentLM,
    SequenceClassifier,
    Tagger,
    TruncatedBPTT,
    gradient_norms_by_distance,
    last_pool,
    max_pool,
    mean_pool,
)
from course_pkg.models.seq2seq import Seq2Seq
from course_pkg.models.skip_gram import SkipGram
from course_pkg.models.transformer import EncoderDecoder
from course_pkg.models.transformer_config import (
    ATTENTION_POSITIONS,
    EMBEDDING_POSITIONS,
    TransformerConfig,
)
from course_pkg.models.window import FixedWindowLM
from course_pkg.text.batches import example_batches, next_token_rows, translation_rows
from course_pkg.training import trainer
from course_pkg.training.optim import AdamW, clip_global_norm
from course_pkg.training.trainer import Trainer, TrainerConfig
from tests.course_pkg.imaginary_device import MixedDevicesError, imaginary_device

V, EOS = 11, 0
DOCUMENTS = [[3, 1, 4, 1, 5], [9, 2, 6], [5, 3, 5, 8, 9, 7, 9], [3, 2]]
PAIRS = [([3, 1, 4, 1, 5], [9, 2, 6]), ([9, 2], [5, 3, 5, 8, 9, 7]), ([3], [2])]
"""Sources and targets of several lengths, so that there is padding on both sides."""

Batch = dict[str, Tensor]


def text() -> Batch:
    return dict(next_token_rows(DOCUMENTS, EOS))


def translation() -> Batch:
    return dict(translation_rows(PAIRS, EOS))


def labelled(per: str) -> Batch:
    rows = text()
    targets = rows["ids"] % 2 if per == "token" else torch.tensor([1, 0, 1, 1])
    return {"ids": rows["ids"], "lengths": torch.tensor([6, 4, 8, 3]), "targets": targets}


def masked() -> Batch:
    rows = text()
    segments = (rows["ids"] > 4).long()
    mask = torch.arange(8) < torch.tensor([[6], [4], [8], [3]])
    pair_targets = torch.tensor([0, 1, 1, 0])
    return {**rows, "segments": segments, "mask": mask, "pair_targets": pair_targets}


def encoder(cell: type[Cell] = LSTMCell, fused: bool = True) -> BidirectionalEncoder:
    return BidirectionalEncoder(V, 3, 5, 2, cell=cell, fused=fused, dropout=0.1)


def tiny(**changes: Any) -> TransformerConfig:
    shape = {"d_model": 8, "n_heads": 2, "n_layers": 1, "d_ff": 12}
    return replace(gpt_tiny(V, 16), **shape, **changes)


LLAMA = {"norm": "rms", "activation": "swiglu", "n_kv_heads": 1, "has_bias": False}


def recurrent(cell: type[Cell], fused: bool) -> Callable[[], nn.Module]:
    return lambda: RecurrentLM(V, 3, 5, 2, cell=cell, fused=fused, dropout=0.1)


def translator(score: Callable[[], nn.Module] | None, fused: bool = True) -> nn.Module:
    made = None if score is None else score()
    return Seq2Seq(V, V, 3, 6, eos_id=EOS, score=made, cell=GRUCell, fused=fused)


CASES: dict[str, tuple[Callable[[], nn.Module], Callable[[], Batch]]] = {
    "window": (lambda: FixedWindowLM(V, 3, 4, 5, eos_id=EOS, has_direct=True), text),
    **{
        f"{cell.__name__}, {'fused' if fused else 'loop'}": (recurrent(cell, fused), text)
        for cell in (ElmanCell, LSTMCell, GRUCell)
        for fused in (True, False)
    },
    "stream": (lambda: TruncatedBPTT(RecurrentLM(V, 3, 5), 4), text),
    **{
        f"classifier, {pool.__name__}": (
            lambda pool=pool: SequenceClassifier(encoder(), 2, pool=pool),
            lambda: labelled("text"),
        )
        for pool in (last_pool, mean_pool, max_pool)
    },
    "tagger, loop": (lambda: Tagger(encoder(fused=False), 2), lambda: labelled("token")),
    "one vector": (lambda: translator(None), translation),
    "dot": (lambda: translator(DotScore), translation),
    "scaled dot": (lambda: translator(ScaledDotScore, fused=False), translation),
    "bilinear": (lambda: translator(lambda: BilinearScore(6, 6)), translation),
    "additive": (lambda: translator(lambda: AdditiveScore(6, 6, 5)), translation),
    "gpt": (lambda: GPT(tiny(), dropout=0.1), text),
    "gpt, written out": (lambda: GPT(tiny(), fused=False), text),
    "llama": (lambda: GPT(tiny(positions="rotary", **LLAMA)), text),
    **{
        f"gpt, {positions}": (
            lambda positions=positions: GPT(tiny(positions=positions, has_qk_norm=True)),
            text,
        )
        for positions in (*EMBEDDING_POSITIONS, *ATTENTION_POSITIONS)
    },
    **{f"gpt, {block}": (lambda block=block: GPT(tiny(block=block)), text) for block in BLOCKS},
    "bert": (lambda: BERT(tiny(block="post_norm")), masked),
    "encoder and decoder": (lambda: EncoderDecoder(tiny()), translation),
}


def test_device_refuses_operands_from_both_sides():
    with imaginary_device() as there:
        with pytest.raises(MixedDevicesError, match=r"add.*\(2, 3\)"):
            torch.ones(2, 3) + torch.ones(2, 3, device=there)
        with pytest.raises(MixedDevicesError, match="generator"):
            torch.rand(2, device=there, generator=torch.Generator())
        with pytest.raises(RuntimeError, match="numpy"):
            torch.ones(2, device=there).numpy()
        assert (torch.ones(2, 3, device=there) * torch.tensor(2.0)).cpu().tolist() == [
            [2.0] * 3
        ] * 2


def after_one_update(model: nn.Module, batch: Batch) -> list[Tensor]:
    """Loss, gradient norm and weights after a forward and backward pass and a step."""
    optimizer = AdamW(model.parameters(), lr=0.01)
    loss = model.eval().train(isinstance(model, TruncatedBPTT))(**batch)[1]
    loss.backward()
    norm = clip_global_norm(model.parameters(), 0.5)
    optimizer.step()
    return [loss.detach().cpu(), norm.cpu(), *(p.detach().cpu() for p in model.parameters())]


@pytest.mark.parametrize("name", CASES)
def test_update_on_a_device_equals_that_of_the_cpu(name):
    make, make_batch = CASES[name]
    torch.manual_seed(1)
    here = after_one_update(make().double(), make_batch())
    torch.manual_seed(1)
    model = make().double()
    with imaginary_device() as device:
        batch = {key: value.to(device) for key, value in make_batch().items()}
        there = after_one_update(model.to(device), batch)
        assert {p.device for p in model.parameters()} == {device}
    # 1e-6: Adam divides by the size of a gradient, which may be little more than rounding
    for ours, theirs in zip(there, here, strict=True):
        torch.testing.assert_close(ours, theirs, rtol=1e-6, atol=1e-6)


@pytest.mark.parametrize("name", CASES)
def test_update_needs_no_float64_on_the_device(name):
    make, make_batch = CASES[name]
    torch.manual_seed(1)
    model = make()
    with imaginary_device(has_float64=False) as device:
        batch = {key: value.to(device) for key, value in make_batch().items()}
        loss, norm, *_ = after_one_update(model.to(device), batch)
    assert loss.isfinite() and norm > 0


@pytest.mark.parametrize("has_float64", [True, False])
def test_skip_gram_learns_on_any_device(has_float64):
    torch.manual_seed(1)
    model = SkipGram(torch.tensor([5, 3, 2, 1]), 3, n_negative=2)
    batch = {"ids": torch.tensor([0, 1]), "targets": torch.tensor([2, 3])}
    here = copy.deepcopy(model)(**batch, negatives=torch.tensor([[0, 1], [2, 0]]))[1]
    with imaginary_device(has_float64=has_float64) as device:
        there = {key: value.to(device) for key, value in batch.items()}
        loss, _, *_ = after_one_update(copy.deepcopy(model).to(device), there)
        assert loss.isfinite()
        negatives = torch.tensor([[0, 1], [2, 0]]).to(device)
        loss = model.to(device)(**there, negatives=negatives)[1].detach().cpu()
    torch.testing.assert_close(loss, here.detach())


def test_words_in_their_places_are_scored_on_a_device_without_float64():
    model = BERT(tiny(block="post_norm")).eval()
    ids = {"mask_id": 1, "first_id": EOS, "last_id": 2}
    here = pseudo_log_probs(model, DOCUMENTS, **ids)
    with imaginary_device(has_float64=False) as device:
        there = pseudo_log_probs(model.to(device), DOCUMENTS, **ids)
        vectors = torch.randn(8, 3).to(device)
        labels = torch.tensor([0, 1] * 4)
        assert probe(vectors, labels, range(8), n_train=6).accuracy <= 1
    torch.testing.assert_close(there, here)  # float32 logits, summed in float64


@pytest.mark.parametrize(
    "make",
    [
        lambda: FixedWindowLM(V, 3, 4, 5, eos_id=EOS),
        lambda: RecurrentLM(V, 3, 5),
        lambda: GPT(tiny()),
    ],
    ids=["window", "recurrent", "gpt"],
)
def test_trainer_and_evaluation_on_a_device_equal_those_of_the_cpu(make, monkeypatch):
    # Neither mixed precision nor loss scaling knows the device; with float32 both do nothing.
    monkeypatch.setattr(trainer.torch, "autocast", lambda *a, **k: contextlib.nullcontext())
    scaler = torch.amp.GradScaler("cpu", enabled=False)
    monkeypatch.setattr(trainer.torch.amp, "GradScaler", lambda *a, **k: scaler)
    config = TrainerConfig(n_steps=4, lr=0.01, log_every=2)

    def collate(rows: list[list[int]], generator: torch.Generator) -> Batch:
        return dict(next_token_rows(rows, EOS))

    def judge(model: nn.Module) -> dict[str, float]:
        return {"perplexity": evaluate(model, DOCUMENTS, eos_id=EOS).perplexity}

    def train(device: torch.device | str) -> list[float]:
        torch.manual_seed(1)
        batches = example_batches(DOCUMENTS, collate, 2, seed=3)
        log = Trainer(make(), batches, config, evaluate=judge, device=device).train()
        return [entry[key] for entry in log for key in ("loss", "perplexity") if key in entry]

    here = train("cpu")
    with imaginary_device(has_float64=False) as device:
        there = train(device)
    assert len(here) == 3 and there == pytest.approx(here, rel=1e-4)  # four steps of float32


def test_generation_on_a_device_equals_that_of_the_cpu():
    torch.manual_seed(1)
    models = GPT(tiny()).eval(), RecurrentLM(V, 3, 5).eval()
    prompt = torch.tensor([[EOS, 3, 1], [EOS, 2, 6]])
    here = [generate(model, prompt, 9, temperature=0.0, stop_id=EOS).tolist() for model in models]
    with imaginary_device() as device:
        there = [
            generate(model.to(device), prompt.to(device), 9, temperature=0.0, stop_id=EOS).tolist()
            for model in models
        ]
    assert there == here


def test_search_on_a_device_equals_that_of_the_cpu():
    torch.manual_seed(1)
    model = translator(DotScore).eval()

    def search(device: torch.device | str) -> list[tuple[int, ...]]:
        rows = {key: value.to(device) for key, value in translation().items()}
        start = model.to(device).start(rows["source_ids"], rows["source_lengths"])
        first = torch.full((3,), EOS, device=device)
        settings = {"eos_id": EOS, "max_length": 7}
        greedy = [found.ids for found in greedy_search(start, first, **settings)]
        return greedy + [
            found[0].ids for found in beam_search(start, first, n_beams=3, alpha=1.0, **settings)
        ]

    here = search("cpu")
    with imaginary_device(has_float64=False) as device:
        assert search(device) == here


@pytest.mark.parametrize("cell", [ElmanCell, LSTMCell])
def test_gradient_norms_on_a_device_equal_those_of_the_cpu(cell):
    torch.manual_seed(1)
    model = RecurrentLM(V, 3, 5, cell=cell)
    ids, targets = torch.randint(V, (2, 6)), torch.tensor([3, 7])
    here = gradient_norms_by_distance(model, ids, targets)
    with imaginary_device() as device:
        there = gradient_norms_by_distance(model.to(device), ids.to(device), targets.to(device))
        torch.testing.assert_close(there.cpu(), here)
