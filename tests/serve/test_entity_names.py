"""The explorer with names of entities: shown everywhere, found by name or id, escaped."""

from __future__ import annotations

import pytest

import hornbeam as hb
from hornbeam.facts.entity_names import EntityNames
from hornbeam.serve.pair_explorers import open_rule_explorer
from hornbeam.serve.site import Site
from hornbeam.serve.visits import Visit
from tests.support.pages import Page

SCRIPT = "<script>alert(1)</script>"
NAMES = EntityNames({"e1": "Ann", "e2": "Ann", "e3": SCRIPT, "e9": "Nobody"}, {"e3": "<city>"})
FACTS = [
    ("e1", "knows", "e2"), ("e2", "works_in", "e3"), ("e4", "knows", "e2"), ("e1", "wise"),
    ("e5", "works_in", "e3"),
]  # fmt: skip
RULES = """
2.0: knows(A, B) & works_in(B, C) -> works_in(A, C)
1.0: knows(A, 'e2') -> works_in(A, B)
0.5: !works_in(A, B)
"""


@pytest.fixture(scope="module")
def site() -> Site:
    labels = hb.read_labels([("e1", "works_in", "e3", 1), ("e4", "works_in", "e3", 0)])
    model = hb.Model.parse(RULES)
    return Site(open_rule_explorer(hb.read_facts(FACTS), model, labels=labels, entity_names=NAMES))


def shown(site: Site, page: str, **query: str) -> Page:
    answer = site.addresses[f"/{page}"].page(Visit(query))
    assert answer.status == 200
    assert SCRIPT not in answer.body
    assert "<city>" not in answer.body
    return Page.of(answer.body)


def test_a_link_and_its_reasons_are_in_names(site: Site) -> None:
    page = shown(site, "link", subject="e1", predicate="works_in", object="e3")
    assert f"Ann (e1) works_in {SCRIPT}" in page.words
    assert f"Ann (e1) knows → Ann (e2) works_in → {SCRIPT}" in page.words
    # addresses have the ids
    assert "/entity?name=e2" in [link.get("href") for link in page.all("a")]
    flip = shown(site, "flip", subject="e1", predicate="works_in", object="e3")
    assert "Ann (e1) knows Ann (e2)" in flip.words


def test_an_entity_has_its_name_type_and_id(site: Site) -> None:
    page = shown(site, "entity", name="e3")
    assert f"<city> e3 {SCRIPT}" in page.words
    assert f"Ann (e1) works_in {SCRIPT}" in page.words
    assert "e5" in page.words


@pytest.mark.parametrize(
    ("typed", "found"),
    [("ann", ["e1", "e2"]), ("E4", ["e4"]), ("script", ["e3"]), ("nobody", []), ("e", None)],
)
def test_entities_are_found_by_name_or_id(site: Site, typed: str, found: list[str] | None) -> None:
    page = shown(site, "search", q=typed)
    hits = [link["href"] for link in page.all("a") if "/entity" in (link.get("href") or "")]
    expected = ["e1", "e2", "e3", "e4", "e5"] if found is None else found
    assert sorted(str(hit).rpartition("=")[2] for hit in hits) == expected


@pytest.mark.parametrize("page", ["", "rules", "pairs"])
def test_other_pages_show_names(site: Site, page: str) -> None:
    assert ("'Ann (e2)'" if page == "rules" else "Ann (e1)") in shown(site, page).words


WORKS = "works <i>in</i>"


@pytest.fixture(scope="module")
def named() -> Site:
    """A site whose relations have names, too."""
    labels = hb.read_labels([("e1", "works_in", "e3", 1), ("e4", "works_in", "e3", 0)])
    names = EntityNames({**NAMES.names, "works_in": WORKS, "knows": "is a friend of"})
    model = hb.Model.parse(RULES)
    return Site(open_rule_explorer(hb.read_facts(FACTS), model, labels=labels, entity_names=names))


@pytest.mark.parametrize(
    ("page", "query"),
    [
        ("", {}),
        ("rules", {}),
        ("rules", {"relation": "works_in"}),
        ("pairs", {}),
        ("entity", {"name": "e2"}),
        ("query", {"subject": "e1", "relation": WORKS}),
        ("link", {"subject": "e1", "relation": WORKS, "object": "e3"}),
        ("flip", {"subject": "e1", "relation": WORKS, "object": "e3"}),
    ],
)
def test_relations_are_shown_and_asked_for_by_name(
    named: Site, page: str, query: dict[str, str]
) -> None:
    found = shown(named, page, **query)
    assert WORKS in found.words
    if query.get("relation") == WORKS:
        by_id = shown(named, page, **{**query, "relation": "works_in"})
        assert by_id.words == found.words
    assert "Ann (e1) works_in" not in found.words
    answer = named.addresses[f"/{page}"].page(Visit(query))
    assert WORKS not in answer.body
