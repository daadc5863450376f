"""Pages of the explorer for a target on one entity."""

from __future__ import annotations

import json
from typing import Any

import pytest

import hornbeam as hb
from hornbeam.base.progress import SILENT
from hornbeam.errors import InputError
from hornbeam.serve.pair_explorers import open_rule_explorer
from hornbeam.serve.site import Site
from hornbeam.serve.visits import PageAnswer, Pin, Visit
from tests.support.one_entity import MODEL, customers
from tests.support.pages import Page


@pytest.fixture(scope="module")
def site() -> Site:
    facts, labels = customers()
    explorer = open_rule_explorer(
        hb.read_facts([*facts, ("c1", "churn")]),
        hb.Model.parse(MODEL),
        labels=hb.read_labels(labels[:40]),
        pairs=hb.read_pairs([row[:2] for row in labels[40:]]),
        threads=1,
    )
    explorer.warm_up(SILENT)
    return Site(explorer)


def answer(site: Site, path: str, **query: str) -> PageAnswer:
    return site.addresses[path].page(Visit(query, path=path))


def words(site: Site, path: str, **query: str) -> str:
    found = answer(site, path, **query)
    assert found.status == 200
    return Page.of(found.body).words


def plain(site: Site, path: str, **query: str) -> Any:  # noqa: ANN401
    return json.loads(answer(site, path, **query).body)


def test_a_link_names_its_entity_once(site: Site) -> None:
    for query in ({"object": "c0"}, {"object": ""}, {}):
        told = words(site, "/link", subject="c0", relation="churn", **query)
        assert "c0 churn" in told
        assert "churn c0" not in told
    shown = plain(site, "/link.json", subject="c0", relation="churn")
    assert (shown["subject"], shown["object"]) == ("c0", None)
    with pytest.raises(InputError, match="is about one entity, and two were given"):
        answer(site, "/link", subject="c0", relation="churn", object="c1")


def test_asking_about_an_entity_shows_its_link(site: Site) -> None:
    asked = plain(site, "/query.json", subject="c0", relation="churn")
    assert asked["score"] == plain(site, "/link.json", subject="c0", relation="churn")["score"]


def test_the_page_of_an_entity_has_its_score_once(site: Site) -> None:
    supported = [
        name
        for name in (f"c{i}" for i in range(20))
        if plain(site, "/entity.json", name=name)["missing"]
    ]
    assert supported
    assert "c1" not in supported  # it is a fact
    [missing] = plain(site, "/entity.json", name=supported[0])["missing"]
    [found] = missing["answers"]
    link = plain(site, "/link.json", subject=supported[0], relation="churn")
    assert (found["object"], found["score"]) == (None, link["score"])
    assert f"{supported[0]} churn" in words(site, "/entity", name=supported[0])


def test_all_other_pages(site: Site) -> None:
    assert "c0 churn" in words(site, "/flip", subject="c0", relation="churn")
    two = {"subject": "c0", "relation": "churn", "subject2": "c2", "relation2": "churn"}
    told = words(site, "/links", **two)
    assert "c0 churn compared with c2 churn" in told
    listed = plain(site, "/pairs.json")
    assert all(link["object"] is None for link in listed["links"])
    assert "churn(A)" in words(site, "/rules", relation="churn")
    site.prerender()  # as the server does in the background
    page = site.addresses["/"].page(Visit({}, pinned=Pin("c0", "churn", "c0")))
    assert "Pinned: c0 churn unpin" in Page.of(page.body).words
    assert plain(site, "/index.json")["relations"][0]["facts"] == 1
