"""Beam search against greedy search and against the enumeration of every text."""

import itertools
import math
from collections import Counter
from dataclasses import replace

import pytest
import torch
from transformers import GPT2Config, GPT2LMHeadModel

from course_pkg.decoding.beam_search import (
    Continuation,
    TextContinuation,
    beam_search,
    greedy_search,
    length_penalty,
    sample_texts,
)
from course_pkg.layers.attention import DotScore
from course_pkg.models.gpt import GPT, gpt_tiny
from course_pkg.models.recurrent import RecurrentLM
from course_pkg.models.seq2seq import Seq2Seq
from course_pkg.models.window import FixedWindowLM
from course_pkg.weights.pretrained import gpt2_weights

EOS, V, LONGEST = 2, 3, 4


def lm(rng, vocab_size=V):
    model = FixedWindowLM(vocab_size, 2, 3, 5, eos_id=EOS, generator=rng).double()
    for parameter in model.parameters():
        parameter.data.mul_(2.0)  # sharper, so that hypotheses differ clearly
    return model.eval()


def blank(model, n_rows=1):
    return TextContinuation(model, torch.empty(n_rows, 0, dtype=torch.int64))


def every_text():
    """All texts that end in eos within LONGEST tokens, and all that are cut there."""
    others = [token for token in range(V) if token != EOS]
    for length in range(LONGEST):
        for words in itertools.product(others, repeat=length):
            yield (*words, EOS)
    yield from itertools.product(others, repeat=LONGEST)


def log_prob_of(model, text) -> float:
    ids = torch.tensor([[EOS, *text]])
    log_probs = model(ids)[0].log_softmax(-1)
    return sum(log_probs[0, t, token].item() for t, token in enumerate(text))


@pytest.mark.parametrize("alpha", [0.0, 0.6, 1.0])
def test_beam_with_exhaustive_width_equals_enumeration(alpha, rng):
    model = lm(rng)
    texts = {text: log_prob_of(model, text) for text in every_text()}
    assert sum(torch.tensor(list(texts.values())).exp()) == pytest.approx(1.0, abs=1e-6)
    scores = {text: log_prob / length_penalty(len(text), alpha) for text, log_prob in texts.items()}
    ranked = sorted(scores, key=lambda text: -scores[text])
    found = beam_search(
        blank(model),
        torch.tensor([EOS]),
        n_beams=len(texts),
        eos_id=EOS,
        max_length=LONGEST,
        alpha=alpha,
    )[0]
    assert [hypothesis.ids for hypothesis in found] == ranked
    for hypothesis in found:
        assert hypothesis.log_prob == pytest.approx(texts[hypothesis.ids], abs=1e-10)
        assert hypothesis.score == pytest.approx(scores[hypothesis.ids], abs=1e-10)


@pytest.mark.parametrize("alpha", [0.0, 1.0])
def test_beam_of_one_equals_greedy(alpha):
    for seed in range(20):
        rng = torch.Generator().manual_seed(seed)
        model, first = lm(rng, vocab_size=5), torch.tensor([EOS, 1, 4])
        greedy = greedy_search(blank(model, 3), first, eos_id=EOS, max_length=9)
        beams = beam_search(
            blank(model, 3), first, n_beams=1, eos_id=EOS, max_length=9, alpha=alpha
        )
        assert [found[0].ids for found in beams] == [hypothesis.ids for hypothesis in greedy]
        for found, hypothesis in zip(beams, greedy, strict=True):
            assert len(found) == 1
            assert found[0].log_prob == pytest.approx(hypothesis.log_prob, abs=1e-10)


def beam_search_on_lists(model, n_beams, alpha, *, places_come_back=True):
    """The docstring of `beam_search`, step by step, without tensors or an early stop."""
    beam, complete, n_places = [(0.0, ())], [], n_beams
    for length in range(1, LONGEST + 1):
        continued = [
            (log_prob + following, (*text, token))
            for log_prob, text in beam
            for token, following in enumerate(
                model.next_log_probs(torch.tensor([[EOS, *text]]))[0].tolist()
            )
        ]
        kept = sorted(continued, reverse=True)[:n_places]
        is_over = [text[-1] == EOS or length == LONGEST for _, text in kept]
        complete += [c for c, over in zip(kept, is_over, strict=True) if over]
        beam = [c for c, over in zip(kept, is_over, strict=True) if not over]
        n_places -= 0 if places_come_back else sum(is_over)
    ranked = sorted(complete, key=lambda c: -c[0] / length_penalty(len(c[1]), alpha))
    return [text for _, text in ranked[:n_beams]]


@pytest.mark.parametrize("alpha", [0.0, 0.8])
@pytest.mark.parametrize("n_beams", [2, 3, 5])
def test_places_of_finished_texts_are_filled_again_at_the_next_step(n_beams, alpha):
    settings = {"n_beams": n_beams, "eos_id": EOS, "max_length": LONGEST, "alpha": alpha}
    n_shrunk = 0
    for seed in range(12):
        model = lm(torch.Generator().manual_seed(seed), vocab_size=4)
        found = beam_search(blank(model), torch.tensor([EOS]), **settings)[0]
        assert [h.ids for h in found] == beam_search_on_lists(model, n_beams, alpha)
        shrinking = beam_search_on_lists(model, n_beams, alpha, places_come_back=False)
        n_shrunk += [h.ids for h in found] != shrinking
    assert n_shrunk > 0  # so the rule makes a difference here, and the test can see it


@pytest.mark.parametrize("n_beams", [2, 3, 7])
def test_beams_match_transformers_where_no_text_ends_early(n_beams):
    """What becomes of finished texts is decided differently there; the search is the same."""
    torch.manual_seed(n_beams)
    sizes = {"n_positions": 12, "n_embd": 12, "n_layer": 2, "n_head": 3}
    theirs = GPT2LMHeadModel(GPT2Config(vocab_size=11, **sizes)).double().eval()
    for parameter in theirs.parameters():
        parameter.data.normal_(std=0.4)
    ours = GPT(replace(gpt_tiny(11, 12), d_model=12, n_heads=3, n_layers=2, d_ff=48)).double()
    ours.load_state_dict(gpt2_weights(theirs.state_dict()))
    prompt = torch.tensor([[4, 9, 1]])
    expected = theirs.generate(
        prompt,
        attention_mask=torch.ones_like(prompt),
        num_beams=n_beams,
        num_return_sequences=n_beams,
        max_new_tokens=6,
        do_sample=False,
        length_penalty=0.0,
        eos_token_id=None,
        pad_token_id=0,
        return_dict_in_generate=True,
        output_scores=True,
    )
    found = beam_search(
        TextContinuation(ours.eval(), prompt[:, :-1]),
        prompt[:, -1],
        n_beams=n_beams,
        eos_id=None,
        max_length=6,
    )[0]
    assert [list(h.ids) for h in found] == expected.sequences[:, 3:].tolist()
    # the library keeps its sums in float32
    scores = expected.sequences_scores.tolist()
    assert [h.log_prob for h in found] == pytest.approx(scores, abs=1e-4)


def test_greedy_takes_the_most_probable_token_until_eos(rng):
    model = lm(rng, vocab_size=6)
    found = greedy_search(blank(model, 2), torch.tensor([0, 5]), eos_id=EOS, max_length=7)
    for first, hypothesis in zip([0, 5], found, strict=True):
        text = [first]
        while len(text) < 8 and (len(text) == 1 or text[-1] != EOS):
            text.append(int(model.next_log_probs(torch.tensor([text])).argmax()))
        assert list(hypothesis.ids) == text[1:]


def test_sampled_texts_come_as_often_as_they_are_probable(rng):
    model, n = lm(rng), 4000
    probs = {text: math.exp(log_prob_of(model, text)) for text in every_text()}
    found = sample_texts(
        blank(model, n), torch.full((n,), EOS), eos_id=EOS, max_length=LONGEST, generator=rng
    )
    counts = Counter(hypothesis.ids for hypothesis in found)
    assert set(counts) <= set(probs)
    for text, p in probs.items():
        # five standard deviations of a count
        assert abs(counts[text] - n * p) <= 5 * math.sqrt(n * p) + 1, text
    for hypothesis in found[:20]:
        assert hypothesis.log_prob == pytest.approx(math.log(probs[hypothesis.ids]), abs=1e-10)


def test_sampling_from_a_source_keeps_rows_apart_and_obeys_the_cuts(rng):
    model = Seq2Seq(9, 7, 4, 6, eos_id=EOS, score=DotScore(), generator=rng).double().eval()
    source_ids = torch.randint(9, (3, 5), generator=rng)
    start, first = model.start(source_ids), torch.full((3,), EOS)
    settings = {"eos_id": EOS, "max_length": 6}
    greedy = greedy_search(start, first, **settings)
    assert sample_texts(start, first, **settings, top_k=1, generator=rng) == greedy
    assert sample_texts(start, first, **settings, top_p=1e-6, generator=rng) == greedy
    one, same, other = (
        sample_texts(start, first, **settings, generator=torch.Generator().manual_seed(seed))
        for seed in (4, 4, 5)
    )
    assert one == same != other
    for row, hypothesis in enumerate(one):  # each of its own source
        targets = torch.tensor([hypothesis.ids])
        ids = torch.cat([torch.tensor([[EOS]]), targets[:, :-1]], dim=1)
        _, loss = model(source_ids[row : row + 1], ids, targets)
        assert -loss.item() * len(hypothesis.ids) == pytest.approx(hypothesis.log_prob, abs=1e-10)


def test_wider_beams_never_find_a_less_probable_best_text_than_greedy_here(rng):
    """Not a theorem of beam search, but of exhaustive search, which the widest here is."""
    model = lm(rng)
    widest = beam_search(
        blank(model), torch.tensor([EOS]), n_beams=31, eos_id=EOS, max_length=LONGEST
    )[0][0]
    for n_beams in (1, 2, 5):
        narrow = beam_search(
            blank(model), torch.tensor([EOS]), n_beams=n_beams, eos_id=EOS, max_length=LONGEST
        )[0][0]
        assert narrow.log_prob <= widest.log_prob + 1e-12


def test_rows_of_a_batch_are_searched_as_if_alone(rng):
    model = Seq2Seq(9, 7, 4, 6, eos_id=EOS, score=DotScore(), generator=rng).double().eval()
    source_ids = torch.randint(9, (3, 5), generator=rng)
    lengths = torch.tensor([5, 2, 3])
    settings = {"n_beams": 4, "eos_id": EOS, "max_length": 8, "alpha": 0.7}
    together = beam_search(model.start(source_ids, lengths), torch.full((3,), EOS), **settings)
    for row, length in enumerate(lengths.tolist()):
        alone = beam_search(
            model.start(source_ids[row : row + 1, :length]), torch.tensor([EOS]), **settings
        )[0]
        assert [h.ids for h in together[row]] == [h.ids for h in alone]
        for one, other in zip(together[row], alone, strict=True):
            assert one.score == pytest.approx(other.score, abs=1e-10)


def test_found_log_probs_equal_teacher_forcing(rng):
    model = Seq2Seq(9, 7, 4, 6, eos_id=EOS, score=DotScore(), generator=rng).double().eval()
    source_ids = torch.randint(9, (1, 5), generator=rng)
    for hypothesis in beam_search(
        model.start(source_ids), torch.tensor([EOS]), n_beams=3, eos_id=EOS, max_length=6
    )[0]:
        targets = torch.tensor([hypothesis.ids])
        ids = torch.cat([torch.tensor([[EOS]]), targets[:, :-1]], dim=1)
        _, loss = model(source_ids, ids, targets)
        assert -loss.item() * len(hypothesis.ids) == pytest.approx(hypothesis.log_prob, abs=1e-10)


def test_no_text_goes_on_after_eos_or_appears_twice(rng):
    model = lm(rng, vocab_size=5)
    found = beam_search(blank(model), torch.tensor([EOS]), n_beams=6, eos_id=EOS, max_length=7)[0]
    assert len({hypothesis.ids for hypothesis in found}) == len(found) == 6
    for hypothesis in found:
        assert EOS not in hypothesis.ids[:-1]
        assert hypothesis.ids[-1] == EOS or len(hypothesis.ids) == 7
    assert found == sorted(found, reverse=True)


def test_length_penalty_matches_published():
    assert length_penalty(1, 0.6) == 1.0
    assert length_penalty(7, 1.0) == 2.0
    assert length_penalty(19, 0.5) == 2.0


def test_length_penalty_makes_longer_texts_win(rng):
    """log 0.3 at once beats log 0.7 + 5 log 0.75 = -1.8, but not -1.8 over a penalty of 11/6."""

    class Chain:
        def __init__(self, length=0):
            self.length = length

        def advance(self, ids):
            probs = torch.tensor([0.7, 0.0, 0.3] if self.length == 0 else [0.75, 0.0, 0.25])
            return probs.double().log().expand(len(ids), 3), Chain(self.length + 1)

        def select(self, rows):
            return self

    assert isinstance(Chain(), Continuation)
    settings = {"n_beams": 2, "eos_id": EOS, "max_length": 6}
    plain = beam_search(Chain(), torch.tensor([EOS]), **settings)[0][0]
    normalised = beam_search(Chain(), torch.tensor([EOS]), **settings, alpha=1.0)[0][0]
    assert plain.ids == (EOS,)
    assert normalised.ids == (0,) * 6


def test_text_continuation_keeps_to_the_context_length(rng):
    class Short(RecurrentLM):
        context_length = 3

        def next_log_probs(self, ids):
            assert ids.shape[1] <= 3
            return super().next_log_probs(ids)

    model = Short(5, 4, 6, generator=rng).eval()
    greedy_search(blank(model), torch.tensor([1]), eos_id=EOS, max_length=6)


def test_search_rejects_a_model_in_training_mode(rng):
    """Dropout left on would answer another question at each step."""
    with pytest.raises(ValueError, match="training is True"):
        blank(lm(rng).train())
    model = Seq2Seq(9, 7, 4, 6, eos_id=EOS, generator=rng)
    with pytest.raises(ValueError, match="training is True"):
        model.start(torch.zeros(1, 3, dtype=torch.int64))


@pytest.mark.parametrize(
    ("wrong", "message"), [({"n_beams": 0}, "n_beams is 0"), ({"alpha": -0.5}, "alpha is -0.5")]
)
def test_beam_search_rejects_a_bad_setting(wrong, message, rng):
    settings = {"n_beams": 2, "eos_id": EOS, "max_length": 3}
    with pytest.raises(ValueError, match=message):
        beam_search(blank(lm(rng)), torch.tensor([EOS]), **(settings | wrong))
