"""Pins in cookies: what was pinned comes back, and anything else is no pin."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from hornbeam.serve.visits import LONGEST_PIN, Pin, decoded_pin
from tests.support.commands import HOSTILE
from tests.support.servers import Client

NAMES = st.sampled_from(HOSTILE) | st.text(st.characters(exclude_categories=["Cs"]), min_size=1)


@given(NAMES, NAMES, NAMES)
def test_a_pin_comes_back(subject: str, predicate: str, object_: str) -> None:
    pin = Pin(subject, predicate, object_)
    assert decoded_pin(pin.encoded) == (pin if pin.fits else None)


@given(st.text() | st.just("subject=a&predicate=b&object=c&object=d"))
def test_anything_else_is_no_pin(cookie: str) -> None:
    assert decoded_pin(cookie) is None


def test_a_pin_that_no_cookie_holds_does_not_fit() -> None:
    assert not Pin("x" * LONGEST_PIN, "p", "b").fits


def test_only_own_pages_pin(client: Client) -> None:
    form = {"subject": "ann", "predicate": "trusts", "object": "dora"}
    assert client.post("/pin", form, origin="http://evil.example").status == 403
    pinned = client.post("/pin", form, origin=client.url)
    assert pinned.status == 303
    assert pinned.headers["location"].startswith("/link?subject=ann&relation=trusts")
    cookie = pinned.headers["set-cookie"]
    assert "HttpOnly" in cookie
    assert "SameSite=strict" in cookie
    assert client.post("/pin", form | {"object": "x" * 4000}, origin=client.url).status == 400
    assert client.post("/pin", {"subject": "ann"}, origin=client.url).status == 400
