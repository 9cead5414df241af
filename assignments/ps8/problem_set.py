"""The checks of problem set 8, fine-tuning: what is asked and demanded of each answer.

Nothing is drawn by an answer here, so all are judged exactly. Patterns of lengths, names, targets
and margins are the same for every student, and so are hard cases; the numbers in them are drawn.
"""

from autograder.authoring.checks import ProblemSet

from . import (
    challenge,
    class_scores,
    dpo_loss,
    frame_pairs,
    freeze,
    judge_reply_targets,
    lora_layer,
    merge_lora,
    reply_targets,
    score_replies,
)

PROBLEM_SET = ProblemSet(
    name="ps8",
    title="Fine-tuning",
    checks=(
        frame_pairs.CHECK,
        class_scores.CHECK,
        freeze.CHECK,
        lora_layer.CHECK,
        merge_lora.CHECK,
        reply_targets.CHECK,
        score_replies.CHECK,
        dpo_loss.CHECK,
        judge_reply_targets.CHECK,
    ),
    challenge=challenge.CHALLENGE,
)
