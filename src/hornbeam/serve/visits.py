"""Requests and responses of the explorer, independent of the web framework."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Mapping
from dataclasses import dataclass, field
from typing import Literal

from markupsafe import Markup

from hornbeam.errors import InputError
from hornbeam.serve.edits import NO_EDITS, Edits
from hornbeam.serve.pins import Pin

#: Longest text that is searched for.
LONGEST_QUERY = 200


@dataclass(frozen=True)
class Visit:
    """One request: its query or form, the visitor's edits, and the htmx element to update.

    `part` is the id of the element for which htmx asks, "" where a whole page is wanted; `pinned`
    is the link that the visitor holds against others, `path` the page that is asked for.
    """

    query: Mapping[str, str] = field(default_factory=dict)
    edits: Edits = NO_EDITS
    is_htmx: bool = False
    part: str = ""
    pinned: Pin | None = None
    path: str = "/"

    @property
    def key(self) -> tuple[Hashable, ...]:
        """What an answer depends on."""
        query = tuple(sorted(self.query.items()))
        return query, self.edits.key, self.is_htmx, self.part, self.pinned


@dataclass(frozen=True)
class Answer:
    """What goes back: a text, or a page to go to; and new edits, where they changed.

    `pin` is the link that is pinned from now on; "" where none is.
    """

    body: str = ""
    status: int = 200
    media_type: str = "text/html"
    go_to: str | None = None
    edits: Edits | None = None
    pin: Pin | Literal[""] | None = None
    headers: Mapping[str, str] = field(default_factory=dict)


#: A page: plain functions that know no server.
Page = Callable[[Visit], Answer]


def pinned(visit: Visit, pin: Pin, page: Markup) -> Answer:
    """Pin a link, or none any more, and go back to its page."""
    if not pin.fits:
        raise InputError("The names of this link are too long to pin it.")
    return Answer(status=303, go_to=page.unescape(),
                  pin="" if visit.query.get("what") == "unpin" else pin)  # fmt: skip


def whole_number(text: str, otherwise: int) -> int:
    """The number that a text is, or another where it is none."""
    return int(text) if text.isascii() and text.isdigit() and len(text) < 9 else otherwise
