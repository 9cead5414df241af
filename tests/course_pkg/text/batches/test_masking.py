"""Masking rules against statistics, examples worked by hand, and their own inverses."""

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from course_pkg.text.batches import IGNORE
from course_pkg.text.batches.masking import (
    SentencePair,
    choose_spans,
    choose_tokens,
    choose_words,
    fill_sentinels,
    join_pair,
    mask_tokens,
    may_mask,
    next_sentence_pairs,
    random_spans,
    span_lengths,
    spans_to_sentinels,
)

PAD, CLS, SEP, MASK = 0, 1, 2, 3
SPECIAL = [PAD, CLS, SEP, MASK]
V = 13


def chi_square(counts: list[int], probs: list[float]) -> float:
    total = sum(counts)
    return sum((n - total * p) ** 2 / (total * p) for n, p in zip(counts, probs, strict=True))


def text(rng, B=200, T=50):
    ids = torch.randint(4, V, (B, T), generator=rng)
    ids[:, 0], ids[:, 20], ids[:, 40:] = CLS, SEP, PAD
    return ids


def hide(ids, chosen, rng, **kwargs):
    return mask_tokens(
        ids, chosen, vocab_size=V, mask_id=MASK, special_ids=SPECIAL, generator=rng, **kwargs
    )


def runs(chosen: list[bool]) -> list[int]:
    """Lengths of the unbroken stretches of True."""
    lengths = [0]
    for is_chosen in chosen:
        if is_chosen:
            lengths[-1] += 1
        else:
            lengths.append(0)
    return [length for length in lengths if length]


def test_hidden_tokens_split_80_10_10(rng):
    ids = text(rng)
    chosen = choose_tokens(may_mask(ids, SPECIAL), 0.5, rng)
    seen, _ = hide(ids, chosen, rng)
    before, after = ids[chosen], seen[chosen]
    n_mask = int((after == MASK).sum())
    n_same = int((after == before).sum())
    counts = [n_mask, n_same, len(before) - n_mask - n_same]
    # one random token in nine is the true one
    expected = [0.8, 0.1 + 0.1 / 9, 0.1 * 8 / 9]
    assert chi_square(counts, expected) < 13.8  # 2 degrees of freedom, probability 0.001
    assert torch.equal(seen[~chosen], ids[~chosen])


def test_random_replacements_are_ordinary_tokens_equally_often(rng):
    ids = text(rng)
    chosen = may_mask(ids, SPECIAL)
    seen, _ = hide(ids, chosen, rng, shares=(0.0, 1.0))
    counts = torch.bincount(seen[chosen], minlength=V)
    assert not counts[:4].any()
    assert chi_square(counts[4:].tolist(), [1 / 9] * 9) < 26.1  # 8 degrees of freedom, 0.001


def test_tokens_of_a_span_are_masked_or_kept_together_as_often_as_single_ones(rng):
    ids = text(rng)
    chosen = choose_spans(may_mask(ids, SPECIAL), 0.15, rng)
    seen, _ = hide(ids, chosen, rng, shares=(0.7, 0.0), whole_spans=True)
    is_masked = seen == MASK
    beside = chosen[:, 1:] & chosen[:, :-1]
    assert int(beside.sum()) > 300
    assert torch.equal(is_masked[:, 1:][beside], is_masked[:, :-1][beside])
    assert torch.equal(seen[~chosen], ids[~chosen])
    first = chosen.clone()
    first[:, 1:] &= ~chosen[:, :-1]
    n_spans = int(first.sum())
    # a binomial share of some 300 spans: four standard deviations
    assert float(is_masked[first].double().mean()) == pytest.approx(0.7, abs=2 / n_spans**0.5)


def test_targets_are_the_true_tokens_where_chosen_and_ignored_elsewhere(rng):
    ids = text(rng)
    chosen = choose_tokens(may_mask(ids, SPECIAL), 0.15, rng)
    _, targets = hide(ids, chosen, rng)
    assert torch.equal(targets[chosen], ids[chosen])
    assert (targets[~chosen] == IGNORE).all()


@pytest.mark.parametrize("rule", ["tokens", "words", "spans"])
def test_chosen_tokens_are_never_special_and_reach_the_rate(rule, rng):
    ids = text(rng)
    may = may_mask(ids, SPECIAL)
    assert may.sum() == 200 * 38
    if rule == "tokens":
        chosen = choose_tokens(may, 0.15, rng)
    elif rule == "words":
        chosen = choose_words(may, torch.rand(ids.shape, generator=rng) < 0.6, 0.15, rng)
    else:
        chosen = choose_spans(may, 0.15, rng)
    assert not (chosen & ~may).any()
    share = chosen.sum().item() / may.sum().item()
    # 7600 tokens, in words of two on average: a standard deviation of about 0.006
    assert share == pytest.approx(0.15, abs=0.02)


def test_masking_is_drawn_anew_and_the_same_for_a_seed(rng):
    ids = text(rng)
    may = may_mask(ids, SPECIAL)
    one, other = choose_tokens(may, 0.15, rng), choose_tokens(may, 0.15, rng)
    assert not torch.equal(one, other)
    again = [choose_tokens(may, 0.15, torch.Generator().manual_seed(6)) for _ in range(2)]
    assert torch.equal(*again)


def test_words_are_hidden_whole_or_not_at_all(rng):
    is_start = torch.rand((100, 30), generator=rng) < 0.5
    is_start[:, 0] = True
    chosen = choose_words(torch.ones(100, 30, dtype=torch.bool), is_start, 0.4, rng)
    continues = ~is_start[:, 1:]
    assert torch.equal(chosen[:, 1:][continues], chosen[:, :-1][continues])
    share = (chosen & is_start).sum().item() / is_start.sum().item()
    assert share == pytest.approx(0.4, abs=0.05)  # 1500 words, standard deviation 0.013


def test_span_lengths_match_published_distribution_and_mean(rng):
    lengths = span_lengths(20_000, rng)
    assert lengths.min() == 1 and lengths.max() == 10
    weights = [0.2 * 0.8 ** (length - 1) for length in range(1, 11)]
    probs = [weight / sum(weights) for weight in weights]
    counts = torch.bincount(lengths, minlength=11)[1:].tolist()
    assert chi_square(counts, probs) < 27.9  # 9 degrees of freedom, probability 0.001
    # Joshi et al. 2020 give the mean as 3.8; the standard error here is 0.02
    assert lengths.double().mean().item() == pytest.approx(3.8, abs=0.07)


def test_spans_fill_the_budget_exactly_without_crossing_special_tokens(rng):
    may = torch.ones(30, 40, dtype=torch.bool)
    may[:, ::5] = False  # stretches of four
    chosen = choose_spans(may, 0.5, rng)
    assert (chosen.sum(dim=1) == 16).all()
    assert not (chosen & ~may).any()
    assert max(max(runs(row)) for row in chosen.tolist()) <= 4


def test_spans_are_longer_than_single_tokens(rng):
    may = torch.ones(100, 60, dtype=torch.bool)
    spans = [length for row in choose_spans(may, 0.15, rng).tolist() for length in runs(row)]
    tokens = [length for row in choose_tokens(may, 0.15, rng).tolist() for length in runs(row)]
    assert sum(spans) / len(spans) > 2 > sum(tokens) / len(tokens)


def test_spans_may_cover_everything_or_nothing(rng):
    may = torch.ones(2, 7, dtype=torch.bool)
    may[1, 3:] = False
    assert torch.equal(choose_spans(may, 1.0, rng), may)
    assert not choose_spans(may, 0.0, rng).any()


def documents(n=6, n_sentences=9):
    """Sentence `[document, place]`, so that each names where it stands."""
    return [[[document, place] for place in range(n_sentences)] for document in range(n)]


def test_next_sentence_pairs_are_true_half_of_the_time(rng):
    pairs = [pair for _ in range(40) for pair in next_sentence_pairs(documents(), rng)]
    assert len(pairs) == 40 * 6 * 8
    n_next = sum(pair.is_next for pair in pairs)
    assert chi_square([n_next, len(pairs) - n_next], [0.5, 0.5]) < 10.8  # probability 0.001
    others = torch.zeros(6, 6)
    for pair in pairs:
        (document, place), (other, other_place) = pair.first, pair.second
        if pair.is_next:
            assert (other, other_place) == (document, place + 1)
        else:
            others[document, other] += 1
    assert not others.diagonal().any()  # a random second never comes from the same document
    assert (others + torch.eye(6) > 0).all()


def test_next_sentence_pairs_use_each_opening_once(rng):
    pairs = next_sentence_pairs([[[1]], [], [[2], [3], [4]]], rng)
    assert [pair.first for pair in pairs] == [[2], [3]]


def test_next_sentence_pairs_reject_a_single_document(rng):
    with pytest.raises(ValueError, match="documents has 1"):
        next_sentence_pairs([[[1], [2]], []], rng)


def test_join_pair_marks_segments():
    pair = SentencePair([7, 8], [9], True)
    ids, segments = join_pair(pair, cls_id=CLS, sep_id=SEP, longest=9)
    assert ids == [CLS, 7, 8, SEP, 9, SEP]
    assert segments == [0, 0, 0, 0, 1, 1]


def test_join_pair_cuts_the_longer_sentence():
    pair = SentencePair([4, 5, 6, 7, 8], [9, 10], False)
    ids, segments = join_pair(pair, cls_id=CLS, sep_id=SEP, longest=8)
    assert ids == [CLS, 4, 5, 6, SEP, 9, 10, SEP]
    assert segments == [0, 0, 0, 0, 0, 1, 1, 1]
    assert join_pair(pair, cls_id=CLS, sep_id=SEP, longest=3)[0] == [CLS, SEP, SEP]


def test_join_pair_rejects_no_room_for_the_special_tokens():
    with pytest.raises(ValueError, match="longest is 2"):
        join_pair(SentencePair([4], [5], True), cls_id=CLS, sep_id=SEP, longest=2)


WORDS = ["Thank", "you", "for", "inviting", "me", "to", "your", "party", "last", "week"]
SENTINELS = [100, 101, 102]


def test_sentinels_match_published_figure():
    """Raffel et al. 2020, figure 2."""
    hidden = torch.tensor([word in ("for", "inviting", "last") for word in WORDS])
    inputs, targets = spans_to_sentinels(range(10), hidden, SENTINELS)

    def spell(ids):
        return " ".join(WORDS[i] if i < 10 else f"<{'XYZ'[i - 100]}>" for i in ids)

    assert spell(inputs) == "Thank you <X> me to your party <Y> week"
    assert spell(targets) == "<X> for inviting <Y> last <Z>"
    assert fill_sentinels(inputs, targets, SENTINELS) == list(range(10))


@given(st.lists(st.tuples(st.integers(0, 9), st.booleans()), max_size=30))
@settings(max_examples=200)
def test_sentinels_round_trips(tokens):
    ids = [token for token, _ in tokens]
    hidden = torch.tensor([is_hidden for _, is_hidden in tokens], dtype=torch.bool)
    sentinels = list(range(50, 90))
    inputs, targets = spans_to_sentinels(ids, hidden, sentinels)
    assert fill_sentinels(inputs, targets, sentinels) == ids
    used = [token for token in targets if token >= 50]
    assert used == sentinels[: len(runs(hidden.tolist())) + 1]  # none twice, a final one last
    assert targets[-1] == used[-1]
    assert [token for token in inputs if token >= 50] == used[:-1]
    assert len(inputs) + len(targets) == len(ids) + 2 * len(used) - 1


def test_missing_spans_are_filled_with_nothing():
    assert fill_sentinels([4, 100, 5, 101], [100, 7], SENTINELS) == [4, 7, 5]
    assert fill_sentinels([4, 100, 5], [8, 9], SENTINELS) == [4, 5]


@pytest.mark.parametrize("n_tokens", [2, 3, 10, 57, 512])
@pytest.mark.parametrize("rate", [0.0, 0.15, 0.5, 1.0])
def test_random_spans_have_the_right_totals(n_tokens, rate, rng):
    hidden = random_spans(n_tokens, rng, rate=rate)
    n_hidden = min(max(round(n_tokens * rate), 1), n_tokens - 1)
    assert len(hidden) == n_tokens and int(hidden.sum()) == n_hidden
    assert len(runs(hidden.tolist())) == min(max(round(n_hidden / 3), 1), n_tokens - n_hidden)
    assert not hidden[0] and hidden[-1]


def test_random_spans_make_every_division_equally_probable(rng):
    """Six kept and four hidden in two spans: five ways to cut six, three to cut four."""
    counts: dict[tuple, int] = {}
    for _ in range(3000):
        key = tuple(random_spans(10, rng, rate=0.4, mean_length=2.0).tolist())
        counts[key] = counts.get(key, 0) + 1
    assert len(counts) == 15
    assert chi_square(list(counts.values()), [1 / 15] * 15) < 36.1  # 14 degrees of freedom, 0.001


def test_random_spans_mean_length_is_near_three(rng):
    lengths = [n for _ in range(20) for n in runs(random_spans(512, rng).tolist())]
    assert sum(lengths) / len(lengths) == pytest.approx(77 / 26, abs=1e-10)


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda g: choose_tokens(torch.ones(1, 2).bool(), 1.5, g), "rate is 1.5"),
        (lambda g: choose_spans(torch.ones(1, 2).bool(), -0.1, g), "rate is -0.1"),
        (lambda g: span_lengths(2, g, p=1.0), "p is 1.0"),
        (lambda g: random_spans(1, g), "n_tokens is 1"),
        (lambda g: random_spans(9, g, mean_length=0.5), "mean_length is 0.5"),
        (lambda g: hide(text(g), text(g) > 5, g, shares=(0.8, 0.3)), r"shares are \(0.8, 0.3\)"),
        (lambda g: spans_to_sentinels([4, 101], torch.ones(2).bool(), SENTINELS), "id 101"),
        (lambda g: spans_to_sentinels([4], torch.ones(1).bool(), [7, 7]), r"are \[7, 7\]"),
        (lambda g: spans_to_sentinels([4], torch.ones(1).bool(), [7]), "sentinel_ids has 1"),
    ],
)
def test_masking_rejects_a_bad_argument(call, message, rng):
    with pytest.raises(ValueError, match=message):
        call(rng)
