"""What is special to problem set 3: its draws, its examples, and what its notebook shows."""

from pathlib import Path

import numpy as np
import pytest
import torch
from nbclient import NotebookClient
from torch import nn
from torch.func import functional_call
from torch.nn import functional as F

from assignments.answers.ps3 import clip_global_norm as clipping
from assignments.answers.ps3 import cross_entropy as losses
from assignments.answers.ps3 import cross_entropy_gradient as derivatives
from assignments.answers.ps3 import elman_step as elman
from assignments.answers.ps3 import lstm_step as lstm
from assignments.answers.ps3 import stream_pieces as streams
from assignments.answers.ps3 import truncated_bptt as training
from assignments.answers.ps3 import window_logits as windows
from assignments.checks import ps3, ps3_draws, ps3_references
from autograder.authoring.release import build
from autograder.grading.judge import case_requests, judge_check
from autograder.validation.plain_process import observe
from tests.assignments.notebooks import run_cells

SOURCE = Path(ps3.__file__).parent.parent / "sets" / "ps3.py"
CHECKS = {check.item: check for check in ps3.PROBLEM_SET.checks}


@pytest.fixture(scope="module")
def release():
    return build(SOURCE)


def _arguments(draw, seed=4):
    return [case.inputs["arguments"] for case in draw(np.random.default_rng(seed))]


def _lost(item, answer, seed=11):
    """What a student reads of each part that an answer fails."""
    check = CHECKS[item]
    requests = case_requests(check, seed)
    observations, _ = observe(requests, lambda: {check.target: answer}, seconds=60)
    verdict = judge_check(check, seed, observations)
    assert not verdict.fault
    return {part.part: part.message for part in verdict.parts if not part.holds}


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
        heart = hearts.get(item, {"values"})
        worth = sum(part.weight for part in check.parts if part.name in heart)
        assert worth >= 0.6 * sum(part.weight for part in check.parts), item


@pytest.mark.parametrize(
    ("item", "slip", "lost"),
    [
        ("ps3_window_logits", windows.zeros_before_the_text, {"starts", "short texts"}),
        ("ps3_cross_entropy", losses.nan_without_targets, {"ignored"}),
        ("ps3_cross_entropy", losses.stay_in_float64, {"nothing else changes"}),
        ("ps3_cross_entropy_gradient", derivatives.default_dtype, {"nothing else changes"}),
        ("ps3_elman_step", elman.state_cut, {"gradients"}),
        ("ps3_lstm_step", lstm.memory_shown_raw, {"hidden"}),
        ("ps3_truncated_bptt", training.returned_with_its_graph, {"state"}),
        ("ps3_truncated_bptt", training.state_not_detached, {"many pieces", "two parts"}),
        ("ps3_truncated_bptt", training.only_first_part_detached, {"two parts"}),
        ("ps3_clip_global_norm", clipping.fail_at_none, {"missing gradients"}),
        ("ps3_clip_global_norm", clipping.always_scaled, {"short gradients"}),
    ],
)
def test_one_slip_costs_what_depends_on_it(item, slip, lost):
    also = {"gradients", "nothing else changes", "state", "missing gradients"}
    found = set(_lost(item, slip))
    assert lost <= found <= lost | also
    assert CHECKS[item].parts[0].name not in found


@pytest.mark.parametrize(
    ("item", "answer", "name"),
    [
        ("ps3_cross_entropy", losses.library_loss, "cross_entropy"),
        ("ps3_cross_entropy_gradient", derivatives.by_transform, "autograd"),
        ("ps3_elman_step", elman.library_cell, "rnn_tanh_cell"),
        ("ps3_lstm_step", lstm.library_cell, "lstm_cell"),
    ],
)
def test_answer_that_lets_torch_do_the_task_is_told_so(item, answer, name):
    lost = _lost(item, answer)
    assert "values" in lost or {"memory", "hidden"} <= set(lost)
    assert any(f"torch's own `{name}`" in message for message in lost.values())


def test_answer_without_gradient_is_told_so():
    assert "no gradient reaches" in _lost("ps3_cross_entropy", losses.without_a_graph)["gradients"]


# -- the references, against torch -----------------------------------------------------------------


@pytest.mark.parametrize("draw", ["draw_losses", "draw_ignored", "draw_extremes"])
def test_losses_and_their_gradients_match_torch(draw):
    for logits, targets, ignore_index in _arguments(getattr(ps3_draws, draw)):
        n_targets = max(int((targets != ignore_index).sum()), 1)
        leaf = logits.clone().requires_grad_()
        loss = F.cross_entropy(leaf, targets, ignore_index=ignore_index, reduction="sum")
        (loss / n_targets).backward()
        # float32 adds up in another order; the values are up to 4000.
        tight = {"rtol": 1e-5, "atol": 1e-6} if logits.dtype is torch.float32 else {}
        question = logits, targets, ignore_index
        mean = ps3_references.cross_entropy(*question)
        torch.testing.assert_close(mean, (loss / n_targets).detach(), **tight)
        gradient = ps3_references.cross_entropy_gradient(*question)
        torch.testing.assert_close(gradient, leaf.grad, **tight)


@pytest.mark.parametrize(
    ("draw", "cell", "answer"),
    [
        ("draw_elman", nn.RNNCell, ps3_references.elman_step),
        ("draw_lstm", nn.LSTMCell, ps3_references.lstm_step),
    ],
)
def test_cells_match_torch(draw, cell, answer):
    names = ("weight_ih", "weight_hh", "bias_ih", "bias_hh")
    for inputs, state, *weights in _arguments(getattr(ps3_draws, draw)):
        module = cell(inputs.shape[1], weights[1].shape[1], device="meta")
        expected = functional_call(module, dict(zip(names, weights, strict=True)), (inputs, state))
        torch.testing.assert_close(answer(inputs, state, *weights), expected)


def test_norms_match_torch():
    for draw in (ps3_draws.draw_long_gradients, ps3_draws.draw_short_gradients):
        for case in draw(np.random.default_rng(2)):
            params = [nn.Parameter(torch.empty_like(g)) for g in case.inputs["gradients"]]
            for param, gradient in zip(params, case.inputs["gradients"], strict=True):
                param.grad = gradient.clone()
            norm = nn.utils.clip_grad_norm_(params, case.inputs["max_norm"])
            ours = ps3_references.clip_global_norm(**_only(case.inputs, "gradients", "max_norm"))
            # torch adds 1e-6 to the norm before it divides; the norms are 0.3 or more.
            assert ours == pytest.approx(norm.item(), rel=1e-6)
            for param, gradient in zip(params, case.inputs["gradients"], strict=True):
                torch.testing.assert_close(gradient, param.grad, rtol=1e-5, atol=1e-6)


def _only(inputs, *names):
    return {name: inputs[name] for name in names}


def test_reference_leaves_the_random_generator_alone():
    state = torch.get_rng_state()
    for item in ("ps3_window_logits", "ps3_lstm_step", "ps3_truncated_bptt"):
        assert _lost(item, CHECKS[item].reference) == {}
    assert torch.equal(torch.get_rng_state(), state)


# -- the draws -------------------------------------------------------------------------------------


def test_next_ids_are_no_successors():
    """Else a target that is the input plus one could pass."""
    for ids, _, _ in _arguments(ps3_draws.draw_streams):
        assert (ids[1:] != ids[:-1] + 1).any()


def test_extremes_break_a_naive_loss_in_every_case():
    for logits, targets, ignore_index in _arguments(ps3_draws.draw_extremes):
        naive = losses.without_maximum(logits, targets, ignore_index)
        assert not naive.isfinite()


def test_clipping_each_tensor_alone_shows_where_there_are_several():
    for case in ps3_draws.draw_long_gradients(np.random.default_rng(3))[1:]:
        alone = [gradient.clone() for gradient in case.inputs["gradients"]]
        clipping.each_on_its_own(alone, case.inputs["max_norm"])
        ps3_references.clip_global_norm(**_only(case.inputs, "gradients", "max_norm"))
        pairs = zip(alone, case.inputs["gradients"], strict=True)
        assert any(not torch.allclose(a, b) for a, b in pairs)


# -- the examples in the text ----------------------------------------------------------------------


def test_examples_by_hand_match_the_package():
    pieces = ps3_references.stream_pieces(torch.arange(10, 21), 2, 3)
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
    logits = ps3_references.window_logits(torch.tensor([[1, 2]]), 2, 0, weights)
    by_hand = torch.tensor([[[-0.2449, -0.4898, 3.0], [0.7616, 1.5232, 3.0]]])
    torch.testing.assert_close(logits, by_hand, rtol=0, atol=5e-5)  # as printed
    row = torch.tensor([0.0, 3.0]).where(torch.tensor([True, False]), torch.tensor(3.0).log())
    batch, targets = row.expand(2, 2), torch.tensor([1, 0])
    assert ps3_references.cross_entropy(batch, targets, -100).item() == pytest.approx(
        (0.2877 + 1.3863) / 2, abs=1e-4
    )
    gradient = ps3_references.cross_entropy_gradient(batch, targets, -100)
    assert gradient.flatten().tolist() == pytest.approx([0.125, -0.125, -0.375, 0.375], abs=1e-6)
    gates = torch.tensor([0.0, np.log(3), 0.5, -np.log(3)], dtype=torch.float32)
    state = torch.tensor([[0.0]]), torch.tensor([[2.0]])
    blank = torch.zeros(4, 1)
    after = ps3_references.lstm_step(torch.ones(1, 1), state, blank, blank, gates, torch.zeros(4))
    assert [part.item() for part in after] == pytest.approx([0.2348, 1.7311], abs=5e-5)


def test_example_of_truncation_matches_the_package():
    weight, gradients = torch.tensor(0.5, requires_grad=True), []

    def step(ids, state):
        return (weight * state[0] + ids.unsqueeze(-1),)

    def update():
        gradients.append(weight.grad.item())
        weight.grad = None

    ones = torch.ones(1, 2, dtype=torch.int64)
    train = ps3_references.truncated_bptt
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
    ("item", "answer", "message"),
    [
        ("stream_pieces", streams.targets_are_inputs_plus_one, "the next id, not the id . 1"),
        ("stream_pieces", streams.rows_follow_each_other, "row 1 at the id number 5"),
        ("stream_pieces", streams.lose_the_last_piece, "are 2 pieces, of 3 and of 2 steps"),
        ("window_logits", windows.newest_first, "the oldest id comes first"),
        ("window_logits", windows.without_tanh, "the hidden layer has a tanh"),
        ("window_logits", windows.zeros_before_the_text, "not a vector of zeros"),
        ("cross_entropy", losses.mean_over_all_rows, "divide by the 2 rows that count"),
        ("cross_entropy", losses.without_maximum, "1000 more on every score changes nothing"),
        ("cross_entropy", losses.ignore_negative_targets, "the id 0 is ignored if"),
        ("cross_entropy_gradient", derivatives.not_divided, "the loss is a mean: divide by 2"),
        ("cross_entropy_gradient", derivatives.divided_by_all_rows, "by the 2 rows that count"),
        ("elman_step", elman.without_tanh, "the tanh is missing"),
        ("elman_step", elman.without_second_bias, "bias_hh, which is -0.1, is missing"),
        ("elman_step", elman.state_not_transposed, "are all transposed"),
        ("lstm_step", lstm.input_and_forget_swapped, "input gate and forget gate are swapped"),
        ("lstm_step", lstm.sigmoid_candidate, "the candidate is a tanh, not a sigmoid"),
        ("truncated_bptt", training.state_not_detached, "with its graph: detach it"),
        ("truncated_bptt", training.graph_retained, "reaches into the first: detach"),
        ("truncated_bptt", training.start_anew_in_each_piece, "in which the first ended"),
        ("clip_global_norm", clipping.each_on_its_own, "one factor for all tensors"),
        ("clip_global_norm", clipping.always_scaled, "never makes a gradient longer"),
    ],
)
def test_visible_tests_name_what_is_wrong(release, item, answer, message):
    _, namespace = run_cells(release.solution)
    cell = next(cell for cell in release.student.cells if cell.id == f"ps3_{item}")
    with pytest.raises(AssertionError, match=message):
        exec(cell.source, {**namespace, item: answer})


@pytest.mark.slow
def test_solution_notebook_runs_whole_and_agrees_with_the_package(release):
    notebook = NotebookClient(release.solution.copy(), timeout=600, kernel_name="python3").execute()
    outputs = [output for cell in notebook.cells for output in cell.get("outputs", ())]
    printed = "".join(output.text for output in outputs if output.output_type == "stream")
    assert printed.count("both copies agree") == 3
    at_last = {
        line[:12].strip(): float(line.split("first, ")[1].split(" at last")[0])
        for line in printed.splitlines()
        if line.endswith("both copies agree")
    }
    # What the text tells the student to expect, to the digits that it prints.
    expected = {"your window": 0.86, "your Elman": 0.82, "your LSTM": 0.95}
    assert at_last == pytest.approx(expected, abs=0.011)
    assert sum("image/png" in output.get("data", {}) for output in outputs) == 3
