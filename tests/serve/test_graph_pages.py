"""The explorer of a whole graph: what its pages say, in HTML and in JSON, to anybody."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any
from urllib.parse import quote, urlencode

import pytest

from hornbeam.facts.entity_names import EntityNames
from hornbeam.ranking.queries import Direction
from hornbeam.serve.edits import NO_EDITS
from hornbeam.serve.filters import lift_bar
from hornbeam.serve.graph_explorer import GraphExplorer
from hornbeam.serve.pages import RELATIONS
from hornbeam.serve.site import Site
from hornbeam.serve.visits import Visit
from tests.support.commands import HOSTILE, hornbeam_, write
from tests.support.pages import Page
from tests.support.servers import (
    GRAPH_FACTS,
    SCRIPT,
    Client,
    graph_explorer,
    graph_model,
    serving,
)

#: Every page, and the same in JSON.
PAGES = {
    "/": "/index.json",
    "/search?q=a": "/search.json?q=a",
    "/entity?name=ann": "/entity.json?name=ann",
    "/query?subject=ann&relation=trusts": "/query.json?subject=ann&relation=trusts",
    "/query?relation=trusts&object=dora": "/query.json?relation=trusts&object=dora",
    "/reasons?subject=ann&relation=trusts&object=dora":
        "/reasons.json?subject=ann&relation=trusts&object=dora",
    "/relation?name=trusts": "/relation.json?name=trusts",
}  # fmt: skip


@pytest.fixture(scope="module")
def graph() -> GraphExplorer:
    return graph_explorer()


@pytest.fixture(scope="module")
def client(graph: GraphExplorer) -> Iterator[Client]:
    with serving(graph) as one:
        yield one


def told(client: Client, page: str, status: int = 200) -> Any:  # noqa: ANN401
    reply = client.get(page)
    assert reply.status == status
    assert reply.headers["content-type"].startswith("application/json")
    return json.loads(reply.body)


def reasons(subject: str, relation: str, object_: str) -> str:
    query = {"subject": subject, "relation": relation, "object": object_}
    return f"/link?{urlencode(query, quote_via=quote)}"


@pytest.mark.parametrize("page", PAGES)
def test_every_page_answers_guarded_and_in_json(client: Client, page: str) -> None:
    for path in (page, PAGES[page]):
        reply = client.get(path)
        assert reply.status == 200
        assert "default-src 'none'" in reply.headers["content-security-policy"]
        assert reply.headers["cache-control"] == "no-store"
        assert reply.headers["x-content-type-options"] == "nosniff"
    html = client.get(page).body
    assert not re.search(r"<[^>]+ (style|on[a-z]+)=", html)
    assert "<script>alert" not in html
    assert Page.of(html).all("h1")
    json.loads(reply.body)


def test_the_home_page_has_relations_and_their_best_rules(client: Client) -> None:
    words = Page.of(client.get("/").body).words
    assert "trusts 19 3 0.429 If X knows A and A trusts Y, then X trusts Y." in words
    assert "no path rule" in words
    assert "the split was made by looking at links" in words
    found = told(client, "/index.json")
    assert found["facts"] == len(GRAPH_FACTS)
    assert {"relation": "nowhere", "facts": 0, "rules": 0} in found["relations"]


def test_the_home_page_turns_pages(graph: GraphExplorer, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("hornbeam.serve.pages.RELATIONS", 2)
    site = Site(graph)
    assert RELATIONS > 2
    for asked, shown in (("1", "page 1 of 2"), ("99", "page 2 of 2"), ("x", "page 1 of 2")):
        assert shown in site.addresses["/"].page(Visit({"page": asked})).body


def test_a_query_is_answered_as_the_ranker_answers(client: Client, graph: GraphExplorer) -> None:
    table = graph.ranker.rank([("ann", "trusts", "?")], top=50)
    expected = list(zip(table["object"], table["rank"], table["probability"], strict=True))
    found = told(client, "/query.json?subject=ann&relation=trusts&object=%3F")
    assert [
        (one["object"], one["rank"], pytest.approx(one["probability"])) for one in found["answers"]
    ] == expected
    assert (found["subject"], found["object"]) == ("ann", "?")
    page = client.get("/query?subject=ann&relation=trusts").body
    assert reasons("ann", "trusts", "dora").replace("&", "&amp;") in page
    assert "Known answers" in page


def test_an_entity_has_its_missing_and_its_known_facts(client: Client) -> None:
    page = Page.of(client.get("/entity?name=ann").body)
    assert "ann trusts dora" in page.words
    assert "dislikes →" in page.words
    links = [str(link.get("href")) for link in page.all("a")]
    assert reasons("ann", "trusts", "dora") in links
    found = told(client, "/entity.json?name=ann")
    stated = {("ann", r, o) for s, r, o in (f for f in GRAPH_FACTS if len(f) == 3) if s == "ann"}
    for group in found["missing"]:
        for one in group["answers"]:
            assert (one["subject"], one["relation"], one["object"]) not in stated
    assert found["known"][0]["total"] >= 1
    assert "holds of it" in Page.of(client.get("/entity?name=dora").body).words


def test_what_makes_no_sense_is_not_asked(graph: GraphExplorer) -> None:
    """Nobody has a hostile relation to eve: the question would have answers, but no meaning."""
    asked = {(one.asked.relation, one.asked.asks) for one in graph.missing("eve", top=3)}
    assert (SCRIPT, Direction.OBJECT) not in asked
    assert ("trusts", Direction.SUBJECT) in asked
    assert graph.ask("eve", SCRIPT, Direction.OBJECT, NO_EDITS, 3).answers
    for one in graph.missing("ann", top=3):
        assert 0 < one.expected <= 1


def test_reasons_are_asked_from_both_ends(client: Client) -> None:
    words = Page.of(client.get(reasons("ann", "trusts", "dora")).body).words
    assert "Link ann trusts dora" in words
    assert "Asked as ann trusts ?" in words
    assert "Asked as ? trusts dora" in words
    assert "0.429 If X knows A and A trusts Y, then X trusts Y." in words
    assert "knows(X, A) & trusts(A, Y) -> trusts(X, Y)" in words
    assert "ann knows bob and bob trusts dora" in words
    assert "What its score is made of" in words
    assert "paths 0.429" in words[words.index("Rules that fire") :]
    found = told(client, reasons("ann", "trusts", "dora").replace("/link", "/link.json"))
    assert [one["asks"] for one in found["directions"]] == ["object", "subject"]
    assert found["reasons"][0]["groundings"]


def test_answers_above_lead_to_their_reasons(client: Client, graph: GraphExplorer) -> None:
    answers = graph.ask("ann", "trusts", Direction.OBJECT, NO_EDITS, 50).answers
    page = client.get(reasons("ann", "trusts", answers[-1].object)).body
    assert "Answers above it" in page
    assert reasons("ann", "trusts", answers[0].object).replace("&", "&amp;") in page


def test_a_fact_is_explained_as_if_it_were_none(client: Client) -> None:
    words = Page.of(client.get(reasons("bob", "trusts", "dora")).body).words
    assert "Known fact" in words
    assert "explained as if it were not" in words


def test_what_no_rule_proposes_is_said() -> None:
    site = Site(graph_explorer(ridge=None, slots=False))
    visit = Visit({"subject": "ann", "relation": "trusts", "object": "ann"})
    assert "Not proposed" in Page.of(site.addresses["/link"].page(visit).body).words


@pytest.mark.parametrize("name", [SCRIPT, *HOSTILE])
def test_hostile_names_are_shown_escaped_and_lead_back(client: Client, name: str) -> None:
    found = client.get(f"/search?q={quote(name)}").body
    assert f'href="/entity?name={quote(name, safe="")}"' in found
    entity = client.get(f"/entity?name={quote(name)}")
    explained = client.get(reasons(name, "trusts", "dora"))
    asked = client.get(f"/query?{urlencode({'subject': name, 'relation': 'trusts'})}")
    for reply in (entity, explained, asked):
        assert reply.status == 200
        assert "<script>alert" not in reply.body
        assert " ".join(name.split()) in Page.of(reply.body).words
    assert told(client, f"/entity.json?name={quote(name)}")["entity"] == name


def test_a_hostile_relation_is_escaped(client: Client) -> None:
    for page in (
        f"/relation?name={quote(SCRIPT)}", f"/query?subject=ann&relation={quote(SCRIPT)}",
        reasons("ann", SCRIPT, "bob"), "/",
    ):  # fmt: skip
        reply = client.get(page)
        assert reply.status == 200
        assert "<script>alert" not in reply.body
        assert SCRIPT in Page.of(reply.body).words


@pytest.mark.parametrize(
    ("page", "status"),
    [
        ("/nothing", 404), ("/rules", 200), ("/link", 400), ("/entity", 404),
        ("/entity?name=nobody", 404), ("/entity?name=%00", 404), ("/entity?name=%ff", 404),
        ("/query", 400), ("/query?relation=trusts", 400), ("/query?subject=ann", 400),
        ("/query?relation=trusts&subject=ann&object=bob", 400),
        ("/query?relation=trusts&subject=%3F&object=%3F", 400),
        ("/query?relation=trusts&subject=nobody", 404), ("/query?relation=no&subject=ann", 404),
        ("/query?relation=nowhere&subject=ann", 200), ("/relation", 200), ("/relation?name=x", 404),
        ("/reasons", 400), ("/reasons?subject=ann&relation=trusts", 400),
        ("/reasons?subject=ann&relation=trusts&object=nobody", 404),
        ("/reasons?subject=ann&relation=dislikes&object=bob", 404),
        ("/reasons?subject=ann&relation=nowhere&object=bob", 400),
        ("/?page=-1", 200), ("/?page=99999999999999", 200), ("/search", 200),
        ("/search?q=" + "a" * 5000, 200), ("/search?q=%ff%fe", 200),
    ],
)  # fmt: skip
def test_odd_requests_get_an_answer(client: Client, page: str, status: int) -> None:
    reply = client.get(page)
    assert reply.status == status
    assert "Traceback" not in reply.body
    assert "content-security-policy" in reply.headers
    path, _, query = page.partition("?")
    if path in ("/entity", "/query", "/reasons", "/relation") and status != 200:
        assert told(client, f"{path}.json?{query}", status)["error"]


def test_only_reading_is_allowed(client: Client) -> None:
    assert client.post("/query", {"a": 1}, origin=client.url).status in (403, 404, 405)
    assert client.get("/", host="evil.example").status == 421


def test_a_token_is_asked_for(graph: GraphExplorer) -> None:
    with serving(graph, token="secret-token") as stranger:
        for page in PAGES:
            reply = stranger.get(page)
            assert reply.status == 401
            assert "ann" not in Page.of(reply.body).words
        assert stranger.get("/?token=secret-token").status == 303
        assert stranger.get("/").status == 200


def test_search_answers_htmx_with_a_part(client: Client) -> None:
    part = client.get("/search?q=do", hx_request="true").body
    assert "<html" not in part
    assert "/entity?name=dora" in part
    assert told(client, "/search.json?q=do")["found"] == ["dora"]
    assert "<html" not in client.get("/entity?name=nobody", hx_request="true").body


def test_names_are_shown_and_searched_and_asked_by() -> None:
    names = EntityNames({"ann": "Ann", "dora": SCRIPT, "bob": "Rob"}, {"dora": "<city>"})
    site = Site(graph_explorer(names))

    def page(view: str, **query: str) -> str:
        body = site.addresses[f"/{view}"].page(Visit(query)).body
        assert SCRIPT not in body
        assert "<city>" not in body
        return Page.of(body).words

    assert f"Ann trusts {SCRIPT}" in page("link", subject="ann", relation="trusts", object="dora")
    assert f"<city> dora {SCRIPT}" in page("entity", name="dora")
    assert f"Ann trusts {SCRIPT}" in page("query", subject="Ann", relation="trusts")
    assert "-> trusts(X, 'Rob')" in page("rules", name="trusts")
    assert "Ann" in page("search", q="ann")
    plain = site.pages.query(Visit({"subject": "Ann", "relation": "trusts"})).plain()
    assert plain["subject"] == "ann"
    assert plain["names"]["ann"] == {"name": "Ann", "type": None}


@pytest.mark.parametrize("option", ["labels", "pairs", "compare", "known"])
def test_options_of_rule_models_are_refused(tmp_path: Path, option: str) -> None:
    model = tmp_path / "graph.hornbeam"
    graph_model().save(model)
    facts = write(tmp_path / "facts.tsv", GRAPH_FACTS)
    ended = hornbeam_("serve", model, "--facts", facts, f"--{option}", facts, "--port", 0)
    assert ended.code == 2
    assert f"--{option} is for models of one target" in ended.stderr


def test_bars_of_a_score_are_as_long_as_its_parts() -> None:
    parts = [20.0, 10.0, -5.0]
    bars = [str(lift_bar(lift, parts)) for lift in parts]
    drawn = [
        re.findall(r'class="(for|against)" x="([0-9.]+)" width="([0-9.]+)"', bar) for bar in bars
    ]
    assert drawn == [
        [("for", "50.0", "50.0")],
        [("for", "50.0", "25.0")],
        [("against", "37.5", "12.5")],
    ]
    assert 'width="0.0"' in str(lift_bar(0.0, [0.0]))
