"""Requests and responses of the explorer, independent of the web framework.

A visitor's edits and the link that is pinned for comparison come in cookies. An address may have
edits, too, so that a page under edits can be bookmarked and sent. Such an address changes nothing
by itself: its page shows the edits, and a button on the page takes them over. Only rule numbers,
weights and a page of the explorer to continue with are read from the address.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Collection, Hashable, Mapping
from dataclasses import dataclass, field
from typing import Any, Literal
from urllib.parse import parse_qs, parse_qsl, urlencode, urlsplit

from hornbeam.ranking.named_queries import ASKED
from hornbeam.serve.edits import NO_EDITS, Edits

#: Maximum length of a search text.
LONGEST_QUERY = 200
#: Longest text of a pin; a browser keeps 4 KB of a cookie.
LONGEST_PIN = 3500
#: Parameters of a pinned link in its cookie.
PIN_KEYS = ("subject", "predicate", "object")
#: The query parameter of an address that has edits.
EDITS_KEY = "edits"
#: The page to continue with where no other is given.
RULES_PAGE = "/rules"


@dataclass(frozen=True)
class Pin:
    """A link by its names; a visitor can pin it for comparison."""

    subject: str
    predicate: str
    object: str

    @property
    def triple(self) -> tuple[str, str, str]:
        """Subject, relation and object."""
        return self.subject, self.predicate, self.object

    @property
    def encoded(self) -> str:
        """The text of the pin in a cookie."""
        return urlencode({key: getattr(self, key) for key in PIN_KEYS})

    @property
    def fits(self) -> bool:
        """Whether the pin fits into a cookie."""
        return len(self.encoded) <= LONGEST_PIN


def decoded_pin(cookie: str) -> Pin | None:
    """The pin in a cookie; None if the cookie is invalid.

    Examples
    --------
    >>> decoded_pin(Pin("a&b", "p", "c").encoded)
    Pin(subject='a&b', predicate='p', object='c')
    >>> decoded_pin("subject=a") is None
    True
    """
    if not cookie or len(cookie) > LONGEST_PIN:
        return None
    try:
        names = parse_qs(cookie, max_num_fields=len(PIN_KEYS), errors="strict")
    except ValueError:
        return None
    if set(names) != set(PIN_KEYS) or any(len(values) != 1 for values in names.values()):
        return None
    return Pin(*(names[key][0] for key in PIN_KEYS))


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
    """The answer to a visit: a text, or a page to redirect to.

    `edits` are the new edits, None if they did not change. `pin` is a newly pinned link; "" unpins.
    """

    body: str = ""
    status: int = 200
    media_type: str = "text/html"
    go_to: str | None = None
    edits: Edits | None = None
    pin: Pin | Literal[""] | None = None
    headers: Mapping[str, str] = field(default_factory=dict)


def json_answer(values: Mapping[str, Any], status: int = 200) -> PageAnswer:
    """An answer for programs."""
    return PageAnswer(json.dumps(values, allow_nan=False), status, "application/json")


@dataclass(frozen=True)
class View:
    """The content of a page: a template with its values, and plain values for JSON.

    The plain values are made only when JSON is requested.
    """

    template: str
    values: Mapping[str, object]
    plain: Callable[[], Mapping[str, Any]]


#: A page: a function from a visit to an answer, independent of the server.
Page = Callable[[Visit], PageAnswer]


#: A function from a visit to its view, which is answered in HTML or in JSON.
ViewOf = Callable[[Visit], View]


def triple_in(visit: Visit, which: str = "") -> tuple[str, str, str]:
    """Subject, relation and object of a visit; "" for a missing part or a question mark."""

    def given(key: str) -> str:
        text = visit.query.get(key + which, "")
        return "" if text == ASKED else text

    return given("subject"), given("relation") or given("predicate"), given("object")


def whole_number(text: str, otherwise: int) -> int:
    """The whole number in a text, or `otherwise` if the text is not a number."""
    return int(text) if text.isascii() and text.isdigit() and len(text) < 9 else otherwise


def asked_page(visit: Visit, total: int, size: int) -> dict[str, int]:
    """The requested page of a list of `total` items, from 1 on, and the number of pages."""
    pages = max((total + size - 1) // size, 1)
    page = min(max(whole_number(visit.query.get("page", "1"), 1), 1), pages)
    return {"page": page, "pages": pages, "total": total}


def shared_address(visit: Visit, edits: Edits, fingerprint: str, pages: Collection[str]) -> str:
    """Address of a visit's page with edits; if it is none of `pages`, of the page of rules."""
    path, query = (visit.path, visit.query) if visit.path in pages else (RULES_PAGE, {})
    return _address(path, {**query, EDITS_KEY: edits.encoded(fingerprint)})


def own_address(visit: Visit) -> str:
    """Address of a visit's page without edits."""
    query = {key: text for key, text in visit.query.items() if key != EDITS_KEY}
    return _address(visit.path, query)


def page_to_continue(text: str, pages: Collection[str]) -> str:
    """The page to continue with, from a form; if it is none of `pages`, the page of rules.

    Examples
    --------
    >>> texts = ("/entity?name=a%26b", "//evil.example/entity", "/static/x")
    >>> [page_to_continue(text, ["/entity"]) for text in texts]
    ['/entity?name=a%26b', '/rules', '/rules']
    """
    try:
        parts = urlsplit(text)
        query = dict(parse_qsl(parts.query, keep_blank_values=True, max_num_fields=50))
    except ValueError:
        return RULES_PAGE
    if parts.scheme or parts.netloc or parts.path not in pages:
        return RULES_PAGE
    return own_address(Visit(query, path=parts.path))


def _address(path: str, query: Mapping[str, str]) -> str:
    """An address from a path and a query, which is quoted."""
    return f"{path}?{urlencode(query, errors='replace')}" if query else path
