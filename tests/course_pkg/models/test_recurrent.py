"""Recurrent models: carried state, truncation, padding, pooling, and what they learn."""

import math

import pytest
import torch
import torch.nn.functional as F
from torch import nn

from course_pkg.layers.recurrent import ElmanCell, GRUCell, LSTMCell, set_spectral_radius
from course_pkg.models import IGNORE, LanguageModel
from course_pkg.models.recurrent import (
    BidirectionalEncoder,
    RecurrentLM,
    SequenceClassifier,
    Tagger,
    TruncatedBPTT,
    gradient_norms_by_distance,
    last_pool,
    max_pool,
    mean_pool,
)
from course_pkg.text.batches import stream_batches
from course_pkg.training.trainer import Trainer, TrainerConfig

CLOSE = {"rtol": 0.0, "atol": 1e-10}  # float64 sums of a few dozen terms
CELLS = [ElmanCell, LSTMCell, GRUCell]


def small(rng, **kwargs) -> RecurrentLM:
    settings = {"vocab_size": 7, "d_embedding": 4, "d_hidden": 5, "n_layers": 2}
    return RecurrentLM(**(settings | kwargs), generator=rng).double()


@pytest.mark.parametrize(
    ("cell", "library"), [(ElmanCell, nn.RNN), (LSTMCell, nn.LSTM), (GRUCell, nn.GRU)]
)
def test_lm_matches_torch(cell, library, rng):
    model = small(rng, cell=cell, fused=False)
    twin = library(4, 5, 2, batch_first=True, dtype=torch.float64)
    twin.load_state_dict(model.stack.kernel.state_dict())
    ids, targets = torch.randint(7, (2, 2, 6), generator=rng)
    targets[1, 4:] = IGNORE
    logits, loss = model(ids, targets)
    outputs, _ = twin(model.embedding(ids))
    expected = F.linear(outputs, model.output.weight, model.output.bias)
    torch.testing.assert_close(logits, expected, **CLOSE)
    kept = targets != IGNORE
    expected_loss = -expected.log_softmax(-1)[kept].gather(1, targets[kept][:, None]).mean()
    torch.testing.assert_close(loss, expected_loss, **CLOSE)


@pytest.mark.parametrize("cell", CELLS)
def test_lm_fused_equals_written_out_in_value_and_gradient(cell, rng):
    model = small(rng, cell=cell, is_tied=False)
    ids, targets = torch.randint(7, (2, 3, 6), generator=rng)
    results = []
    for fused in (True, False):
        model.stack.fused = fused
        logits, loss = model(ids, targets)
        results.append([logits, loss, *torch.autograd.grad(loss, list(model.parameters()))])
    for one, other in zip(*results, strict=True):
        torch.testing.assert_close(one, other, **CLOSE)


def test_lm_is_a_language_model(rng):
    assert isinstance(small(rng), LanguageModel)
    assert isinstance(TruncatedBPTT(small(rng), 3), LanguageModel)


def test_lm_next_log_probs_equal_the_last_position_and_sums_to_one(rng):
    model = small(rng)
    ids = torch.randint(7, (3, 6), generator=rng)
    log_probs = model.next_log_probs(ids)
    torch.testing.assert_close(log_probs, model(ids)[0][:, -1].log_softmax(-1), **CLOSE)
    torch.testing.assert_close(log_probs.exp().sum(-1), torch.ones(3).double(), **CLOSE)


def test_lm_state_does_not_leak_from_one_batch_to_the_next(rng):
    model = small(rng)
    ids, others = torch.randint(7, (2, 3, 6), generator=rng)
    before = model(ids)[0]
    model(others)
    assert torch.equal(model(ids)[0], before)


def test_lm_carried_state_equals_one_long_reading(rng):
    model = small(rng)
    ids = torch.randint(7, (3, 9), generator=rng)
    whole, _ = model(ids)
    first, _, state = model.forward_from(None, ids[:, :4])
    second, _, _ = model.forward_from(state, ids[:, 4:])
    torch.testing.assert_close(torch.cat([first, second], dim=1), whole, **CLOSE)


def test_lm_tied_weights_are_shared_and_get_both_gradients(rng):
    tied = small(rng, d_embedding=5, is_tied=True)
    untied = small(rng, d_embedding=5)
    untied.load_state_dict(tied.state_dict())
    assert tied.output.weight is tied.embedding.weight
    n_saved = sum(p.numel() for p in untied.parameters()) - sum(
        p.numel() for p in tied.parameters()
    )
    assert n_saved == 7 * 5
    ids, targets = torch.randint(7, (2, 3, 6), generator=rng)
    for model in (tied, untied):
        model(ids, targets)[1].backward()
    both = untied.embedding.weight.grad + untied.output.weight.grad
    torch.testing.assert_close(tied.embedding.weight.grad, both, **CLOSE)


def test_lm_rejects_tied_weights_of_unequal_width(rng):
    with pytest.raises(ValueError, match="d_embedding is 4 and d_hidden is 5"):
        small(rng, is_tied=True)


def test_lm_drops_inputs_and_outputs_in_training_only(rng):
    model = small(rng, dropout=0.5, n_layers=1)
    ids = torch.randint(7, (3, 6), generator=rng)
    torch.manual_seed(0)
    first, second = model(ids)[0], model(ids)[0]
    assert not torch.equal(first, second)
    model.eval()
    assert torch.equal(model(ids)[0], model(ids)[0])


def test_truncated_bptt_carries_the_value_but_not_the_graph(rng):
    model = small(rng)
    trained = TruncatedBPTT(model, batch_size=3)
    ids, targets = torch.randint(7, (2, 3, 8), generator=rng)
    first, loss = trained(ids[:, :4], targets[:, :4])
    loss.backward()
    model.zero_grad()
    second, loss = trained(ids[:, 4:], targets[:, 4:])
    loss.backward()  # a state still in the graph would run through the freed first piece and raise
    torch.testing.assert_close(torch.cat([first, second], dim=1), model(ids)[0], **CLOSE)

    # The gradient is that of the second piece alone, from the state as a constant.
    grads = [parameter.grad.clone() for parameter in model.parameters()]
    with torch.no_grad():
        _, _, state = model.forward_from(None, ids[:, :4])
    expected = torch.autograd.grad(
        model.forward_from(state, ids[:, 4:], targets[:, 4:])[1], list(model.parameters())
    )
    for grad, expected_grad in zip(grads, expected, strict=True):
        torch.testing.assert_close(grad, expected_grad, **CLOSE)


def test_truncated_bptt_forgets_on_reset(rng):
    trained = TruncatedBPTT(small(rng), batch_size=3)
    ids = torch.randint(7, (3, 4), generator=rng)
    first = trained(ids)[0]
    assert not torch.equal(trained(ids)[0], first)
    trained.reset()
    assert torch.equal(trained(ids)[0], first)


def test_truncated_bptt_in_evaluation_is_the_plain_model(rng):
    model = small(rng)
    trained = TruncatedBPTT(model, batch_size=3)
    ids = torch.randint(7, (3, 4), generator=rng)
    trained(ids)
    carried = trained.state_dict()["carried_0"].clone()
    trained.eval()
    other = torch.randint(7, (2, 6), generator=rng)  # another number of rows than streams
    assert torch.equal(trained(other)[0], model(other)[0])
    assert torch.equal(trained.next_log_probs(other), model.next_log_probs(other))
    assert torch.equal(trained.state_dict()["carried_0"], carried)


def test_truncated_bptt_resumes_exactly(rng):
    trained = TruncatedBPTT(small(rng), batch_size=3)
    ids = torch.randint(7, (3, 4), generator=rng)
    trained(ids)
    resumed = TruncatedBPTT(small(rng), batch_size=3)
    saved = {name: value.clone() for name, value in trained.state_dict().items()}
    resumed.load_state_dict(saved)
    assert torch.equal(resumed(ids)[0], trained(ids)[0])


def test_truncated_bptt_in_a_killed_training_resumes_exactly(tmp_path):
    """Data order, carried state, tied weights, dropout and optimizer, through the training loop."""

    def make(folder):
        rng = torch.Generator().manual_seed(5)
        model = RecurrentLM(11, 6, 6, 2, is_tied=True, dropout=0.1, generator=rng)
        batches = stream_batches(torch.arange(300) % 11, 7, 3)
        config = TrainerConfig(n_steps=24, log_every=2, checkpoint_every=4)
        return Trainer(TruncatedBPTT(model, 3), batches, config, folder=tmp_path / folder)

    unbroken = make("unbroken")
    unbroken.train()
    killed, n_drawn = make("killed"), 0
    next_batch = killed.run.batches.next_batch

    def next_batch_until_killed():
        nonlocal n_drawn
        n_drawn += 1
        if n_drawn == 16:  # between two checkpoints
            raise KeyboardInterrupt
        return next_batch()

    killed.run.batches.next_batch = next_batch_until_killed
    with pytest.raises(KeyboardInterrupt):
        killed.train()
    resumed = make("killed")
    resumed.train(resume=True)
    expected = unbroken.model.state_dict()
    for name, value in resumed.model.state_dict().items():
        assert torch.equal(value, expected[name]), name


def test_truncated_bptt_rejects_another_number_of_streams(rng):
    trained = TruncatedBPTT(small(rng), batch_size=3)
    with pytest.raises(ValueError, match="ids have 2 rows; the carried state has 3"):
        trained(torch.zeros(2, 4, dtype=torch.int64))


@pytest.mark.parametrize("radius", [0.5, 1.0, 1.5])
def test_gradient_norms_follow_powers_of_the_matrix_in_a_linear_network(radius, rng):
    """At a blank state without inputs tanh is the identity, so d h_T / d h_t = W^(T-t)."""
    model = small(rng, cell=ElmanCell, n_layers=1)
    stack = model.stack.kernel
    for weight in (stack.weight_ih_l0, stack.bias_ih_l0, stack.bias_hh_l0):
        nn.init.zeros_(weight)
    set_spectral_radius(stack.weight_hh_l0, radius)
    ids, targets = torch.randint(7, (2, 9), generator=rng), torch.tensor([3, 5])
    norms = gradient_norms_by_distance(model, ids, targets)
    probs = model.output.bias.softmax(0).expand(2, 7) - F.one_hot(targets, 7)
    grad = probs @ model.output.weight  # d loss / d h_T, (2, 5)
    expected = []
    for _ in range(9):
        expected.append(grad.norm(dim=1).mean())
        grad = grad @ stack.weight_hh_l0
    torch.testing.assert_close(norms, torch.stack(expected).detach(), **CLOSE)


@pytest.mark.parametrize("cell", CELLS)
@pytest.mark.parametrize("fused", [False, True])
def test_gradient_norms_match_finite_differences(cell, fused, rng):
    model = small(rng, cell=cell, fused=fused, n_layers=2)
    ids, targets = torch.randint(7, (1, 5), generator=rng), torch.tensor([4])
    norms = gradient_norms_by_distance(model, ids, targets)
    _, _, state = model.forward_from(None, ids[:, :3])  # the state two steps before the end
    squares = 0.0
    for part in range(len(state)):
        for entry in range(state[part].numel()):
            losses = []
            for shift in (1e-5, -1e-5):
                moved = [tensor.detach().clone() for tensor in state]
                moved[part].view(-1)[entry] += shift
                logits, _, _ = model.forward_from(tuple(moved), ids[:, 3:])
                losses.append(F.cross_entropy(logits[:, -1], targets).item())
            squares += ((losses[0] - losses[1]) / 2e-5) ** 2
    # central differences of step 1e-5 err by about 1e-10
    assert norms[2].item() == pytest.approx(math.sqrt(squares), rel=1e-6)


def test_lstm_carries_gradients_further_than_elman(rng):
    reach = {}
    for cell in (ElmanCell, LSTMCell):
        model = small(rng, cell=cell, d_hidden=16, n_layers=1)
        if cell is LSTMCell:
            nn.init.constant_(model.stack.kernel.bias_ih_l0[16:32], 4.0)  # an open forget gate
        ids = torch.randint(7, (8, 30), generator=rng)
        norms = gradient_norms_by_distance(model, ids, torch.randint(7, (8,), generator=rng))
        reach[cell] = (norms[25] / norms[1]).item()
    assert reach[ElmanCell] < 1e-3
    assert reach[LSTMCell] > 0.1


def encoder(rng, **kwargs) -> BidirectionalEncoder:
    return BidirectionalEncoder(7, 4, 5, 2, generator=rng, **kwargs).double()


@pytest.mark.parametrize("cell", CELLS)
def test_encoder_matches_torch(cell, rng):
    ours = encoder(rng, cell=cell, fused=False)
    twin = cell.kernel(4, 5, 2, batch_first=True, bidirectional=True, dtype=torch.float64)
    twin.load_state_dict(ours.stack.kernel.state_dict())
    ids = torch.randint(7, (3, 6), generator=rng)
    torch.testing.assert_close(ours(ids)[0], twin(ours.embedding(ids))[0], **CLOSE)


def test_pooling_equals_a_loop_over_rows(rng):
    states = torch.randn(3, 6, 10, generator=rng, dtype=torch.float64)
    lengths = torch.tensor([2, 6, 1])
    for row, length in enumerate(lengths.tolist()):
        real = states[row, :length]
        torch.testing.assert_close(mean_pool(states, lengths)[row], real.mean(0), **CLOSE)
        torch.testing.assert_close(max_pool(states, lengths)[row], real.max(0).values, **CLOSE)
        ends = torch.cat([real[-1, :5], real[0, 5:]])
        torch.testing.assert_close(last_pool(states, lengths)[row], ends, **CLOSE)


def test_last_pool_is_the_final_state_of_both_directions(rng):
    model = encoder(rng)
    ids, lengths = torch.randint(7, (3, 6), generator=rng), torch.tensor([2, 6, 1])
    states, (hidden, _) = model(ids, lengths)
    expected = torch.cat([hidden[-2], hidden[-1]], dim=-1)
    torch.testing.assert_close(last_pool(states, lengths), expected, **CLOSE)


@pytest.mark.parametrize("pool", [mean_pool, max_pool, last_pool])
@pytest.mark.parametrize("fused", [False, True])
def test_classifier_ignores_padding(pool, fused, rng):
    model = SequenceClassifier(encoder(rng, fused=fused), 3, pool=pool, generator=rng).double()
    ids, lengths = torch.randint(7, (2, 6), generator=rng), torch.tensor([3, 6])
    logits, loss = model(ids, lengths=lengths, targets=torch.tensor([2, 0]))
    alone, alone_loss = model(ids[:1, :3], lengths=lengths[:1], targets=torch.tensor([2]))
    torch.testing.assert_close(logits[:1], alone, **CLOSE)
    full_loss = model(ids[1:], lengths=lengths[1:], targets=torch.tensor([0]))[1]
    torch.testing.assert_close(loss, (alone_loss + full_loss) / 2, **CLOSE)


def test_tagger_ignores_padding_in_scores_and_loss(rng):
    model = Tagger(encoder(rng), 3, generator=rng).double()
    ids, lengths = torch.randint(7, (2, 6), generator=rng), torch.tensor([3, 6])
    targets = torch.randint(3, (2, 6), generator=rng)
    logits, loss = model(ids, lengths=lengths, targets=targets)
    alone, alone_loss = model(ids[:1, :3], lengths=lengths[:1], targets=targets[:1, :3])
    torch.testing.assert_close(logits[:1, :3], alone, **CLOSE)
    assert torch.equal(model(ids, lengths=lengths)[0], logits)
    full_loss = model(ids[1:], lengths=lengths[1:], targets=targets[1:])[1]
    torch.testing.assert_close(loss, (3 * alone_loss + 6 * full_loss) / 9, **CLOSE)


def train(model, batches, lr) -> float:
    optimizer = torch.optim.Adam(model.parameters(), lr=lr)
    for batch in batches:
        optimizer.zero_grad()
        _, loss = model(**batch)
        loss.backward()
        torch.nn.utils.clip_grad_norm_(model.parameters(), 1.0)
        optimizer.step()
    return loss.item()


@pytest.mark.parametrize("cell", CELLS)
def test_lm_learns_a_source_with_echoes_near_its_entropy(cell, rng):
    """Two fair coins, their repetition, a 2, and again: two coins' surprise in five tokens."""

    def batch():
        coins = torch.randint(2, (16, 5, 2), generator=rng)
        pause = torch.full((16, 5, 1), 2)
        stream = torch.cat([coins, coins, pause], dim=-1).flatten(1)
        ids = torch.cat([pause[:, 0], stream[:, :-1]], dim=1)
        return {"ids": ids, "targets": stream}

    model = RecurrentLM(3, 8, 16, cell=cell, generator=rng)
    train(model, (batch() for _ in range(200)), lr=0.02)
    held_out = [model(**batch())[1].item() for _ in range(10)]
    # fair coins cost log 2 each whatever they show, so the held-out loss has almost no spread
    assert sum(held_out) / 10 == pytest.approx(0.4 * math.log(2), abs=0.02)


def test_lm_learns_to_copy_across_a_gap(rng):
    """A word, three fillers, the same word: out of a bigram's reach, within a recurrent state's."""

    def batch():
        words = torch.randint(1, 6, (32, 1), generator=rng)
        text = torch.cat([words, torch.zeros(32, 3, dtype=torch.int64), words], dim=1)
        targets = text[:, 1:].clone()
        targets[:, :-1] = IGNORE
        return {"ids": text[:, :-1], "targets": targets}

    model = RecurrentLM(6, 8, 16, cell=GRUCell, generator=rng)
    assert train(model, (batch() for _ in range(150)), lr=0.02) < 0.05  # log 5 = 1.6 without


def test_tagger_learns_what_needs_the_future(rng):
    """Each token's tag is the parity of the token after it."""

    def batch():
        ids = torch.randint(7, (16, 6), generator=rng)
        targets = torch.cat([ids[:, 1:] % 2, torch.full((16, 1), IGNORE)], dim=1)
        return {"ids": ids, "lengths": torch.full((16,), 6), "targets": targets}

    model = Tagger(BidirectionalEncoder(7, 8, 12, cell=GRUCell, generator=rng), 2, generator=rng)
    assert train(model, (batch() for _ in range(120)), lr=0.03) < 0.05  # log 2 = 0.69 without


def test_truncated_bptt_begins_each_epoch_with_a_blank_state(rng):
    """The second epoch of a stream scores what the first one scored, if nothing was learned."""
    trained = TruncatedBPTT(small(rng), batch_size=3)
    batches = stream_batches(torch.arange(40) % 7, 5, 3, marks_start=True)
    with torch.no_grad():
        first, second = ([trained(**batch)[0] for batch in batches] for _ in range(2))
    assert len(first) > 1
    for ours, theirs in zip(first, second, strict=True):
        assert torch.equal(ours, theirs)
