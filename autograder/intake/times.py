"""Read a point in time as others write it: ISO 8601 in all its forms, and nbgrader's own.

    2026-10-12T23:58:00+02:00   20261012T215800Z   2026-W42-1 23:58   2026-285T23:58,5
    2026-10-12 23:58:00.000000 CEST

An abbreviation such as CEST means what it means in a zone that the course names, and nothing
elsewhere: CST is at home in Chicago, Havana and Shanghai. What cannot be told is not guessed at.
"""

import re
from collections.abc import Iterator, Sequence
from datetime import UTC, date, datetime, timedelta, timezone, tzinfo

# Of the fields that may be left out from the right, the last one given may have a fraction.
_TIME = re.compile(
    r"(?P<year>\d{4})-?(?:(?P<month>\d\d)-?(?P<day>\d\d)|W(?P<week>\d\d)-?(?P<weekday>\d)"
    r"|(?P<ordinal>\d{3}))(?:T| +)"
    r"(?P<hour>\d\d)(?::?(?P<minute>\d\d)(?::?(?P<second>\d\d))?)?(?:[.,](?P<part>\d{1,9}))?"
    r" ?(?P<zone>|[A-Z]{1,6}|[A-Z_]+/[A-Z0-9_+/-]+|[+\-\u2212]\d\d(?::?\d\d)?)",
    re.ASCII | re.IGNORECASE,
)
_GREENWICH = ("Z", "UTC", "GMT")


def read_time(text: str, zones: Sequence[tzinfo] = (UTC,)) -> datetime | None:
    """Read a point in time.

    Args:
        zones: those whose names and abbreviations are understood. A time without any zone is one
            of the first.

    Returns:
        None if the text is no time, or one whose zone is not known.
    """
    match = _TIME.fullmatch(text.strip())
    try:
        return None if match is None else _in_zone(_clock(match), match["zone"].upper(), zones)
    except (ValueError, OverflowError):  # no such day or hour, or none that UTC can express
        return None


def unreadable(source: str, text: str) -> str:
    """Say that what stands where a time should be is none, or of a zone that is not known."""
    return f"{source} says {text.strip()[:60]!r}, and which moment that is cannot be told"


def read_clock(text: str) -> datetime | None:
    """Read only what the clock showed, without its zone, to put times of one writer in order."""
    match = _TIME.fullmatch(text.strip())
    try:
        return None if match is None else _clock(match)
    except (ValueError, OverflowError):
        return None


def _clock(match: re.Match[str]) -> datetime:
    year = int(match["year"])
    if match["week"]:
        day = date.fromisocalendar(year, int(match["week"]), int(match["weekday"]))
    elif match["ordinal"]:
        day = date(year, 1, 1) + timedelta(days=int(match["ordinal"]) - 1)
        if day.year != year:
            raise ValueError(match["ordinal"])
    else:
        day = date(year, int(match["month"]), int(match["day"]))
    hour, minute, second = (int(match[name] or 0) for name in ("hour", "minute", "second"))
    last = 1 if match["second"] else 60 if match["minute"] else 3600  # seconds of its unit
    part = timedelta(seconds=last * float(f"0.{match['part'] or 0}"))
    since_midnight = timedelta(hours=hour, minutes=minute, seconds=second) + part
    # 24:00 is the end of the day, and a leap second is the sixtieth.
    if since_midnight > timedelta(days=1) or minute > 59 or second > 60:
        raise ValueError(match[0])
    return datetime(day.year, day.month, day.day) + since_midnight


def _in_zone(clock: datetime, zone: str, zones: Sequence[tzinfo]) -> datetime | None:
    if zone in _GREENWICH:
        return clock.replace(tzinfo=UTC)
    offset = re.fullmatch(r"([+\-\u2212])(\d\d):?(\d\d)?", zone)
    if offset:
        hours, minutes = int(offset[2]), int(offset[3] or 0)
        if minutes > 59:
            return None
        shift = timedelta(hours=hours, minutes=minutes)
        moment = clock.replace(tzinfo=timezone(shift if offset[1] == "+" else -shift))
    elif not zone:
        moment = clock.replace(tzinfo=zones[0])
    else:
        named = next(_with_name(clock, zone, zones), None)
        if named is None:
            return None
        moment = named
    moment.astimezone(UTC)  # raises where the year would be 0 or 10,000
    return moment


def _with_name(clock: datetime, name: str, zones: Sequence[tzinfo]) -> Iterator[datetime]:
    """Yield the moments at which a clock that bears this name shows that time."""
    for zone in zones:
        if str(zone).upper() == name:
            yield clock.replace(tzinfo=zone)
        for fold in (0, 1):  # CEST, then CET, where clocks are put back
            moment = clock.replace(tzinfo=zone, fold=fold)
            if (moment.tzname() or "").upper() == name:
                yield moment
    for zone in zones:  # summer time written in winter is still two hours ahead of Greenwich
        for month in range(1, 13):
            other = datetime(clock.year, month, 15, tzinfo=zone)
            shift = other.utcoffset()
            if (other.tzname() or "").upper() == name and shift is not None:
                yield clock.replace(tzinfo=timezone(shift, name))
