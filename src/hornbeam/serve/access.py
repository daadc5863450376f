"""Access control: the Host header, the token, and the origin of edits.

* A web page that makes its own name point at this machine (DNS rebinding) still sends that name in
  the Host header, so only host names of this server are answered.
* Beyond this machine a token is required. The first visit has it in the address, and a cookie
  keeps it from then on.
* An edit is accepted only from the explorer's own pages.
"""

from __future__ import annotations

import hmac
import ipaddress
import secrets
import socket
from collections.abc import Mapping
from dataclasses import dataclass
from urllib.parse import urlsplit

from hornbeam.errors import InputError

LOOPBACK = "127.0.0.1"
#: Minimum length of a user-chosen token.
SHORTEST_TOKEN = 16


@dataclass(frozen=True)
class Access:
    """The address that the server listens on, and the token where one is needed."""

    host: str
    port: int
    token: str | None

    @property
    def is_local(self) -> bool:
        """Whether only this machine can connect."""
        return _is_loopback(self.host)

    @property
    def url(self) -> str:
        """Address to open in a browser."""
        host = LOOPBACK if self.host in ("0.0.0.0", "") else self.host
        host = "[::1]" if host == "::" else f"[{host}]" if ":" in host else host
        query = f"?token={self.token}" if self.token else ""
        return f"http://{host}:{self.port}/{query}"

    def cookie(self, name: str) -> str:
        """Name of a cookie; with the port, since servers on one host share their cookies."""
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
    """Require a token wherever others can connect; make one if none is given."""
    if token is not None and (len(token) < SHORTEST_TOKEN or not _is_plain(token)):
        raise InputError(
            f"`token` needs at least {SHORTEST_TOKEN} letters, digits, '-' or '_'; leave it out "
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
    """Host of a Host header, without port and brackets; None where it is not one."""
    try:
        parts = urlsplit(f"//{header}")
        _ = parts.port  # raises if it is not a number
    except ValueError:
        return None
    return parts.hostname if parts.netloc == header and "@" not in header else None
