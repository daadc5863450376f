"""Dates as numbers of days."""

from __future__ import annotations

from datetime import date, timedelta

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
    return float((date.fromisoformat(text) - FIRST_DAY).days)


def date_text(day: float) -> str:
    """The ISO date of a day's number."""
    return (FIRST_DAY + timedelta(days=int(day))).isoformat()
