"""Who is let in: hosts, tokens and origins."""

from __future__ import annotations

import pytest

from hornbeam.errors import InputError
from hornbeam.serve.guard import Access, access_for

LOCAL = Access("127.0.0.1", 8765, None)
WIDE = Access("0.0.0.0", 8765, "a-token-of-many-letters")


@pytest.mark.parametrize(
    "host", ["127.0.0.1", "127.0.0.1:8765", "localhost:8765", "LOCALHOST", "[::1]:8765"]
)
def test_hosts_that_mean_this_server(host: str) -> None:
    assert LOCAL.knows_host(host)
    assert WIDE.knows_host(host)


@pytest.mark.parametrize(
    "host",
    ["", "evil.example", "evil.example:8765", "127.0.0.1.evil.example", "localhost.evil.example",
     "a@localhost", "localhost/", "localhost:x", "127.0.0.1:8765, evil.example", "[::1", "127.1"],
)  # fmt: skip
def test_hosts_that_do_not(host: str) -> None:
    assert not LOCAL.knows_host(host)
    assert not WIDE.knows_host(host)


def test_numbers_are_fine_where_others_may_connect() -> None:
    """A name can be made to point at this machine (DNS rebinding), a number cannot."""
    assert WIDE.knows_host("192.168.1.5:8765")
    assert not LOCAL.knows_host("192.168.1.5:8765")
    assert Access("explorer.lab", 80, "x").knows_host("Explorer.lab:80")


def test_tokens() -> None:
    assert LOCAL.admits(None)
    assert WIDE.admits("a-token-of-many-letters")
    for wrong in (None, "", "a-token-of-many-letter", "a-token-of-many-letters ", "é"):
        assert not WIDE.admits(wrong)
    assert access_for("127.0.0.1", 1, None).token is None
    assert access_for("localhost", 1, None).token is None
    assert access_for("::1", 1, None).token is None
    made = access_for("0.0.0.0", 1, None).token
    assert made is not None
    assert len(made) >= 32
    assert made != access_for("0.0.0.0", 1, None).token
    assert access_for("127.0.0.1", 1, "x" * 16).token == "x" * 16


@pytest.mark.parametrize("token", ["", "short", "with spaces in the token", "é" * 20, "a;b" * 9])
def test_tokens_that_are_none(token: str) -> None:
    with pytest.raises(InputError, match="the token needs"):
        access_for("0.0.0.0", 1, token)


def test_addresses() -> None:
    assert LOCAL.url == "http://127.0.0.1:8765/"
    assert WIDE.url == "http://127.0.0.1:8765/?token=a-token-of-many-letters"
    assert Access("::1", 80, None).url == "http://[::1]:80/"
    assert Access("::", 80, None).url == "http://[::1]:80/"


@pytest.mark.parametrize(
    ("headers", "allowed"),
    [
        ({"host": "localhost:1", "origin": "http://localhost:1"}, True),
        ({"host": "localhost:1"}, True),
        ({"host": "localhost:1", "sec-fetch-site": "same-origin"}, True),
        ({"host": "localhost:1", "sec-fetch-site": "cross-site"}, False),
        ({"host": "localhost:1", "sec-fetch-site": "same-site"}, False),
        ({"host": "localhost:1", "origin": "null"}, False),
        ({"host": "localhost:1", "origin": "http://[::1"}, False),
        ({"host": "localhost:1", "origin": "http://localhost:2"}, False),
        ({"host": "localhost:1", "origin": "http://evil.example"}, False),
    ],
)
def test_where_edits_may_come_from(headers: dict[str, str], allowed: bool) -> None:
    assert LOCAL.allows_edit(headers) is allowed
