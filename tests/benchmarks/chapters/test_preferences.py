"""Pairs of sentences that differ in one respect, and runs on checkpoints of random weights."""

import json

import pytest

from benchmarks.chapters import preferences
from course_pkg.weights.model_folders import load_model


def test_pairs_differ_in_the_verb_or_in_the_pronoun_alone():
    for is_distracted in (False, True):
        for first, second in preferences.agreement(is_distracted=is_distracted):
            differing = {
                (a, b) for a, b in zip(first.split(), second.split(), strict=True) if a != b
            }
            assert differing <= {("was", "were"), ("were", "was"), ("has", "have"), ("have", "has")}
            assert len(differing) == 1
    near, *_ = preferences.agreement(is_distracted=False)
    far, *_ = preferences.agreement(is_distracted=True)
    assert near == ("The boy was tired.", "The boy were tired.")
    assert far[0] == "The boy near the girls was tired."
    for first, second in preferences.pronouns(("nurse",)):
        assert first.replace(" she ", " he ") == second


@pytest.mark.parametrize("kind", ["gpt", "bert"])
def test_random_weights_prefer_whole_pairs_or_shared_words(kind, checkpoints):
    trained = load_model(checkpoints[kind])
    pairs = preferences.agreement(is_distracted=False)[:6]
    found = preferences.share(trained, pairs)
    turned = preferences.share(trained, [(second, first) for first, second in pairs])
    assert found + turned == pytest.approx(100)  # no ties
    assert 0 <= preferences.share(trained, pairs, shared_only=True) <= 100


def test_run_is_recorded(tmp_path, monkeypatch, checkpoints, capsys):
    by_name = {"gpt-small": "gpt", "bert-small": "bert"}
    monkeypatch.setattr(
        preferences, "load_pretrained", lambda name, device: load_model(checkpoints[by_name[name]])
    )
    monkeypatch.setattr(preferences, "NOUNS", preferences.NOUNS[:2])
    monkeypatch.setattr(preferences, "STATES", preferences.STATES[:1])
    monkeypatch.setattr(preferences, "SAYINGS", preferences.SAYINGS[:1])
    preferences.main(["--record", str(tmp_path / "r.json")])
    record = json.loads((tmp_path / "r.json").read_text())
    assert len(record["figures"]) == 8
    assert record["n_pairs"] == {"agreement": 8, "pronouns": 6}
    assert "it agrees across another noun" in capsys.readouterr().out
