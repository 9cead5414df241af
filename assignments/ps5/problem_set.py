"""The checks of problem set 5, the transformer: what is asked and demanded of each answer.

Cases and their hard ones are the same for every student, but for the numbers in them. Values may
differ by rounding. Each item has parts for its hard cases, for its gradients, for its side effects
and for its cost; where a property of the layer can be said without its values (what the future,
padding or distance may change), it is a part of its own.
"""

from autograder.authoring.checks import ProblemSet

from . import (
    challenge,
    count_parameters,
    cross_attention,
    feed_forward,
    judge_rms_norm,
    layer_norm,
    pre_norm_block,
    rms_norm,
    rotate,
    sinusoidal_positions,
)

PROBLEM_SET = ProblemSet(
    name="ps5",
    title="the transformer",
    checks=(
        sinusoidal_positions.CHECK,
        rotate.CHECK,
        layer_norm.CHECK,
        rms_norm.CHECK,
        feed_forward.CHECK,
        pre_norm_block.CHECK,
        cross_attention.CHECK,
        count_parameters.CHECK,
        judge_rms_norm.CHECK,
    ),
    challenge=challenge.CHALLENGE,
)
