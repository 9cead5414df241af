"""Counting in sorted arrays against counting in dictionaries."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from course_pkg.models.ngram import probabilities as readable
from course_pkg.models.ngram.counts import NGramTables, document_stream

EOS, V = 0, 5
corpora = st.lists(st.lists(st.integers(1, V - 1), max_size=8), min_size=1, max_size=6)


def spell(tables, order, number):
    """The tokens of an n-gram, from its number."""
    if order == 1:
        return (int(number),)
    history, token = divmod(int(tables.index.keys[order - 1][number]), V)
    return (*spell(tables, order - 1, history), token)


def as_dictionary(tables, order, counts):
    result = {}
    for number in np.flatnonzero(counts):
        *history, token = spell(tables, order, number)
        result.setdefault(tuple(history), {})[token] = int(counts[number])
    return result


@settings(max_examples=50)
@given(corpora, st.integers(1, 5))
def test_tables_equal_the_dictionaries(documents, order):
    tables = NGramTables.count(documents, order, V, EOS)
    adjusted = readable.kneser_ney_counts(documents, order, EOS)
    for n in range(1, order + 1):
        plain = readable.count_ngrams(documents, n, EOS)
        for counts, expected in [
            (tables.counts[n - 1], plain),
            (tables.continuations[n - 1], adjusted[n - 1]),
        ]:
            # The dictionaries also hold the shorter n-grams of document starts.
            expected = {h: dict(c) for h, c in expected.items() if len(h) == n - 1}
            assert as_dictionary(tables, n, counts) == expected
        assert tables.n_ngrams[n - 1] == sum(
            len(following) for history, following in plain.items() if len(history) == n - 1
        )


@settings(max_examples=30)
@given(corpora)
def test_suffixes_drop_the_first_token(documents):
    tables = NGramTables.count(documents, 4, V, EOS)
    for order in (2, 3, 4):
        for number, suffix in enumerate(tables.suffixes[order - 1]):
            assert spell(tables, order, number)[1:] == spell(tables, order - 1, suffix)


@settings(max_examples=30)
@given(corpora, corpora, st.integers(1, 4))
def test_unseen_shares_equal_a_search_of_the_dictionaries(documents, others, order):
    shares = NGramTables.count(documents, order, V, EOS).unseen_shares(others)
    for n, share in enumerate(shares, start=1):
        counts = readable.count_ngrams(documents, n, EOS)
        targets = [
            (history, token)
            for history, following in readable.count_ngrams(others, n, EOS).items()
            for token in following.elements()
        ]
        unseen = [1 for history, token in targets if token not in counts.get(history, ())]
        # A mean of zeros and ones: rounding only.
        assert share == pytest.approx(len(unseen) / len(targets))


@settings(max_examples=30)
@given(corpora, corpora, st.integers(1, 4))
def test_seen_history_lengths_equal_a_search_of_the_texts(documents, others, order):
    lengths = NGramTables.count(documents, order, V, EOS).seen_history_lengths(others)
    texts = [[EOS, *document, EOS] for document in documents]
    seen = {tuple(text[a:b]) for text in texts for b in range(len(text) + 1) for a in range(b)}
    histories = [[EOS, *text[:t]] for text in others for t in range(len(text) + 1)]
    expected = [
        sum(n <= len(h) and tuple(h[len(h) - n :]) in seen for n in range(1, order))
        for h in histories
    ]
    assert lengths.tolist() == expected


def test_find_numbers_no_ngram_across_eos_or_before_the_row():
    tables = NGramTables.count([[1, 2], [3]], 3, V, EOS)
    _, bigrams, trigrams = tables.index.find(np.array([[1, 2, 0, 3, 0]]))
    # 12, 20, 03 and 30 were seen; no trigram may join 2 0 3, and 0 1 2 begins before the row.
    assert (bigrams[0] >= 0).tolist() == [False, True, True, True, True]
    assert (trigrams[0] >= 0).tolist() == [False, False, True, False, True]


def test_document_stream_shares_one_eos_between_documents():
    assert document_stream([[1, 2], [], [3]], V, EOS).tolist() == [0, 1, 2, 0, 0, 3, 0]


@pytest.mark.parametrize(
    ("documents", "message"),
    [
        ([], "documents is empty"),
        ([[1], [2, -1]], "contains -1"),
        ([[1], [V]], f"contains {V}"),
        ([[1], [], [2, EOS]], "document 2 contains eos_id 0"),
    ],
)
def test_count_rejects_documents_that_cannot_be_counted(documents, message):
    with pytest.raises(ValueError, match=message):
        NGramTables.count(documents, 2, V, EOS)


def test_count_rejects_order_zero():
    with pytest.raises(ValueError, match="order is 0"):
        NGramTables.count([[1]], 0, V, EOS)


def test_count_rejects_eos_outside_the_vocabulary():
    with pytest.raises(ValueError, match="eos_id is 5"):
        NGramTables.count([[1]], 2, V, V)
