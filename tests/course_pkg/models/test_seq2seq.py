"""Encoder and decoder with and without attention: the formulas, padding, and what they learn."""

import pytest
import torch

from course_pkg.decoding.beam_search import greedy_search
from course_pkg.layers.attention import AdditiveScore, BilinearScore, DotScore, ScaledDotScore
from course_pkg.layers.recurrent import ElmanCell, GRUCell, LSTMCell
from course_pkg.models import IGNORE
from course_pkg.models.seq2seq import Seq2Seq, ignore_after_eos

CLOSE = {"rtol": 0.0, "atol": 1e-10}  # float64 sums of a few dozen terms
EOS = 2


def no_score() -> None:
    return None


SCORES = [
    no_score,
    DotScore,
    ScaledDotScore,
    lambda: BilinearScore(6, 6),
    lambda: AdditiveScore(6, 6, 4),
]
ATTENTIVE = SCORES[1:]


def small(rng, make_score=DotScore, **kwargs) -> Seq2Seq:
    settings = {"d_embedding": 4, "d_hidden": 6, "n_layers": 2, "eos_id": EOS}
    return Seq2Seq(9, 7, **(settings | kwargs), score=make_score(), generator=rng).double().eval()


def batch(rng):
    source_ids = torch.randint(9, (3, 5), generator=rng)
    ids = torch.randint(7, (3, 4), generator=rng)
    ids[:, 0] = EOS
    return source_ids, ids, torch.tensor([5, 2, 3])


@pytest.mark.parametrize("cell", [ElmanCell, LSTMCell, GRUCell])
@pytest.mark.parametrize("make_score", SCORES)
@pytest.mark.parametrize("fused", [False, True])
def test_teacher_forcing_equals_step_by_step_decoding(make_score, cell, fused, rng):
    """The context that training sees is the one that prediction sees, at every step."""
    model = small(rng, make_score, cell=cell, fused=fused)
    source_ids, ids, lengths = batch(rng)
    forced = model(source_ids, ids, source_lengths=lengths)[0].log_softmax(-1)
    decoding = model.start(source_ids, lengths)
    for t in range(ids.shape[1]):
        log_probs, decoding = decoding.advance(ids[:, t])
        torch.testing.assert_close(log_probs, forced[:, t], **CLOSE)
        torch.testing.assert_close(log_probs.exp().sum(-1), torch.ones(3).double(), **CLOSE)


@pytest.mark.parametrize("make_score", SCORES)
def test_seq2seq_ignores_source_padding(make_score, rng):
    model = small(rng, make_score)
    source_ids, ids, lengths = batch(rng)
    logits, _ = model(source_ids, ids, source_lengths=lengths)
    garbage = source_ids.clone()
    garbage[1, 2:], garbage[2, 3:] = 8, 0
    assert torch.equal(model(garbage, ids, source_lengths=lengths)[0], logits)
    alone, _ = model(source_ids[1:2, :2], ids[1:2])
    torch.testing.assert_close(logits[1:2], alone, **CLOSE)


@pytest.mark.parametrize("make_score", ATTENTIVE)
def test_attention_weights_skip_padding_and_sums_to_one(make_score, rng):
    model = small(rng, make_score)
    source_ids, ids, lengths = batch(rng)
    weights = model.align(source_ids, ids, lengths)
    assert weights.shape == (3, 4, 5)
    torch.testing.assert_close(weights.sum(-1), torch.ones(3, 4).double(), **CLOSE)
    for row, length in enumerate(lengths.tolist()):
        assert (weights[row, :, :length] > 0).all()
        assert not weights[row, :, length:].any()


@pytest.mark.parametrize("make_score", SCORES)
def test_seq2seq_matches_published_equations_by_hand(make_score, rng):
    """One row, one layer, position by position, from the library's cells and plain loops."""
    model = small(rng, make_score, n_layers=1, cell=GRUCell)
    source_ids, ids = torch.tensor([[3, 8, 1]]), torch.tensor([[EOS, 5]])
    logits, _ = model(source_ids, ids)
    gru = model.encoder.stack.kernel
    states, final = gru(model.encoder.embedding(source_ids))
    summary = torch.cat([final[0, 0], final[1, 0]])
    hidden = summary
    cell = torch.nn.GRUCell(4, 6, dtype=torch.float64)
    cell.load_state_dict(
        {name[: -len("_l0")]: w for name, w in model.decoder.kernel.state_dict().items()}
    )
    for t in range(2):
        hidden = cell(model.embedding(ids[0, t]), hidden)
        context = summary
        if model.score is not None:
            scores = [model.score(hidden[None, None], states[:, [s]]).reshape(()) for s in range(3)]
            weights = torch.stack(scores).exp() / sum(score.exp() for score in scores)
            context = sum(weight * state for weight, state in zip(weights, states[0], strict=True))
        combined = torch.tanh(model.combine(torch.cat([hidden, context])))
        torch.testing.assert_close(logits[0, t], model.output(combined), **CLOSE)


def test_seq2seq_ignores_the_future_of_the_target(rng):
    model = small(rng)
    source_ids, ids, lengths = batch(rng)
    changed = ids.clone()
    changed[:, 2:] = (ids[:, 2:] + 1) % 7
    logits, logits_changed = (
        model(source_ids, i, source_lengths=lengths)[0] for i in (ids, changed)
    )
    assert torch.equal(logits[:, :2], logits_changed[:, :2])
    assert (logits[:, 2:] != logits_changed[:, 2:]).any()


def test_loss_counts_targets_up_to_the_first_eos_only(rng):
    model = small(rng)
    source_ids, ids, lengths = batch(rng)
    targets = torch.tensor([[4, EOS, 1, EOS], [EOS, EOS, EOS, EOS], [3, 5, 6, IGNORE]])
    logits, loss = model(source_ids, ids, targets, source_lengths=lengths)
    log_probs = logits.log_softmax(-1)
    counted = [(0, 0, 4), (0, 1, EOS), (1, 0, EOS), (2, 0, 3), (2, 1, 5), (2, 2, 6)]
    expected = -sum(log_probs[b, t, target] for b, t, target in counted) / 6
    torch.testing.assert_close(loss, expected, **CLOSE)


def test_ignore_after_eos_keeps_the_first_eos():
    targets = torch.tensor([[4, EOS, 1, EOS], [5, 6, 1, 3]])
    expected = [[4, EOS, IGNORE, IGNORE], [5, 6, 1, 3]]
    assert ignore_after_eos(targets, EOS).tolist() == expected


@pytest.mark.parametrize("make_score", SCORES)
def test_seq2seq_gives_every_parameter_a_gradient(make_score, rng):
    model = small(rng, make_score)
    source_ids, ids, lengths = batch(rng)
    model(source_ids, ids, ids.roll(-1, dims=1), source_lengths=lengths)[1].backward()
    for name, parameter in model.named_parameters():
        assert parameter.grad.abs().sum() > 0, name


def test_selected_rows_go_on_as_they_were(rng):
    model = small(rng)
    source_ids, ids, lengths = batch(rng)
    _, decoding = model.start(source_ids, lengths).advance(ids[:, 0])
    log_probs, _ = decoding.advance(ids[:, 1])
    rows = torch.tensor([2, 0, 0, 1])
    selected, _ = decoding.select(rows).advance(ids[rows, 1])
    torch.testing.assert_close(selected, log_probs[rows], **CLOSE)


def test_seq2seq_rejects_an_odd_width(rng):
    with pytest.raises(ValueError, match="d_hidden is 5"):
        small(rng, d_hidden=5)


def test_align_rejects_a_model_without_attention(rng):
    source_ids, ids, lengths = batch(rng)
    with pytest.raises(ValueError, match="score is None"):
        small(rng, no_score).align(source_ids, ids, lengths)


def reversal_batch(rng, n_rows, length):
    words = torch.randint(3, 9, (n_rows, length), generator=rng)
    eos = torch.full((n_rows, 1), EOS)
    target = words.flip(1)
    return words, torch.cat([eos, target], dim=1), torch.cat([target, eos], dim=1)


@pytest.mark.parametrize("make_score", [DotScore, lambda: AdditiveScore(32, 32, 16)])
def test_attention_learns_to_reverse(make_score, rng):
    model = Seq2Seq(9, 9, 16, 32, eos_id=EOS, score=make_score(), cell=GRUCell, generator=rng)
    optimizer = torch.optim.Adam(model.parameters(), lr=0.01)
    for step in range(250):
        optimizer.zero_grad()
        _, loss = model(*reversal_batch(rng, 32, 2 + step % 4))
        loss.backward()
        optimizer.step()
    source_ids, _, targets = reversal_batch(rng, 50, 5)
    model.eval()
    found = greedy_search(model.start(source_ids), torch.full((50,), EOS), eos_id=EOS, max_length=9)
    right = [list(h.ids) == target for h, target in zip(found, targets.tolist(), strict=True)]
    assert sum(right) >= 45
