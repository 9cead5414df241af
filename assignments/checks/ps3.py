"""The checks of problem set 3, neural language models: what is asked and demanded of each answer.

Every item is asked for tensors of float32 and of float64. Values may differ by rounding, since a
right answer may add up in any order. A slip in the dtype, or a call that changes something else,
costs one part: all others forgive results that are as accurate as float32.
"""

from collections.abc import Callable
from importlib import import_module
from typing import Any

from assignments.checks import ps3_draws as draws
from assignments.checks import ps3_probes as probes
from assignments.checks import ps3_references as references
from assignments.checks.judges import changes_nothing_else
from autograder.authoring.checks import Check, Inputs, Judge, Part, ProblemSet
from autograder.authoring.compare import agree

# -- judges ----------------------------------------------------------------------------------------

# What float32 is sure of after sums of some dozens of terms in any order, and float64: a thousand
# times the rounding of one term, or more.
_SINGLE = {"rtol": 1e-4, "atol": 1e-5}
_DOUBLE = {"rtol": 1e-11, "atol": 1e-11}


def _judge(*, single: Judge, double: Judge) -> Judge:
    """Return a judge for each dtype of the inputs; both know what is forbidden."""
    judges = {"float32": single, "float64": double}

    def judge(observed: Any, expected: Any, inputs: Inputs) -> str | None:
        if type(observed) is str and observed in inputs["forbidden"]:
            return f"it calls torch's own `{observed}`, which this task asks you to write out"
        if observed == "no gradient":
            return "no gradient reaches the arguments"
        return judges[inputs["dtype"]](observed, expected, inputs)

    return judge


_rough = agree(**_SINGLE)
near = _judge(single=_rough, double=_rough)
nothing_else = changes_nothing_else(
    _judge(single=agree(**_SINGLE, exact_dtype=True), double=agree(**_DOUBLE, exact_dtype=True))
)
whole = changes_nothing_else(agree(exact_dtype=True))

# -- the set ---------------------------------------------------------------------------------------

_KEEPS = "The result has the arguments' dtype and accuracy, in any default dtype; no side effects."
_FLOWS = "Gradients flow from the result to every argument, and are right."


def _part(name: str, says: str, draw: Any, probe: Any, weight: float) -> Part:
    return Part(name, says, draw, probe, judge=near, weight=weight)


def _keeps(draw: Any, probe: Any = probes.call_elsewhere, says: str = _KEEPS) -> Part:
    return Part("nothing else changes", says, draw, probe, judge=nothing_else)


def _check(item: str, points: float, *parts: Part) -> Check:
    answers = import_module(f"assignments.answers.ps3.{item}")
    reference: Callable[..., Any] = getattr(references, item)
    return Check(
        item=f"ps3_{item}",
        points=points,
        target=item,
        reference=reference,
        parts=parts,
        mistakes=answers.MISTAKES,
        alternatives=answers.ALTERNATIVES,
        seconds=5.0,
    )


PROBLEM_SET = ProblemSet(
    name="ps3",
    title="neural language models",
    checks=(
        _check(
            "stream_pieces",
            10,
            Part(
                "inputs",
                "Each row reads its own stretch of the text, and goes on in the next piece.",
                draws.draw_streams,
                probes.cut_inputs,
                weight=3,
            ),
            Part(
                "targets",
                "The target of each place is the id that comes after it in the text.",
                draws.draw_streams,
                probes.cut_targets,
                weight=3,
            ),
            Part(
                "ends",
                "The last piece may be shorter, and ids that fill no whole step are left out.",
                draws.draw_uneven_streams,
                probes.cut,
                weight=3,
            ),
            Part(
                "nothing else changes",
                "The ids stay as they were, and a second call leaves the first answer alone.",
                draws.draw_uneven_streams,
                probes.cut_and_keep,
                judge=whole,
            ),
        ),
        _check(
            "window_logits",
            14,
            _part(
                "values",
                "Where the window is full, the scores of the next id are right.",
                draws.draw_windows,
                probes.score_full_windows,
                5,
            ),
            _part(
                "starts",
                "At the start of a text, eos_id stands for what is missing on the left.",
                draws.draw_starts,
                probes.score_starts,
                2,
            ),
            _part(
                "short texts",
                "Texts that are shorter than the window have scores too.",
                draws.draw_short_texts,
                probes.call,
                1,
            ),
            _part("gradients", _FLOWS, draws.draw_windows, probes.differentiate, 1),
            _keeps(draws.draw_starts),
        ),
        _check(
            "cross_entropy",
            14,
            _part(
                "values",
                "The loss is the mean of minus the log-probability of each target.",
                draws.draw_losses,
                probes.call,
                9,
            ),
            _part(
                "ignored",
                "Ignored rows do not count, neither in the sum nor in the number to divide by.",
                draws.draw_ignored,
                probes.call,
                2,
            ),
            _part(
                "extremes",
                "Logits far from 0, or far from each other, give a finite and right loss.",
                draws.draw_extremes,
                probes.call,
                2,
            ),
            _part("gradients", _FLOWS, draws.draw_all_losses, probes.differentiate, 1),
            _keeps(draws.draw_ignored),
        ),
        _check(
            "cross_entropy_gradient",
            12,
            _part(
                "values",
                "The gradient is that of the mean loss, in every logit.",
                draws.draw_losses,
                probes.derive,
                6,
            ),
            _part(
                "ignored",
                "Ignored rows have a gradient of 0, and do not count in the mean.",
                draws.draw_ignored,
                probes.derive,
                2,
            ),
            _part(
                "extremes",
                "Logits far from 0, or far from each other, give a finite and right gradient.",
                draws.draw_extremes,
                probes.derive,
                1,
            ),
            _keeps(draws.draw_ignored, probes.derive_elsewhere),
        ),
        _check(
            "elman_step",
            8,
            _part(
                "values",
                "The new state is the tanh of both products and both biases.",
                draws.draw_elman,
                probes.call,
                6,
            ),
            _part("gradients", _FLOWS, draws.draw_elman, probes.differentiate, 1.5),
            _keeps(draws.draw_elman),
        ),
        _check(
            "lstm_step",
            14,
            _part(
                "memory",
                "The memory keeps what the forget gate lets through, and gains the candidate.",
                draws.draw_lstm_memory,
                probes.call,
                4,
            ),
            _part(
                "hidden",
                "The hidden state is what the output gate shows of the new memory.",
                draws.draw_lstm_hidden,
                probes.call,
                3,
            ),
            _part("gradients", _FLOWS, draws.draw_lstm, probes.differentiate, 1),
            _keeps(draws.draw_lstm),
        ),
        _check(
            "truncated_bptt",
            12,
            _part(
                "one piece",
                "In a single piece, the loss and all gradients are those of the whole unrolling.",
                draws.draw_one_piece,
                probes.train,
                4,
            ),
            _part(
                "many pieces",
                "Each piece starts from the state of the last one, and gradients end at its start.",
                draws.draw_many_pieces,
                probes.train,
                4,
            ),
            _part(
                "two parts",
                "A state may have two parts, as an LSTM's; both are carried, both are cut.",
                draws.draw_two_parts,
                probes.train,
                1.5,
            ),
            _part(
                "state",
                "The state after the last step is returned, cut from its graph.",
                draws.draw_returned_states,
                probes.train,
                1.5,
            ),
            _keeps(
                draws.draw_repeated,
                probes.train,
                "A second call starts anew; the state and the pieces stay as they were.",
            ),
        ),
        _check(
            "clip_global_norm",
            8,
            _part(
                "long gradients",
                "Gradients that are too long, jointly, are all shortened by one factor, in place.",
                draws.draw_long_gradients,
                probes.clip,
                4,
            ),
            _part(
                "short gradients",
                "Gradients that are short enough stay as they are, and their norm is returned.",
                draws.draw_short_gradients,
                probes.clip_and_measure,
                1.5,
            ),
            _part(
                "norm",
                "The joint norm before clipping is returned.",
                draws.draw_any_gradients,
                probes.measure_norm,
                2,
            ),
            _part(
                "missing gradients",
                "Gradients that are None are passed over, and zeros stay zeros.",
                draws.draw_missing_gradients,
                probes.clip_and_measure,
                1,
            ),
            _keeps(
                draws.draw_any_gradients,
                probes.clip_elsewhere,
                "The list holds the same tensors as before; nothing else changes.",
            ),
        ),
    ),
)

EQUIVALENT_MUTANTS = {
    "ps3_clip_global_norm": {
        "if norm > max_norm:  →  if norm >= max_norm:": "At equality the factor is 1.",
    },
}
