"""Times as nbgrader, platforms and people write them; each moment is worked out by hand in UTC."""

from datetime import UTC, datetime, timedelta
from zoneinfo import ZoneInfo

import pytest
from hypothesis import given
from hypothesis import strategies as st

from autograder.intake.collection import collect
from autograder.intake.layouts import Layout
from autograder.intake.times import read_time

BERLIN, CHICAGO = ZoneInfo("Europe/Berlin"), ZoneInfo("America/Chicago")
MOMENT = datetime(2026, 10, 12, 21, 58, tzinfo=UTC)  # 23:58 in Berlin


@pytest.mark.parametrize(
    "text",
    [
        "2026-10-12 23:58:00 CEST",
        "2026-10-12 23:58:00.000000 CEST\n",
        "2026-10-12 23:58:00",
        "2026-10-12T23:58:00+02:00",
        "2026-10-12 23:58:00 +0200",
        "2026-10-12T23:58+02",
        "2026-10-12T16:28:00\u221205:30",  # a minus sign in print
        "2026-10-12T21:58:00Z",
        "2026-10-12t21:58:00.000z",
        "2026-10-12 21:58:00 UTC",
        "2026-10-12 21:58:00 GMT",
        "20261012T215800Z",
        "20261012T2158Z",
        "2026-W42-1T23:58",
        "2026W421T2358",
        "2026-285T23:58:00,0",
        "2026-10-12T23:57:60",  # a leap second
        "2026-10-12 23:58 Europe/Berlin",
    ],
)
def test_time_is_read_in_every_form_of_iso_8601_and_with_the_names_of_the_zone(text):
    assert read_time(text, (BERLIN,)) == MOMENT


@pytest.mark.parametrize(
    ("text", "seconds"),
    [
        ("2026-10-12T23:58:00.5", 0.5),
        ("2026-10-12T23:58:00,123456789+02", 0.123457),
        ("2026-10-12T23:58,25", 15),
        ("2026-10-12T23,5", -28 * 60),
        ("2026-10-12T24:00", 120),
    ],
)
def test_fraction_is_one_of_the_last_unit_given(text, seconds):
    assert read_time(text, (BERLIN,)) == MOMENT + timedelta(seconds=seconds)


@pytest.mark.parametrize(
    ("text", "hour"),
    [
        ("2026-10-25 02:30:00 CEST", 0),  # the hour that comes twice, first and
        ("2026-10-25 02:30:00 CET", 1),  # second
        ("2026-12-12 02:30:00 CEST", 0),  # summer time in winter is what it is in summer
    ],
)
def test_name_of_summer_time_decides_where_the_clock_does_not(text, hour):
    assert read_time(text, (BERLIN,)).astimezone(UTC).hour == hour


def test_abbreviation_means_what_it_means_in_the_zones_named():
    text = "2026-11-12 23:58:00 CST"
    assert read_time(text, (BERLIN,)) is None
    assert read_time(text, (CHICAGO, BERLIN)).utcoffset() == timedelta(hours=-6)
    assert read_time(text, (ZoneInfo("Asia/Shanghai"),)).utcoffset() == timedelta(hours=8)


@pytest.mark.parametrize(
    "text",
    [
        *("", "soon", "2026-10-12", "23:58", "2026-02-30 16:00 UTC", "2026-10-12T25:00"),
        *("2026-10-12T24:01", "2026-10-12T23:60", "2026-10-12T23:58:61", "2026-366T12:00"),
        *("2026-10-12 16:00 +9999", "2026-10-12 16:00 +05:60", "2026-10-12 23:58:00 XYZ"),
        *("\u0662\u0660\u0662\u0666-10-12T23:58", "2026-10-12T23:58 UTC and more"),
        *("0001-01-01 00:00:00 +1400", "9999-12-31 23:00:00 -1400", "0001-01-01 00:00 CEST"),
    ],
)
def test_what_is_no_time_or_of_an_unknown_zone_is_never_guessed_at(text):
    assert read_time(text, (BERLIN,)) is None


@given(st.text(max_size=40))
def test_any_text_is_a_time_that_utc_can_express_or_none(text):
    found = read_time(text, (BERLIN,))
    assert found is None or found.astimezone(UTC)


@pytest.mark.parametrize(
    "text", ["0001-01-01 00:00:00 +1400", "2026-10-12 23:58:00 XYZ", "\ud83d\ude00", "", "soon"]
)
def test_one_time_that_cannot_be_read_is_that_student_s_trouble_alone(tmp_path, text):
    for student, written in (("ada", "2026-10-12 23:58:00 CEST"), ("eve", text)):
        place = tmp_path / student / "ps1"
        place.mkdir(parents=True)
        (place / "ps1.ipynb").write_text("{}")
        (place / "timestamp.txt").write_bytes(written.encode("utf-8", "surrogatepass"))
    ada, eve = collect(tmp_path, "ps1", Layout.NBGRADER, (BERLIN,))
    assert (ada.submitted_at, ada.time_source, ada.time_note) == (MOMENT, "timestamp.txt", "")
    assert (eve.submitted_at, eve.time_source) == (None, "")
    assert "timestamp.txt says" in eve.time_note


def test_exchange_of_another_zone_still_tells_whose_and_which_is_the_newest(tmp_path):
    for hour, zone in ((8, "CEST"), (10, "XYZ"), (9, "CEST")):
        name = f"ada+ps1+2026-10-12 {hour:02}:00:00.0 {zone}+x3J9kQ2bTq8Z"
        (tmp_path / name).mkdir()
        (tmp_path / name / "ps1.ipynb").write_text("{}")
    (found,) = collect(tmp_path, "ps1", zones=(BERLIN,))
    assert (found.student, found.submitted_at) == ("ada", None)
    assert found.time_note == (
        "its folder's name says '2026-10-12 10:00:00.0 XYZ', and which moment that is cannot be "
        "told"
    )
