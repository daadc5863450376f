"""Dates as numbers of days, and times of facts as whole numbers of one unit."""

from __future__ import annotations

import re
from datetime import UTC, date, datetime, timedelta
from enum import StrEnum

from hornbeam.errors import InputError

#: Dates are counted in days from this one.
FIRST_DAY = date(1970, 1, 1)
#: Numbers of the first and the last day that have a date.
DAYS = tuple((day - FIRST_DAY).days for day in (date.min, date.max))


def day_number(text: str) -> float:
    """The number of a day from an ISO date; a ValueError where it is none.

    Examples
    --------
    >>> day_number("1970-01-31"), date_text(day_number("1931-05-04"))
    (30.0, '1931-05-04')
    """
    return float(TimeUnit.DAY.number(text))


def date_text(day: float) -> str:
    """The ISO date of a day's number."""
    return (FIRST_DAY + timedelta(days=int(day))).isoformat()


class TimeUnit(StrEnum):
    """What the times of facts count: whole days, whole seconds (UTC), or steps of the user's."""

    DAY = "day"
    SECOND = "second"
    STEP = "step"

    @classmethod
    def of_text(cls, text: str) -> TimeUnit | None:
        """The unit of a time by how it is written; None for a text that is no time.

        Examples
        --------
        >>> [TimeUnit.of_text(text) for text in ("2014-01-01", "2014-01-01 08:30", "17", "soon")]
        [<TimeUnit.DAY: 'day'>, <TimeUnit.SECOND: 'second'>, <TimeUnit.STEP: 'step'>, None]
        """
        return next((unit for unit in cls if unit.pattern.fullmatch(text)), None)

    @property
    def pattern(self) -> re.Pattern[str]:
        """How a time of this unit is written; DuckDB reads the same expression."""
        return TIME_PATTERNS[self]

    @property
    def expected(self) -> str:
        """A time of this unit in messages."""
        return {
            TimeUnit.DAY: "date, such as 2014-11-30",
            TimeUnit.SECOND: "timestamp, such as 2014-11-30T08:30:00",
            TimeUnit.STEP: "whole number",
        }[self]

    def number(self, text: str) -> int:
        """The number of a time, a ValueError where it is of another unit, or no time.

        Timestamps without a zone are UTC, and fractions of a second are cut off.

        Examples
        --------
        >>> TimeUnit.DAY.number("1970-01-31"), TimeUnit.SECOND.number("1970-01-01T02:00:00.7+01:00")
        (30, 3600)
        """
        if not self.pattern.fullmatch(text):
            raise ValueError(f"{text!r} is no {self.expected}")
        if self is TimeUnit.STEP:
            return int(text)
        if self is TimeUnit.DAY:
            return (date.fromisoformat(text) - FIRST_DAY).days
        moment = datetime.fromisoformat(text)
        moment = moment if moment.tzinfo else moment.replace(tzinfo=UTC)
        since = moment - datetime(1970, 1, 1, tzinfo=UTC)
        return since.days * SECONDS_OF_DAY + since.seconds

    def text(self, time: int) -> str:
        """Write a time as the readers take it.

        Examples
        --------
        >>> TimeUnit.DAY.text(-1), TimeUnit.SECOND.text(86_401), TimeUnit.STEP.text(-7)
        ('1969-12-31', '1970-01-02T00:00:01', '-7')
        """
        days, seconds = (time, 0) if self is TimeUnit.DAY else divmod(time, SECONDS_OF_DAY)
        if self is TimeUnit.STEP or not DAYS[0] <= days <= DAYS[1]:
            return str(time)
        if self is TimeUnit.DAY:
            return date_text(days)
        clock = f"{seconds // 3600:02}:{seconds // 60 % 60:02}:{seconds % 60:02}"
        return f"{date_text(days)}T{clock}"


SECONDS_OF_DAY = 86_400
_ISO_DATE = "[0-9]{4}-[0-9]{2}-[0-9]{2}"
TIME_PATTERNS = {
    TimeUnit.DAY: re.compile(_ISO_DATE),
    TimeUnit.SECOND: re.compile(
        _ISO_DATE + r"[T ][0-9]{2}:[0-9]{2}(:[0-9]{2}([.][0-9]{1,9})?)?"
        "(Z|[+-][0-9]{2}(:?[0-9]{2})?)?"
    ),
    TimeUnit.STEP: re.compile("[+-]?[0-9]{1,18}"),
}
#: A date, or a timestamp without a zone or in UTC: a date of an entity, which is on that day.
DATED = re.compile(
    _ISO_DATE + "([T ]([01][0-9]|2[0-3]):[0-5][0-9](:[0-5][0-9]([.][0-9]{1,9})?)?Z?)?"
)


def time_in(given: str | int | None, unit: TimeUnit) -> int | None:
    """A time that a user gives by its text or number, None where none is given."""
    if given is None or (isinstance(given, int) and not isinstance(given, bool)):
        return given
    try:
        return unit.number(str(given))
    except ValueError:
        raise InputError(f"`at` is {given!r}; expected a {unit.expected}") from None
