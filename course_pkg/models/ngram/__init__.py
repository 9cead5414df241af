"""N-gram models: readable probabilities, smoothing, and the model that scores a corpus.

Chapter: n-gram models.
"""

from course_pkg.models.ngram.counts import NGramTables
from course_pkg.models.ngram.model import NGram
from course_pkg.models.ngram.probabilities import (
    absolute_discount,
    absolute_discounting_prob,
    add_k_prob,
    context_of,
    continuation_counts,
    count_ngrams,
    count_of_counts,
    interpolated_prob,
    kneser_ney_counts,
    kneser_ney_prob,
    mle_prob,
    modified_discounts,
    modified_kneser_ney_prob,
)
from course_pkg.models.ngram.smoothing import (
    MLE,
    AbsoluteDiscounting,
    AddK,
    Interpolated,
    KneserNey,
    ModifiedKneserNey,
    Smoothing,
)
