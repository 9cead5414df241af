"""The checks of problem set 2, tokenization: what is asked and demanded of each answer.

What a student gets wrong most often has a part of its own: overlaps, ties, borders, broken bytes.
So one slip costs one part, and the rest of a right answer still counts. In every part something
depends on real values, so that no answer earns points by merely not failing.
"""

from autograder.authoring.checks import ProblemSet

from . import (
    bytes_per_token,
    challenge,
    count_pairs,
    decode,
    encode,
    encode_word,
    judge_merge_pair,
    learn_merges,
    merge_pair,
)

PROBLEM_SET = ProblemSet(
    name="ps2",
    title="tokenization",
    checks=(
        count_pairs.CHECK,
        merge_pair.CHECK,
        learn_merges.CHECK,
        encode_word.CHECK,
        encode.CHECK,
        decode.CHECK,
        bytes_per_token.CHECK,
        judge_merge_pair.CHECK,
    ),
    challenge=challenge.CHALLENGE,
)
