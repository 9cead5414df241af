"""The n-gram model."""

from course_pkg.models.ngram_probabilities import (
    absolute_discount,
    absolute_discounting_prob,
    add_k_prob,
    continuation_counts,
    count_ngrams,
    count_of_counts,
    interpolated_prob,
    kneser_ney_counts,
    kneser_ney_prob,
    mle_prob,
    modified_discounts,
    modified_kneser_ney_prob,
    visible_history,
)

__all__ = [
    "absolute_discount",
    "absolute_discounting_prob",
    "add_k_prob",
    "continuation_counts",
    "count_ngrams",
    "count_of_counts",
    "interpolated_prob",
    "kneser_ney_counts",
    "kneser_ney_prob",
    "mle_prob",
    "modified_discounts",
    "modified_kneser_ney_prob",
    "visible_history",
]
