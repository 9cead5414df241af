import pytest
import torch
from torch import nn
from transformers import LlamaConfig
from transformers.activations import NewGELUActivation
from transformers.models.llama.modeling_llama import LlamaMLP

from course_pkg.layers.attention import MultiHeadAttention, padding_mask
from course_pkg.layers.blocks import (
    ACTIVATIONS,
    BLOCKS,
    BlockCache,
    FeedForward,
    LayerNorm,
    PostNormBlock,
    PreNormBlock,
    RMSNorm,
    Trace,
)
from course_pkg.models.transformer_config import NORMS, TransformerConfig, config_norm

B, T, S, H, D, F = 2, 5, 7, 3, 12, 20
EXACT = {"rtol": 1e-10, "atol": 1e-10}


def normal(rng, *shape):
    return torch.randn(*shape, generator=rng, dtype=torch.float64)


def randomised(module, rng):
    module.double()
    for parameter in module.parameters():
        parameter.data.normal_(std=0.5, generator=rng)
    return module


def assert_same_values_and_gradients(ours, theirs, x):
    """Compare two modules at x in value, and in the gradient of x and of every parameter."""
    results = []
    for module in (ours, theirs):
        out = module(x)
        wanted = [x, *module.parameters()]
        results.append([out, *torch.autograd.grad(out.square().sum(), wanted)])
    for our, their in zip(*results, strict=True):
        torch.testing.assert_close(our, their, **EXACT)


@pytest.mark.parametrize("fused", [False, True])
@pytest.mark.parametrize("d_model", [3, 8])
class TestNorms:
    @pytest.mark.parametrize("has_bias", [False, True])
    def test_layer_norm_matches_torch(self, rng, fused, d_model, has_bias):
        ours = randomised(LayerNorm(d_model, eps=1e-3, has_bias=has_bias, fused=fused), rng)
        theirs = nn.LayerNorm(d_model, eps=1e-3, bias=has_bias).double()
        theirs.load_state_dict(ours.state_dict())
        assert_same_values_and_gradients(ours, theirs, normal(rng, B, T, d_model).requires_grad_())

    def test_rms_norm_matches_torch(self, rng, fused, d_model):
        ours = randomised(RMSNorm(d_model, eps=1e-3, fused=fused), rng)
        theirs = nn.RMSNorm(d_model, eps=1e-3).double()
        theirs.load_state_dict(ours.state_dict())
        assert_same_values_and_gradients(ours, theirs, normal(rng, B, T, d_model).requires_grad_())


def norm_of(name):
    """Return the maker of a norm by its name in a config."""
    sizes = {"vocab_size": 1, "context_length": 1, "d_model": 2, "n_heads": 1, "n_layers": 1}
    return config_norm(TransformerConfig(**sizes, d_ff=1, norm=name))


ACTIVATION_ORACLES = {
    "relu": nn.ReLU(),
    "gelu": nn.GELU(),
    "gelu_tanh": NewGELUActivation(),
    "silu": nn.SiLU(),
    "swiglu": nn.SiLU(),  # of the half that is not multiplied
}


class TestFeedForward:
    @pytest.mark.parametrize("activation", ACTIVATIONS)
    @pytest.mark.parametrize("has_bias", [False, True])
    def test_feed_forward_matches_torch(self, rng, activation, has_bias):
        ours = randomised(FeedForward(D, F, activation=activation, has_bias=has_bias), rng)
        ours.gate = None
        theirs = nn.Sequential(ours.expand, ACTIVATION_ORACLES[activation], ours.contract)
        assert_same_values_and_gradients(ours, theirs, normal(rng, B, T, D).requires_grad_())

    def test_swiglu_matches_transformers(self, rng):
        ours = randomised(FeedForward(D, F, activation="swiglu", has_bias=False), rng)
        theirs = LlamaMLP(
            LlamaConfig(hidden_size=D, intermediate_size=F, num_attention_heads=H)
        ).double()
        names = {"expand": "gate_proj", "gate": "up_proj", "contract": "down_proj"}
        for our, their in names.items():
            getattr(theirs, their).load_state_dict(getattr(ours, our).state_dict())
        x = normal(rng, B, T, D)
        torch.testing.assert_close(ours(x), theirs(x), **EXACT)

    def test_feed_forward_rejects_an_unknown_activation(self):
        with pytest.raises(ValueError, match="activation is 'tanh'; it must be one of"):
            FeedForward(D, F, activation="tanh")

    @pytest.mark.parametrize("activation", ACTIVATIONS)
    def test_every_activation_is_zero_at_zero(self, activation):
        assert ACTIVATIONS[activation](torch.zeros(1)).item() == 0.0

    @pytest.mark.parametrize("activation", ACTIVATIONS)
    @pytest.mark.parametrize("has_bias", [False, True])
    def test_each_position_is_transformed_by_itself_with_every_parameter(
        self, rng, activation, has_bias
    ):
        layer = randomised(FeedForward(D, F, activation=activation, has_bias=has_bias), rng)
        x = normal(rng, B, T, D)
        torch.testing.assert_close(layer(x)[:, 2:3], layer(x[:, 2:3]), **EXACT)
        layer(x).square().sum().backward()
        assert all(parameter.grad.abs().max() > 1e-6 for parameter in layer.parameters())


@pytest.mark.parametrize("name", NORMS)
class TestEveryNorm:
    def test_norm_takes_the_scale_off_each_vector_by_itself(self, rng, name):
        norm = norm_of(name)(D).double()
        x = normal(rng, B, T, D)
        # eps is 1e-5, beside a mean square of about 1
        torch.testing.assert_close(norm(100 * x), norm(x), rtol=1e-4, atol=1e-4)
        torch.testing.assert_close(norm(x)[:, 2:3], norm(x[:, 2:3]), **EXACT)
        mean_square = norm(x).square().mean(dim=-1)
        torch.testing.assert_close(mean_square, torch.ones(B, T).double(), rtol=1e-4, atol=1e-4)

    def test_norm_of_a_constant_vector_is_finite(self, name):
        for value in (0.0, 3.0):
            assert norm_of(name)(D)(torch.full((1, 1, D), value)).isfinite().all()


def make_block(rng, block=PreNormBlock, *, has_memory=False, dropout=0.0):
    return randomised(
        block(
            MultiHeadAttention(D, H, dropout=dropout),
            FeedForward(D, F, activation="relu"),
            lambda: LayerNorm(D),
            cross_attention=MultiHeadAttention(D, H) if has_memory else None,
            dropout=dropout,
        ),
        rng,
    )


def copy_attention(ours, theirs):
    parts = (ours.query, ours.key, ours.value)
    theirs.in_proj_weight.data = torch.cat([part.weight.data for part in parts])
    theirs.in_proj_bias.data = torch.cat([part.bias.data for part in parts])
    theirs.out_proj.load_state_dict(ours.output.state_dict())


def torch_layer(block, layer_type, is_pre_norm):
    """Return torch's encoder or decoder layer with the weights of a block."""
    layer = layer_type(D, H, F, dropout=0.0, norm_first=is_pre_norm, batch_first=True).double()
    copy_attention(block.attention, layer.self_attn)
    if block.cross_attention is not None:
        copy_attention(block.cross_attention, layer.multihead_attn)
    layer.linear1.load_state_dict(block.feed_forward.expand.state_dict())
    layer.linear2.load_state_dict(block.feed_forward.contract.state_dict())
    for i, norm in enumerate(block.norms, start=1):
        getattr(layer, f"norm{i}").load_state_dict(norm.state_dict())
    return layer


@pytest.mark.parametrize("kind", [PreNormBlock, PostNormBlock])
class TestSerialBlock:
    def test_encoder_block_matches_torch(self, rng, kind):
        block = make_block(rng, kind)
        layer = torch_layer(block, nn.TransformerEncoderLayer, kind is PreNormBlock)
        x, lengths = normal(rng, B, T, D), torch.tensor([5, 3])
        out = block(x, mask=padding_mask(lengths, T))
        expected = layer(x, src_key_padding_mask=torch.arange(T) >= lengths.unsqueeze(-1))
        torch.testing.assert_close(out, expected, **EXACT)

    def test_decoder_block_matches_torch(self, rng, kind):
        block = make_block(rng, kind, has_memory=True)
        layer = torch_layer(block, nn.TransformerDecoderLayer, kind is PreNormBlock)
        x, memory, lengths = normal(rng, B, T, D), normal(rng, B, S, D), torch.tensor([4, 7])
        out = block(x, memory, memory_mask=padding_mask(lengths, S), is_causal=True)
        expected = layer(
            x,
            memory,
            tgt_mask=torch.ones(T, T, dtype=torch.bool).triu(1),
            memory_key_padding_mask=torch.arange(S) >= lengths.unsqueeze(-1),
        )
        torch.testing.assert_close(out, expected, **EXACT)


class TestBlocks:
    @pytest.mark.parametrize("has_memory", [False, True])
    def test_blocks_follow_their_formulas(self, rng, has_memory):
        x, memory = normal(rng, B, T, D), normal(rng, B, S, D)
        for name, kind in BLOCKS.items():
            block = make_block(rng, kind, has_memory=has_memory)
            N = [*block.norms, *block.norms, *block.norms]  # "parallel" has one, used by all
            steps = [block.attention, block.feed_forward]
            if has_memory:
                steps.insert(1, lambda y, block=block: block.cross_attention(y, memory))
            if name in ("pre_norm", "post_norm"):
                expected = x
                for norm, step in zip(N, steps, strict=False):
                    if name == "pre_norm":
                        expected = expected + step(norm(expected))
                    else:
                        expected = norm(expected + step(expected))
            elif name == "single_residual":
                inner = x
                for norm, step in zip(N, steps, strict=False):
                    inner = step(norm(inner))
                expected = x + inner
            elif name in ("parallel", "parallel_two_norms"):
                expected = x + sum(step(norm(x)) for norm, step in zip(N, steps, strict=False))
            else:
                pytest.fail(f"no formula is written here for block {name!r}")
            out = block(x, memory if has_memory else None)
            torch.testing.assert_close(out, expected, **EXACT)

    def test_only_the_block_of_palm_shares_one_norm(self, rng):
        n_norms = {name: len(make_block(rng, kind).norms) for name, kind in BLOCKS.items()}
        assert n_norms == {name: 1 if name == "parallel" else 2 for name in BLOCKS}


class TestBlock:
    def test_block_rejects_a_memory_it_cannot_read_and_the_lack_of_one(self, rng):
        x = normal(rng, B, T, D)
        with pytest.raises(ValueError, match="memory is given: True"):
            make_block(rng)(x, x)
        with pytest.raises(ValueError, match="memory is given: False"):
            make_block(rng, has_memory=True)(x)

    @pytest.mark.parametrize("name", BLOCKS)
    def test_every_parameter_gets_a_gradient(self, rng, name):
        block = make_block(rng, BLOCKS[name], has_memory=True)
        block(normal(rng, B, T, D), normal(rng, B, S, D)).square().sum().backward()
        for name, parameter in block.named_parameters():
            # A bias of the keys adds the same to all scores of a query: softmax does not see it.
            is_seen = not name.endswith("attention.key.bias")
            assert (parameter.grad.abs().max() > 1e-6) == is_seen, name

    @pytest.mark.parametrize("name", BLOCKS)
    def test_dropout_acts_in_training_only(self, rng, name):
        block = make_block(rng, BLOCKS[name], dropout=0.5)
        x = normal(rng, B, T, D)
        assert not torch.equal(block(x), block(x))
        block.eval()
        assert torch.equal(block(x), block(x))

    def test_trace_notes_the_weights_of_both_attentions(self, rng):
        trace = Trace()
        make_block(rng, has_memory=True)(normal(rng, B, T, D), normal(rng, B, S, D), trace=trace)
        assert [w.shape for w in trace.attention] == [(B, H, T, T)]
        assert [w.shape for w in trace.cross_attention] == [(B, H, T, S)]

    def test_branched_cache_grows_by_itself(self, rng):
        block = make_block(rng)
        x, cache = normal(rng, B, T, D), BlockCache()
        block(x[:, :3], is_causal=True, cache=cache)
        branch = cache.branch()
        first = block(x[:, 3:], is_causal=True, cache=branch)
        assert (cache.attention.length, branch.attention.length) == (3, 5)
        torch.testing.assert_close(block(x[:, 3:], is_causal=True, cache=cache), first, **EXACT)
