"""A link that a visitor has pinned for comparison; stored in a cookie."""

from __future__ import annotations

from dataclasses import dataclass
from urllib.parse import parse_qs, urlencode

#: Longest text of a pin; a browser keeps 4 KB of a cookie.
LONGEST = 3500
#: Parameters of a link in a form or an address, and of the one to compare with.
KEYS = ("subject", "predicate", "object")


@dataclass(frozen=True)
class Pin:
    """A link by its names."""

    subject: str
    predicate: str
    object: str

    @property
    def triple(self) -> tuple[str, str, str]:
        """Subject, relation and object."""
        return self.subject, self.predicate, self.object

    @property
    def encoded(self) -> str:
        """The text in a cookie."""
        return urlencode({key: getattr(self, key) for key in KEYS})

    @property
    def fits(self) -> bool:
        """Whether it fits into a cookie."""
        return len(self.encoded) <= LONGEST


def decoded_pin(cookie: str) -> Pin | None:
    """The pin in a cookie; None if the cookie is invalid.

    Examples
    --------
    >>> decoded_pin(Pin("a&b", "p", "c").encoded)
    Pin(subject='a&b', predicate='p', object='c')
    >>> decoded_pin("subject=a") is None
    True
    """
    if not cookie or len(cookie) > LONGEST:
        return None
    try:
        found = parse_qs(cookie, max_num_fields=len(KEYS), errors="strict")
    except ValueError:
        return None
    if set(found) != set(KEYS) or any(len(values) != 1 for values in found.values()):
        return None
    return Pin(*(found[key][0] for key in KEYS))
