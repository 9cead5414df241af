import copy
import math
import subprocess
import sys

import pytest
import torch
from torch import nn
from torch.nn import functional as F
from transformers.models.gpt2 import GPT2Config, GPT2LMHeadModel
from transformers.models.gpt_neox import GPTNeoXConfig, GPTNeoXForCausalLM
from transformers.models.llama import LlamaConfig, LlamaForCausalLM
from transformers.models.mpt import MptConfig, MptForCausalLM
from transformers.models.openai import OpenAIGPTConfig, OpenAIGPTLMHeadModel
from transformers.models.phi import PhiConfig, PhiForCausalLM
from transformers.models.qwen3 import Qwen3Config, Qwen3ForCausalLM

from course_pkg.decoding.generation import generate
from course_pkg.layers.blocks import ACTIVATIONS, BLOCKS, Trace
from course_pkg.models import IGNORE, LanguageModel
from course_pkg.models.gpt import (
    GPT,
    gpt1,
    gpt2_large,
    gpt2_medium,
    gpt2_small,
    gpt2_xl,
    gpt_small_cpu,
    gpt_small_gpu,
    gpt_tiny,
    llama_like_small,
)
from course_pkg.models.transformer import count_parameters
from course_pkg.models.transformer_config import (
    ATTENTION_POSITIONS,
    EMBEDDING_POSITIONS,
    NORMS,
    TransformerConfig,
)
from course_pkg.weights.pretrained import gpt2_weights
from tests.course_pkg.layers.schemes import sees_a_bias_of_the_keys, shares_key_heads

B, T, V, H, K, L, CONTEXT = 2, 7, 11, 3, 4, 2, 9
D, D_FF = H * K, 20
EXACT = {"rtol": 1e-10, "atol": 1e-10}
POSITIONS = ["none", *EMBEDDING_POSITIONS, *ATTENTION_POSITIONS]


def small_config(**changes):
    sizes = {"vocab_size": V, "context_length": CONTEXT, "d_model": D, "n_heads": H}
    return TransformerConfig(**(sizes | {"n_layers": L, "d_ff": D_FF} | changes))


def small_gpt(rng, *, config=None, **kwargs):
    """Return a float64 model whose weights are large enough for every part to matter."""
    model = GPT(config or small_config(), **kwargs).double()
    for parameter in model.parameters():
        parameter.data.normal_(std=0.4, generator=rng)
    return model


def random_ids(rng, *shape):
    return torch.randint(V, shape, generator=rng)


# Oracles: a model of transformers, the config that makes ours the same, the way to rename weights.

_RULES = [
    ("model.embed_tokens.", "embedding."),
    ("gpt_neox.embed_in.", "embedding."),
    ("transformer.wte.", "embedding."),
    ("model.layers.", "stack.blocks."),
    ("gpt_neox.layers.", "stack.blocks."),
    ("transformer.blocks.", "stack.blocks."),
    (".self_attn.q_proj.", ".attention.query."),
    (".self_attn.k_proj.", ".attention.key."),
    (".self_attn.v_proj.", ".attention.value."),
    (".self_attn.o_proj.", ".attention.output."),
    (".self_attn.dense.", ".attention.output."),
    (".self_attn.q_norm.", ".attention.query_norm."),
    (".self_attn.k_norm.", ".attention.key_norm."),
    (".attention.dense.", ".attention.output."),
    (".attn.out_proj.", ".attention.output."),
    (".input_layernorm.", ".norms.0."),
    (".post_attention_layernorm.", ".norms.1."),
    (".norm_1.", ".norms.0."),
    (".norm_2.", ".norms.1."),
    (".mlp.gate_proj.", ".feed_forward.expand."),
    (".mlp.up_proj.", ".feed_forward.gate."),
    (".mlp.down_proj.", ".feed_forward.contract."),
    (".mlp.fc1.", ".feed_forward.expand."),
    (".mlp.fc2.", ".feed_forward.contract."),
    (".mlp.dense_h_to_4h.", ".feed_forward.expand."),
    (".mlp.dense_4h_to_h.", ".feed_forward.contract."),
    (".ffn.up_proj.", ".feed_forward.expand."),
    (".ffn.down_proj.", ".feed_forward.contract."),
    ("model.norm.", "stack.final_norm."),
    ("model.final_layernorm.", "stack.final_norm."),
    ("gpt_neox.final_layer_norm.", "stack.final_norm."),
    ("transformer.norm_f.", "stack.final_norm."),
    ("lm_head.weight", "unembedding.weight"),
]


def renamed(weights):
    """Rename weights, or gradients, of the families that have one matrix per projection or one."""
    out = {}
    for name, tensor in weights.items():
        for theirs, ours in _RULES:
            name = name.replace(theirs, ours)
        if ".query_key_value." in name:  # packed head by head
            parts = tensor.unflatten(0, (H, 3, K)).unbind(1)
            parts = [part.flatten(0, 1) for part in parts]
        elif ".Wqkv." in name:  # packed projection by projection
            parts = tensor.chunk(3)
        else:
            out[name] = tensor
            continue
        packed = ".attention.query_key_value." if "query_key_value" in name else ".attn.Wqkv."
        for ours, part in zip(("query", "key", "value"), parts, strict=True):
            out[name.replace(packed, f".attention.{ours}.")] = part
    out.pop("lm_head.bias", None)  # Phi's, set to zero below
    return out


def renamed_gpt1(weights):
    as_gpt2 = {"transformer.tokens_embed": "wte", "transformer.positions_embed": "wpe"}
    out = {}
    for name, tensor in weights.items():
        for theirs, ours in as_gpt2.items():
            name = name.replace(theirs, ours)
        out[name] = tensor
    return gpt2_weights(out)


_SIZES = {"vocab_size": V, "hidden_size": D, "num_hidden_layers": L, "num_attention_heads": H}
_SIZES |= {"intermediate_size": D_FF, "max_position_embeddings": CONTEXT}
_GPT_SIZES = {"vocab_size": V, "n_positions": CONTEXT, "n_embd": D, "n_layer": L, "n_head": H}
_NO_DROPOUT = {"resid_pdrop": 0.0, "embd_pdrop": 0.0, "attn_pdrop": 0.0}
_LLAMA = {"positions": "rotary", "norm": "rms", "activation": "swiglu", "is_tied": False}
_LLAMA |= {"has_bias": False, "n_kv_heads": 1}


def _gpt2():
    model = GPT2LMHeadModel(GPT2Config(**_GPT_SIZES, n_inner=D_FF, **_NO_DROPOUT))
    return model, small_config(activation="gelu_tanh"), gpt2_weights


def _gpt1():
    model = OpenAIGPTLMHeadModel(OpenAIGPTConfig(**_GPT_SIZES, **_NO_DROPOUT))
    config = small_config(activation="gelu_tanh", block="post_norm", d_ff=4 * D)
    return model, config, renamed_gpt1


def _llama():
    config = LlamaConfig(**_SIZES, num_key_value_heads=1, rms_norm_eps=1e-5)
    return LlamaForCausalLM(config), small_config(**_LLAMA), renamed


def _qwen3():
    config = Qwen3Config(**_SIZES, num_key_value_heads=1, head_dim=K, rms_norm_eps=1e-5)
    return Qwen3ForCausalLM(config), small_config(**_LLAMA, has_qk_norm=True), renamed


def _phi():
    model = PhiForCausalLM(PhiConfig(**_SIZES, partial_rotary_factor=1.0, layer_norm_eps=1e-5))
    model.lm_head.bias.data.zero_()
    model.lm_head.bias.requires_grad_(False)
    config = small_config(
        positions="rotary", block="parallel", activation="gelu_tanh", is_tied=False
    )
    return model, config, renamed


def _gpt_neox():
    rope = {"rope_type": "default", "rope_theta": 10_000.0, "partial_rotary_factor": 1.0}
    config = GPTNeoXConfig(**_SIZES, rope_parameters=rope, use_parallel_residual=True)
    return (
        GPTNeoXForCausalLM(config),
        small_config(positions="rotary", block="parallel_two_norms", is_tied=False),
        renamed,
    )


def _mpt():
    model = MptForCausalLM(MptConfig(vocab_size=V, d_model=D, n_layers=L, n_heads=H))
    # Its slopes differ from the paper's unless the number of heads is a power of two.
    return model, small_config(positions="alibi", has_bias=False, d_ff=4 * D), renamed


ORACLES = {
    "GPT-1 (post-norm)": _gpt1,
    "GPT-2": _gpt2,
    "LLaMA (rotary, RMSNorm, SwiGLU, grouped heads)": _llama,
    "Qwen3 (QK-norm)": _qwen3,
    "Phi (parallel)": _phi,
    "GPT-NeoX (parallel, two norms)": _gpt_neox,
    "MPT (ALiBi)": _mpt,
}


def in_float64(oracle, rng):
    """Randomise a model of transformers and take out its excursions to float32."""
    oracle.double()
    for name, module in oracle.named_modules():
        if type(module).__name__.endswith("RMSNorm"):
            exact = nn.RMSNorm(module.weight.shape, eps=1e-5, dtype=torch.float64)
            oracle.set_submodule(name, exact)
    for parameter in oracle.parameters():
        if parameter.requires_grad:
            parameter.data.normal_(std=0.4, generator=rng)
    return oracle


@pytest.mark.parametrize("fused", [False, True])
@pytest.mark.parametrize("family", ORACLES)
def test_logits_and_gradients_match_transformers(rng, family, fused):
    oracle, config, rename = ORACLES[family]()
    in_float64(oracle, rng)
    model = GPT(config, fused=fused).double()
    model.load_state_dict(rename(dict(oracle.named_parameters())))
    ids, targets = random_ids(rng, B, T), random_ids(rng, B, T)
    targets[0, 3] = IGNORE
    logits, loss = model(ids, targets)
    expected = oracle(ids).logits
    expected_loss = F.cross_entropy(expected.flatten(0, 1), targets.flatten())
    # MPT takes its softmax in float32; everything else here is float64.
    tolerance = {"rtol": 1e-4, "atol": 1e-5} if "MPT" in family else EXACT
    torch.testing.assert_close(logits, expected, **tolerance)
    torch.testing.assert_close(loss, expected_loss, **tolerance)
    loss.backward()
    expected_loss.backward()
    theirs = {n: p.grad for n, p in oracle.named_parameters() if p.requires_grad}
    ours = {n: p.grad for n, p in model.named_parameters()}
    torch.testing.assert_close(ours, rename(theirs), **tolerance)


class TestSizes:
    @pytest.mark.parametrize(
        ("preset", "published"),
        [
            (gpt1, 116_534_784),
            (gpt2_small, 124_439_808),
            (gpt2_medium, 354_823_168),
            (gpt2_large, 774_030_080),
            (gpt2_xl, 1_557_611_200),
        ],
    )
    def test_parameter_count_matches_published(self, preset, published):
        with torch.device("meta"):
            assert count_parameters(GPT(preset())) == published

    def test_llama_7b_count_matches_published(self):
        config = TransformerConfig(
            **(_LLAMA | {"vocab_size": 32_000, "context_length": 2048, "n_kv_heads": 32}),
            d_model=4096,
            n_heads=32,
            n_layers=32,
            d_ff=11_008,
        )
        with torch.device("meta"):
            assert count_parameters(GPT(config)) == 6_738_415_616

    def test_course_sizes_are_as_documented(self):
        with torch.device("meta"):
            n_positions = 256 * 384  # nanoGPT's figures leave these out
            assert count_parameters(GPT(gpt_small_gpu(65))) - n_positions == 10_646_784
            assert count_parameters(GPT(gpt_small_cpu(65))) == 804_096
            assert 100e6 < count_parameters(GPT(llama_like_small())) < 150e6
            assert count_parameters(GPT(gpt_tiny(65))) < 200_000


@pytest.mark.parametrize("positions", POSITIONS)
class TestEveryKindOfPositions:
    def test_gpt_ignores_the_future(self, rng, positions):
        model = small_gpt(rng, config=small_config(positions=positions))
        ids = random_ids(rng, B, T)
        before = model(ids)[0]
        ids[:, 4:] = (ids[:, 4:] + 1) % V
        after = model(ids)[0]
        torch.testing.assert_close(after[:, :4], before[:, :4], **EXACT)
        assert (after[:, 4:] != before[:, 4:]).any(-1).all()

    @pytest.mark.parametrize("pieces", [[T], [1] * T, [3, 1, 3]])
    def test_cached_logits_equal_uncached(self, rng, positions, pieces):
        n_kv_heads = 1 if shares_key_heads(positions) else H
        config = small_config(positions=positions, n_kv_heads=n_kv_heads, has_qk_norm=True)
        model = small_gpt(rng, config=config)
        ids, cache = random_ids(rng, B, T), model.new_cache()
        with torch.no_grad():
            logits = [model(piece, cache=cache)[0] for piece in ids.split(pieces, dim=1)]
        torch.testing.assert_close(torch.cat(logits, dim=1), model(ids)[0], **EXACT)

    def test_gradients_through_a_cache_equal_those_without(self, rng, positions):
        """Pieces that follow each other in an update read what went before by a cache."""
        n_kv_heads = 1 if shares_key_heads(positions) else H
        model = small_gpt(rng, config=small_config(positions=positions, n_kv_heads=n_kv_heads))
        ids, cache = random_ids(rng, B, T + 1), model.new_cache()
        found = []
        for pieces in ([T], [3, 1, 3]):
            model.zero_grad()
            rows = zip(ids[:, :-1].split(pieces, 1), ids[:, 1:].split(pieces, 1), strict=True)
            losses = [
                model(row, targets, cache=cache if len(pieces) > 1 else None)[1] * row.shape[1]
                for row, targets in rows
            ]
            (torch.stack(losses).sum() / T).backward()
            found.append([parameter.grad for parameter in model.parameters()])
        torch.testing.assert_close(*found, **EXACT)
        with torch.no_grad():  # what is read on, without gradients, leaves those of before alone
            model(ids[:, :1], cache=cache)

    def test_fused_and_written_out_paths_are_equal(self, rng, positions):
        config = small_config(positions=positions, norm="rms", has_qk_norm=True)
        written_out = small_gpt(rng, config=config, fused=False)
        fused = GPT(config, fused=True).double()
        fused.load_state_dict(written_out.state_dict())
        ids = random_ids(rng, B, T)
        torch.testing.assert_close(fused(ids)[0], written_out(ids)[0], **EXACT)

    def test_every_parameter_gets_a_gradient(self, rng, positions):
        model = small_gpt(rng, config=small_config(positions=positions, is_tied=False))
        ids = torch.arange(T).expand(1, T) % V  # every position, and enough of the distances
        model(ids, ids.roll(-1, dims=1))[1].backward()
        for name, parameter in model.named_parameters():
            # A bias of the keys adds the same to all scores of a query, which softmax does not see;
            # unless the scheme turns it, or reads it, differently at each position.
            is_seen = not name.endswith("key.bias") or sees_a_bias_of_the_keys(model)
            assert (parameter.grad.abs().max() > 1e-9) == is_seen, name

    def test_gpt_computes_in_half_precision(self, rng, positions):
        model = GPT(small_config(positions=positions), generator=rng)
        ids = random_ids(rng, B, T)
        expected = model(ids)[0]
        with torch.autocast("cpu", torch.bfloat16):
            mixed = model(ids)[0]
        half = copy.deepcopy(model).bfloat16()(ids)[0]
        assert half.dtype == torch.bfloat16
        # bf16 keeps eight bits: a hundredth of the largest logit
        for logits in (mixed, half):
            torch.testing.assert_close(logits.float(), expected, rtol=0.05, atol=0.01)


EVERY_PART = [
    *({"norm": norm} for norm in NORMS),
    *({"activation": activation} for activation in ACTIVATIONS),
    *({"block": block} for block in BLOCKS),
]


@pytest.mark.parametrize("part", EVERY_PART, ids=lambda part: " ".join(*part.items()))
class TestEveryPartOfABlock:
    def test_gpt_ignores_the_future_with_a_cache_too(self, rng, part):
        model = small_gpt(rng, config=small_config(**part))
        ids, cache = random_ids(rng, B, T), model.new_cache()
        before = model(ids)[0]
        pieces = [model(piece, cache=cache)[0] for piece in ids.split([3, 1, 3], dim=1)]
        torch.testing.assert_close(torch.cat(pieces, dim=1), before, **EXACT)
        ids[:, 4:] = (ids[:, 4:] + 1) % V
        after = model(ids)[0]
        torch.testing.assert_close(after[:, :4], before[:, :4], **EXACT)
        assert (after[:, 4:] != before[:, 4:]).any(-1).all()

    def test_fused_and_written_out_paths_are_equal(self, rng, part):
        written_out = small_gpt(rng, config=small_config(**part), fused=False)
        fused = GPT(small_config(**part), fused=True).double()
        fused.load_state_dict(written_out.state_dict())
        ids = random_ids(rng, B, T)
        torch.testing.assert_close(fused(ids)[0], written_out(ids)[0], **EXACT)

    def test_every_parameter_gets_a_gradient(self, rng, part):
        model = small_gpt(rng, config=small_config(**part, is_tied=False))
        ids = random_ids(rng, B, CONTEXT)
        ids[:, 0] = torch.arange(B)
        model(ids, ids.roll(-1, dims=1))[1].backward()
        for name, parameter in model.named_parameters():
            is_seen = not name.endswith("key.bias")
            assert (parameter.grad.abs().max() > 1e-9) == is_seen, name


class TestPositions:
    def test_learned_positions_reject_a_longer_text(self, rng):
        model, cache = small_gpt(rng), None
        with pytest.raises(ValueError, match="position 10; it must end by 9"):
            model(random_ids(rng, 1, CONTEXT + 1))
        cache = model.new_cache()
        model(random_ids(rng, 1, CONTEXT), cache=cache)
        with pytest.raises(ValueError, match="position 10; it must end by 9"):
            model(random_ids(rng, 1, 1), cache=cache)

    @pytest.mark.parametrize("positions", [p for p in POSITIONS if p != "learned"])
    def test_other_positions_reach_beyond_the_context(self, rng, positions):
        model = small_gpt(rng, config=small_config(positions=positions))
        assert model(random_ids(rng, 1, 3 * CONTEXT))[0].isfinite().all()

    def test_one_block_without_positions_does_not_see_the_order_of_the_past(self, rng):
        model = small_gpt(rng, config=small_config(positions="none", n_layers=1))
        ids = random_ids(rng, 1, T)
        shuffled = torch.cat([ids[:, torch.tensor([2, 0, 3, 1, 5, 4])], ids[:, -1:]], dim=1)
        torch.testing.assert_close(
            model.next_log_probs(shuffled), model.next_log_probs(ids), **EXACT
        )

    @pytest.mark.parametrize("positions", ATTENTION_POSITIONS)
    def test_relative_positions_do_not_see_where_a_text_starts(self, rng, positions):
        model = small_gpt(rng, config=small_config(positions=positions))
        ids = random_ids(rng, B, 4)
        cache = model.new_cache()
        for layer in cache:  # five positions that have been read, then forgotten by all but offset
            layer.attention.append(*torch.zeros(2, B, H, 5, K).double())
        x = model.embedding(ids)
        mask = torch.arange(9).expand(1, 4, 9) >= 5
        shifted = model.stack(x, mask=mask, cache=[layer.branch() for layer in cache])
        # rotary angles are float32
        torch.testing.assert_close(shifted, model.stack(x), rtol=1e-5, atol=1e-5)


@pytest.mark.gpu
@pytest.mark.parametrize("positions", POSITIONS)
def test_gpt_on_a_gpu_equals_the_cpu(rng, positions):
    if not torch.cuda.is_available():
        pytest.skip("no CUDA device")
    model = small_gpt(rng, config=small_config(positions=positions))
    ids = random_ids(rng, B, T)
    expected = model(ids)[0]
    model.cuda()
    logits, cache = model(ids.cuda())[0], model.new_cache()
    pieces = [model(piece, cache=cache)[0] for piece in ids.cuda().split([3, 4], dim=1)]
    # sines and cosines of float32 angles differ in the last digit between devices
    torch.testing.assert_close(logits.cpu(), expected, rtol=1e-4, atol=1e-4)
    torch.testing.assert_close(torch.cat(pieces, dim=1), logits, **EXACT)


@pytest.mark.parametrize("positions", POSITIONS)
@pytest.mark.parametrize("temperature", [0.0, 1.0])
def test_cached_generation_equals_uncached_token_for_token(rng, positions, temperature):
    """The text outgrows the context on its way: from there on nothing cached may be used."""
    model = small_gpt(rng, config=small_config(positions=positions), dropout=0.2)
    ids = random_ids(rng, 3, 4)
    texts, n_read = [], []
    model.embedding.register_forward_hook(lambda module, args, out: n_read.append(args[0].shape[1]))
    for use_cache in (True, False):
        generator = torch.Generator().manual_seed(5)
        kwargs = {"temperature": temperature, "generator": generator, "use_cache": use_cache}
        texts.append(generate(model, ids, 2 * CONTEXT, top_p=0.9, **kwargs))
    assert texts[0].tolist() == texts[1].tolist()
    assert texts[0].shape == (3, 4 + 2 * CONTEXT)
    growing = [*range(4, CONTEXT + 1)]  # lengths read without a cache until the context is full
    sliding = [CONTEXT] * (2 * CONTEXT - len(growing))
    assert n_read == [4] + [1] * (len(growing) - 1) + sliding + growing + sliding


class TestGPT:
    def test_gpt_is_a_language_model(self, rng):
        model = small_gpt(rng)
        assert isinstance(model, LanguageModel)
        ids = random_ids(rng, B, T)
        log_probs = model.next_log_probs(ids)
        torch.testing.assert_close(log_probs.exp().sum(-1), torch.ones(B).double(), **EXACT)
        torch.testing.assert_close(log_probs, model(ids)[0][:, -1].log_softmax(-1), **EXACT)

    def test_next_log_probs_with_a_cache_equal_those_without(self, rng):
        model = small_gpt(rng)
        ids, cache = random_ids(rng, B, T), model.new_cache()
        model.next_log_probs(ids[:, :5], cache=cache)
        cached = model.next_log_probs(ids[:, 5:], cache=cache)
        torch.testing.assert_close(cached, model.next_log_probs(ids), **EXACT)

    def test_loss_leaves_out_ignored_targets(self, rng):
        model = small_gpt(rng)
        ids, targets = random_ids(rng, B, T), random_ids(rng, B, T)
        targets[1, 2:] = IGNORE
        log_probs = model(ids)[0].log_softmax(-1)
        kept = [(b, t) for b in range(B) for t in range(T) if targets[b, t] != IGNORE]
        expected = -sum(log_probs[b, t, targets[b, t]] for b, t in kept) / len(kept)
        torch.testing.assert_close(model(ids, targets)[1], expected, **EXACT)

    def test_untrained_loss_is_that_of_guessing(self, rng):
        model = GPT(gpt_tiny(V), generator=rng)
        ids = random_ids(rng, 8, 50)
        # logits of small weights are near 0: the loss is near log V
        assert abs(model(ids, ids.roll(-1, 1))[1].item() - math.log(V)) < 0.05

    def test_tied_table_is_shared_and_not_copied(self, rng):
        model = GPT(small_config(), generator=rng)
        tables = [n for n, p in model.named_parameters() if p.shape == (V, D)]
        assert tables == ["embedding.weight"]
        assert [n for n in model.state_dict() if n in tables or "unembedding" in n] == tables
        twin = copy.deepcopy(model)
        ids = random_ids(rng, B, T)
        before = model(ids)[0]
        twin.embedding.weight.data.zero_()
        assert torch.equal(model(ids)[0], before)
        assert (twin(ids)[0] == 0).all()

    @pytest.mark.parametrize("std", [0.02, 0.1])
    def test_initial_weights_are_small_where_they_join_the_residual_path(self, rng, std):
        config = small_config(d_model=96, d_ff=200, n_layers=8)
        model = GPT(config, init_std=std, generator=rng)
        for name, parameter in model.named_parameters():
            if name.endswith("bias"):
                assert (parameter == 0).all(), name
            elif "norm" not in name:
                joins = "attention.output" in name or "contract" in name
                expected = std / 4 if joins else std  # sqrt(2 * 8 sublayers)
                # 864 draws or more: the standard error is 2.4 % or less
                assert abs(parameter.std().item() / expected - 1) < 0.1, name

    def test_initial_weights_need_a_deviation(self):
        with pytest.raises(ValueError, match=r"init_std is 0.0; it must be positive"):
            GPT(small_config(), init_std=0.0)

    def test_initial_weights_follow_from_the_generator(self):
        one, two, other = (
            GPT(small_config(), generator=torch.Generator().manual_seed(seed)).state_dict()
            for seed in (1, 1, 2)
        )
        assert all(torch.equal(one[name], two[name]) for name in one)
        assert not torch.equal(one["embedding.weight"], other["embedding.weight"])

    def test_shared_layers_are_one_block_applied_again(self, rng):
        config = small_config(shares_layers=True, n_layers=3)
        shared = small_gpt(rng, config=config)
        plain = GPT(small_config(n_layers=3)).double()
        state = shared.state_dict()
        for name in [name for name in state if ".blocks.0." in name]:
            for layer in ("1", "2"):
                state[name.replace(".blocks.0.", f".blocks.{layer}.")] = state[name]
        plain.load_state_dict(state)
        ids = random_ids(rng, B, T)
        torch.testing.assert_close(shared(ids)[0], plain(ids)[0], **EXACT)
        cache = shared.new_cache()
        pieces = [shared(piece, cache=cache)[0] for piece in ids.split([4, 3], dim=1)]
        torch.testing.assert_close(torch.cat(pieces, dim=1), plain(ids)[0], **EXACT)

    def test_trace_notes_each_layer_and_changes_nothing(self, rng):
        model, trace = small_gpt(rng), Trace()
        ids = random_ids(rng, B, T)
        torch.testing.assert_close(model(ids, trace=trace)[0], model(ids)[0], **EXACT)
        assert len(trace.hidden_states) == L + 1
        assert [w.shape for w in trace.attention] == [(B, H, T, T)] * L
        assert (trace.attention[0].triu(1) == 0).all()
        last = model.stack.final_norm(trace.hidden_states[-1])
        torch.testing.assert_close(last, model.encode(ids), **EXACT)

    def test_dropout_acts_in_training_only(self, rng):
        model = small_gpt(rng, dropout=0.3)
        ids = random_ids(rng, B, T)
        assert not torch.equal(model(ids)[0], model(ids)[0])
        model.eval()
        assert torch.equal(model(ids)[0], model(ids)[0])

    def test_functions_of_ones_own_take_the_place_of_ours(self, rng):
        def my_attend(query, key, value, mask):
            return F.scaled_dot_product_attention(query, key, value, attn_mask=mask)

        mine = small_gpt(rng, attend=my_attend, norm=nn.LayerNorm)
        ours = GPT(small_config()).double()
        ours.load_state_dict(mine.state_dict())
        ids = random_ids(rng, B, T)
        torch.testing.assert_close(mine(ids)[0], ours(ids)[0], **EXACT)
        assert isinstance(mine.stack.final_norm, nn.LayerNorm)


@pytest.mark.parametrize(
    "changes",
    [{}, {"positions": "rotary", "norm": "rms", "activation": "swiglu", "n_kv_heads": 1}],
    ids=["GPT-2", "LLaMA"],
)
def test_gpt_learns_ten_sentences(rng, changes):
    config = small_config(d_model=24, d_ff=48, **changes)
    model = GPT(config, generator=rng)
    first = torch.arange(10)[:, None]
    # Distances alone cannot tell the end of "3" from that of "3 3": equal values, equal average.
    second = (first + torch.randint(1, V, (10, 1), generator=rng)) % V
    text = torch.cat([first, second, random_ids(rng, 10, 7)], dim=1)
    optimizer = torch.optim.AdamW(model.parameters(), lr=1e-2)
    for _ in range(200):
        loss = model(text[:, :-1], text[:, 1:])[1]
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
    assert loss.item() < 0.05  # 2.4 nats at the start
    assert (model(text[:, :-1])[0].argmax(-1) == text[:, 1:]).all()


def test_a_model_without_weights_has_the_shapes_of_one_and_imports_no_compiler():
    """Drawing weights that have no place would import torch's decompositions, 800 modules."""
    program = """
import sys, torch
from course_pkg.models.bert import BERT, bert_tiny
from course_pkg.models.gpt import GPT, gpt_tiny
from course_pkg.models.inference import without_weights
before = len(sys.modules)
for kind, config in ((GPT, gpt_tiny(11)), (BERT, bert_tiny(11))):
    with without_weights():
        empty = kind(config)
    assert {p.device.type for p in empty.parameters()} == {"meta"}
    shapes = {name: p.shape for name, p in kind(config).named_parameters()}
    assert {name: p.shape for name, p in empty.named_parameters()} == shapes
print(len(sys.modules) - before)
"""
    run = subprocess.run(
        [sys.executable, "-c", program], capture_output=True, text=True, check=True
    )
    assert int(run.stdout) < 50
