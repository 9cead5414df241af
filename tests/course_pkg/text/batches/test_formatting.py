"""Task formats of Radford et al. 2018, figure 1, by hand."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from course_pkg.text.batches.formatting import TaskFormat, shorten

FORMAT = TaskFormat(start=90, delim=91, extract=92, max_length=9)


def test_task_format_frames_each_kind_of_task():
    assert FORMAT.single([1, 2]) == [90, 1, 2, 92]
    assert FORMAT.pair([1, 2], [3]) == [90, 1, 2, 91, 3, 92]
    assert FORMAT.choices([1], [[2], [3, 4]]) == [[90, 1, 91, 2, 92], [90, 1, 91, 3, 4, 92]]


def test_task_format_keeps_its_frame_when_texts_are_too_long():
    assert FORMAT.single(range(20)) == [90, *range(7), 92]
    assert FORMAT.pair(range(20), [50, 51]) == [90, 0, 1, 2, 3, 91, 50, 51, 92]


@given(
    st.lists(st.lists(st.integers(0, 9), max_size=8), min_size=1, max_size=4), st.integers(0, 20)
)
def test_shorten_cuts_no_more_than_it_must_and_never_the_shorter_first(texts, n_tokens):
    short = shorten(texts, n_tokens)
    assert sum(map(len, short)) == min(n_tokens, sum(map(len, texts)))
    longest = max(map(len, short))
    for text, cut in zip(texts, short, strict=True):
        assert text[: len(cut)] == cut
        if len(cut) < len(text):
            assert longest - len(cut) <= 1


@pytest.mark.parametrize(
    ("settings", "message"),
    [((5, 5, 6, 9), r"\(5, 5, 6\)"), ((1, 2, 3, 4), "max_length is 4")],
)
def test_task_format_rejects_what_cannot_work(settings, message):
    with pytest.raises(ValueError, match=message):
        TaskFormat(*settings)
