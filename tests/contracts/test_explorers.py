"""One contract for the explorers of all kinds of model: every page exists, in HTML and in JSON."""

from __future__ import annotations

import json
import re
from collections.abc import Callable
from dataclasses import replace
from typing import Any

import pytest

from hornbeam.serve.edits import NO_EDITS, Edits
from hornbeam.serve.explorer import ModelExplorer
from hornbeam.serve.site import NO_WEIGHTS, Site
from hornbeam.serve.visits import PageAnswer, Visit
from tests.support.pages import Page
from tests.support.servers import (
    SCRIPT,
    collective_explorer,
    graph_explorer,
    small_explorer,
)

LINK = {"subject": "ann", "relation": "trusts", "object": "dora"}
HOSTILE_LINK = {**LINK, "object": SCRIPT}
TWO_LINKS = {**LINK, "subject2": "ann", "relation2": "trusts", "object2": SCRIPT}
#: Every page that is read, with queries that show something of it.
QUERIES: dict[str, list[dict[str, str]]] = {
    "/": [{}],
    "/search": [{"q": "a"}, {"q": "script"}],
    "/entity": [{"name": "ann"}, {"name": SCRIPT}],
    "/query": [{"subject": "ann", "relation": "trusts"}, {"relation": "trusts", "object": SCRIPT}],
    "/link": [LINK, HOSTILE_LINK],
    "/reasons": [LINK],
    "/links": [TWO_LINKS],
    "/rules": [{}, {"relation": "trusts"}],
    "/relation": [{"name": "trusts"}],
    "/around": [{"name": "bob"}, {"name": "bob", "open": SCRIPT}],
    "/flip": [LINK],
    "/pairs": [{}],
    "/compare": [{}],
}
VISITS = [(path, query) for path, queries in QUERIES.items() for query in queries]
#: Visitor of rules with weights; a model of a whole graph says that it has none.
WEIGHTED = {"/flip", "/pairs", "/compare", "/edit", "/edited.psl"}
HAVING: dict[str, set[str]] = {"rules": WEIGHTED, "graph": set(), "collective": {"/pairs"}}
#: Keys of JSON that mean the same for every kind of model.
KEYS = {
    "/": {"model", "editable", "facts", "entities", "relations", "cautions", "examples"},
    "/search": {"typed", "found", "more", "names"},
    "/entity": {"entity", "missing", "listed", "known", "stated", "names"},
    "/query": {"subject", "relation", "object", "candidates", "left_out", "answers", "names"},
    "/link": {"subject", "relation", "object", "score", "is_fact", "reasons", "names"},
    "/links": {"first", "second", "names"},
    "/rules": set[str](),
    "/around": {"entity", "neighbours"},
}
ALIASES = {"/reasons": "/link", "/relation": "/rules"}
EXPLORERS: dict[str, Callable[[], ModelExplorer]] = {
    "rules": small_explorer,
    "graph": graph_explorer,
    "collective": collective_explorer,
}


class Visitor:
    """The pages of an explorer by their addresses, without a server."""

    def __init__(self, kind: str) -> None:
        explorer = EXPLORERS[kind]()
        self.kind = kind
        self.explorer = explorer
        self.addresses = Site(explorer).addresses

    def answer(self, path: str, query: dict[str, str], edits: Edits = NO_EDITS) -> PageAnswer:
        return self.addresses[path].page(Visit(query, edits, path=path))

    def words(self, path: str, query: dict[str, str], edits: Edits = NO_EDITS) -> str:
        """The text of a page, each number beside what it belongs to."""
        return Page.of(self.answer(path, query, edits).body).words

    def plain(self, path: str, query: dict[str, str], edits: Edits = NO_EDITS) -> Any:  # noqa: ANN401
        answer = self.answer(in_json(path), query, edits)
        assert (answer.status, answer.media_type) == (200, "application/json")
        return json.loads(answer.body, parse_constant=pytest.fail)


def in_json(path: str) -> str:
    return "/index.json" if path == "/" else f"{path}.json"


@pytest.fixture(scope="module", params=EXPLORERS)
def site(request: pytest.FixtureRequest) -> Visitor:
    return Visitor(request.param)


def test_all_kinds_have_the_same_addresses(site: Visitor) -> None:
    changes = {"/pin", "/edit", "/edited.psl"}
    assert set(site.addresses) == changes | set(QUERIES) | set(map(in_json, QUERIES))


@pytest.mark.parametrize(("path", "query"), VISITS)
def test_every_page_exists_in_html_and_in_json(
    site: Visitor, path: str, query: dict[str, str]
) -> None:
    if path in WEIGHTED - HAVING[site.kind]:
        refused = site.answer(in_json(path), query)
        assert refused.status in (400, 404)
        assert json.loads(refused.body).keys() == {"error"}
        return
    page = site.answer(path, query)
    assert (page.status, page.media_type) == (200, "text/html")
    assert "<script>alert" not in page.body
    assert Page.of(page.body).all("h1")
    assert KEYS.get(ALIASES.get(path, path), set()) <= site.plain(path, query).keys()


@pytest.mark.parametrize("path", sorted(WEIGHTED))
def test_a_graph_says_in_one_sentence_what_it_has_not(path: str) -> None:
    site = Visitor("graph")
    answer = site.answer(path, LINK)
    assert answer.status == 404
    assert NO_WEIGHTS in Page.of(answer.body).words
    if in_json(path) in site.addresses:
        told = site.answer(in_json(path), LINK)
        assert (told.status, json.loads(told.body)) == (404, {"error": NO_WEIGHTS})


@pytest.mark.parametrize("query", QUERIES["/query"])
def test_answers_have_the_same_numbers_on_the_page_and_in_json(
    site: Visitor, query: dict[str, str]
) -> None:
    told, words = site.plain("/query", query), site.words("/query", query)
    assert "?" in (told["subject"], told["object"])
    assert told["candidates"] >= len(told["answers"])
    assert bool(told["answers"]) == (site.kind != "collective")
    for answer in told["answers"]:
        shown = f"{answer['subject']} trusts {answer['object']} {answer['score']:.3f}"
        assert " ".join(shown.split()) in words
    entity = site.plain("/entity", {"name": query.get("subject") or query["object"]})
    asked = {(one["subject"], one["relation"], one["object"]): one for one in entity["missing"]}
    one = asked.get((told["subject"], told["relation"], told["object"]))
    assert (one is None) == (not told["answers"])
    if one is not None:
        assert one["answers"] == told["answers"][: len(one["answers"])]


def test_a_link_has_the_same_numbers_on_the_page_and_in_json(site: Visitor) -> None:
    told, words = site.plain("/link", LINK), site.words("/link", LINK)
    assert f"{told['score']:.3f}" in words
    assert told["reasons"]
    for reason in told["reasons"]:
        assert reason["rule"] in words
    two = site.plain("/links", TWO_LINKS)
    assert two["first"]["score"] == told["score"]
    for side in ("first", "second"):
        assert f"{two[side]['score']:.3f}" in site.words("/links", TWO_LINKS)


def test_rules_have_the_same_numbers_on_the_page_and_in_json() -> None:
    edits = Edits(off=frozenset({1})).with_weight(0, 0.25)
    weighted, counted = Visitor("rules"), Visitor("graph")
    told, body = weighted.plain("/rules", {}, edits), weighted.answer("/rules", {}, edits).body
    for rule in told["rules"]:
        number = rule["number"]
        weight = re.search(rf'id="weight-{number}" [^>]* value="([^"]*)"', body)
        assert weight
        assert weight[1] == f"{rule['weight']:.3g}"
        assert (f'name="on" value="1" checked aria-label="Rule {number + 1} ' in body) == rule["on"]
    assert f"AUC-ROC {told['figures']['auc_roc']:.3f}" in weighted.words("/rules", {}, edits)
    assert [rule["learned"] for rule in told["rules"]] == [2.0, 1.5, 0.5, 1.0]
    trusts = {"relation": "trusts"}
    words = counted.words("/rules", trusts)
    for direction in counted.plain("/rules", trusts)["directions"]:
        for rule in [*direction["paths"], *direction["constants"]]:
            assert f"{rule['confidence']:.3f}" in words
            assert f"{rule['rule']} {rule['hits']} {rule['predicted']}" in words


def test_pages_of_weights_have_the_same_numbers_in_json() -> None:
    site = Visitor("rules")
    for path in ("/pairs", "/compare"):
        words = site.words(path, {})
        for link in site.plain(path, {})["links"]:
            shown = f"{link['subject']} trusts {link['object']} {link['score']:.3f}"
            assert " ".join(shown.split()) in words
    for rule in site.plain("/compare", {})["shared"]:
        assert f"{rule['rule']} {rule['weight']:.3g} {rule['other_weight']:.3g}" in site.words(
            "/compare", {}
        )
    flip = site.plain("/flip", LINK)["flip"]
    assert f"the score is {flip['score']:.3f}" in site.words("/flip", LINK)


def test_names_in_json_are_as_in_the_data(site: Visitor) -> None:
    assert site.plain("/entity", {"name": SCRIPT})["entity"] == SCRIPT
    assert SCRIPT in site.plain("/search", {"q": "script"})["found"]


def test_neighbours_in_json_turn_pages_by_their_addresses(site: Visitor) -> None:
    groups = site.plain("/around", {"name": "bob"})["neighbours"]
    [further] = [group for group in groups if group["predicate"] == "trusts" and group["after"]]
    assert further["total"] > len(further["leaves"])
    assert re.fullmatch(r"/around\?name=bob&page=[^&]+", further["after"])


def test_other_addresses_and_parameters_are_the_same_pages(site: Visitor) -> None:
    old = {"subject": "ann", "predicate": "trusts", "object": "dora"}
    assert site.plain("/reasons", old) == site.plain("/link", LINK)
    trusts = site.plain("/rules", {"relation": "trusts"})
    assert site.plain("/relation", {"name": "trusts"}) == trusts


def test_json_counts_the_edits_of_the_visitor_and_of_the_address() -> None:
    site, edits = Visitor("rules"), Edits(off=frozenset({0}))
    learned = site.plain("/link", LINK)["score"]
    edited = site.explorer.explain("ann", "trusts", "dora", edits).as_dict()["score"]
    assert site.plain("/link", LINK, edits)["score"] == edited != learned
    text = edits.encoded(site.explorer.fingerprint)
    assert site.plain("/link", {**LINK, "edits": text})["score"] == edited
    assert site.answer("/link.json", {**LINK, "edits": "wrong"}).status == 400


def test_a_page_does_not_make_plain_values(site: Visitor) -> None:
    served = Site(site.explorer)
    page = served.html(lambda visit: replace(served.pages.home(visit), plain=pytest.fail))
    assert page(Visit()).status == 200
