"""Addresses that carry edits: kept by one visitor, looked at and taken over by another."""

from __future__ import annotations

import re
from html import unescape

import pytest
from hypothesis import given
from hypothesis import strategies as st

from hornbeam.serve.visits import page_to_continue
from tests.support.servers import Client

LINK = "/link?subject=ann&predicate=trusts&object=dora"
FLIP = "/flip?subject=ann&predicate=trusts&object=dora"


def shared(body: str) -> str:
    """The address with edits that a page offers."""
    found = re.search(r'<a href="([^"]*)" data-copies', body)
    assert found
    return unescape(found[1])


def score(body: str) -> str:
    found = re.search(r'class="big"><span class="number">([0-9.]+)', body)
    assert found
    return found[1]


def test_a_page_is_sent_with_its_edits(port: int) -> None:
    one, two = Client(port), Client(port)
    learned = score(two.get(LINK).body)
    assert "data-copies" not in two.get(LINK).body
    one.post("/edit", {"what": "weight", "rule": 0, "weight": "0.125"})
    one.post("/edit", {"what": "switch", "rule": 1})
    page = one.get(LINK).body
    address = shared(page)
    assert one.get(address).headers["location"] == LINK
    shown = two.get(address)
    assert shown.status == 200
    assert "2 edited rules" in shown.body
    assert not two.cookies, "to look at an address changes nothing"
    form = dict(re.findall(r'name="(edits|place)" value="([^"]*)"', unescape(shown.body)))
    taken = two.post("/edit", {**form, "what": "take"})
    assert taken.status == 303
    assert taken.headers["location"] == LINK
    assert score(two.get(LINK).body) == score(page) != learned
    # and after an edit of one's own, the address is of that page too
    edited = two.post("/edit", {"what": "switch", "rule": 2}, hx_request="true")
    assert shared(edited.body).startswith("/rules?edits=")


@pytest.mark.parametrize("page", ["/", "/rules", "/pairs", "/compare", "/search?q=a", LINK, FLIP])
def test_every_page_has_an_address_with_the_edits(client: Client, page: str) -> None:
    client.post("/edit", {"what": "switch", "rule": 1})
    address = shared(client.get(page).body)
    assert address.startswith(f"{page}{'&' if '?' in page else '?'}edits=")
    assert client.get(address).headers["location"] == page


@pytest.mark.parametrize("text", ["", "x", "0000_0x", "{}_99x", "{}_0wnan", "{}_0x<script>"])
def test_edits_that_are_none_are_refused(client: Client, text: str) -> None:
    client.post("/edit", {"what": "switch", "rule": 0})
    fingerprint = next(iter(client.cookies.values())).partition("_")[0]
    wrong, before = text.format(fingerprint), dict(client.cookies)
    assert client.get(f"/rules?edits={wrong}").status == 400
    assert client.post("/edit", {"what": "take", "edits": wrong}).status == 400
    assert client.cookies == before


@given(st.text(max_size=40) | st.sampled_from(["//a/rules", "http://a/rules", "/\\a", "/link?a=b"]))
def test_one_goes_on_to_pages_of_the_explorer_only(text: str) -> None:
    pages = ["/link", "/entity"]
    assert page_to_continue(text, pages).partition("?")[0] in ["/rules", *pages]
