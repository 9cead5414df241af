"""The readable smoothing functions against fractions worked out by hand, and against nltk.lm."""

from collections import Counter
from itertools import pairwise

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from nltk import lm as nltk_lm

from course_pkg.models.ngram import probabilities as readable

EOS, A, B, C, NEVER = range(5)
V = 5

# 0 A B A C 0 / 0 A B 0 / 0 B 0
DOCUMENTS = [[A, B, A, C], [A, B], [B]]
UNIGRAMS = {(): Counter({A: 3, B: 3, C: 1, EOS: 3})}
BIGRAMS = {
    (EOS,): Counter({A: 2, B: 1}),
    (A,): Counter({B: 2, C: 1}),
    (B,): Counter({A: 1, EOS: 2}),
    (C,): Counter({EOS: 1}),
}
TRIGRAMS = {
    (EOS,): Counter({A: 2, B: 1}),
    (EOS, A): Counter({B: 2}),
    (EOS, B): Counter({EOS: 1}),
    (A, B): Counter({A: 1, EOS: 1}),
    (B, A): Counter({C: 1}),
    (A, C): Counter({EOS: 1}),
}
# Sums of fractions of small integers: rounding only.
close = pytest.approx


@pytest.mark.parametrize(("order", "expected"), [(1, UNIGRAMS), (2, BIGRAMS), (3, TRIGRAMS)])
def test_count_ngrams_counts_the_end_but_never_the_start(order, expected):
    assert readable.count_ngrams(DOCUMENTS, order, EOS) == expected


def test_count_ngrams_scores_the_end_of_an_empty_document():
    assert readable.count_ngrams([[]], 3, EOS) == {(EOS,): Counter({EOS: 1})}


def test_count_ngrams_rejects_order_zero():
    with pytest.raises(ValueError, match="order is 0"):
        readable.count_ngrams(DOCUMENTS, 0, EOS)


def test_count_ngrams_rejects_no_documents():
    with pytest.raises(ValueError, match="documents is empty"):
        readable.count_ngrams([], 2, EOS)


def test_count_ngrams_rejects_eos_inside_a_document():
    with pytest.raises(ValueError, match="document 1 contains eos_id 0"):
        readable.count_ngrams([[A], [A, EOS]], 2, EOS)


@pytest.mark.parametrize(
    ("ids", "order", "expected"),
    [
        ([EOS, A, B], 1, ()),
        ([EOS, A, B], 3, (A, B)),
        ([EOS, A, B], 4, (EOS, A, B)),
        ([A, EOS, B], 4, (EOS, B)),
        ([A, B, EOS], 4, (EOS,)),
        ([A, B], 4, (A, B)),
        ([], 3, ()),
    ],
)
def test_context_of_ends_at_the_last_eos(ids, order, expected):
    assert readable.context_of(ids, order, EOS) == expected


def test_mle_prob_is_the_relative_frequency():
    assert readable.mle_prob(BIGRAMS, (B,), EOS) == close(2 / 3)
    assert readable.mle_prob(BIGRAMS, (B,), C) == 0


def test_mle_prob_is_zero_after_an_unseen_history():
    assert readable.mle_prob(BIGRAMS, (NEVER,), A) == 0


def test_add_k_prob_adds_k_to_every_token_of_the_vocabulary():
    # (1 + 1/2) / (3 + 5/2)
    assert readable.add_k_prob(BIGRAMS, (B,), A, k=0.5, vocab_size=V) == close(3 / 11)
    assert readable.add_k_prob(BIGRAMS, (B,), NEVER, k=0.5, vocab_size=V) == close(1 / 11)
    assert readable.add_k_prob(BIGRAMS, (NEVER,), A, k=0.5, vocab_size=V) == close(1 / 5)


def test_interpolated_prob_weighs_every_order():
    counts, weights = [UNIGRAMS, BIGRAMS], (0.1, 0.3, 0.6)
    # 1/10 * 1/5 + 3/10 * 3/10 + 6/10 * 1/3
    prob = readable.interpolated_prob(counts, (B,), A, weights=weights, vocab_size=V)
    assert prob == close(0.31)


def test_interpolated_prob_shares_the_weight_of_an_unseen_history():
    counts, weights = [UNIGRAMS, BIGRAMS], (0.1, 0.3, 0.6)
    # (1/10 * 1/5 + 3/10 * 3/10) / (4/10)
    prob = readable.interpolated_prob(counts, (NEVER,), A, weights=weights, vocab_size=V)
    assert prob == close(0.275)


def test_absolute_discounting_prob_hands_the_discounts_to_the_shorter_history():
    def prob(history, token):
        return readable.absolute_discounting_prob(
            [UNIGRAMS, BIGRAMS], history, token, discounts=[0.5, 0.5], vocab_size=V
        )

    # Order 1: four types free 4/2 of 10, a fifth of it each: P(A) = 2.5/10 + 0.2/5.
    assert prob((), A) == close(0.29)
    assert prob((), NEVER) == close(0.04)
    # Order 2: two types free 2/2 of 3: P(A | B) = 0.5/3 + 1/3 * 0.29.
    assert prob((B,), A) == close(0.79 / 3)
    assert prob((B,), C) == close(0.09 / 3)
    assert prob((NEVER,), A) == close(0.29)


def test_continuation_counts_count_different_predecessors():
    # A follows 0, B; B follows 0, A; C follows A; the end follows B, C.
    assert readable.continuation_counts(BIGRAMS, 1) == {(): Counter({A: 2, B: 2, C: 1, EOS: 2})}


def test_continuation_counts_keep_plain_counts_at_a_document_start():
    assert readable.continuation_counts(TRIGRAMS, 2) == {
        (EOS,): Counter({A: 2, B: 1}),  # nothing precedes a start: plain
        (A,): Counter({B: 1, C: 1}),  # A B occurs twice, but only after the start
        (B,): Counter({A: 1, EOS: 2}),
        (C,): Counter({EOS: 1}),
    }


def test_continuation_counts_rejects_counts_of_the_wrong_order():
    with pytest.raises(ValueError, match="of 2 tokens"):
        readable.continuation_counts(TRIGRAMS, 1)


def test_kneser_ney_prob_equals_the_bigram_worked_by_hand():
    counts = readable.kneser_ney_counts(DOCUMENTS, 2, EOS)

    def prob(history, token):
        return readable.kneser_ney_prob(counts, history, token, discounts=[0.5, 0.5], vocab_size=V)

    # Order 1, continuations 2, 2, 1, 2 of 7: P(A) = (1.5 + 2/5) / 7.
    assert prob((), A) == close(1.9 / 7)
    assert prob((), NEVER) == close(0.4 / 7)
    # P(A | B) = (0.5 + 1 * 1.9/7) / 3, P(A | start) = (1.5 + 1 * 1.9/7) / 3.
    assert prob((B,), A) == close(5.4 / 21)
    assert prob((EOS,), A) == close(12.4 / 21)
    assert prob((NEVER,), A) == close(1.9 / 7)


def test_kneser_ney_prob_equals_the_trigram_worked_by_hand():
    counts = readable.kneser_ney_counts(DOCUMENTS, 3, EOS)
    prob = readable.kneser_ney_prob(counts, (EOS, A), B, discounts=[0.5, 0.5, 0.5], vocab_size=V)
    # P(B) = 1.9/7; after A the continuations of B and C are 1 and 1, so (0.5 + 1.9/7) / 2 = 5.4/14;
    # after 0 A comes B only, twice: (1.5 + 0.5 * 5.4/14) / 2.
    assert prob == close(23.7 / 28)


def test_modified_kneser_ney_prob_discounts_by_count():
    counts = readable.kneser_ney_counts(DOCUMENTS, 2, EOS)

    def prob(history, token):
        return readable.modified_kneser_ney_prob(
            counts, history, token, discounts=[(0.5, 1.0, 1.5)] * 2, vocab_size=V
        )

    # Continuations 2, 2, 1, 2 free 1 + 1 + 0.5 + 1 = 3.5: P(A) = (1 + 3.5/5) / 7.
    assert prob((), A) == close(1.7 / 7)
    assert prob((), C) == close(1.2 / 7)
    # After the start A twice, B once free 1.5: P(A | start) = (1 + 1.5 * 1.7/7) / 3.
    assert prob((EOS,), A) == close(9.55 / 21)


def test_modified_kneser_ney_prob_takes_no_more_than_the_count():
    counts = [{(): Counter({A: 1, B: 3})}]
    # Of A's count 1 the discount takes 1, not 2; of B's 3 it takes 2: 3 of 4 go to the uniform.
    prob = readable.modified_kneser_ney_prob(
        counts, (), A, discounts=[(2.0, 2.0, 2.0)], vocab_size=V
    )
    assert prob == close(3 / 4 / 5)


def test_count_of_counts_leaves_out_shorter_ngrams_of_document_starts():
    # Trigrams: 0 A B twice, five others once; 0 A and 0 B are bigrams.
    assert readable.count_of_counts(TRIGRAMS, 3) == Counter({1: 5, 2: 1})


def test_absolute_discount_equals_its_formula():
    assert readable.absolute_discount({1: 6, 2: 3}) == close(1 / 2)


@pytest.mark.parametrize("n", [{}, {1: 3}, {2: 3}])
def test_absolute_discount_falls_back_when_a_count_is_missing(n):
    assert readable.absolute_discount(n) == 0.75


def test_modified_discounts_equal_their_formula():
    # Y = 6/12; 1 - 2 Y 3/6, 2 - 3 Y 2/3, 3 - 4 Y 1/2
    assert readable.modified_discounts({1: 6, 2: 3, 3: 2, 4: 1}) == close((0.5, 1.0, 2.0))


@pytest.mark.parametrize(
    "n",
    [
        {},
        {1: 6, 2: 3},  # n3 missing
        {1: 6, 2: 3, 3: 30, 4: 1},  # D2 negative
        {1: 6, 2: 3, 3: 4, 4: 1},  # D2 exactly zero
    ],
)
def test_modified_discounts_fall_back_when_they_cannot_be_estimated(n):
    assert readable.modified_discounts(n) == (0.5, 1.0, 1.5)


def nltk_model(kind, order, *args):
    """An nltk.lm model of the toy corpus, with shorter n-grams at the starts as here."""
    ngrams = []
    for document in DOCUMENTS:
        sequence = [str(token) for token in (EOS, *document, EOS)]
        ngrams += [tuple(sequence[max(0, t - order + 1) : t + 1]) for t in range(1, len(sequence))]
    model = kind(*args, order)
    # nltk adds its own <UNK> to the vocabulary: that makes V = 5, with NEVER.
    model.fit([ngrams], vocabulary_text=[str(token) for token in (EOS, A, B, C)])
    return model


@pytest.mark.parametrize(("order", "counts"), [(2, BIGRAMS), (3, TRIGRAMS)])
def test_mle_prob_matches_nltk(order, counts):
    model = nltk_model(nltk_lm.MLE, order)
    for history in counts:
        for token in range(V):
            expected = model.score(str(token), [str(h) for h in history])
            assert readable.mle_prob(counts, history, token) == close(expected)


@pytest.mark.parametrize("k", [1.0, 0.1])
def test_add_k_prob_matches_nltk(k):
    model = nltk_model(nltk_lm.Lidstone, 3, k)
    for history in TRIGRAMS:
        for token in range(V):
            expected = model.score(str(token), [str(h) for h in history])
            prob = readable.add_k_prob(TRIGRAMS, history, token, k=k, vocab_size=V)
            assert prob == close(expected)


def test_kneser_ney_prob_matches_nltk_when_unigrams_are_not_discounted():
    # nltk has one discount for all orders but the lowest, which it neither discounts nor mixes
    # with the uniform; so an unseen token has probability 0 there. At higher orders it counts
    # continuations of a bigram by other rules, so only bigram models can agree.
    model = nltk_model(nltk_lm.KneserNeyInterpolated, 2)
    counts = readable.kneser_ney_counts(DOCUMENTS, 2, EOS)
    for history in BIGRAMS:
        for token in range(V):
            expected = model.score(str(token), [str(h) for h in history])
            prob = readable.kneser_ney_prob(
                counts, history, token, discounts=[0.0, 0.1], vocab_size=V
            )
            assert prob == close(expected)


corpora = st.lists(st.lists(st.integers(1, 4), max_size=7), min_size=1, max_size=5)


@settings(max_examples=40)
@given(corpora, st.integers(1, 5))
def test_continuation_counts_never_exceed_counts(documents, order):
    plain = readable.count_ngrams(documents, order, EOS)
    continued = readable.continuation_counts(
        readable.count_ngrams(documents, order + 1, EOS), order
    )
    assert continued.keys() == plain.keys()
    for history, following in continued.items():
        assert following.keys() == plain[history].keys()
        assert all(1 <= n <= plain[history][token] for token, n in following.items())


@settings(max_examples=40)
@given(corpora)
def test_bigram_continuation_counts_are_the_sets_of_predecessors(documents):
    predecessors = {}
    for document in documents:
        for first, second in pairwise([EOS, *document, EOS]):
            predecessors.setdefault(second, set()).add(first)
    counts = readable.continuation_counts(readable.count_ngrams(documents, 2, EOS), 1)
    assert counts[()] == {token: len(before) for token, before in predecessors.items()}


@pytest.mark.parametrize("token", [-1, V])
def test_probabilities_reject_a_token_outside_the_vocabulary(token):
    with pytest.raises(ValueError, match=f"token is {token}"):
        readable.add_k_prob(BIGRAMS, (A,), token, k=1, vocab_size=V)
    with pytest.raises(ValueError, match=f"token is {token}"):
        readable.kneser_ney_prob([UNIGRAMS], (), token, discounts=[0.5], vocab_size=V)


def test_add_k_prob_rejects_k_zero():
    with pytest.raises(ValueError, match="k is 0"):
        readable.add_k_prob(BIGRAMS, (A,), A, k=0, vocab_size=V)


@pytest.mark.parametrize(
    ("weights", "message"),
    [
        ((0.5, 0.5), "weights has 2 entries"),
        ((0.5, 0.7, -0.2), "-0.2"),
        ((0.5, 0.5, 0.5), r"0.5, 0.5, 0.5"),
        ((0.0, 0.0, 1.0), "unseen histories"),
    ],
)
def test_interpolated_prob_rejects_weights_that_make_no_distribution(weights, message):
    with pytest.raises(ValueError, match=message):
        readable.interpolated_prob([UNIGRAMS, BIGRAMS], (A,), B, weights=weights, vocab_size=V)


def test_discounting_rejects_a_missing_order():
    with pytest.raises(ValueError, match="discounts has 1 entries"):
        readable.kneser_ney_prob([UNIGRAMS, BIGRAMS], (), A, discounts=[0.5], vocab_size=V)
