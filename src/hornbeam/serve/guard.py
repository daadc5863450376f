"""Which requests are answered at all, and the security headers of all responses.

* Only requests whose Host header names this server are answered. A web page that makes its own name
  point at this machine (DNS rebinding) still sends its own name in that header.
* Beyond this machine a token is required. The first visit has it in the address, and a cookie
  keeps it from then on.
* An edit is accepted only from the explorer's own pages.
* A name, from the data or from an address, never runs as a script: the content security policy
  allows only the explorer's own files, and every name is escaped.
"""

from __future__ import annotations

import hmac
import ipaddress
import secrets
import socket
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from urllib.parse import parse_qs, urlencode, urlsplit

from starlette.datastructures import Headers
from starlette.requests import cookie_parser
from starlette.responses import JSONResponse, PlainTextResponse, RedirectResponse, Response
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from hornbeam.errors import InputError
from hornbeam.serve.service_schema import MAX_BYTES, is_of_service

LOOPBACK = "127.0.0.1"
#: Minimum length of a user-chosen token.
SHORTEST_TOKEN = 16
#: Maximum length of path and query; an address of a link has three names.
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

#: `HEADERS` encoded; they replace headers of the same name that a response sets.
RAW_HEADERS = [(name.encode(), value.encode()) for name, value in HEADERS.items()]
OWN = frozenset(name for name, _ in RAW_HEADERS)

#: Makes the page that requests the token.
Asking = Callable[[], Response]


@dataclass(frozen=True)
class Access:
    """The address at which the server listens, and the token if a token is needed."""

    host: str
    port: int
    token: str | None

    @property
    def is_local(self) -> bool:
        """Whether only this machine can connect."""
        return _is_loopback(self.host)

    @property
    def address(self) -> str:
        """Address of the first page, without the token."""
        host = LOOPBACK if self.host in ("0.0.0.0", "") else self.host
        host = "[::1]" if host == "::" else f"[{host}]" if ":" in host else host
        return f"http://{host}:{self.port}/"

    @property
    def url(self) -> str:
        """Address to open in a browser, with the token."""
        return f"{self.address}?token={self.token}" if self.token else self.address

    def cookie(self, name: str) -> str:
        """Name of a cookie, which has the port in it: servers on one host share their cookies."""
        return f"hornbeam-{name}-{self.port}"

    def knows_host(self, header: str) -> bool:
        """Whether a Host header names this server."""
        name = _host_name(header)
        if name is None:
            return False
        if name in {"localhost", LOOPBACK, "::1", self.host.lower()}:
            return True
        # a host name can be rebound to any address (DNS), an IP literal cannot
        return not self.is_local and (_is_number(name) or name == socket.gethostname().lower())

    def admits(self, given: str | None) -> bool:
        """Whether a token (or its absence) grants access; compared in constant time."""
        if self.token is None:
            return True
        return hmac.compare_digest((given or "").encode(), self.token.encode())

    def allows_edit(self, headers: Mapping[str, str]) -> bool:
        """Whether a request to change something comes from a page of this server."""
        origin = headers.get("origin")
        if origin is not None:
            try:
                named = urlsplit(origin).netloc
            except ValueError:  # "http://[::1" and the like
                return False
            return named.lower() == headers.get("host", "").lower()
        return headers.get("sec-fetch-site", "same-origin") in ("same-origin", "none")


def access_for(host: str, port: int, token: str | None) -> Access:
    """Require a token if other machines can connect; make a token if none is given."""
    if token is not None and (len(token) < SHORTEST_TOKEN or not _is_plain(token)):
        raise InputError(
            f"the token needs at least {SHORTEST_TOKEN} letters, digits, '-' or '_'; leave it out "
            "and one is made for you"
        )
    if token is None and not _is_loopback(host):
        token = secrets.token_urlsafe(24)
    return Access(host, port, token)


def _is_plain(token: str) -> bool:
    return token.isascii() and token.replace("-", "").replace("_", "").isalnum()


def _is_loopback(host: str) -> bool:
    return host == "localhost" or (_is_number(host) and ipaddress.ip_address(host).is_loopback)


def _is_number(host: str) -> bool:
    try:
        ipaddress.ip_address(host)
    except ValueError:
        return False
    return True


def _host_name(header: str) -> str | None:
    """The host in a Host header, without port and brackets; None if the header is invalid."""
    try:
        parts = urlsplit(f"//{header}")
        _ = parts.port  # raises if it is not a number
    except ValueError:
        return None
    return parts.hostname if parts.netloc == header and "@" not in header else None


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

        refused = self._refusal(scope)
        if refused is not None and is_of_service(scope["path"]):
            refused = _as_json(refused)
        answer: ASGIApp = refused or self.app
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
            length = headers.get("content-length", "0")  # without one there is no body (RFC 9112)
            if not length.isdigit():
                return _plain(411, "A length is needed.")
            most = MAX_BYTES if is_of_service(scope["path"]) else MAX_BODY
            if int(length) > most:
                return _plain(413, f"The request is too large: at most {most:,} bytes are taken.")
            if not self.access.allows_edit(headers):
                return _plain(403, "Changes are taken from the explorer's own pages only.")
        return self._token_refusal(scope, headers)

    def _token_refusal(self, scope: Scope, headers: Headers) -> Response | None:
        if self.access.token is None or scope["path"].startswith("/static/"):
            return None
        name = self.access.cookie("token")
        if self.access.admits(cookie_parser(headers.get("cookie", "")).get(name)):
            return None
        if is_of_service(scope["path"]):
            scheme, _, given = headers.get("authorization", "").partition(" ")
            if scheme.casefold() == "bearer" and self.access.admits(given.strip()):
                return None
            return _plain(401, "Expected the header `Authorization: Bearer TOKEN`.")
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
    """The headers of a response, with the security headers of every response."""
    given = [(name, value) for name, value in headers if name.lower() not in OWN]
    cached = any(name.lower() == b"cache-control" for name, _ in given)
    return [*given, *RAW_HEADERS, *([] if cached else [(b"cache-control", b"no-store")])]


def _plain(status: int, text: str) -> Response:
    return PlainTextResponse(text + "\n", status, {"connection": "close"})


def _as_json(refused: Response) -> Response:
    """A refusal in the form of the JSON service's errors."""
    status, text = refused.status_code, bytes(refused.body).decode().strip()
    headers = {"connection": "close"}
    if status == 401:
        headers["www-authenticate"] = "Bearer"
    return JSONResponse({"error": {"status": status, "message": text}}, status, headers)


async def read_body(receive: Receive, most: int = MAX_BODY) -> bytes:
    """The body of a request, up to the size that the guard allows."""
    body = b""
    while len(body) <= most:
        message = await receive()
        body += bytes(message.get("body", b""))
        if message["type"] != "http.request" or not message.get("more_body", False):
            return body
    raise InputError("The request is too large.")
