"""The checks of problem set 3, neural language models: what is asked and demanded of each answer.

Every item is asked for tensors of float32 and of float64. Values may differ by rounding, since a
right answer may add up in any order. A slip in the dtype, or a call that changes something else,
costs one part: all others forgive results that are as accurate as float32.
"""

from autograder.authoring.checks import ProblemSet

from . import (
    challenge,
    clip_global_norm,
    cross_entropy,
    cross_entropy_gradient,
    elman_step,
    judge_cross_entropy,
    lstm_step,
    stream_pieces,
    truncated_bptt,
    window_logits,
)

PROBLEM_SET = ProblemSet(
    name="ps3",
    title="neural language models",
    checks=(
        stream_pieces.CHECK,
        window_logits.CHECK,
        cross_entropy.CHECK,
        cross_entropy_gradient.CHECK,
        elman_step.CHECK,
        lstm_step.CHECK,
        truncated_bptt.CHECK,
        clip_global_norm.CHECK,
        judge_cross_entropy.CHECK,
    ),
    challenge=challenge.CHALLENGE,
)
