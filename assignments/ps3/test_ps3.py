"""What is special to problem set 3: its inputs, its examples, and what its notebook shows."""

import numpy as np
import pytest
import torch
from torch import nn
from torch.func import functional_call
from torch.nn import functional as F

from tests.assignments.notebooks import arguments, parts_lost, run_whole

from .clip_global_norm import clip_global_norm, draw_long_gradients, draw_short_gradients
from .cross_entropy import cross_entropy
from .cross_entropy_gradient import cross_entropy_gradient
from .elman_step import draw_elman, elman_step
from .inputs import draw_extremes, draw_ignored, draw_losses
from .lstm_step import draw_lstm, lstm_step
from .problem_set import PROBLEM_SET
from .stream_pieces import draw_streams, stream_pieces
from .truncated_bptt import truncated_bptt
from .window_logits import window_logits

CHECKS = {check.item: check for check in PROBLEM_SET.checks}


@pytest.fixture
def same_random_state():
    """What runs while the test lasts leaves torch's generator alone."""
    state = torch.get_rng_state()
    yield
    assert torch.equal(torch.get_rng_state(), state)


# -- the checks ------------------------------------------------------------------------------------


def test_the_heart_of_each_item_is_worth_three_fifths():
    hearts = {
        "ps3_stream_pieces": {"inputs", "targets"},
        "ps3_window_logits": {"values", "starts"},
        "ps3_lstm_step": {"memory", "hidden"},
        "ps3_truncated_bptt": {"one piece", "many pieces"},
        "ps3_clip_global_norm": {"long gradients", "norm"},
    }
    for item, check in CHECKS.items():
        if check.chance:
            continue  # whose parts weigh alike
        heart = hearts.get(item, {"values"})
        worth = sum(part.weight for part in check.parts if part.name in heart)
        assert worth >= 0.6 * sum(part.weight for part in check.parts), item


@pytest.mark.parametrize(
    ("item", "slip", "lost"),
    [
        (
            "ps3_window_logits",
            "Before the text stands a vector of zeros instead of eos.",
            {"starts", "short texts"},
        ),
        ("ps3_cross_entropy", "Without any row that counts the loss is 0 / 0.", {"ignored"}),
        (
            "ps3_cross_entropy",
            "The loss is float64, whatever the dtype of the scores.",
            {"dtype"},
        ),
        (
            "ps3_cross_entropy_gradient",
            "The gradient is made in torch's default dtype, not in that of the logits.",
            {"dtype"},
        ),
        ("ps3_elman_step", "No gradient flows into the state before.", {"gradients"}),
        ("ps3_lstm_step", "The memory is shown without a tanh.", {"hidden"}),
        ("ps3_truncated_bptt", "The state that is returned still carries its graph.", {"state"}),
        (
            "ps3_truncated_bptt",
            "The state is carried with its graph.",
            {"many pieces", "two parts", "accuracy"},
        ),
        (
            "ps3_truncated_bptt",
            "Only the hidden state is detached from its graph, not the memory.",
            {"two parts"},
        ),
        (
            "ps3_clip_global_norm",
            "A missing gradient is treated like the others.",
            {"missing gradients"},
        ),
        ("ps3_clip_global_norm", "Short gradients are made longer.", {"short gradients"}),
    ],
)
def test_one_slip_costs_what_depends_on_it(item, slip, lost):
    also = {"gradients", "dtype", "layout", "saturation", "state", "missing gradients", "extremes"}
    found = set(parts_lost(CHECKS[item], CHECKS[item].mistake(slip).implementation))
    assert lost <= found <= lost | also
    assert CHECKS[item].parts[0].name not in found


def test_answer_without_gradient_is_told_so():
    name = "The loss is detached from its graph, so that nothing can be learned from it."
    answer = CHECKS["ps3_cross_entropy"].mistake(name).implementation
    assert "no gradient reaches" in parts_lost(CHECKS["ps3_cross_entropy"], answer)["gradients"]


def test_pieces_may_have_gaps_in_memory_as_those_of_a_text_have():
    def flat(step, loss_of, state, pieces, update):
        again = [(ids.view(-1).view(ids.shape), targets) for ids, targets in pieces]
        return truncated_bptt(step, loss_of, state, again, update)

    def flat_state(step, loss_of, state, pieces, update):
        again = tuple(part.view(-1).view(part.shape) for part in state)
        return truncated_bptt(step, loss_of, again, pieces, update)

    for answer in (flat, flat_state):
        assert set(parts_lost(CHECKS["ps3_truncated_bptt"], answer)) == {"state"}


# -- the references, against torch -----------------------------------------------------------------


@pytest.mark.parametrize("draw", [draw_losses, draw_ignored, draw_extremes])
def test_losses_and_their_gradients_match_torch(draw):
    for logits, targets, ignore_index in arguments(draw):
        n_targets = max(int((targets != ignore_index).sum()), 1)
        leaf = logits.clone().requires_grad_()
        loss = F.cross_entropy(leaf, targets, ignore_index=ignore_index, reduction="sum")
        (loss / n_targets).backward()
        # float32 adds up in another order; the values are up to 4000.
        tight = {"rtol": 1e-5, "atol": 1e-6} if logits.dtype is torch.float32 else {}
        question = logits, targets, ignore_index
        mean = cross_entropy(*question)
        torch.testing.assert_close(mean, (loss / n_targets).detach(), **tight)
        gradient = cross_entropy_gradient(*question)
        torch.testing.assert_close(gradient, leaf.grad, **tight)


@pytest.mark.parametrize(
    ("draw", "cell", "answer"),
    [
        (draw_elman, nn.RNNCell, elman_step),
        (draw_lstm, nn.LSTMCell, lstm_step),
    ],
)
def test_cells_match_torch(draw, cell, answer):
    names = ("weight_ih", "weight_hh", "bias_ih", "bias_hh")
    for inputs, state, *weights in arguments(draw):
        module = cell(inputs.shape[1], weights[1].shape[1], device="meta")
        expected = functional_call(module, dict(zip(names, weights, strict=True)), (inputs, state))
        torch.testing.assert_close(answer(inputs, state, *weights), expected)


def test_norms_match_torch():
    for draw in (draw_long_gradients, draw_short_gradients):
        for case in draw(np.random.default_rng(2)):
            params = [nn.Parameter(torch.empty_like(g)) for g in case.inputs["gradients"]]
            for param, gradient in zip(params, case.inputs["gradients"], strict=True):
                param.grad = gradient.clone()
            norm = nn.utils.clip_grad_norm_(params, case.inputs["max_norm"])
            ours = clip_global_norm(**_only(case.inputs, "gradients", "max_norm"))
            # torch adds 1e-6 to the norm before it divides; the norms are 0.3 or more.
            assert ours == pytest.approx(norm.item(), rel=1e-6)
            for param, gradient in zip(params, case.inputs["gradients"], strict=True):
                torch.testing.assert_close(gradient, param.grad, rtol=1e-5, atol=1e-6)


def _only(inputs, *names):
    return {name: inputs[name] for name in names}


# -- the inputs ------------------------------------------------------------------------------------


def test_next_ids_are_no_successors():
    """Else a target that is the input plus one could pass."""
    for ids, _, _ in arguments(draw_streams):
        assert (ids[1:] != ids[:-1] + 1).any()


def test_extremes_break_a_naive_loss_in_every_case():
    mistake = "The largest score is not subtracted, so exponentials overflow."
    naive = CHECKS["ps3_cross_entropy"].mistake(mistake).implementation
    for logits, targets, ignore_index in arguments(draw_extremes):
        assert not naive(logits, targets, ignore_index).isfinite()


def test_clipping_each_tensor_alone_shows_where_there_are_several():
    clip_each = (
        CHECKS["ps3_clip_global_norm"].mistake("Each tensor is clipped on its own.").implementation
    )
    for case in draw_long_gradients(np.random.default_rng(3))[1:]:
        alone = [gradient.clone() for gradient in case.inputs["gradients"]]
        clip_each(alone, case.inputs["max_norm"])
        clip_global_norm(**_only(case.inputs, "gradients", "max_norm"))
        pairs = zip(alone, case.inputs["gradients"], strict=True)
        assert any(not torch.allclose(a, b) for a, b in pairs)


# -- the examples in the text ----------------------------------------------------------------------


@pytest.mark.usefixtures("same_random_state")
def test_examples_by_hand_match_the_package():
    pieces = stream_pieces(torch.arange(10, 21), 2, 3)
    assert [(inputs.tolist(), targets.tolist()) for inputs, targets in pieces] == [
        ([[10, 11, 12], [15, 16, 17]], [[11, 12, 13], [16, 17, 18]]),
        ([[13, 14], [18, 19]], [[14, 15], [19, 20]]),
    ]
    weights = {
        "embedding": torch.tensor([[-1.0], [1.0], [2.0]]),
        "hidden": torch.tensor([[0.5, 0.25]]),
        "hidden_bias": torch.tensor([0.0]),
        "output": torch.tensor([[1.0], [2.0], [0.0]]),
        "output_bias": torch.tensor([0.0, 0.0, 3.0]),
    }
    logits = window_logits(torch.tensor([[1, 2]]), 2, 0, weights)
    by_hand = torch.tensor([[[-0.2449, -0.4898, 3.0], [0.7616, 1.5232, 3.0]]])
    torch.testing.assert_close(logits, by_hand, rtol=0, atol=5e-5)  # as printed
    row = torch.tensor([0.0, 3.0]).where(torch.tensor([True, False]), torch.tensor(3.0).log())
    batch, targets = row.expand(2, 2), torch.tensor([1, 0])
    assert cross_entropy(batch, targets, -100).item() == pytest.approx(
        (0.2877 + 1.3863) / 2, abs=1e-4
    )
    gradient = cross_entropy_gradient(batch, targets, -100)
    assert gradient.flatten().tolist() == pytest.approx([0.125, -0.125, -0.375, 0.375], abs=1e-6)
    gates = torch.tensor([0.0, np.log(3), 0.5, -np.log(3)], dtype=torch.float32)
    state = torch.tensor([[0.0]]), torch.tensor([[2.0]])
    blank = torch.zeros(4, 1)
    after = lstm_step(torch.ones(1, 1), state, blank, blank, gates, torch.zeros(4))
    assert [part.item() for part in after] == pytest.approx([0.2348, 1.7311], abs=5e-5)


@pytest.mark.usefixtures("same_random_state")
def test_example_of_truncation_matches_the_package():
    weight, gradients = torch.tensor(0.5, requires_grad=True), []

    def step(ids, state):
        return (weight * state[0] + ids.unsqueeze(-1),)

    def update():
        gradients.append(weight.grad.item())
        weight.grad = None

    ones = torch.ones(1, 2, dtype=torch.int64)
    train = truncated_bptt
    blank = (torch.zeros(1, 1),)
    found, state = train(step, lambda hidden, _: hidden.mean(), blank, [(ones, ones)] * 2, update)
    assert (found, gradients, state[0].item()) == ([1.25, 1.8125], [0.5, 2.0], 1.875)
    gradients.clear()
    four = torch.ones(1, 4, dtype=torch.int64)
    train(step, lambda hidden, _: hidden[:, 2:].mean(), blank, [(four, four)], update)
    assert gradients == [2.375]  # without the cut


def test_numbers_of_the_question_in_words_are_right():
    # As printed in the model answer: two digits.
    assert pytest.approx([0.12, 2.7e-5, 0.37], rel=0.02) == [0.9**20, 0.9**100, 0.99**100]


# -- the notebook ----------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("item", "mistake", "message"),
    [
        (
            "stream_pieces",
            "The target is the id plus one, not the id one place on.",
            "the next id, not the id . 1",
        ),
        (
            "stream_pieces",
            "Row after row is filled within a piece, so that no row goes on in the next piece.",
            "row 1 at the id number 5",
        ),
        (
            "stream_pieces",
            "The last piece is lost if it is shorter than the others.",
            "are 2 pieces, of 3 and of 2 steps",
        ),
        (
            "window_logits",
            "The window is reversed: the newest id comes first.",
            "the oldest id comes first",
        ),
        ("window_logits", "The tanh is missing.", "the hidden layer has a tanh"),
        (
            "window_logits",
            "Before the text stands a vector of zeros instead of eos.",
            "not a vector of zeros",
        ),
        (
            "cross_entropy",
            "The sum is divided by the number of all rows.",
            "divide by the 2 rows that count",
        ),
        (
            "cross_entropy",
            "The largest score is not subtracted, so exponentials overflow.",
            "1000 more on every score changes nothing",
        ),
        (
            "cross_entropy",
            "Negative targets are ignored, whatever ignore_index is.",
            "the id 0 is ignored if",
        ),
        (
            "cross_entropy_gradient",
            "The gradient of the sum is returned, not of the mean.",
            "the loss is a mean: divide by 2",
        ),
        (
            "cross_entropy_gradient",
            "The sum is divided by the number of all rows.",
            "by the 2 rows that count",
        ),
        ("elman_step", "The tanh is missing.", "the tanh is missing"),
        ("elman_step", "The bias of the state is missing.", "bias_hh, which is -0.1, is missing"),
        ("elman_step", "The weights of the state are not transposed.", "are all transposed"),
        (
            "lstm_step",
            "Input gate and forget gate are swapped.",
            "input gate and forget gate are swapped",
        ),
        (
            "lstm_step",
            "The candidate is a sigmoid instead of a tanh.",
            "the candidate is a tanh, not a sigmoid",
        ),
        ("truncated_bptt", "The state is carried with its graph.", "with its graph: detach it"),
        (
            "truncated_bptt",
            "The graph is kept, so that gradients flow through all pieces before.",
            "reaches into the first: detach",
        ),
        (
            "truncated_bptt",
            "Each piece starts from the first state again.",
            "in which the first ended",
        ),
        ("clip_global_norm", "Each tensor is clipped on its own.", "one factor for all tensors"),
        ("clip_global_norm", "Short gradients are made longer.", "never makes a gradient longer"),
    ],
)
def test_visible_tests_name_what_is_wrong(visible_tests, item, mistake, message):
    check = CHECKS[f"ps3_{item}"]
    with pytest.raises(AssertionError, match=message):
        visible_tests(check, check.mistake(mistake).implementation)


@pytest.mark.exhaustive
def test_solution_notebook_runs_whole_and_agrees_with_the_package(release):
    printed, n_pictures = run_whole(release.solution)
    assert printed.count("both copies agree") == 3
    at_last = {
        line[:12].strip(): float(line.split("first, ")[1].split(" at last")[0])
        for line in printed.splitlines()
        if line.endswith("both copies agree")
    }
    # What the text tells the student to expect, to the digits that it prints.
    expected = {"your window": 0.86, "your Elman": 0.82, "your LSTM": 0.95}
    assert at_last == pytest.approx(expected, abs=0.011)
    assert n_pictures == 3
