"""Requests and responses of the explorer, independent of the web framework."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Mapping
from dataclasses import dataclass, field
from typing import Any, Literal

from markupsafe import Markup

from hornbeam.errors import InputError
from hornbeam.ranking.named_queries import ASKED
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


@dataclass(frozen=True)
class View:
    """What a page shows: a template with its values, and the same as plain values for JSON.

    The plain values are made when JSON is requested, and not for a page.
    """

    template: str
    values: Mapping[str, object]
    plain: Callable[[], Mapping[str, Any]]


#: A page: a function that is independent of the server.
Page = Callable[[Visit], PageAnswer]


#: What a visit shows, in HTML or in JSON.
ViewOf = Callable[[Visit], View]


def triple_in(visit: Visit, which: str = "") -> tuple[str, str, str]:
    """Subject, relation and object of a visit; "" for what is missing or a question mark."""

    def given(key: str) -> str:
        text = visit.query.get(key + which, "")
        return "" if text == ASKED else text

    return given("subject"), given("relation") or given("predicate"), given("object")


def pinned(visit: Visit, pin: Pin, page: Markup) -> PageAnswer:
    """Pin a link, or unpin it, and go back to its page."""
    if not pin.fits:
        raise InputError("The names of this link are too long to pin it.")
    return PageAnswer(status=303, go_to=page.unescape(),
                      pin="" if visit.query.get("what") == "unpin" else pin)  # fmt: skip


def whole_number(text: str, otherwise: int) -> int:
    """The number in a text, or another if it is not a number."""
    return int(text) if text.isascii() and text.isdigit() and len(text) < 9 else otherwise
