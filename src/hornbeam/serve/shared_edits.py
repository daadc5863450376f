"""Addresses with edits, so that what a visitor sees can be bookmarked and sent to others.

Such an address changes nothing by itself: its page shows the edits, and a button there takes them
over. Only rule numbers, weights and a page of the explorer to continue with are read from it.
"""

from __future__ import annotations

from collections.abc import Mapping
from urllib.parse import parse_qsl, urlencode, urlsplit

from hornbeam.serve.edits import Edits
from hornbeam.serve.visits import Visit

#: The query parameter of an address that has the edits.
KEY = "edits"
#: Pages that edits may be shown on.
PLACES = frozenset(
    {"/", "/search", "/entity", "/query", "/link", "/reasons", "/rules", "/relation", "/pairs",
     "/compare", "/around", "/links"}
)  # fmt: skip


def shared_address(visit: Visit, edits: Edits, fingerprint: str) -> str:
    """Address of a visit's page with edits; of the page of rules if it cannot show edits."""
    path, query = (visit.path, visit.query) if visit.path in PLACES else ("/rules", {})
    return _address(path, {**query, KEY: edits.encoded(fingerprint)})


def own_address(visit: Visit) -> str:
    """Address of a visit's page without edits."""
    return _address(visit.path, {key: text for key, text in visit.query.items() if key != KEY})


def page_to_continue(text: str) -> str:
    """The page to continue with, from a form; the page of rules if it is not one of the explorer's.

    Examples
    --------
    >>> [page_to_continue(at) for at in ("/entity?name=a%26b", "//evil.example/rules", "/static/x")]
    ['/entity?name=a%26b', '/rules', '/rules']
    """
    try:
        parts = urlsplit(text)
        query = dict(parse_qsl(parts.query, keep_blank_values=True, max_num_fields=50))
    except ValueError:
        return "/rules"
    if parts.scheme or parts.netloc or parts.path not in PLACES:
        return "/rules"
    return own_address(Visit(query, path=parts.path))


def _address(path: str, query: Mapping[str, str]) -> str:
    """An address of which only the query, quoted, comes from the request."""
    return f"{path}?{urlencode(query, errors='replace')}" if query else path
