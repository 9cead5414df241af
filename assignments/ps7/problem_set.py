"""The checks of problem set 7, BERT: what is asked and demanded of each answer.

Where something is drawn, the answer is given the numbers, and is judged exactly. Only `mask_batch`
draws for itself: it is judged by what must hold of thousands of positions. Patterns of ids, draws
and targets are the same for every student, and so are hard cases; the numbers in them are drawn.
"""

from autograder.authoring.checks import ProblemSet

from . import (
    challenge,
    choose_positions,
    corrupt,
    embed,
    fill_spans,
    hide_spans,
    join_pair,
    judge_join_pair,
    mask_batch,
    masked_lm_loss,
    next_sentence_pairs,
)

PROBLEM_SET = ProblemSet(
    name="ps7",
    title="BERT",
    checks=(
        choose_positions.CHECK,
        corrupt.CHECK,
        mask_batch.CHECK,
        next_sentence_pairs.CHECK,
        join_pair.CHECK,
        embed.CHECK,
        masked_lm_loss.CHECK,
        hide_spans.CHECK,
        fill_spans.CHECK,
        judge_join_pair.CHECK,
    ),
    challenge=challenge.CHALLENGE,
)
