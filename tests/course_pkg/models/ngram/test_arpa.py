"""ARPA text: what is written comes back, KenLM reads it alike, and bad files are refused."""

import math

import pytest
import torch

from course_pkg.models.ngram import MLE, Interpolated, KneserNey, ModifiedKneserNey, NGram
from course_pkg.models.ngram.arpa import read_arpa, write_arpa

TOKENS = ["<eos>", "fish", "ice", "<unk>", "pie"]  # the corpus has its own <unk>; "pie" is unseen
EOS, V = 0, len(TOKENS)
DOCUMENTS = [[1, 2, 1, 3], [1, 2], [], [2, 3, 3, 1, 2]]

SMALL = """
\\data\\
ngram 1=4
ngram 2=2

\\1-grams:
-99 <s> -0.5
-0.5 </s>
-0.4 fish -0.25
-0.6 ice

\\2-grams:
-0.1 <s> fish
-0.2 fish </s>

\\end\\
"""


def written(path, text):
    path.write_text(text)
    return path


@pytest.mark.parametrize(
    "smoothing", [ModifiedKneserNey(), KneserNey(), Interpolated((0.1, 0.2, 0.3, 0.4))]
)
def test_arpa_round_trips(smoothing, tmp_path, rng):
    model = NGram.fit(DOCUMENTS, 3, V, EOS, smoothing)
    write_arpa(model, tmp_path / "model.arpa", TOKENS)
    loaded, tokens = read_arpa(tmp_path / "model.arpa", TOKENS)
    ids = torch.randint(V, (5, 6), generator=rng)
    assert tokens == TOKENS
    # Twelve digits are written.
    torch.testing.assert_close(loaded(ids)[0], model(ids)[0], rtol=1e-10, atol=1e-10)
    assert [path.name for path in tmp_path.iterdir()] == ["model.arpa"]  # no partial file


def test_arpa_of_one_order_round_trips(tmp_path):
    model = NGram.fit(DOCUMENTS, 1, V, EOS)
    write_arpa(model, tmp_path / "model.arpa", TOKENS)
    loaded, _ = read_arpa(tmp_path / "model.arpa", TOKENS)
    ids = torch.tensor([[0, 1]])
    torch.testing.assert_close(loaded(ids)[0], model(ids)[0], rtol=1e-10, atol=1e-10)


def test_write_arpa_matches_kenlm(tmp_path):
    kenlm = pytest.importorskip("kenlm")
    model = NGram.fit(DOCUMENTS, 3, V, EOS)
    write_arpa(model, tmp_path / "model.arpa", TOKENS)
    other = kenlm.Model(str(tmp_path / "model.arpa"))
    for document in [[1, 2, 1], [], [4, 3, 2], [2, 2, 2, 1, 3, 1]]:
        ids, targets = torch.tensor([[EOS, *document]]), torch.tensor([[*document, EOS]])
        ours = float(model.target_log_probs(ids, targets).sum())
        theirs = other.score(" ".join(TOKENS[token] for token in document)) * math.log(10)
        assert ours == pytest.approx(theirs, abs=1e-4)  # KenLM keeps float32


def test_read_arpa_scores_by_hand(tmp_path):
    model, tokens = read_arpa(written(tmp_path / "small.arpa", SMALL))
    assert tokens == ["<eos>", "fish", "ice"]
    assert model.order == 2
    # fish after the start: listed. ice after fish: back off, -0.25 - 0.6. The end after ice: ice
    # has no back-off factor, -0.5.
    log_probs = model.target_log_probs(torch.tensor([[0, 1, 2]]), torch.tensor([[1, 2, 0]]))
    expected = torch.tensor([[-0.1, -0.85, -0.5]], dtype=torch.float64) * math.log(10)
    torch.testing.assert_close(log_probs, expected, rtol=1e-12, atol=0)  # rounding


def test_read_arpa_follows_the_ids_of_given_tokens(tmp_path):
    path = written(tmp_path / "small.arpa", SMALL)
    model, _ = read_arpa(path, ["ice", "fish", "STOP"], eos_token="STOP")
    assert model.eos_id == 2
    log_prob = model.target_log_probs(torch.tensor([[2]]), torch.tensor([[1]]))
    assert float(log_prob) == pytest.approx(-0.1 * math.log(10), abs=1e-12)  # rounding


@pytest.mark.parametrize(
    ("old", "new", "message"),
    [
        ("ngram 2=2", "ngram 2=3", "announces"),
        ("\\end\\", "", "without"),
        ("\\2-grams:", "\\3-grams:", "order 2 is due"),
        ("-0.1 <s> fish", "-0.1 <s>", "line 13"),
        ("-0.1 <s> fish", "0.1 <s> fish", "line 13"),
        ("-0.1 <s> fish", "-0.1 fish <s>", "first"),
        ("-0.1 <s> fish", "-0.1 <s> whale", "whale"),
        ("-0.1 <s> fish", "-0.1 fish </s>", "twice"),
        ("-0.6 ice", "-0.6 fish", "twice"),
        ("-0.5 </s>", "-0.5 whale", "must list"),
    ],
)
def test_read_arpa_rejects_a_broken_file(old, new, message, tmp_path):
    assert old in SMALL
    with pytest.raises(ValueError, match=message):
        read_arpa(written(tmp_path / "broken.arpa", SMALL.replace(old, new)))


def test_read_arpa_rejects_an_ngram_whose_history_is_missing(tmp_path):
    text = SMALL.replace("ngram 2=2", "ngram 2=2\nngram 3=1")
    text = text.replace("\\end", "\\3-grams:\n-0.3 ice ice fish\n\\end")
    with pytest.raises(ValueError, match="'ice ice' must be listed"):
        read_arpa(written(tmp_path / "broken.arpa", text))


def test_read_arpa_rejects_tokens_that_differ_from_the_file(tmp_path):
    with pytest.raises(ValueError, match="whale"):
        read_arpa(written(tmp_path / "small.arpa", SMALL), ["<eos>", "fish", "whale"])


@pytest.mark.parametrize(
    ("tokens", "message"),
    [
        (["<eos>", "a", "b"], "3 entries"),
        (["<eos>", "a", "b", "a", "c"], "token 3 is 'a'"),
        (["<eos>", "a", "b c", "d", "e"], "'b c'"),
        (["<eos>", "a", "", "d", "e"], "token 2 is ''"),
        (["<eos>", "a", "</s>", "d", "e"], "token 2 is '</s>'"),
    ],
)
def test_write_arpa_rejects_tokens_that_do_not_fit(tokens, message, tmp_path):
    with pytest.raises(ValueError, match=message):
        write_arpa(NGram.fit(DOCUMENTS, 2, V, EOS), tmp_path / "model.arpa", tokens)


def test_write_arpa_rejects_a_model_that_does_not_back_off(tmp_path):
    with pytest.raises(ValueError, match="MLE"):
        write_arpa(NGram.fit(DOCUMENTS, 2, V, EOS, MLE()), tmp_path / "model.arpa", TOKENS)
