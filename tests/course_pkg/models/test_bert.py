import copy
import re
from dataclasses import replace

import pytest
import torch
from torch import nn
from torch.nn import functional as F
from transformers.models.albert import AlbertConfig, AlbertModel
from transformers.models.bert import BertConfig, BertForPreTraining, BertModel
from transformers.models.deberta import DebertaConfig, DebertaModel

from course_pkg.layers.blocks import Trace
from course_pkg.models import IGNORE
from course_pkg.models.bert import (
    BERT,
    MaskedLMLoss,
    albert_tiny,
    bert_base,
    bert_large,
    bert_tiny,
    deberta_tiny,
)
from course_pkg.models.transformer import count_parameters
from course_pkg.models.transformer_config import (
    ATTENTION_POSITIONS,
    EMBEDDING_POSITIONS,
    TransformerConfig,
)
from course_pkg.weights.pretrained import bert_weights

B, T, V, H, L, CONTEXT = 2, 7, 11, 3, 2, 9
D, D_FF = 12, 20
EXACT = {"rtol": 1e-10, "atol": 1e-10}
LENGTHS = torch.tensor([7, 4])
MASK = torch.arange(T) < LENGTHS.unsqueeze(-1)


def small_config(**changes):
    sizes = {"vocab_size": V, "context_length": CONTEXT, "d_model": D, "n_heads": H}
    sizes |= {"n_layers": L, "d_ff": D_FF, "block": "post_norm"}
    return TransformerConfig(**(sizes | changes))


def small_bert(rng, *, config=None, **kwargs):
    model = BERT(config or small_config(), **kwargs).double()
    for parameter in model.parameters():
        parameter.data.normal_(std=0.4, generator=rng)
    return model


def batch(rng):
    ids = torch.randint(V, (B, T), generator=rng)
    segments = (torch.arange(T) >= 3).long().expand(B, T)
    return ids, segments


def oracle_config(**changes):
    sizes = {"vocab_size": V, "hidden_size": D, "num_hidden_layers": L, "num_attention_heads": H}
    sizes |= {"intermediate_size": D_FF, "max_position_embeddings": CONTEXT}
    sizes |= {"hidden_dropout_prob": 0.0, "attention_probs_dropout_prob": 0.0}
    # With a padding id transformers drops the gradient of that token's embedding.
    return sizes | {"pad_token_id": None} | changes


@pytest.mark.parametrize("fused", [False, True])
class TestParity:
    def test_bert_matches_transformers(self, rng, fused):
        oracle = BertForPreTraining(BertConfig(**oracle_config())).double()
        for parameter in oracle.parameters():
            parameter.data.normal_(std=0.4, generator=rng)
        model = BERT(small_config(), fused=fused).double()
        model.load_state_dict(bert_weights(dict(oracle.named_parameters())))
        ids, segments = batch(rng)
        targets = torch.randint(V, (B, T), generator=rng).masked_fill(~MASK, IGNORE)
        pair_targets = torch.tensor([1, 0])
        output = model(
            ids, segments=segments, mask=MASK, targets=targets, pair_targets=pair_targets
        )
        expected = oracle(
            ids,
            attention_mask=MASK,
            token_type_ids=segments,
            labels=targets,
            next_sentence_label=pair_targets,
        )
        torch.testing.assert_close(output.logits[MASK], expected.prediction_logits[MASK], **EXACT)
        torch.testing.assert_close(output.pair_logits, expected.seq_relationship_logits, **EXACT)
        torch.testing.assert_close(output.loss, expected.loss, **EXACT)
        output.loss.backward()
        expected.loss.backward()
        ours = {n: p.grad for n, p in model.named_parameters()}
        theirs = bert_weights({n: p.grad for n, p in oracle.named_parameters()})
        torch.testing.assert_close(ours, theirs, **EXACT)

    def test_hidden_states_and_heads_match_transformers(self, rng, fused):
        oracle = BertModel(BertConfig(**oracle_config())).double()
        model = BERT(small_config(), has_heads=False, fused=fused).double()
        model.load_state_dict(bert_weights(dict(oracle.named_parameters())))
        ids, segments = batch(rng)
        trace = Trace()
        x = model.encode(ids, segments=segments, trace=trace)
        expected = oracle(ids, token_type_ids=segments, output_hidden_states=True)
        torch.testing.assert_close(tuple(trace.hidden_states), expected.hidden_states, **EXACT)
        torch.testing.assert_close(model.pool(x), expected.pooler_output, **EXACT)

    def test_shared_layers_match_albert(self, rng, fused):
        config = AlbertConfig(**oracle_config(embedding_size=D, num_hidden_layers=3))
        oracle = AlbertModel(config).double()
        for parameter in oracle.parameters():
            parameter.data.normal_(std=0.4, generator=rng)
        # ALBERT also projects narrow embeddings up; ours are as wide as the model.
        oracle.encoder.embedding_hidden_mapping_in.weight.data = torch.eye(D).double()
        oracle.encoder.embedding_hidden_mapping_in.bias.data.zero_()
        rules = [
            ("encoder.albert_layer_groups.0.albert_layers.0.", "encoder.layer.0."),
            (".attention.query.", ".attention.self.query."),
            (".attention.key.", ".attention.self.key."),
            (".attention.value.", ".attention.self.value."),
            (".attention.dense.", ".attention.output.dense."),
            (".attention.LayerNorm.", ".attention.output.LayerNorm."),
            (".ffn.", ".intermediate.dense."),
            (".ffn_output.", ".output.dense."),
            (".full_layer_layer_norm.", ".output.LayerNorm."),
            ("pooler.", "pooler.dense."),
        ]
        weights = {}
        for name, tensor in oracle.named_parameters():
            for theirs, ours in rules:
                name = name.replace(theirs, ours)
            if "embedding_hidden_mapping_in" not in name:
                weights[name] = tensor
        config = small_config(shares_layers=True, n_layers=3, activation="gelu_tanh")
        model = BERT(config, has_heads=False, fused=fused).double()
        model.load_state_dict(bert_weights(weights))
        ids, segments = batch(rng)
        expected = oracle(ids, attention_mask=MASK, token_type_ids=segments).last_hidden_state
        torch.testing.assert_close(
            model.encode(ids, segments=segments, mask=MASK)[MASK], expected[MASK], **EXACT
        )

    def test_disentangled_attention_matches_deberta(self, rng, fused):
        config = DebertaConfig(
            **oracle_config(max_position_embeddings=T - 2, type_vocab_size=2),  # farther ones share
            relative_attention=True,
            position_biased_input=False,
            pos_att_type=["c2p", "p2c"],
        )
        oracle = DebertaModel(config).double().eval()
        for parameter in oracle.parameters():
            parameter.data.normal_(std=0.4, generator=rng)
        weights = {}
        for name, tensor in oracle.state_dict().items():
            name = name.replace("attention.self.pos_proj", "positions.key")
            name = name.replace("attention.self.pos_q_proj", "positions.query")
            if name.endswith("in_proj.weight"):  # of each head: its queries, keys, values
                parts = tensor.view(H, 3, -1, D).transpose(0, 1).flatten(1, 2)
                for part, rows in zip(("query", "key", "value"), parts, strict=True):
                    weights[name.replace("in_proj", part)] = rows
                weights[name.replace("in_proj.weight", "key.bias")] = torch.zeros(D)
            else:
                name = name.replace("self.q_bias", "self.query.bias")
                weights[name.replace("self.v_bias", "self.value.bias")] = tensor
        table = weights.pop("encoder.rel_embeddings.weight")
        positions = {
            re.sub(r"encoder.layer.(\d)", r"stack.blocks.\1.attention", name): weights.pop(name)
            for name in list(weights)
            if ".positions." in name
        }
        config = small_config(positions="disentangled", context_length=T - 2)
        model = BERT(config, has_heads=False, fused=fused).double()
        pooler = {f"pooler.dense.{name}": x for name, x in model.pooler.state_dict().items()}
        ours = bert_weights(weights | pooler) | positions
        ours |= {f"stack.blocks.{i}.attention.positions.table.weight": table for i in range(L)}
        model.load_state_dict(ours)
        ids, segments = batch(rng)
        expected = oracle(ids, attention_mask=MASK.long(), token_type_ids=segments)
        found = model.encode(ids, segments=segments, mask=MASK)
        # transformers takes the LayerNorms of DeBERTa in float32
        expected = expected.last_hidden_state[MASK]
        torch.testing.assert_close(found[MASK], expected, rtol=1e-4, atol=1e-5)

    def test_all_layers_of_a_deberta_share_one_table_of_distances(self, fused):
        model = BERT(deberta_tiny(V), has_heads=False, fused=fused)
        plain = BERT(replace(bert_tiny(V), positions="none"), has_heads=False)
        width = model.config.d_model
        projections = 2 * width**2 + width  # K_r has no bias, Q_r has one
        added = count_parameters(model) - count_parameters(plain)
        assert added == model.config.n_layers * projections + 2 * 64 * width


class TestSizes:
    @pytest.mark.parametrize(
        ("preset", "published"), [(bert_base, 109_482_240), (bert_large, 335_141_888)]
    )
    def test_parameter_count_matches_published(self, preset, published):
        with torch.device("meta"):
            assert count_parameters(BERT(preset(), has_heads=False)) == published

    def test_heads_add_a_layer_a_norm_a_bias_and_a_pair(self):
        with torch.device("meta"):
            heads = count_parameters(BERT(bert_base())) - 109_482_240
        assert heads == (768 * 768 + 768) + 2 * 768 + 30_522 + (2 * 768 + 2)

    def test_sharing_layers_saves_all_blocks_but_one(self):
        with torch.device("meta"):
            plain, shared = BERT(bert_tiny(V)), BERT(albert_tiny(V))
        block = count_parameters(shared.stack.blocks[0])
        assert count_parameters(plain) - count_parameters(shared) == block


class TestProperties:
    @pytest.mark.parametrize("positions", [*EMBEDDING_POSITIONS, *ATTENTION_POSITIONS])
    def test_padding_changes_nothing(self, rng, positions):
        model = small_bert(rng, config=small_config(positions=positions))
        ids, segments = batch(rng)
        padded = model.encode(ids, segments=segments, mask=MASK)
        short = model.encode(ids[1:, :4], segments=segments[1:, :4])
        torch.testing.assert_close(padded[1:, :4], short, **EXACT)

    def test_every_place_sees_both_sides(self, rng):
        model = small_bert(rng)
        ids, segments = batch(rng)
        before = model.encode(ids, segments=segments)
        ids[:, 3] = (ids[:, 3] + 1) % V
        assert (model.encode(ids, segments=segments) != before).any(-1).all()

    def test_without_positions_permuting_tokens_permutes_vectors(self, rng):
        model = small_bert(rng, config=small_config(positions="none"))
        ids, segments = batch(rng)
        order = torch.tensor([4, 0, 6, 2, 1, 5, 3])
        permuted = model.encode(ids[:, order], segments=segments[:, order])
        torch.testing.assert_close(
            permuted, model.encode(ids, segments=segments)[:, order], **EXACT
        )

    def test_segments_make_a_difference_and_default_to_the_first(self, rng):
        model = small_bert(rng)
        ids, segments = batch(rng)
        first = model.encode(ids, segments=torch.zeros_like(ids))
        torch.testing.assert_close(model.encode(ids), first, rtol=0, atol=0)
        assert (model.encode(ids, segments=segments) - first).abs().max() > 1e-3

    def test_every_parameter_gets_a_gradient(self, rng):
        model = small_bert(rng)
        ids = torch.arange(CONTEXT).expand(B, CONTEXT)
        segments = (torch.arange(CONTEXT) >= 3).long().expand(B, CONTEXT)
        model(
            ids, segments=segments, targets=ids, pair_targets=torch.tensor([0, 1])
        ).loss.backward()
        for name, parameter in model.named_parameters():
            is_seen = not name.endswith("key.bias")  # adds the same to all scores of a query
            assert (parameter.grad.abs().max() > 1e-9) == is_seen, name

    def test_dropout_acts_in_training_only(self, rng):
        model = small_bert(rng, dropout=0.3)
        ids, segments = batch(rng)
        assert not torch.equal(
            model.encode(ids, segments=segments), model.encode(ids, segments=segments)
        )
        model.eval()
        assert torch.equal(
            model.encode(ids, segments=segments), model.encode(ids, segments=segments)
        )


class TestHeads:
    def test_loss_is_the_sum_over_the_tasks_that_have_targets(self, rng):
        model = small_bert(rng)
        ids, segments = batch(rng)
        targets, pair_targets = ids.clone(), torch.tensor([1, 0])
        targets[:, 2:] = IGNORE
        output = model(ids, segments=segments, mask=MASK)
        assert output.loss is None
        tokens = F.cross_entropy(output.logits[:, :2].flatten(0, 1), targets[:, :2].flatten())
        pairs = F.cross_entropy(output.pair_logits, pair_targets)
        for kwargs, expected in [
            ({"targets": targets}, tokens),
            ({"pair_targets": pair_targets}, pairs),
            ({"targets": targets, "pair_targets": pair_targets}, tokens + pairs),
        ]:
            loss = model(ids, segments=segments, mask=MASK, **kwargs).loss
            torch.testing.assert_close(loss, expected, **EXACT)

    def test_token_head_shares_the_embedding_unless_untied(self, rng):
        for is_tied, n_tables in ((True, 1), (False, 2)):
            model = small_bert(rng, config=small_config(is_tied=is_tied))
            assert len([n for n, p in model.named_parameters() if p.shape == (V, D)]) == n_tables

    def test_model_without_heads_refuses_to_predict(self, rng):
        model = small_bert(rng, has_heads=False)
        ids, segments = batch(rng)
        assert model.pool(model.encode(ids, segments=segments)).shape == (B, D)
        with pytest.raises(ValueError, match="has_heads is False"):
            model(ids, segments=segments)

    @pytest.mark.parametrize("is_tied", [True, False])
    def test_loss_at_masked_tokens_alone_equals_the_whole_models(self, rng, is_tied):
        model = small_bert(rng, config=small_config(is_tied=is_tied))
        ids, segments = batch(rng)
        targets = torch.randint(V, (B, T), generator=rng).masked_fill(~MASK, IGNORE)
        rows = {"ids": ids, "segments": segments, "mask": MASK, "targets": targets}
        whole = model(**rows)
        logits, loss = MaskedLMLoss(model)(**rows)
        assert torch.allclose(loss, whole.loss, **EXACT)
        assert torch.allclose(logits, whole.logits[MASK], **EXACT)
        weights = [w for name, w in model.named_parameters() if "pair" not in name]
        pairs = [torch.autograd.grad(x, weights, allow_unused=True) for x in (loss, whole.loss)]
        for ours, oracle in zip(*pairs, strict=True):
            assert (ours is None) == (oracle is None)
            assert ours is None or torch.allclose(ours, oracle, **EXACT)

    def test_loss_at_masked_tokens_needs_heads(self, rng):
        with pytest.raises(ValueError, match="has_heads is False"):
            MaskedLMLoss(small_bert(rng, has_heads=False))

    def test_functions_of_ones_own_take_the_place_of_ours(self, rng):
        def my_attend(query, key, value, mask):
            return F.scaled_dot_product_attention(query, key, value, attn_mask=mask)

        mine = small_bert(rng, attend=my_attend, norm=lambda width: nn.LayerNorm(width, 1e-12))
        ours = BERT(small_config()).double()
        ours.load_state_dict(mine.state_dict())
        ids, segments = batch(rng)
        expected = ours.encode(ids, segments=segments, mask=MASK)
        torch.testing.assert_close(
            mine.encode(ids, segments=segments, mask=MASK), expected, **EXACT
        )

    def test_initial_weights_follow_from_the_generator(self):
        one, two = (
            BERT(bert_tiny(V), generator=torch.Generator().manual_seed(3)).state_dict()
            for _ in range(2)
        )
        assert all(torch.equal(one[name], two[name]) for name in one)
        assert abs(one["stack.blocks.0.attention.query.weight"].std().item() / 0.02 - 1) < 0.05

    def test_copies_share_nothing(self, rng):
        model = small_bert(rng)
        ids, segments = batch(rng)
        before = model(ids, segments=segments).logits
        twin = copy.deepcopy(model)
        twin.embedding.weight.data.zero_()
        assert torch.equal(model(ids, segments=segments).logits, before)


@pytest.mark.parametrize("shares_layers", [False, True])
def test_bert_learns_to_fill_in_ten_sentences(rng, shares_layers):
    """Mask one token of each sentence in turn; the rest of the sentence gives it away."""
    mask_id = V - 1
    config = small_config(d_model=24, d_ff=48, shares_layers=shares_layers)
    model = BERT(config, generator=rng)
    text = torch.randint(V - 1, (10, T), generator=rng)
    hidden = torch.eye(T, dtype=torch.bool).repeat(10, 1)  # each place of each sentence
    truth = text.repeat_interleave(T, dim=0)
    ids, targets = truth.masked_fill(hidden, mask_id), truth.masked_fill(~hidden, IGNORE)
    optimizer = torch.optim.AdamW(model.parameters(), lr=1e-2)
    for _ in range(150):
        loss = model(ids, targets=targets).loss
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
    assert loss.item() < 0.1  # 2.4 nats at the start
    assert (model(ids).logits.argmax(-1)[hidden] == truth[hidden]).all()
