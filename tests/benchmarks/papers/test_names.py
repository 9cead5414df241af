"""Names: the lectures' split to the letter, their first figure, and a whole small run."""

import math
from dataclasses import replace

import pytest

from benchmarks.papers import names
from course_pkg.evaluation.likelihood import evaluate
from course_pkg.models.ngram import NGram
from course_pkg.models.ngram.smoothing import AddK
from course_pkg.text.corpora.sources import read_local
from course_pkg.text.tokenizers import CharTokenizer


@pytest.mark.shared_data
def test_split_has_the_lectures_numbers_of_characters_matches_published(shared_data):
    parts = names.split(read_local(shared_data, "names/names.txt").split())
    # As printed in part 5 of the lectures, ends of names counted.
    assert [sum(len(name) + 1 for name in part) for part in parts] == [182_625, 22_655, 22_866]


@pytest.mark.shared_data
def test_bigram_on_the_names_it_counted_matches_published(shared_data):
    every = read_local(shared_data, "names/names.txt").split()
    tokenizer = CharTokenizer.train(every)
    ids = [tokenizer.encode(name) for name in every]
    model = NGram.fit(ids, 2, tokenizer.vocab_size, tokenizer.eos_id, smoothing=AddK(1.0))
    nats = evaluate(model, ids, eos_id=tokenizer.eos_id, batch_size=1024).nats_per_token
    # The lecture adds 228,146 logarithms one by one in float32, which loses 50 nats of 560,000:
    # 2.4544 there, 2.4546 in float64.
    assert nats == pytest.approx(names.PUBLISHED["2-gram"][0], abs=5e-4)


def test_every_model_learns_and_keeps_its_best_epoch(monkeypatch):
    complete = names.networks

    def short(tokenizer, longest):
        found = complete(tokenizer, longest).items()
        return {name: replace(network, n_epochs=4) for name, network in found}

    monkeypatch.setattr(names, "networks", short)
    made = [a + b + c for a in ("jo", "ma", "li", "an") for b in ("ha", "ri", "") for c in "nas"]
    found = names.measure(made, orders=(3,))
    assert list(found) == ["3-gram", "window of 3", "window of 8", "LSTM", "GPT"]
    uniform = math.log(len(set("".join(made))) + 1)
    for row in found.values():
        assert row["valid"] < uniform
    for name in ("LSTM", "GPT"):
        # 1e-6: the same sums in float32, over other batches.
        assert found[name]["valid"] == pytest.approx(min(found[name]["valid_by_epoch"]), abs=1e-6)


def test_figures_name_ours_beside_the_lectures():
    row = {"valid": 2.0, "test": 2.1, "n_parameters": 1234}
    ours, hierarchy = names.figures({"window of 8": row})
    assert (ours.ours, ours.published) == (2.0, 2.027)
    assert "1,234 parameters, test 2.100" in ours.subject
    assert hierarchy.ours is None
