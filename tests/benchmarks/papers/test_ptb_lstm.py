"""Zaremba's recipe: each update is the one that the authors' program makes."""

import pytest
import torch
from torch.nn import functional as F

from benchmarks.papers import ptb_lstm
from benchmarks.papers.ptb_lstm import Setting
from course_pkg.evaluation.likelihood import evaluate
from course_pkg.layers.recurrent import initialise_uniform
from course_pkg.models.recurrent import RecurrentLM
from course_pkg.text.corpora import Corpus

TINY = Setting(7, 4, 0.0, 0.3, n_epochs=3, n_constant=1, divisor=2.0, published=(9.0, 9.0))
CLIP_NORM = 0.4  # short enough to bind here, as 5 does there


@pytest.fixture(scope="module")
def corpus() -> Corpus:
    """160 words with their ends: two full pieces of 4 for each of 20 streams."""
    lines = [
        "the cat sat on the mat <unk>",
        "a dog ran off the mat N",
        "the dog sat on a cat <unk>",
    ]
    text = [lines[(number * number) % 3] for number in range(20)]
    return Corpus("toy", "here", "none", "animals", text, text[:3], text[3:6])


def by_hand(corpus: Corpus) -> RecurrentLM:
    """Train as main.lua does: loss summed over steps, averaged over streams, rate 1, then less."""
    tokenizer, train, _, _ = ptb_lstm.encode(corpus)
    model = RecurrentLM(tokenizer.vocab_size, TINY.width, TINY.width, 2)
    initialise_uniform(model, TINY.bound, torch.Generator().manual_seed(0))
    stream = torch.tensor([0, *(token for line in train for token in (*line, 0))])
    ids, targets = stream[:-1].view(20, 8), stream[1:].view(20, 8)
    for epoch in range(TINY.n_epochs):
        state = None
        rate = 1.0 / TINY.divisor ** max(0, epoch + 1 - TINY.n_constant)
        for piece in (slice(0, 4), slice(4, 8)):
            model.zero_grad()
            logits, _, state = model.forward_from(state, ids[:, piece])
            state = tuple(part.detach() for part in state)
            wanted = targets[:, piece].flatten()
            (F.cross_entropy(logits.flatten(0, 1), wanted, reduction="sum") / 20).backward()
            norm = torch.nn.utils.clip_grad_norm_(model.parameters(), CLIP_NORM)
            assert norm > CLIP_NORM
            with torch.no_grad():
                for weight in model.parameters():
                    weight -= rate * weight.grad
    return model.eval()


def test_updates_are_those_of_the_authors_program_matches_torch(corpus, monkeypatch, tmp_path):
    monkeypatch.setattr(ptb_lstm, "CLIP_NORM", CLIP_NORM)
    reached = ptb_lstm.train(TINY, corpus, folder=tmp_path)
    _, _, valid, test = ptb_lstm.encode(corpus)
    twin = by_hand(corpus)
    for part, documents in (("valid", valid), ("test", test)):
        expected = evaluate(twin, documents, eos_id=0, as_stream=True).perplexity
        # 1e-5: float32, and 20 times the mean is not rounded as the sum is.
        assert reached[f"{part}_perplexity"] == pytest.approx(expected, rel=1e-5)
    assert reached["n_parameters"] == sum(p.numel() for p in twin.parameters())


def test_finished_run_is_not_trained_again_when_resumed(corpus, tmp_path):
    first = ptb_lstm.train(TINY, corpus, folder=tmp_path)
    assert ptb_lstm.train(TINY, corpus, folder=tmp_path) == first
