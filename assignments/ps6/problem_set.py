"""The checks of problem set 6, GPT: what is asked and demanded of each answer.

Cases and their hard ones are the same for every student, but for the numbers in them. What is
random in training and in writing, the places of windows and the draws, comes as uniform numbers
among the arguments, so every answer is exact. Each item has parts for its hard cases, for its side
effects and for its cost.
"""

from autograder.authoring.checks import ProblemSet

from . import (
    adamw_step,
    causal_loss,
    challenge,
    generate,
    judge_keep_top_k,
    keep_top_k,
    keep_top_p,
    learning_rate,
    sample,
    window_batch,
)

PROBLEM_SET = ProblemSet(
    name="ps6",
    title="GPT",
    checks=(
        adamw_step.CHECK,
        learning_rate.CHECK,
        window_batch.CHECK,
        causal_loss.CHECK,
        keep_top_k.CHECK,
        keep_top_p.CHECK,
        sample.CHECK,
        generate.CHECK,
        judge_keep_top_k.CHECK,
    ),
    challenge=challenge.CHALLENGE,
)
