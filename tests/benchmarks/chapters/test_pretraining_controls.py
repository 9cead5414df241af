"""What is chosen, and that nothing is measured twice."""

from types import SimpleNamespace

import pytest

from benchmarks.chapters import pretraining_controls as controls


@pytest.fixture
def begun(monkeypatch):
    """A record in which the fewest tokens were read at both rates."""
    made = object.__new__(controls.Controls)
    made.text = SimpleNamespace(
        parts=[(0, 9, 1)], about={"parts": {controls.WIKIPEDIA: {"first": 3, "end": 8}}}
    )
    made.recording = SimpleNamespace(content={"runs": {}, "trec": {"gpt-small": {}}})
    asked = []

    def run(name, parts, n_tokens, lr, dropout):
        asked.append((name, parts, n_tokens, dropout))
        made.recording.content["runs"][name] = {"held_out_nats": abs(lr - controls.RATES[1])}

    monkeypatch.setattr(made, "run", run)
    return made, asked


def test_rate_is_the_one_that_leaves_fewer_nats(begun):
    made, asked = begun
    assert made.better_rate() == controls.RATES[1]
    assert [n for _, _, n, _ in asked] == [controls.N_TOKENS] * 2


def test_articles_are_read_alone_and_with_dropout_only_when_read_again(begun):
    made, asked = begun
    made.wikipedia(0.02)
    assert [(parts, n, dropout) for _, parts, n, dropout in asked] == [
        ([(3, 8, 1)], 5 * passes, controls.DROPOUT if passes > 1 else 0.0)
        for passes in controls.N_PASSES
    ]


def test_questions_that_are_recorded_are_not_asked_again(begun, monkeypatch):
    made, _ = begun
    monkeypatch.setattr(controls, "trained", lambda *a: pytest.fail("asked again"))
    made.questions("gpt-small", SimpleNamespace())
