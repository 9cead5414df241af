"""One prompt, by counting and by an LSTM: the record, and that the LSTM learns what it reads."""

from types import SimpleNamespace

import torch

from benchmarks.chapters import same_prompt
from benchmarks.weights import published_model
from course_pkg.results import benchmark


def test_the_lstm_learns_what_it_reads(monkeypatch):
    monkeypatch.setattr(same_prompt, "SHARE", 1)
    monkeypatch.setattr(same_prompt, "WIDTH", 16)
    monkeypatch.setattr(same_prompt, "LR", 3e-2)
    ids = torch.arange(5).repeat(4000)
    text = SimpleNamespace(ids=ids, tokenizer=SimpleNamespace(vocab_size=5))
    model = same_prompt.trained_lstm(text)
    with torch.no_grad():
        guesses = model(ids[None, :11])[0].argmax(-1)
    assert torch.equal(guesses[0, 2:], ids[3:12])


def test_the_record_continues_the_prompt_of_the_other_two():
    record = benchmark("same_prompt")
    assert record["prompt"] == published_model.PROMPT == benchmark("published_model")["prompt"]
    assert set(record["models"]) == {"5-gram", "LSTM"}
    for found in record["models"].values():
        assert len(found["text"].split()) > 5
        assert set(found["held_out_bits_per_byte"]) >= {"stories", "tales"}
