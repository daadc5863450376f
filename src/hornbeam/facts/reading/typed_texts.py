"""Texts whose type a file declares: attributes of GraphML, columns of Neo4j's exports."""

from __future__ import annotations

from datetime import date

from hornbeam.base.texts import number_in, quote, whole_number_in

WHOLE_TYPES = ("int", "long", "short", "byte", "integer")
NUMBER_TYPES = (*WHOLE_TYPES, "float", "double")
TEXT_TYPES = ("string", "char")
DATE_TYPES = ("date", "datetime", "localdatetime")
#: What a value of another type is.
UNREAD = object()
BOOLEANS = {"true": True, "false": False, "1": True, "0": False}


def typed_text(text: str, kind: str) -> object:
    """The value of a text by its type; None of an empty text, a ValueError of a wrong one.

    Dates are those of the day. Types that are neither numbers nor dates, Booleans or texts, such as
    points and durations, have the value `UNREAD`.

    Examples
    --------
    >>> typed_text("7", "int"), typed_text("true", "boolean"), typed_text("x", "string")
    (7, True, 'x')
    >>> typed_text("1931-05-04T10:00", "datetime")
    datetime.date(1931, 5, 4)
    """
    kind = kind.casefold()
    if kind in TEXT_TYPES or text == "":
        return text or None
    text = text.strip()
    try:
        if kind in NUMBER_TYPES:
            if text in ("NaN", "nan"):
                return None
            return whole_number_in(text) if kind in WHOLE_TYPES else number_in(text)
        if kind in DATE_TYPES:
            return date.fromisoformat(text[:10])
        return BOOLEANS[text.casefold()] if kind == "boolean" else UNREAD
    except (ValueError, KeyError):
        raise ValueError(f"expected a value of type {kind}, found {quote(text)}") from None
