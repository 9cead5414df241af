"""Windows of several texts: what an epoch reads, and that it can stop and go on."""

from collections import Counter

import pytest
import torch

from course_pkg.text.batches.mixture import mixed_windows

N, T = 300, 7
PARTS = [(0, 101, 1), (101, 300, 2)]


def epoch(batches):
    return [(batch["ids"], batch["targets"]) for batch in batches]


def test_windows_lie_within_their_part_and_targets_follow_their_tokens():
    for ids, targets in epoch(mixed_windows(torch.arange(N), PARTS, T, 3, seed=1)):
        assert ids.shape == (3, T)
        assert torch.equal(targets, ids + 1)
        assert torch.equal(ids[:, 0] < 101, targets[:, -1] < 101)


def test_each_part_is_read_as_often_as_asked_but_for_less_than_a_window_at_its_ends():
    batches = mixed_windows(torch.arange(N), PARTS, T, 1, seed=2)
    n_read = Counter(i for ids, _ in epoch(batches) for i in ids.flatten().tolist())
    for first, end, n_times in PARTS:
        # Whatever the offset, the middle is read every time and nothing more often.
        assert {n_read[i] for i in range(first + T, end - 2 * T)} == {n_times}
        assert max(n_read[i] for i in range(first, end)) == n_times


def test_epochs_are_cut_and_ordered_differently_and_resume_exactly():
    batches = mixed_windows(torch.arange(N), PARTS, T, 3, seed=3)
    first, second = epoch(batches), epoch(batches)
    assert len(first) == len(second) == len(batches)
    starts = [{int(row[0]) for ids, _ in e for row in ids} for e in (first, second)]
    assert starts[0] != starts[1]
    resumed = mixed_windows(torch.arange(N), PARTS, T, 3, seed=3)
    resumed.load_state_dict({"n_drawn": len(first) + 4, "reshuffled_at": []})
    for (ids, targets), (again, targets_again) in zip(second[4:], epoch(resumed), strict=True):
        assert torch.equal(ids, again) and torch.equal(targets, targets_again)


@pytest.mark.parametrize("part", [(-1, 90, 1), (0, 301, 1), (0, 13, 1), (50, 40, 1), (0, 90, 0)])
def test_mixture_rejects_parts_that_cannot_be_read(part):
    with pytest.raises(
        ValueError, match=rf"parts has \({part[0]}, {part[1]}, {part[2]}\)|first is -1"
    ):
        mixed_windows(torch.arange(N), [part], T, 2, seed=0)
