import dataclasses

import pytest
import torch
from torch import nn
from torch.nn import functional as F
from transformers.models.t5 import T5Config, T5ForConditionalGeneration

from course_pkg.decoding.beam_search import beam_search, greedy_search
from course_pkg.layers.blocks import Trace
from course_pkg.models import IGNORE
from course_pkg.models.transformer import (
    EncoderDecoder,
    count_parameters,
    original_transformer_base,
    original_transformer_big,
    transformer_tiny,
)
from course_pkg.models.transformer_config import (
    ATTENTION_POSITIONS,
    EMBEDDING_POSITIONS,
    TransformerConfig,
)
from tests.course_pkg.layers.schemes import sees_a_bias_of_the_keys

B, S, T, V, H, K, L = 2, 7, 5, 11, 3, 4, 2
D, D_FF = H * K, 20
EXACT = {"rtol": 1e-10, "atol": 1e-10}
LENGTHS = torch.tensor([7, 4])
POSITIONS = ["none", *EMBEDDING_POSITIONS, *ATTENTION_POSITIONS]


def small_config(**changes):
    sizes = {"vocab_size": V, "context_length": 9, "d_model": D, "n_heads": H}
    return TransformerConfig(**(sizes | {"n_layers": L, "d_ff": D_FF} | changes))


def small_model(rng, **changes):
    model = EncoderDecoder(small_config(**changes)).double()
    for parameter in model.parameters():
        parameter.data.normal_(std=0.4, generator=rng)
    return model


def batch(rng):
    source_ids = torch.randint(V, (B, S), generator=rng)
    ids, targets = torch.randint(V, (2, B, T), generator=rng)
    return source_ids, ids, targets


class TestConfig:
    def test_config_has_at_most_seventeen_fields(self):
        assert len(dataclasses.fields(TransformerConfig)) <= 17

    def test_config_cannot_be_changed(self):
        with pytest.raises(dataclasses.FrozenInstanceError):
            small_config().d_model = 7

    @pytest.mark.parametrize(
        ("changes", "message"),
        [
            ({"n_layers": 0}, "n_layers is 0; it must be at least 1"),
            ({"vocab_size": -2}, "vocab_size is -2; it must be at least 1"),
            ({"d_model": 13}, "d_model is 13; it must be a multiple of n_heads, 3"),
            ({"n_kv_heads": 2}, "n_kv_heads is 2; it must divide n_heads, 3"),
            ({"n_kv_heads": 0}, "n_kv_heads is 0; it must be at least 1"),
            ({"positions": "absolute"}, "positions is 'absolute'; it must be one of"),
            ({"norm": "batch"}, "norm is 'batch'; it must be one of"),
            ({"activation": "tanh"}, "activation is 'tanh'; it must be one of"),
            ({"block": "pre-norm"}, "block is 'pre-norm'; it must be one of"),
            ({"positions": "rotary", "d_model": 15}, "d_head is 5; with rotary positions"),
            ({"rotary_base": 0}, "rotary_base is 0; it must be positive and finite"),
            ({"rotary_base": "10k"}, "rotary_base is '10k'; it must be a number"),
            ({"positions": "sinusoidal", "d_model": 15}, "d_model is 15; with sinusoidal"),
        ],
    )
    def test_config_rejects_what_does_not_fit(self, changes, message):
        with pytest.raises(ValueError, match=message):
            small_config(**changes)


class TestSizes:
    def test_base_model_count_matches_arithmetic_and_published(self):
        attention, norm = 4 * (512 * 512 + 512), 2 * 512
        feed_forward = 512 * 2048 + 2048 + 2048 * 512 + 512
        encoder = 6 * (attention + feed_forward + 2 * norm)
        decoder = 6 * (2 * attention + feed_forward + 3 * norm)
        with torch.device("meta"):
            count = count_parameters(EncoderDecoder(original_transformer_base()))
        assert count == 37_000 * 512 + encoder + decoder == 63_082_496
        # Table 3 says 65M. The vocabulary is only given as "about 37,000".
        assert abs(count / 65e6 - 1) < 0.03

    def test_big_model_count_matches_published(self):
        with torch.device("meta"):
            count = count_parameters(EncoderDecoder(original_transformer_big()))
        assert abs(count / 213e6 - 1) < 0.01  # table 3: "213"

    def test_frozen_parameters_do_not_count(self, rng):
        model = small_model(rng)
        before = count_parameters(model)
        model.embedding.weight.requires_grad_(False)
        assert count_parameters(model) == before - V * D


def copy_attention(ours, theirs):
    parts = (ours.query, ours.key, ours.value)
    theirs.in_proj_weight.data = torch.cat([part.weight.data for part in parts])
    theirs.in_proj_bias.data = torch.cat([part.bias.data for part in parts])
    theirs.out_proj.load_state_dict(ours.output.state_dict())


def torch_twins(model):
    """Return torch's encoder and decoder with the weights of an EncoderDecoder."""
    is_pre_norm = model.config.block == "pre_norm"
    kwargs = {"dropout": 0.0, "activation": model.config.activation, "batch_first": True}
    kwargs |= {"norm_first": is_pre_norm, "dtype": torch.float64}
    # torch's own nn.Transformer adds a last norm to post-norm stacks too; the paper does not.
    norms = [nn.LayerNorm(D).double() if is_pre_norm else None for _ in range(2)]
    encoder = nn.TransformerEncoder(
        nn.TransformerEncoderLayer(D, H, D_FF, **kwargs), L, norms[0], enable_nested_tensor=False
    )
    decoder = nn.TransformerDecoder(nn.TransformerDecoderLayer(D, H, D_FF, **kwargs), L, norms[1])
    for ours, theirs in ((model.encoder, encoder), (model.decoder, decoder)):
        for block, layer in zip(ours.blocks, theirs.layers, strict=True):
            copy_attention(block.attention, layer.self_attn)
            if block.cross_attention is not None:
                copy_attention(block.cross_attention, layer.multihead_attn)
            layer.linear1.load_state_dict(block.feed_forward.expand.state_dict())
            layer.linear2.load_state_dict(block.feed_forward.contract.state_dict())
            for i, norm in enumerate(block.norms, start=1):
                getattr(layer, f"norm{i}").load_state_dict(norm.state_dict())
        if is_pre_norm:
            theirs.norm.load_state_dict(ours.final_norm.state_dict())
    return encoder, decoder


@pytest.mark.parametrize("block", ["pre_norm", "post_norm"])
@pytest.mark.parametrize("activation", ["relu", "gelu"])
def test_encoder_decoder_matches_torch(rng, block, activation):
    model = small_model(rng, positions="sinusoidal", block=block, activation=activation)
    encoder, decoder = torch_twins(model)
    source_ids, ids, _ = batch(rng)
    logits, _ = model(source_ids, ids, source_lengths=LENGTHS)
    padded = torch.arange(S) >= LENGTHS.unsqueeze(-1)
    table = model.embedding.weight
    source = D**0.5 * table[source_ids] + model.source_positions.waves(S).double()
    target = D**0.5 * table[ids] + model.target_positions.waves(T).double()
    out = decoder(
        target,
        encoder(source, src_key_padding_mask=padded),
        tgt_mask=torch.ones(T, T, dtype=torch.bool).triu(1),
        memory_key_padding_mask=padded,
    )
    torch.testing.assert_close(logits, out @ table.T, **EXACT)


_T5_RULES = [
    (".layer.0.SelfAttention.", ".attention."),
    (".layer.1.EncDecAttention.", ".cross_attention."),
    ("attention.q.", "attention.query."),
    ("attention.k.", "attention.key."),
    ("attention.v.", "attention.value."),
    ("attention.o.", "attention.output."),
    (".DenseReluDense.wi.", ".feed_forward.expand."),
    (".DenseReluDense.wo.", ".feed_forward.contract."),
    (".final_layer_norm.", ".final_norm."),
    (".layer_norm.", "."),
    (".block.", ".blocks."),
    ("shared.", "embedding."),
]


def renamed_t5(weights, query_scale):
    """Rename T5's weights or gradients; T5 does not divide scores by sqrt(K), so we multiply."""
    out = {}
    for name, tensor in weights.items():
        if "relative_attention_bias" in name:
            continue
        for theirs, ours in _T5_RULES:
            name = name.replace(theirs, ours)
        if ".layer." in name:  # a norm, or the feed-forward layer of the block
            head, _, rest = name.partition(".layer.")
            index, _, rest = rest.partition(".")
            name = f"{head}.{rest}" if "feed_forward" in rest else f"{head}.norms.{index}.{rest}"
        out[name] = tensor * query_scale if name.endswith("attention.query.weight") else tensor
    return out


def test_encoder_decoder_matches_transformers(rng):
    oracle = T5ForConditionalGeneration(
        T5Config(
            vocab_size=V,
            d_model=D,
            d_kv=K,
            num_heads=H,
            d_ff=D_FF,
            num_layers=L,
            dropout_rate=0.0,
            tie_word_embeddings=False,  # says only that logits are not scaled down
        )
    ).double()
    for name, module in oracle.named_modules():
        if type(module).__name__ == "T5LayerNorm":  # computes in float32
            exact = nn.RMSNorm(module.weight.shape, eps=1e-5, dtype=torch.float64)
            oracle.set_submodule(name, exact)
    for name, parameter in oracle.named_parameters():
        parameter.data.normal_(std=0.4, generator=rng)
        if "relative_attention_bias" in name:  # without it T5 has no positions
            parameter.data.zero_().requires_grad_(False)
    model = EncoderDecoder(
        small_config(positions="none", norm="rms", activation="relu", has_bias=False)
    ).double()
    model.load_state_dict(renamed_t5(dict(oracle.named_parameters()), K**0.5))
    source_ids, ids, targets = batch(rng)
    mask = torch.arange(S) < LENGTHS.unsqueeze(-1)
    expected = oracle(source_ids, attention_mask=mask, decoder_input_ids=ids).logits
    logits, loss = model(source_ids, ids, targets, source_lengths=LENGTHS)
    torch.testing.assert_close(logits, expected, **EXACT)
    loss.backward()
    F.cross_entropy(expected.flatten(0, 1), targets.flatten()).backward()
    theirs = {n: p.grad for n, p in oracle.named_parameters() if p.requires_grad}
    ours = {n: p.grad for n, p in model.named_parameters()}
    torch.testing.assert_close(ours, renamed_t5(theirs, K**-0.5), **EXACT)


@pytest.mark.parametrize("positions", POSITIONS)
class TestEveryKindOfPositions:
    def test_decoder_ignores_its_future_but_sees_the_whole_source(self, rng, positions):
        model = small_model(rng, positions=positions)
        source_ids, ids, _ = batch(rng)
        before = model(source_ids, ids)[0]
        ids[:, 3:] = (ids[:, 3:] + 1) % V
        torch.testing.assert_close(model(source_ids, ids)[0][:, :3], before[:, :3], **EXACT)
        source_ids[:, -1] = (source_ids[:, -1] + 1) % V
        assert (model(source_ids, ids)[0][:, :3] != before[:, :3]).any(-1).all()

    def test_padding_of_the_source_changes_nothing(self, rng, positions):
        model = small_model(rng, positions=positions)
        source_ids, ids, _ = batch(rng)
        logits = model(source_ids, ids, source_lengths=LENGTHS)[0]
        short = model(source_ids[1:, :4], ids[1:])[0]
        torch.testing.assert_close(logits[1:], short, **EXACT)

    def test_steps_of_a_search_equal_the_whole_pass(self, rng, positions):
        model = small_model(rng, positions=positions)
        source_ids, ids, _ = batch(rng)
        expected = model(source_ids, ids, source_lengths=LENGTHS)[0].log_softmax(-1)
        texts = model.eval().start(source_ids, LENGTHS)
        for t in range(T):
            log_probs, texts = texts.advance(ids[:, t])
            torch.testing.assert_close(log_probs, expected[:, t], **EXACT)

    def test_search_rows_can_be_chosen_and_advanced_again(self, rng, positions):
        model = small_model(rng, positions=positions)
        source_ids, ids, _ = batch(rng)
        _, texts = model.eval().start(source_ids, LENGTHS).advance(ids[:, 0])
        rows = torch.tensor([1, 0, 1])
        chosen, _ = texts.select(rows).advance(ids[rows, 1])
        first, _ = texts.advance(ids[:, 1])
        again, _ = texts.advance(ids[:, 1])
        torch.testing.assert_close(chosen, first[rows], **EXACT)
        assert torch.equal(again, first)

    def test_every_parameter_gets_a_gradient(self, rng, positions):
        model = small_model(rng, positions=positions, is_tied=False)
        source_ids = torch.arange(9).expand(1, 9)
        model(source_ids, source_ids, source_ids.flip(1))[1].backward()
        for name, parameter in model.named_parameters():
            acts_here = ".attention." in name and sees_a_bias_of_the_keys(model)
            is_seen = not name.endswith("key.bias") or acts_here
            assert (parameter.grad.abs().max() > 1e-9) == is_seen, name


class TestEncoderDecoder:
    def test_loss_leaves_out_ignored_targets(self, rng):
        model = small_model(rng)
        source_ids, ids, targets = batch(rng)
        targets[0, 2:] = IGNORE
        log_probs = model(source_ids, ids)[0].log_softmax(-1)
        kept = [(b, t) for b in range(B) for t in range(T) if targets[b, t] != IGNORE]
        expected = -sum(log_probs[b, t, targets[b, t]] for b, t in kept) / len(kept)
        torch.testing.assert_close(model(source_ids, ids, targets)[1], expected, **EXACT)

    def test_tied_model_has_one_table_and_untied_three(self, rng):
        for is_tied, n_tables in ((True, 1), (False, 3)):
            model = small_model(rng, is_tied=is_tied)
            tables = [n for n, p in model.named_parameters() if p.shape == (V, D)]
            assert len(tables) == n_tables

    def test_trace_notes_both_stacks(self, rng):
        model, trace = small_model(rng), Trace()
        source_ids, ids, _ = batch(rng)
        model(source_ids, ids, trace=trace)
        shapes = [w.shape for w in trace.attention]
        assert shapes == [(B, H, S, S)] * L + [(B, H, T, T)] * L
        assert [w.shape for w in trace.cross_attention] == [(B, H, T, S)] * L
        assert len(trace.hidden_states) == 2 * (L + 1)

    def test_initial_weights_follow_from_the_generator(self):
        config = transformer_tiny(V)
        one, two = (
            EncoderDecoder(config, generator=torch.Generator().manual_seed(3)).state_dict()
            for _ in range(2)
        )
        assert all(torch.equal(one[name], two[name]) for name in one)
        # 704 draws: the standard error is 3 %
        assert abs(one["embedding.weight"].std() * 8 - 1) < 0.1

    def test_search_rejects_a_model_in_training_mode(self, rng):
        with pytest.raises(ValueError, match="training is True"):
            small_model(rng).start(batch(rng)[0])

    def test_dropout_acts_in_training_only(self, rng):
        model = EncoderDecoder(small_config(), dropout=0.3, generator=rng)
        source_ids, ids, _ = batch(rng)
        assert not torch.equal(model(source_ids, ids)[0], model(source_ids, ids)[0])
        model.eval()
        assert torch.equal(model(source_ids, ids)[0], model(source_ids, ids)[0])


def test_encoder_decoder_learns_to_reverse(rng):
    """Reverse three tokens, then end; judged on sources drawn anew."""
    eos = 0
    config = dataclasses.replace(transformer_tiny(V), d_model=32, d_ff=64, n_layers=1)
    model = EncoderDecoder(config, generator=rng)
    optimizer = torch.optim.AdamW(model.parameters(), lr=5e-3)

    def draw(n):
        source_ids = torch.randint(1, V, (n, 3), generator=rng)
        end = torch.full((n, 1), eos)
        return source_ids, torch.cat([end, source_ids.flip(1), end], dim=1)

    for _ in range(250):
        source_ids, text = draw(32)
        loss = model(source_ids, text[:, :-1], text[:, 1:])[1]
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
    source_ids, text = draw(50)
    start, first = model.eval().start(source_ids), text[:, 0]
    found = greedy_search(start, first, eos_id=eos, max_length=5)
    n_right = sum(list(h.ids) == t for h, t in zip(found, text[:, 1:].tolist(), strict=True))
    assert n_right >= 45  # guessing gets one in a thousand right
    beams = beam_search(start, first, n_beams=3, eos_id=eos, max_length=5)
    assert all(b[0].log_prob >= h.log_prob - 1e-5 for b, h in zip(beams, found, strict=True))
