"""The checks of problem set 4, attention: what is asked and demanded of each answer.

Every hard case stands in every draw, so the same mistake costs every student the same. A slip in
the dtype, or a call that changes something else, costs one part: all others forgive results that
are as accurate as float32.
"""

from autograder.authoring.checks import ProblemSet

from . import (
    align,
    attend,
    beam_search,
    causal_mask,
    challenge,
    decoder_mask,
    dot_attention,
    judge_attend,
    merge_heads,
    multi_head_attention,
    split_heads,
)

PROBLEM_SET = ProblemSet(
    name="ps4",
    title="attention",
    checks=(
        dot_attention.CHECK,
        align.CHECK,
        beam_search.CHECK,
        attend.CHECK,
        causal_mask.CHECK,
        decoder_mask.CHECK,
        split_heads.CHECK,
        merge_heads.CHECK,
        multi_head_attention.CHECK,
        judge_attend.CHECK,
    ),
    challenge=challenge.CHALLENGE,
)
