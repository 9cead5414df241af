"""Batches: every token exactly once, the same order after a resume, and clear token files."""

from collections import Counter

import numpy as np
import pytest
import torch

from course_pkg import models
from course_pkg.text.batches import (
    IGNORE,
    Batches,
    example_batches,
    next_token_rows,
    pack_documents,
    pad_rows,
    random_windows,
    stream_batches,
    translation_rows,
    window_batches,
)
from course_pkg.text.batches.mixture import mixed_windows
from course_pkg.text.batches.pretraining import span_batches
from course_pkg.text.batches.token_files import HEADER, TokenFile, write_token_file


def counted_targets(batches: list[dict[str, torch.Tensor]]) -> Counter:
    """In a stream of 0, 1, 2, ... each id names its position."""
    kept = [batch["targets"][batch["targets"] != IGNORE] for batch in batches]
    return Counter(torch.cat(kept).tolist())


def same(one: dict, other: dict) -> bool:
    return one.keys() == other.keys() and all(torch.equal(one[key], other[key]) for key in one)


def test_ignore_is_the_one_that_models_ignore():
    assert IGNORE == models.IGNORE == torch.nn.CrossEntropyLoss().ignore_index


@pytest.mark.parametrize("n_tokens", [2, 7, 22, 23, 24, 50])
@pytest.mark.parametrize("context_length", [1, 7, 30])
@pytest.mark.parametrize("batch_size", [1, 3])
def test_windows_predict_each_token_once(n_tokens, context_length, batch_size):
    stream = torch.arange(n_tokens)
    batches = list(window_batches(stream, context_length, batch_size, seed=5))
    assert counted_targets(batches) == Counter(range(1, n_tokens))
    for batch in batches:
        assert batch["ids"].shape == batch["targets"].shape
        assert batch["ids"].shape[1] == min(context_length, n_tokens - 1)
        kept = batch["targets"] != IGNORE
        assert torch.equal(batch["targets"][kept], batch["ids"][kept] + 1)  # the next position


def test_windows_targets_are_the_next_id_and_not_the_id_plus_one():
    stream = torch.tensor([5, 3, 3, 9, 0])
    (batch,) = window_batches(stream, 4, 2, seed=0)
    assert batch["ids"].tolist() == [[5, 3, 3, 9]]
    assert batch["targets"].tolist() == [[3, 3, 9, 0]]


def test_windows_come_in_another_order_each_epoch_and_the_same_for_a_seed():
    def epochs(seed):
        batches = window_batches(torch.arange(200), 4, 3, seed=seed)
        return [[batch["ids"][:, 0].tolist() for batch in batches] for _ in range(2)]

    first, second = epochs(1)
    assert first != second
    assert epochs(1) == [first, second]
    assert epochs(2)[0] != first


def test_random_windows_draw_every_start_equally_often(rng):
    n_tokens, length, n_draws = 12, 4, 8000
    ids, targets = random_windows(torch.arange(n_tokens), length, n_draws, rng)
    assert torch.equal(targets, ids + 1)
    counts = torch.bincount(ids[:, 0], minlength=8)
    assert len(counts) == 8 and targets.max() == 11  # the last start is drawn too
    chi_square = ((counts - n_draws / 8) ** 2 / (n_draws / 8)).sum().item()
    assert chi_square < 24.3  # 7 degrees of freedom, probability 0.001


def test_random_windows_reject_a_context_as_long_as_the_text(rng):
    with pytest.raises(ValueError, match="context_length is 5"):
        random_windows(torch.arange(5), 5, 2, rng)


@pytest.mark.parametrize("n_tokens", [5, 21, 22, 23, 24, 25])
@pytest.mark.parametrize("length", [1, 3, 40])
@pytest.mark.parametrize("batch_size", [1, 4])
def test_streams_predict_each_token_once_and_continue(n_tokens, length, batch_size):
    batches = list(stream_batches(torch.arange(n_tokens), length, batch_size))
    assert counted_targets(batches) == Counter(range(1, n_tokens))
    joined = {
        key: torch.cat([batch[key] for batch in batches], dim=1) for key in ("ids", "targets")
    }
    for row in range(batch_size):
        ids = joined["ids"][row]
        n_real = int((joined["targets"][row] != IGNORE).sum())
        assert n_real in (n_tokens // batch_size, (n_tokens - 1) // batch_size, len(ids))
        assert torch.equal(ids[:n_real], ids[0] + torch.arange(n_real))
        assert torch.equal(joined["targets"][row, :n_real], ids[:n_real] + 1)
        assert (joined["targets"][row, n_real:] == IGNORE).all() and len(ids) - n_real <= 1


def test_streams_skip_a_batch_instead_of_reshuffling():
    batches = stream_batches(torch.arange(50), 3, 2)
    plain = list(batches)
    batches.next_batch()
    batches.reshuffle()
    assert same(batches.next_batch(), plain[2])


def documents(n=11):
    return [[10 * place + k for k in range(1 + place % 4)] for place in range(n)]


def make_example_batches(**kwargs):
    settings = {"batch_size": 3, "seed": 4}

    def collate(rows, generator):
        batch = next_token_rows(rows, 0)
        batch["noise"] = torch.rand(2, generator=generator)
        return batch

    return example_batches(documents(), collate, **(settings | kwargs))


@pytest.mark.parametrize("lengths", [None, [len(document) for document in documents()]])
def test_examples_come_once_per_epoch(lengths):
    batches = make_example_batches(lengths=lengths)
    for _ in range(2):
        firsts = [row[1].item() for batch in batches for row in batch["ids"]]
        assert sorted(firsts) == [10 * place for place in range(11)]
        assert len(batches) == 4


def test_buckets_gather_examples_of_similar_length():
    lengths = [1 + (7 * place) % 50 for place in range(100)]
    examples = [[1] * length for length in lengths]
    shares = {}
    for name, given in (("mixed", None), ("bucketed", lengths)):
        batches = example_batches(
            examples, lambda rows, _: next_token_rows(rows, 0), 8, seed=3, lengths=given
        )
        kept = [(batch["targets"] != IGNORE).double().mean().item() for batch in batches]
        shares[name] = sum(kept) / len(kept)
    assert shares["mixed"] < 0.7 < 0.9 < shares["bucketed"]


def test_buckets_change_from_epoch_to_epoch():
    batches = make_example_batches(lengths=[len(document) for document in documents()])
    first, second = ([batch["ids"].tolist() for batch in batches] for _ in range(2))
    assert sorted(map(str, first)) != sorted(map(str, second)) and first != second


SOURCES = {
    "windows": lambda: window_batches(torch.arange(60), 5, 2, seed=8),
    "streams": lambda: stream_batches(torch.arange(60), 5, 2),
    "examples": make_example_batches,
    "buckets": lambda: make_example_batches(lengths=[len(document) for document in documents()]),
}


@pytest.mark.parametrize("make", SOURCES.values(), ids=SOURCES)
@pytest.mark.parametrize("n_before", [0, 2, 4, 13])
@pytest.mark.parametrize("is_reshuffled", [False, True])
def test_batches_resume_exactly(make, n_before, is_reshuffled):
    unbroken = make()
    for _ in range(n_before):
        unbroken.next_batch()
    if is_reshuffled:
        unbroken.reshuffle()
        unbroken.next_batch()
        unbroken.reshuffle()
    state = unbroken.state_dict()
    rest = [unbroken.next_batch() for _ in range(9)]
    resumed = make()
    resumed.load_state_dict(state)
    assert all(same(resumed.next_batch(), batch) for batch in rest)


@pytest.mark.parametrize("n_before", [0, 3, 5])
def test_reshuffling_changes_the_rest_of_the_epoch_and_loses_nothing(n_before):
    plain, batches = (window_batches(torch.arange(81), 4, 2, seed=8) for _ in range(2))
    expected = list(plain)
    before = [batches.next_batch() for _ in range(n_before)]
    batches.reshuffle()
    after = list(batches)
    assert all(same(one, other) for one, other in zip(before, expected, strict=False))
    assert not all(same(one, other) for one, other in zip(after, expected[n_before:], strict=True))
    assert counted_targets(before + after) == Counter(range(1, 81))
    assert counted_targets(list(batches)) == Counter(range(1, 81))


@pytest.mark.parametrize("n_processes", [2, 3])
def test_processes_together_draw_what_one_draws_alone(n_processes):
    alone = make_example_batches()
    shares = [make_example_batches(share=(number, n_processes)) for number in range(n_processes)]
    for _ in range(12):
        for source in shares:
            assert same(source.next_batch(), alone.next_batch())


def test_processes_share_a_reshuffled_epoch_without_overlap():
    shares = [window_batches(torch.arange(81), 4, 2, seed=8, share=(k, 2)) for k in range(2)]
    drawn = []
    for place in range(5):
        if place == 2:
            for source in shares:
                source.reshuffle()
        drawn += [source.next_batch() for source in shares]
    assert counted_targets(drawn) == Counter(range(1, 81))


def test_each_batch_of_each_epoch_has_its_own_noise():
    batches = make_example_batches()
    noise = [tuple(batches.next_batch()["noise"].tolist()) for _ in range(12)]
    assert len(set(noise)) == 12


def test_epoch_goes_on_from_the_middle():
    batches = make_example_batches()
    batches.next_batch()
    assert len(list(batches)) == 3
    assert batches.epoch == 1


def test_pad_rows_fills_to_the_longest_and_tells_lengths():
    ids, lengths = pad_rows([[4, 5], [], [6, 7, 8]], 9)
    assert ids.tolist() == [[4, 5, 9], [9, 9, 9], [6, 7, 8]]
    assert lengths.tolist() == [2, 0, 3]


def test_next_token_rows_score_the_end_but_not_the_padding():
    batch = next_token_rows([[4, 5], [6]], 0)
    assert batch["ids"].tolist() == [[0, 4, 5], [0, 6, 0]]
    assert batch["targets"].tolist() == [[4, 5, 0], [6, 0, IGNORE]]


def test_translation_rows_keep_source_and_target_together():
    batch = translation_rows([([7, 8, 9], [4]), ([5], [6, 3])], 0)
    assert batch["source_ids"].tolist() == [[7, 8, 9], [5, 0, 0]]
    assert batch["source_lengths"].tolist() == [3, 1]
    assert batch["ids"].tolist() == [[0, 4, 0], [0, 6, 3]]
    assert batch["targets"].tolist() == [[4, 0, IGNORE], [6, 3, 0]]


def test_packed_documents_stand_between_end_tokens():
    assert pack_documents([[4, 5], [], [6]], 0).tolist() == [0, 4, 5, 0, 0, 6, 0]
    assert pack_documents([], 0).tolist() == [0]


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (
            lambda: window_batches(torch.tensor([1]), 3, 2, seed=0),
            "ids has 1 tokens; it must have 2",
        ),
        (lambda: window_batches(torch.arange(9), 0, 2, seed=0), "context_length is 0"),
        (lambda: window_batches(torch.arange(9), 3, 0, seed=0), "batch_size is 0"),
        (lambda: stream_batches(torch.arange(9), 3, 9), "batch_size is 9"),
        (lambda: stream_batches(torch.arange(9), 0, 2), "length is 0"),
        (lambda: make_example_batches(lengths=[1]), "lengths has 1 entries for 11"),
        (lambda: make_example_batches(share=(2, 2)), r"share is \(2, 2\)"),
        (lambda: example_batches([], Batches, 3, seed=0), "n_examples is 0"),
    ],
)
def test_batches_reject_what_cannot_be_drawn(make, message):
    with pytest.raises(ValueError, match=message):
        make()


@pytest.mark.parametrize(("vocab_size", "width"), [(300, 2), (65_536, 2), (65_537, 4)])
def test_token_file_round_trips(vocab_size, width, tmp_path):
    path = tmp_path / "train.tokens"
    chunks = [torch.tensor([0, 5]), [vocab_size - 1], [], np.array([7, 7])]
    assert write_token_file(path, iter(chunks), vocab_size) == 5
    assert path.stat().st_size == HEADER.size + 5 * width
    tokens = TokenFile(path)
    assert tokens.vocab_size == vocab_size and len(tokens) == 5
    assert tokens[:].tolist() == [0, 5, vocab_size - 1, 7, 7]
    assert tokens[1:3].dtype == torch.int64
    assert tokens[torch.tensor([[4, 0], [1, 1]])].tolist() == [[7, 0], [5, 5]]
    assert [entry.name for entry in tmp_path.iterdir()] == ["train.tokens"]


def test_token_file_may_be_empty(tmp_path):
    assert write_token_file(tmp_path / "none", [], 9) == 0
    assert len(TokenFile(tmp_path / "none")) == 0


@pytest.mark.parametrize(
    "make", [lambda t: window_batches(t, 5, 2, seed=1), lambda t: stream_batches(t, 5, 3)]
)
def test_token_file_gives_the_same_batches_as_a_tensor(make, tmp_path):
    stream = torch.arange(100) % 37
    write_token_file(tmp_path / "t", [stream.numpy()], 37)
    from_file, from_tensor = make(TokenFile(tmp_path / "t")), make(stream)
    for one, other in zip(from_file, from_tensor, strict=True):
        assert same(one, other)


def damaged(tmp_path, change) -> str:
    path = tmp_path / "t"
    write_token_file(path, [[1, 2, 3, 4, 5]], 9)
    content = bytearray(path.read_bytes())
    path.write_bytes(change(content))
    return path


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (lambda c: c[:-1], "has 73 bytes, its header says 74"),
        (lambda c: c + b"x", "has 75 bytes, its header says 74"),
        (lambda c: c[:30], "not a token file"),
        (lambda c: b"GARBAGE!" + c[8:], "not a token file"),
        (lambda c: c[:8] + b"\x09\x00" + c[10:], "format version 9"),
        (lambda c: c[:-3] + bytes([c[-3] ^ 1]) + c[-2:], "corrupt"),
    ],
)
def test_token_file_rejects_damage(change, message, tmp_path):
    path = damaged(tmp_path, change)
    with pytest.raises(ValueError, match=message):
        TokenFile(path)


def test_every_flipped_byte_of_a_token_file_is_noticed(tmp_path):
    """Except in the header's spare bytes, and in the vocabulary's size, which ids may not fill."""
    for place in (*range(12), *range(16, 28), *range(64, 74)):
        path = damaged(tmp_path, lambda c, p=place: c[:p] + bytes([c[p] ^ 4]) + c[p + 1 :])
        with pytest.raises(ValueError, match=str(path)):
            TokenFile(path)


@pytest.mark.parametrize("bad", [-1, 9])
def test_token_file_rejects_an_id_outside_the_vocabulary_and_leaves_the_old_file(bad, tmp_path):
    path = tmp_path / "t"
    write_token_file(path, [[1, 2]], 9)
    with pytest.raises(ValueError, match=f"id {bad} lies outside the vocabulary of 9"):
        write_token_file(path, [[3], [bad]], 9)
    assert TokenFile(path)[:].tolist() == [1, 2]
    assert len(list(tmp_path.iterdir())) == 1


@pytest.mark.parametrize("vocab_size", [0, 2**32 + 1])
def test_token_file_rejects_a_vocabulary_without_ids(vocab_size, tmp_path):
    with pytest.raises(ValueError, match=f"vocab_size is {vocab_size}"):
        write_token_file(tmp_path / "t", [], vocab_size)


@pytest.mark.parametrize("dtype", [torch.uint8, torch.uint16, torch.uint32, torch.int32])
def test_ids_of_any_whole_type_give_the_same_batches(dtype):
    """Files of tokens often have two bytes an id, without a sign: no room for IGNORE."""
    ids = torch.arange(50) % 7
    few = torch.from_numpy(ids.numpy().astype(str(dtype).removeprefix("torch.")))
    for make in (
        lambda x: window_batches(x, 8, 3, seed=0),
        lambda x: stream_batches(x, 8, 3),
        lambda x: mixed_windows(x, [(0, 50, 1)], 8, 3, seed=0),
        lambda x: span_batches(x, 8, 3, sentinel_ids=[7, 8, 9], eos_id=0, seed=0),
    ):
        assert same(make(few).next_batch(), make(ids).next_batch())
    drawn = [random_windows(x, 8, 3, torch.Generator().manual_seed(0)) for x in (few, ids)]
    assert torch.equal(drawn[0][1], drawn[1][1]) and drawn[0][0].dtype == torch.int64
