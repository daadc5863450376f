"""Middleware: which requests are answered at all, and security headers of all responses.

The page of one visitor can never run scripts that came in with a name: the content security policy
allows only the explorer's own files, and every name is escaped.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from urllib.parse import parse_qs, urlencode

from starlette.datastructures import Headers
from starlette.requests import cookie_parser
from starlette.responses import PlainTextResponse, RedirectResponse, Response
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from hornbeam.errors import InputError
from hornbeam.serve.access import Access

#: Longest path and query; a link names three entities.
MAX_TARGET = 16_384
#: Longest headers; the cookie of edits takes up to 4 KB.
MAX_HEADERS = 32_768
#: Longest body; edits are a few dozen bytes.
MAX_BODY = 16_384

HEADERS = {
    "content-security-policy": "default-src 'none'; script-src 'self'; style-src 'self'; "
    "img-src 'self'; connect-src 'self'; form-action 'self'; base-uri 'none'; "
    "frame-ancestors 'none'",
    "x-content-type-options": "nosniff",
    "x-frame-options": "DENY",
    # not "no-referrer": browsers would then hide the origin of forms from this server, too
    "referrer-policy": "same-origin",
    "cross-origin-resource-policy": "same-origin",
    "cross-origin-opener-policy": "same-origin",
    "permissions-policy": "camera=(), geolocation=(), microphone=()",
}

#: The same encoded; they replace headers of the same name that a response sets.
RAW_HEADERS = [(name.encode(), value.encode()) for name, value in HEADERS.items()]
OWN = frozenset(name for name, _ in RAW_HEADERS)

#: Makes the page that requests the token.
Asking = Callable[[], Response]


class Guard:
    """Refuses requests that are not for this server, and sets the headers of all responses."""

    def __init__(self, app: ASGIApp, access: Access, ask_token: Asking) -> None:
        self.app = app
        self.access = access
        self.ask_token = ask_token

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer one request."""
        if scope["type"] != "http":
            await self.app(scope, receive, send)
            return

        async def send_guarded(message: Message) -> None:
            if message["type"] == "http.response.start":
                message["headers"] = _with_own(message["headers"])
            await send(message)

        answer: ASGIApp = self._refusal(scope) or self.app
        await answer(scope, receive, send_guarded)

    def _refusal(self, scope: Scope) -> Response | None:
        headers = Headers(scope=scope)
        if not self.access.knows_host(headers.get("host", "")):
            return _plain(421, "This server does not answer to that host name.")
        if "transfer-encoding" in headers:
            # request smuggling: given two lengths, a proxy may see two requests where we see one
            return _plain(400, "Only Content-Length is accepted as the length of a request.")
        if len(scope["raw_path"]) + len(scope["query_string"]) > MAX_TARGET:
            return _plain(414, "The address is too long.")
        if sum(len(name) + len(value) for name, value in headers.raw) > MAX_HEADERS:
            return _plain(431, "The headers are too long.")
        if scope["method"] not in ("GET", "HEAD", "POST"):
            return _plain(405, "Only GET, HEAD and POST are answered.")
        if scope["method"] == "POST":
            length = headers.get("content-length", "")
            if not length.isdigit():
                return _plain(411, "A length is needed.")
            if int(length) > MAX_BODY:
                return _plain(413, "The request is too large.")
            if not self.access.allows_edit(headers):
                return _plain(403, "Changes are taken from the explorer's own pages only.")
        return self._token_refusal(scope, headers)

    def _token_refusal(self, scope: Scope, headers: Headers) -> Response | None:
        if self.access.token is None or scope["path"].startswith("/static/"):
            return None
        name = self.access.cookie("token")
        if self.access.admits(cookie_parser(headers.get("cookie", "")).get(name)):
            return None
        try:
            query = parse_qs(scope["query_string"].decode("latin-1"), max_num_fields=20)
        except ValueError:
            return self.ask_token()
        given = query.pop("token", [""])[0]
        if scope["method"] == "POST" or not self.access.admits(given):
            return self.ask_token()
        # the token leaves the address bar, and with it the history
        rest = f"?{urlencode(query, doseq=True)}" if query else ""
        path = "/" + scope["raw_path"].decode("ascii").lstrip("/")  # never another host
        response = RedirectResponse(path + rest, 303)
        response.set_cookie(name, given, httponly=True, samesite="strict", path="/")
        return response


def _with_own(headers: Iterable[tuple[bytes, bytes]]) -> list[tuple[bytes, bytes]]:
    """The headers of a response, with those of every response."""
    given = [(name, value) for name, value in headers if name.lower() not in OWN]
    cached = any(name.lower() == b"cache-control" for name, _ in given)
    return [*given, *RAW_HEADERS, *([] if cached else [(b"cache-control", b"no-store")])]


def _plain(status: int, text: str) -> Response:
    return PlainTextResponse(text + "\n", status, {"connection": "close"})


async def read_body(receive: Receive) -> bytes:
    """The body of a request, up to the size that the guard allows."""
    body = b""
    while len(body) <= MAX_BODY:
        message = await receive()
        body += bytes(message.get("body", b""))
        if message["type"] != "http.request" or not message.get("more_body", False):
            return body
    raise InputError("The request is too large.")
