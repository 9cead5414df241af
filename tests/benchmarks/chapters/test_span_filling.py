"""Gaps are made, filled and scored by hand."""

import pytest
import torch

from benchmarks.chapters import span_filling
from benchmarks.chapters.span_filling import Gaps, fill, score
from course_pkg.models.transformer import EncoderDecoder, transformer_tiny
from course_pkg.text.batches.masking import fill_sentinels

GAPS = Gaps(vocab_size=10, eos_id=0)
S, T, U = GAPS.sentinel_ids[:3]


def test_score_counts_words_in_place_and_whole_spans():
    pairs = [([1, S, 4, T], [S, 2, 3, T, 5, U])]
    assert score(GAPS, pairs, [[S, 2, 3, T, 5, U]]) == (100, 100)
    # One of three words right, and no span: a span that is missing, one that is too long.
    assert score(GAPS, pairs, [[S, 2, 9, 9]]) == (pytest.approx(100 / 3), 0)
    assert score(GAPS, pairs, [[]]) == (0, 0)


def test_gaps_are_drawn_anew_and_can_be_filled_again():
    story, generator = list(range(1, 10)) * 4, torch.Generator().manual_seed(3)
    first, second = GAPS.make(story, generator), GAPS.make(story, generator)
    assert first != second
    assert fill_sentinels(*first, GAPS.sentinel_ids) == story


def test_model_learns_to_tell_what_is_in_the_gaps(monkeypatch):
    monkeypatch.setattr(span_filling, "BATCH_SIZE", 8)
    stories = [[1, 2, 3, 4, 5, 6, 7, 8]] * 16  # one story, so that every gap has one answer
    generator = torch.Generator().manual_seed(0)
    model = EncoderDecoder(transformer_tiny(GAPS.vocab_size, 32), generator=generator)
    pairs = [GAPS.make(stories[0], torch.Generator().manual_seed(n)) for n in range(8)]
    before = score(GAPS, pairs, fill(model, GAPS, pairs, "cpu"))[0]
    span_filling.train(model, GAPS, stories, 60, "cpu")
    after = score(GAPS, pairs, fill(model, GAPS, pairs, "cpu"))[0]
    assert before < 50 < after
