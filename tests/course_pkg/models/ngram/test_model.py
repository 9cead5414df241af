"""The fast n-gram model against the readable functions; what it saves, rejects and sums to."""

import math

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from course_pkg.models import IGNORE, LanguageModel
from course_pkg.models.ngram import (
    MLE,
    AbsoluteDiscounting,
    AddK,
    Interpolated,
    KneserNey,
    ModifiedKneserNey,
    NGram,
)
from course_pkg.models.ngram import probabilities as readable

EOS, V = 0, 6  # token 5 is never in a corpus: the word that nobody saw
DOCUMENTS = [[1, 2, 1, 3, 1, 2, 4], [2, 2, 1, 3], [1], [], [3, 1, 2, 1]]

SMOOTHINGS = [
    MLE(),
    AddK(0.3),
    Interpolated(held_out=((1, 2, 1, 2), (4, 5, 3))),
    AbsoluteDiscounting(),
    KneserNey(),
    ModifiedKneserNey(),
]
by_name = pytest.mark.parametrize("smoothing", SMOOTHINGS, ids=lambda s: type(s).__name__)
corpora = st.lists(st.lists(st.integers(1, 4), max_size=9), min_size=1, max_size=6)
rows = st.lists(st.integers(0, V - 1), min_size=1, max_size=7)


def readable_probs(model, documents, ids):
    """All V probabilities after `ids`, by the readable functions."""
    orders = range(1, model.order + 1)
    plain = [readable.count_ngrams(documents, n, EOS) for n in orders]
    history = readable.context_of(ids, model.order, EOS)
    of_length = plain[len(history)]
    adjusted = readable.kneser_ney_counts(documents, model.order, EOS)
    settings = {name: value for name, value in model.smoothing.items() if name != "method"}
    prob = {
        "MLE": lambda w: readable.mle_prob(of_length, history, w),
        "AddK": lambda w: readable.add_k_prob(of_length, history, w, vocab_size=V, **settings),
        "Interpolated": lambda w: readable.interpolated_prob(
            plain, history, w, vocab_size=V, **settings
        ),
        "AbsoluteDiscounting": lambda w: readable.absolute_discounting_prob(
            plain, history, w, vocab_size=V, **settings
        ),
        "KneserNey": lambda w: readable.kneser_ney_prob(
            adjusted, history, w, vocab_size=V, **settings
        ),
        "ModifiedKneserNey": lambda w: readable.modified_kneser_ney_prob(
            adjusted, history, w, vocab_size=V, **settings
        ),
    }[model.smoothing["method"]]
    return torch.tensor([prob(token) for token in range(V)], dtype=torch.float64)


@by_name
@settings(max_examples=20)
@given(documents=corpora, order=st.integers(1, 5), ids=rows)
def test_fast_form_equals_the_readable_form(smoothing, documents, order, ids):
    model = NGram.fit(documents, order, V, EOS, smoothing)
    probs = model.next_log_probs(torch.tensor([ids]))[0].exp()
    # Up to five products and a logarithm and back: 1e-12 leaves room for rounding alone.
    torch.testing.assert_close(probs, readable_probs(model, documents, ids), rtol=1e-9, atol=1e-12)


@by_name
@settings(max_examples=20)
@given(documents=corpora, order=st.integers(1, 5), ids=rows)
def test_distribution_sums_to_one(smoothing, documents, order, ids):
    total = float(
        NGram.fit(documents, order, V, EOS, smoothing)
        .next_log_probs(torch.tensor([ids]))
        .exp()
        .sum()
    )
    history = readable.context_of(ids, order, EOS)
    counts = readable.count_ngrams(documents, len(history) + 1, EOS)
    is_predicted = history in counts or not isinstance(smoothing, MLE)
    # MLE after a history never seen predicts nothing; everything else sums to one up to rounding.
    assert total == pytest.approx(1.0 if is_predicted else 0.0, abs=1e-12)


@by_name
@pytest.mark.parametrize("order", [1, 2, 4])
def test_logits_next_and_target_log_probs_agree(smoothing, order, rng):
    model = NGram.fit(DOCUMENTS, order, V, EOS, smoothing)
    ids = torch.randint(V, (3, 7), generator=rng)
    targets = torch.randint(V, (3, 7), generator=rng)
    logits, _ = model(ids, targets)
    assert logits.shape == (3, 7, V)
    for t in range(7):
        torch.testing.assert_close(
            model.next_log_probs(ids[:, : t + 1]), logits[:, t], rtol=0, atol=0
        )
    scored = logits.gather(-1, targets[..., None])[..., 0]
    # The same table entries, added in the same order.
    torch.testing.assert_close(model.target_log_probs(ids, targets), scored, rtol=0, atol=0)


def test_loss_is_the_mean_over_targets_that_count():
    model = NGram.fit(DOCUMENTS, 3, V, EOS)
    ids, targets = torch.tensor([[0, 1, 2], [0, 2, 0]]), torch.tensor([[1, 2, 4], [2, 0, IGNORE]])
    logits, loss = model(ids, targets)
    expected = torch.nn.functional.cross_entropy(logits.flatten(0, 1), targets.flatten())
    torch.testing.assert_close(loss, expected, rtol=0, atol=1e-12)  # rounding of one mean
    assert model.target_log_probs(ids, targets)[1, 2] == 0
    assert model(ids)[1] is None


def test_scores_do_not_cross_a_document_border():
    model = NGram.fit(DOCUMENTS, 4, V, EOS)
    one_row = torch.tensor([[3, 1, 0, 2, 2]])
    alone = torch.tensor([[0, 2, 2]])
    torch.testing.assert_close(
        model.next_log_probs(one_row), model.next_log_probs(alone), rtol=0, atol=0
    )


def test_mle_perplexity_of_its_own_training_text_by_hand():
    # 0 1 1 2 0: after 0 comes 1; after 1 comes 1 or 2, half each; after 2 comes the end.
    model = NGram.fit([[1, 1, 2]], 2, V, EOS, MLE())
    _, loss = model(torch.tensor([[0, 1, 1, 2]]), torch.tensor([[1, 1, 2, 0]]))
    assert float(loss) == pytest.approx(2 * math.log(2) / 4, abs=1e-12)


def test_model_keeps_the_contract_of_a_language_model():
    model = NGram.fit(DOCUMENTS, 3, V, EOS)
    assert isinstance(model, LanguageModel)
    assert (model.vocab_size, model.order, model.context_length) == (V, 3, None)


def test_modified_kneser_ney_is_the_default():
    model = NGram.fit(DOCUMENTS, 2, V, EOS)
    assert model.smoothing["method"] == "ModifiedKneserNey"
    assert len(model.smoothing["discounts"]) == 2


def test_kneser_ney_beats_add_k_on_held_out_text(rng):
    # A first-order source over 30 tokens: sparse enough that smoothing decides.
    source = torch.rand(30, 30, generator=rng, dtype=torch.float64) ** 8 + 1e-4
    token, text = 0, []
    for _ in range(1500):
        token = int(torch.multinomial(source[token], 1, generator=rng))
        text.append(token + 1)
    ids = torch.tensor([text[1000:]])
    losses = {
        type(smoothing).__name__: float(
            NGram.fit([text[:1000]], 3, 31, EOS, smoothing)(ids[:, :-1], ids[:, 1:])[1]
        )
        for smoothing in (ModifiedKneserNey(), KneserNey(), AbsoluteDiscounting(), AddK(1.0))
    }
    assert losses["ModifiedKneserNey"] < losses["AbsoluteDiscounting"] < losses["AddK"]


@by_name
def test_saved_model_round_trips(smoothing, tmp_path, rng):
    model = NGram.fit(DOCUMENTS, 3, V, EOS, smoothing)
    model.save(tmp_path / "model.safetensors")
    loaded = NGram.load(tmp_path / "model.safetensors")
    ids = torch.randint(V, (4, 5), generator=rng)
    torch.testing.assert_close(loaded(ids)[0], model(ids)[0], rtol=0, atol=0)
    assert loaded.n_ngrams == model.n_ngrams
    assert loaded.smoothing["method"] == model.smoothing["method"]
    assert [path.name for path in tmp_path.iterdir()] == ["model.safetensors"]  # no partial file


def test_load_rejects_a_file_that_is_no_model(tmp_path):
    path = tmp_path / "text.safetensors"
    path.write_text("the quick brown fox jumps over the lazy dog")
    with pytest.raises(ValueError, match=r"text\.safetensors is not an n-gram model"):
        NGram.load(path)


def test_n_bytes_grows_with_the_order():
    small, large = (NGram.fit(DOCUMENTS, order, V, EOS).n_bytes for order in (1, 3))
    assert small == 2 * 8 * V  # a key and a probability for each token
    assert large > small


@pytest.mark.parametrize("wrong", [-1, V])
def test_model_rejects_ids_outside_the_vocabulary(wrong):
    model = NGram.fit(DOCUMENTS, 2, V, EOS)
    ids, bad = torch.tensor([[0, 1]]), torch.tensor([[1, wrong]])
    with pytest.raises(ValueError, match=f"ids contains {wrong}"):
        model(bad)
    with pytest.raises(ValueError, match=f"targets contains {wrong}"):
        model.target_log_probs(ids, bad)


def test_next_log_probs_rejects_an_empty_text():
    with pytest.raises(ValueError, match="ids has no position"):
        NGram.fit(DOCUMENTS, 2, V, EOS).next_log_probs(torch.zeros(1, 0, dtype=torch.int64))


def test_fit_rejects_order_zero_and_empty_corpora():
    with pytest.raises(ValueError, match="order is 0"):
        NGram.fit(DOCUMENTS, 0, V, EOS)
    with pytest.raises(ValueError, match="documents is empty"):
        NGram.fit([], 2, V, EOS)
