"""Corrupted windows: what is hidden, what is to be told, and that nothing else changes."""

import pytest
import torch

from course_pkg.text.batches import IGNORE
from course_pkg.text.batches.masking import fill_sentinels
from course_pkg.text.batches.pretraining import (
    BERT_TOKENS,
    masked_batches,
    n_sentinels,
    permuted_batches,
    sentinel_tokens,
    span_batches,
)

SPECIAL = {"<eos>": 0, "[CLS]": 1, "[SEP]": 2, "[MASK]": 3}
V = 53
IDS = 4 + torch.randperm(41, generator=torch.Generator().manual_seed(3))  # each once, none special


def masked(**changes):
    settings = {"vocab_size": V, "special_ids": SPECIAL, "seed": 7, **changes}
    return masked_batches(IDS, 13, 3, **settings)


def test_masked_rows_are_windows_between_cls_and_sep():
    batch = masked(rate=0.0).next_batch()
    assert batch["ids"].shape == (3, 13)
    assert batch["ids"][:, 0].eq(1).all()
    assert batch["ids"][:, -1].eq(2).all()
    stream = IDS.tolist()
    for row in batch["ids"][:, 1:-1].tolist():
        start = stream.index(row[0])
        assert stream[start : start + 11] == row
    assert batch["targets"].eq(IGNORE).all()


def test_masked_rows_of_an_epoch_show_every_token():
    shown = {token for batch in masked(rate=0.0) for token in batch["ids"].flatten().tolist()}
    assert shown == {1, 2, *IDS.tolist()}


def test_masked_targets_are_the_true_tokens():
    batches, plain = masked(rate=0.5), masked(rate=0.0)
    n_told = 0
    for batch, truth in zip(batches, plain, strict=True):
        is_told = batch["targets"] != IGNORE
        assert torch.equal(batch["targets"][is_told], truth["ids"][is_told])
        assert torch.equal(batch["ids"][~is_told], truth["ids"][~is_told])
        assert not is_told[:, [0, -1]].any()
        n_told += int(is_told.sum())
    assert n_told > 10


def test_masked_rows_are_corrupted_anew_in_each_epoch():
    batches = masked(rate=0.5)
    epochs = [torch.cat([batch["targets"] for batch in batches]) for _ in range(2)]
    assert sorted(epochs[0].flatten().tolist()) != sorted(epochs[1].flatten().tolist())


def test_masked_spans_are_longer_and_masked_together():
    batches = masked(rate=0.4, whole_spans=True)
    n_told = n_beside = 0
    for _ in range(20):
        batch = batches.next_batch()
        is_told = batch["targets"] != IGNORE
        is_masked = batch["ids"] == SPECIAL["[MASK]"]
        beside = is_told[:, 1:] & is_told[:, :-1]
        assert torch.equal(is_masked[:, 1:][beside], is_masked[:, :-1][beside])
        assert is_told.sum(dim=1).eq(round(0.4 * 11)).all()
        n_told, n_beside = n_told + int(is_told.sum()), n_beside + int(beside.sum())
    assert n_beside > 0.5 * n_told  # one by one it would be 0.4 at most


def test_permuted_rows_show_the_text_and_ask_for_the_end_of_a_random_order():
    batches = permuted_batches(IDS, 13, 3, special_ids=SPECIAL, rate=0.3, seed=7)
    plain = masked(rate=0.0)
    orders = []
    for batch, truth in zip(batches, plain, strict=True):
        assert torch.equal(batch["ids"], truth["ids"])
        assert batch["ranks"].sort(dim=1).values.eq(torch.arange(13)).all()
        assert batch["ranks"][:, [0, -1]].lt(2).all()  # [CLS] and [SEP] are known
        is_told = batch["targets"] != IGNORE
        assert torch.equal(is_told, batch["ranks"] >= 13 - round(0.3 * 11))
        assert torch.equal(batch["targets"][is_told], batch["ids"][is_told])
        orders += batch["ranks"].tolist()
    assert len(set(map(tuple, orders))) == len(orders)


def test_permuted_rejects_a_tokenizer_without_the_special_tokens():
    with pytest.raises(ValueError, match=r"special_ids lacks '\[SEP\]'"):
        permuted_batches(IDS, 13, 3, special_ids={"[CLS]": 1, "[MASK]": 3}, seed=7)


def test_masked_rejects_a_tokenizer_without_the_special_tokens():
    with pytest.raises(ValueError, match=r"special_ids lacks '\[MASK\]'"):
        masked(special_ids={"[CLS]": 1, "[SEP]": 2})
    assert len(BERT_TOKENS) == 3


def test_masked_rejects_windows_that_the_text_cannot_fill():
    with pytest.raises(ValueError, match="ids has 5 tokens; a window takes 11"):
        masked_batches(IDS[:5], 13, 3, vocab_size=V, special_ids=SPECIAL, seed=0)
    with pytest.raises(ValueError, match="a window would have 1 tokens"):
        masked_batches(IDS, 3, 3, vocab_size=V, special_ids=SPECIAL, seed=0)


def test_spans_put_back_give_the_window_again():
    sentinels = [90, 91, 92, 93, 94]
    batches = span_batches(IDS, 20, 2, sentinel_ids=sentinels, eos_id=0, seed=5)
    stream = IDS.tolist()
    for batch in batches:
        for i, length in enumerate(batch["source_lengths"].tolist()):
            source = batch["source_ids"][i, :length].tolist()
            target = [t for t in batch["targets"][i].tolist() if t not in (IGNORE, 0)]
            window = fill_sentinels(source, target, sentinels)
            start = stream.index(window[0])
            assert window == stream[start : start + 20]


@pytest.mark.parametrize("length", [2, 3, 7, 20, 64, 257, 512])
def test_sentinels_suffice_for_every_window(length):
    ids = torch.arange(1000, 1000 + length)
    sentinels = list(range(n_sentinels(length)))
    batches = span_batches(ids, length, 1, sentinel_ids=sentinels, eos_id=999, seed=0)
    for _ in range(20):
        used = set(batches.next_batch()["targets"].flatten().tolist()) & set(sentinels)
    assert used == set(sentinels)  # and none is left over


def test_sentinel_names_differ():
    assert len(set(sentinel_tokens(12))) == 12
