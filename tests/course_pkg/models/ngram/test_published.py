"""Published figures on real corpora: the Penn Treebank's KN5, and Shakespeare by letter."""

import gzip
import math

import numpy as np
import pytest
import torch

from course_pkg.models.ngram import (
    Interpolated,
    KneserNey,
    ModifiedKneserNey,
    NGram,
    NGramTables,
    modified_discounts,
)

pytestmark = pytest.mark.shared_data

EOS = 0
# KenLM, `lmplz -o 5`, on the same text with <unk> renamed: D1, D2, D3+ of each order.
KENLM_DISCOUNTS = [
    (0.25656, 0.82888, 1.26492),
    (0.727802, 1.09876, 1.4713),
    (0.868879, 1.25462, 1.44822),
    (0.942828, 1.38314, 1.43173),
    (0.959671, 1.3879, 1.24171),
]


@pytest.fixture(scope="module")
def treebank(shared_data):
    """Ids of the three splits; V = 10,001 with eos and a reserved unknown word, as in KenLM."""
    lines = {}
    for split in ("train", "valid", "test"):
        with gzip.open(shared_data / "ptb" / f"ptb.{split}.txt.gz", "rt") as file:
            lines[split] = [line.split() for line in file]
    words = sorted({word for line in lines["train"] for word in line})
    ids = {word: number for number, word in enumerate(words, start=1)}
    documents = {split: [[ids[word] for word in line] for line in lines[split]] for split in lines}
    return documents, len(words) + 2


@pytest.fixture(scope="module")
def tables(treebank):
    documents, vocab_size = treebank
    return NGramTables.count(documents["train"], 5, vocab_size, EOS)


def perplexity(model, documents):
    stream = torch.tensor([EOS, *(token for d in documents for token in (*d, EOS))])[None]
    log_probs = model.target_log_probs(stream[:, :-1], stream[:, 1:])
    return math.exp(-float(log_probs.mean())), log_probs.numel()


def test_treebank_fivegram_matches_published(treebank, tables):
    found, n_tokens = perplexity(NGram.from_tables(tables), treebank[0]["test"])
    assert n_tokens == 82_430
    # Mikolov et al. 2011 print 141.2; KenLM gives 141.186, its float32 rounds the last digit.
    assert found == pytest.approx(141.186, abs=2e-3)


@pytest.mark.parametrize(("order", "expected"), [(2, 185.705), (3, 148.281)])
def test_treebank_lower_orders_match_kenlm(order, expected, treebank):
    documents, vocab_size = treebank
    found, _ = perplexity(NGram.fit(documents["train"], order, vocab_size, EOS), documents["test"])
    assert found == pytest.approx(expected, abs=2e-3)  # three digits are given, in float32


def test_treebank_counts_match_kenlm(tables):
    # KenLM's 10,002 words include <s> and its reserved unknown word.
    assert tables.n_ngrams == (10_000, 264_990, 586_558, 717_733, 737_952)


def test_treebank_discounts_match_kenlm(tables):
    discounts = ModifiedKneserNey().fitted(tables).discounts
    for ours, theirs in zip(discounts[1:], KENLM_DISCOUNTS[1:], strict=True):
        assert ours == pytest.approx(theirs, abs=5e-6)  # six digits are printed
    assert discounts[0][:2] == pytest.approx(KENLM_DISCOUNTS[0][:2], abs=5e-6)
    # KenLM enters the last word of its vocabulary into the count of counts with its plain count,
    # not its continuations, of which that word has 4: one fewer there gives KenLM's third discount.
    n = dict(enumerate(np.bincount(tables.continuations[0]).tolist()))
    n[4] -= 1
    assert modified_discounts(n) == pytest.approx(KENLM_DISCOUNTS[0], abs=5e-6)


def test_treebank_ranks_the_methods_as_chen_and_goodman_do(treebank, tables):
    documents, _ = treebank
    modified, plain, interpolated = (
        perplexity(NGram.from_tables(tables, method), documents["test"])[0]
        for method in (ModifiedKneserNey(), KneserNey(), Interpolated(held_out=documents["valid"]))
    )
    assert modified < plain < interpolated


def test_shakespeare_sevengram_by_character_matches_kenlm(shared_data):
    with gzip.open(shared_data / "tinyshakespeare" / "input.txt.gz", "rt") as file:
        text = file.read()
    ids = {character: number for number, character in enumerate(sorted(set(text)), start=1)}
    encoded = [ids[character] for character in text]
    border = int(0.9 * len(encoded))
    model = NGram.fit([encoded[:border]], 7, len(ids) + 2, EOS)
    found, _ = perplexity(model, [encoded[border:]])
    # KenLM's 4.557 per character; nanoGPT's small transformer needs 1.886 nats, this 1.517.
    assert found == pytest.approx(4.557, abs=1e-3)
