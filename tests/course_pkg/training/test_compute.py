"""What an update costs, against torch's own counter of operations and published figures."""

import pytest
import torch
from torch.utils.flop_counter import FlopCounterMode

from course_pkg.models.bert import BERT, albert_tiny, bert_tiny
from course_pkg.models.gpt import GPT, gpt2_small, gpt_tiny
from course_pkg.models.recurrent import RecurrentLM
from course_pkg.models.transformer import EncoderDecoder, transformer_tiny
from course_pkg.training.compute import (
    flops_per_token,
    multiplied_params,
    peak_flops,
    training_flops,
)

V, T = 61, 32


def counted(model, **batch) -> float:
    """Operations of a forward and a backward pass, as torch counts them."""
    counter = FlopCounterMode(display=False)
    with counter:
        model(**batch)[1].backward()
    return counter.get_total_flops()


@pytest.mark.parametrize("is_tied", [True, False])
def test_flops_of_gpt_match_torchs_counter(is_tied):
    from dataclasses import replace

    # The written-out attention, since fused kernels recompute scores in their backward pass.
    model = GPT(replace(gpt_tiny(V, T), is_tied=is_tied), fused=False)
    ids = torch.randint(V, (3, T))
    expected = counted(model, ids=ids, targets=ids) / ids.numel()
    # 6 N + 12 L D T also counts biases and norms, and the first layer's unneeded gradient: 2 %.
    assert flops_per_token(model, T) == pytest.approx(expected, rel=0.02)


@pytest.mark.parametrize("preset", [bert_tiny, albert_tiny])
def test_flops_of_bert_match_torchs_counter_with_and_without_shared_layers(preset):
    model = BERT(preset(V, T), fused=False)
    ids = torch.randint(V, (2, T))
    expected = counted(model, ids=ids, targets=ids) / ids.numel()
    # The pooler reads one place only, but counts like any other matrix: 4 %.
    assert flops_per_token(model, T) == pytest.approx(expected, rel=0.06)


def test_flops_of_an_encoder_decoder_count_both_stacks():
    model = EncoderDecoder(transformer_tiny(V, T), fused=False)
    ids = torch.randint(V, (2, T))
    expected = counted(model, source_ids=ids, ids=ids, targets=ids) / ids.numel()
    # The tied table counts once, although it multiplies once and is looked up twice: 3 %.
    assert flops_per_token(model, T) == pytest.approx(expected, rel=0.03)


def test_looked_up_tables_do_not_multiply():
    model = RecurrentLM(V, d_embedding=7, d_hidden=5)
    recurrent = 4 * 5 * (7 + 5) + 2 * 4 * 5  # four gates, and torch's two biases
    assert multiplied_params(model) == recurrent + 5 * V + V


def test_flops_of_gpt2_match_published():
    with torch.device("meta"):
        model = GPT(gpt2_small())
    # nanoGPT's estimate for the same model: N without position embeddings, 12 layers of width 768.
    assert flops_per_token(model, 1024) == 6 * 123_653_376 + 12 * 12 * 768 * 1024


def test_flops_of_published_runs_match_their_papers():
    # Hoffmann et al. 2022, table 1 and section 3: Chinchilla and Gopher cost the same 5.76e23.
    assert training_flops(70e9, 1.4e12) == pytest.approx(5.76e23, rel=0.03)
    # Brown et al. 2020, table D.1: GPT-3 13B, 300 billion tokens.
    assert training_flops(12.85e9, 300e9) == pytest.approx(2.31e22, rel=0.01)


def test_peak_of_a_cpu_is_measured():
    peak = peak_flops(torch.device("cpu"), "float32")
    assert peak.flops_per_second > 1e8
    assert "measured" in peak.source
