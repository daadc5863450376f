"""Requests and responses of the explorer, independent of the web framework."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Mapping
from dataclasses import dataclass, field
from typing import Literal

from markupsafe import Markup

from hornbeam.errors import InputError
from hornbeam.serve.edits import NO_EDITS, Edits
from hornbeam.serve.pins import Pin

#: Maximum length of a search text.
LONGEST_QUERY = 200


@dataclass(frozen=True)
class Visit:
    """One request: its query or form, the visitor's edits, and the htmx element to update.

    `part` is the id of the element that htmx updates, "" for a whole page; `pinned` is the
    visitor's pinned link, `path` the requested page.
    """

    query: Mapping[str, str] = field(default_factory=dict)
    edits: Edits = NO_EDITS
    is_htmx: bool = False
    part: str = ""
    pinned: Pin | None = None
    path: str = "/"

    @property
    def key(self) -> tuple[Hashable, ...]:
        """Everything that an answer depends on."""
        query = tuple(sorted(self.query.items()))
        return query, self.edits.key, self.is_htmx, self.part, self.pinned


@dataclass(frozen=True)
class PageAnswer:
    """The answer to a visit: a text, or a page to redirect to; and the edits if they changed.

    `pin` is the newly pinned link; "" to unpin.
    """

    body: str = ""
    status: int = 200
    media_type: str = "text/html"
    go_to: str | None = None
    edits: Edits | None = None
    pin: Pin | Literal[""] | None = None
    headers: Mapping[str, str] = field(default_factory=dict)


#: A page: a function that is independent of the server.
Page = Callable[[Visit], PageAnswer]


def pinned(visit: Visit, pin: Pin, page: Markup) -> PageAnswer:
    """Pin a link, or unpin it, and go back to its page."""
    if not pin.fits:
        raise InputError("The names of this link are too long to pin it.")
    return PageAnswer(status=303, go_to=page.unescape(),
                      pin="" if visit.query.get("what") == "unpin" else pin)  # fmt: skip


def whole_number(text: str, otherwise: int) -> int:
    """The number in a text, or another if it is not a number."""
    return int(text) if text.isascii() and text.isdigit() and len(text) < 9 else otherwise
