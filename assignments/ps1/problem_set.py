"""The checks of problem set 1, n-gram models: what is asked and demanded of each answer.

Students count words; the grader counts numbers and pairs too, since a right answer does not care.
In every part something depends on real values, so that no answer earns points by merely not
failing.
"""

from autograder.authoring.checks import ProblemSet

from . import (
    add_k_prob,
    challenge,
    context_of,
    continuation_counts,
    count_ngrams,
    interpolated_prob,
    judge_context_of,
    kneser_ney_prob,
    mle_prob,
    perplexity,
    sample,
)

PROBLEM_SET = ProblemSet(
    name="ps1",
    title="n-gram models",
    checks=(
        count_ngrams.CHECK,
        mle_prob.CHECK,
        context_of.CHECK,
        sample.CHECK,
        perplexity.CHECK,
        add_k_prob.CHECK,
        interpolated_prob.CHECK,
        continuation_counts.CHECK,
        kneser_ney_prob.CHECK,
        judge_context_of.CHECK,
    ),
    challenge=challenge.CHALLENGE,
)
