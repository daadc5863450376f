"""The JSON service as a program uses it, on both kinds of models, with mistakes of every kind."""

from __future__ import annotations

import asyncio
import json
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from threading import Event
from typing import Any

import jsonschema
import pytest
from openapi_spec_validator import validate

import hornbeam as hb
from hornbeam.explaining.explanation import Explanation
from hornbeam.scoring.scored_links import RuleScorer
from hornbeam.serve import web_app
from hornbeam.serve.explorer import Explorer
from hornbeam.serve.graph_explorer import GraphExplorer
from hornbeam.serve.guard import Access
from hornbeam.serve.pair_explorers import open_rule_explorer
from hornbeam.serve.rule_explorer import RuleExplorer
from hornbeam.serve.service_schema import MAX_BYTES, MAX_PAIRS, SCHEMAS, openapi
from hornbeam.serve.site import Address
from hornbeam.serve.visits import PageAnswer, Visit
from tests.support.commands import PATIENCE
from tests.support.servers import FACTS, RULES, Client, Reply, graph_explorer, serving

TOKEN = "a-token-of-many-letters"
TRIPLES = [["ann", "trusts", "dora"], ["ann", "trusts", "bob"], ["nobody", "trusts", "bob"]]


def ask(client: Client, what: str, body: object = None, **headers: str) -> Reply:
    """A request of a program: GET without a body."""
    if body is None:
        return client.get(f"/api/v1/{what}", **headers)
    text = body if isinstance(body, bytes) else json.dumps(body).encode()
    return client.send(f"/api/v1/{what}", text, **headers)


def answer(client: Client, what: str, body: object = None) -> Any:  # noqa: ANN401
    """The answer to a request, which its schema describes."""
    reply = ask(client, what, body)
    assert reply.status == 200, reply.body
    values = json.loads(reply.body)
    jsonschema.validate(values, SCHEMAS[what]["response"])
    return values


def error(reply: Reply) -> tuple[int, str]:
    """Status and message of an error, which all have one form."""
    told = json.loads(reply.body)
    assert set(told) == {"error"}
    assert set(told["error"]) == {"status", "message"}
    assert told["error"]["status"] == reply.status
    return reply.status, told["error"]["message"]


@pytest.fixture(scope="module", params=["threads", "processes"])
def rules(request: pytest.FixtureRequest) -> Iterator[Client]:
    explorer = open_rule_explorer(hb.read_facts(FACTS), hb.Model.parse(RULES), "rules", threads=1)
    with serving(explorer, processes=request.param == "processes") as client:
        yield client


@pytest.fixture(scope="module")
def graph() -> Iterator[tuple[GraphExplorer, Client]]:
    explorer = graph_explorer()
    with serving(explorer) as client:
        yield explorer, client


@pytest.fixture(scope="module", params=["rules", "graph"])
def either(request: pytest.FixtureRequest) -> Iterator[tuple[Client, dict[str, str]]]:
    """A service of either kind of model, and what an entity and a target are called there."""
    if request.param == "graph":
        explorer: RuleExplorer | GraphExplorer = graph_explorer()
    else:
        model = hb.Model.parse(RULES)
        explorer = open_rule_explorer(hb.read_facts(FACTS), model, "rules", threads=1)
    called = {"ENTITY": explorer.examples[0], "TARGET": explorer.model.targets[0]}
    with serving(explorer, processes=request.param == "graph") as client:
        yield client, called


def test_the_document_is_valid_and_names_every_endpoint(rules: Client) -> None:
    document = json.loads(ask(rules, "openapi.json").body)
    validate(document)
    assert document == openapi()
    assert set(document["paths"]) == {f"/{name}" for name in SCHEMAS}


def test_pairs_are_scored_as_predict_scores_them(rules: Client) -> None:
    model = hb.Model.parse(RULES)
    wanted = model.predict(hb.read_facts(FACTS), [tuple(row) for row in TRIPLES])
    for pairs in (TRIPLES, [[row[0], row[2]] for row in TRIPLES]):
        scores = answer(rules, "predict", {"pairs": pairs})["scores"]
        assert [[row["subject"], row["predicate"], row["object"]] for row in scores] == TRIPLES
        assert [row["score"] for row in scores] == pytest.approx(list(wanted["score"]), abs=1e-12)


def test_entities_that_no_fact_has_are_named(rules: Client) -> None:
    """They score what the prior says, so a slip of the pen would go unnoticed."""
    pairs = [["ann", "dora"], ["zed", "ann"], ["ann", "trusts", "Bob"]]
    assert answer(rules, "predict", {"pairs": pairs})["unknown"] == ["Bob", "zed"]
    assert answer(rules, "predict", {"pairs": pairs[:1]})["unknown"] == []


def test_queries_are_answered_as_rank_answers_them(rules: Client) -> None:
    queries = [("ann", "trusts", "?"), ("?", "trusts", "dora")]
    wanted = hb.Model.parse(RULES).rank(hb.read_facts(FACTS), queries, top=2)
    found = answer(rules, "rank", {"queries": queries, "top": 2})["queries"]
    assert [tuple(part["query"]) for part in found] == queries
    entities = [best["entity"] for part in found for best in part["answers"]]
    asked = zip(wanted["query"], wanted["subject"], wanted["object"], strict=True)
    assert entities == [object_ if query == 1 else subject for query, subject, object_ in asked]


def test_links_are_explained_as_explain_does(rules: Client) -> None:
    found = answer(rules, "explain", {"link": TRIPLES[0]})
    wanted = hb.Model.parse(RULES).explain(hb.read_facts(FACTS), ("ann", "dora"))
    assert isinstance(wanted, Explanation)
    assert found["score"] == pytest.approx(wanted.score, abs=1e-12)
    assert [reason["rule"] for reason in found["reasons"]] == [r.rule for r in wanted.reasons]


def test_targets_on_one_entity_are_scored_by_their_entity() -> None:
    facts = hb.read_facts([("d1", "atom", "c"), ("d2", "atom", "h")])
    model = hb.Model.parse("2: atom(A, 'c') -> toxic(A)\n1: !toxic(A)\n")
    wanted = model.predict(facts, [("d1", "toxic"), ("d2", "toxic")])
    with serving(open_rule_explorer(facts, model, threads=1)) as client:
        scores = answer(client, "predict", {"pairs": [["d1"], ["d2", "toxic"]]})["scores"]
        assert [row["score"] for row in scores] == pytest.approx(list(wanted["score"]))
        assert answer(client, "explain", {"link": ["d1"]})["score"] == scores[0]["score"]
        status, text = error(ask(client, "predict", {"pairs": [["d1", "toxic", "c"]]}))
        assert (status, "about one entity" in text) == (400, True)


def test_a_graph_is_served_alike(graph: tuple[GraphExplorer, Client]) -> None:
    explorer, client = graph
    told = answer(client, "model")
    assert told["kind"] == "GraphModel"
    assert told["facts"] == len(explorer.facts)
    [target] = told["targets"][:1]
    entity = explorer.examples[0]
    status, text = error(ask(client, "explain", {"link": ["nobody", target, entity]}))
    assert (status, "nobody" in text) == (404, True)  # a rule model scores it by its prior
    [part] = answer(client, "rank", {"queries": [[entity, target, "?"]], "top": 3})["queries"]
    for best in part["answers"]:
        [row] = answer(client, "predict", {"pairs": [[entity, target, best["entity"]]]})["scores"]
        assert row["probability"] == pytest.approx(best["probability"], abs=1e-9)
    link = [entity, target, explorer.examples[1]]
    assert answer(client, "explain", {"link": link})["relation"] == target


def test_what_the_model_is(rules: Client) -> None:
    told = answer(rules, "model")
    assert (told["name"], told["kind"], told["targets"]) == ("rules", "Model", ["trusts"])
    assert (told["facts"], told["rules"], told["version"]) == (len(FACTS), 4, hb.__version__)
    assert answer(rules, "health") == {"status": "ok"}


@pytest.mark.parametrize(
    ("what", "body", "status", "message"),
    [
        ("predict", b"{", 400, "the body is not JSON"),
        ("predict", b"\xff\xfe", 400, "the body is not JSON"),
        ("predict", b"[" * 100_000 + b"]" * 100_000, 400, "nested too deeply"),
        ("predict", b'{"pairs":' * 50_000 + b"1" + b"}" * 50_000, 400, "nested too deeply"),
        ("predict", b'{"pairs": ' + b"[" * 900 + b"]" * 900 + b"}", 400, "body.pairs[0][0]"),
        ("predict", [], 400, "is not of type 'object'"),
        ("predict", {}, 400, "'pairs' is a required property"),
        ("predict", {"pairs": []}, 400, "body.pairs: 0 entries; expected at least 1"),
        ("predict", {"pairs": "ENTITY"}, 400, "is not of type 'array'"),
        ("predict", {"pairs": [["ENTITY", None]]}, 400, "None is not of type 'string'"),
        ("predict", {"pairs": [["ENTITY", 3]]}, 400, "body.pairs[0][1]: 3 is not of type 'string'"),
        ("predict", {"pairs": [["ENTITY"]]}, 400, "is not a pair"),
        ("predict", {"pairs": [["ENTITY", "ENTITY"]], "score": 1}, 400, "'score' was unexpected"),
        ("predict", {"pairs": [["ENTITY", "no such", "ENTITY"]]}, 404, "'no such'"),
        (
            "predict",
            {"pairs": [["a", "b"]] * (MAX_PAIRS + 1)},
            400,
            "10,001 entries; expected at most",
        ),
        ("rank", {"queries": [["ENTITY", "TARGET", "ENTITY"]]}, 400, "expected"),
        ("rank", {"queries": [["?", "TARGET", "?"]]}, 400, "expected"),
        ("rank", {"queries": [["ENTITY", "TARGET", "?"]], "top": 0}, 400, "body.top: 0 is less"),
        ("rank", {"queries": [["ENTITY", "TARGET", "?"]], "top": "3"}, 400, "body.top: '3' is not"),
        ("rank", {"queries": [["ENTITY", "no such", "?"]]}, 404, "'no such'"),
        ("rank", {"queries": [["ENTITY", "no such", "?"], ["ENTITY", "TARGET", "?"]]}, 404, "such"),
        ("rank", {"queries": [["nobody", "TARGET", "?"]]}, 404, "'nobody'"),
        ("rank", {"queries": [["ENTITY", "?", "?"]]}, 400, "the relation is '?'"),
        (
            "predict",
            {"pairs": [["ENTITY", "ENTITY"], ["ENTITY", "TARGET", "?"]]},
            400,
            "body.pairs[1]: no fact has the entity '?'; queries are for /api/v1/rank",
        ),
        ("predict", {"pairs": [["?", "TARGET", "?"]]}, 400, "body.pairs[0]: no fact"),
        ("explain", {"link": ["?", "TARGET", "ENTITY"]}, 400, "body.link: no fact"),
        ("explain", {"link": ["ENTITY", "no such", "ENTITY"]}, 404, "'no such'"),
        ("explain", {"link": "ENTITY"}, 400, "body.link"),
        ("nothing", {}, 404, "no such endpoint"),
        ("predict", None, 404, "no such endpoint"),
        ("model", {}, 404, "no such endpoint"),
    ],
)
def test_mistakes_get_one_error_each(
    either: tuple[Client, dict[str, str]], what: str, body: object, status: int, message: str
) -> None:
    client, called = either
    if isinstance(body, dict):
        text = json.dumps(body)
        for word, name in called.items():
            text = text.replace(f'"{word}"', json.dumps(name))
        body = text.encode()
    found, text = error(ask(client, what, body))
    assert found == status
    assert message in text


@pytest.mark.parametrize(
    ("what", "body"),
    [
        ("predict", '{"pairs": [["NAME", "TARGET", "ENTITY"]]}'),
        ("rank", '{"queries": [["NAME", "TARGET", "?"]]}'),
        ("explain", '{"link": ["ENTITY", "TARGET", "NAME"]}'),
    ],
)
@pytest.mark.parametrize(
    ("name", "message"),
    [
        (r"\ud800", "surrogates"),
        (r"a\tb", r"'a\tb' is no name"),
        (r"a\u0000b", "is no name"),
        (r"a\n", "is no name"),
    ],
)
def test_what_no_file_can_name_is_refused(
    either: tuple[Client, dict[str, str]], what: str, body: str, name: str, message: str
) -> None:
    client, called = either
    for word, text in {**called, "NAME": name}.items():
        body = body.replace(f'"{word}"', f'"{name}"' if word == "NAME" else json.dumps(text))
    status, text = error(ask(client, what, body.encode()))
    assert (status, message in text) == (400, True)


def test_a_relation_without_rules_is_unknown_wherever_it_is_asked_for(rules: Client) -> None:
    atom = ["ann", "knows", "bob"]
    asked = {
        "predict": {"pairs": [["ann", "bob"], atom]},
        "rank": {"queries": [["ann", "trusts", "?"], [*atom[:2], "?"]]},
        "explain": {"link": atom},
    }
    told = {error(ask(rules, what, body)) for what, body in asked.items()}
    assert told == {(404, "unknown target predicate 'knows'; expected one of: 'trusts'.")}


def test_relations_are_asked_for_by_name() -> None:
    names = hb.read_names({"trusts": "has faith in"})
    model = hb.Model.parse(RULES)
    explorer = open_rule_explorer(hb.read_facts(FACTS), model, entity_names=names, threads=1)
    with serving(explorer) as client:
        for relation in ("trusts", "has faith in"):
            atom = ["ann", relation, "dora"]
            [row] = answer(client, "predict", {"pairs": [atom]})["scores"]
            [asked] = answer(client, "rank", {"queries": [[*atom[:2], "?"]]})["queries"]
            scores = {best["entity"]: best["score"] for best in asked["answers"]}
            assert row["score"] == scores["dora"]
            assert answer(client, "explain", {"link": atom})["predicate"] == "trusts"


def test_a_question_mark_that_is_an_entity_is_scored() -> None:
    facts = hb.read_facts([("?", "knows", "bob")])
    with serving(open_rule_explorer(facts, hb.Model.parse(RULES), threads=1)) as client:
        [row] = answer(client, "predict", {"pairs": [["?", "bob"]]})["scores"]
        assert (row["subject"], row["score"]) == ("?", pytest.approx(1 / (1 + 2.718281828**-0.5)))
        assert answer(client, "explain", {"link": ["?", "bob"]})["score"] == row["score"]


def test_whole_numbers_may_be_written_with_a_point(rules: Client) -> None:
    query = {"queries": [["ann", "trusts", "?"]]}
    assert answer(rules, "rank", {**query, "top": 1.0}) == answer(
        rules, "rank", {**query, "top": 1}
    )


@pytest.mark.parametrize(
    "path", ["/api", "/api/v1", "/api/v2/predict", "//api/v1/model", "///api/v1/health"]
)
def test_other_versions_are_no_pages(rules: Client, path: str) -> None:
    assert error(rules.get(path)) == (404, "no such endpoint: see /api/v1/openapi.json")


@pytest.mark.parametrize(
    "head", ["Content-Length: -5", "Content-Length: 2\r\nContent-Length: 3", ""]
)
def test_what_is_no_http_gets_the_same_error(rules: Client, head: str) -> None:
    host = "Host: 127.0.0.1\r\n" if head else ""
    with rules.connect() as connection:
        connection.sendall(f"POST /api/v1/predict HTTP/1.1\r\n{host}{head}\r\n\r\n".encode())
        reply = b"".join(iter(lambda: connection.recv(100_000), b"")).decode()
    head, _, body = reply.partition("\r\n\r\n")
    assert error(Reply(int(head.split()[1]), {}, body)) == (400, "Invalid HTTP request received.")


@pytest.mark.parametrize(
    ("header", "status", "message"),
    [
        (f"Content-Length: {10**9}", 413, f"at most {MAX_BYTES:,} bytes"),
        ("Transfer-Encoding: chunked", 400, "Only Content-Length is accepted"),
    ],
)
def test_a_body_of_a_gigabyte_is_not_read(
    either: tuple[Client, dict[str, str]], header: str, status: int, message: str
) -> None:
    """Nor is the error lost on a client that goes on sending, as most do."""
    with either[0].connect() as connection:
        head = f"POST /api/v1/predict HTTP/1.1\r\nHost: 127.0.0.1\r\n{header}\r\n\r\n"
        connection.sendall(head.encode())
        chunk = b"100000\r\n" + bytes(2**20) + b"\r\n"
        with suppress(ConnectionError):
            for _ in range(1000):
                connection.sendall(chunk)
        reply = b"".join(iter(lambda: connection.recv(100_000), b"")).decode()
    head, _, body = reply.partition("\r\n\r\n")
    assert error(Reply(int(head.split()[1]), {}, body))[0] == status
    assert message in body


@pytest.mark.parametrize("processes", [False, True])
def test_an_answer_that_takes_too_long_is_given_up(
    processes: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(web_app, "MAX_SECONDS", 0.2)
    monkeypatch.setattr(RuleScorer, "predict", lambda *_: time.sleep(1.0))
    explorer = open_rule_explorer(hb.read_facts(FACTS), hb.Model.parse(RULES), threads=1)
    with serving(explorer, processes=processes) as client:
        for _ in range(2):
            status, text = error(ask(client, "predict", {"pairs": TRIPLES}))
            assert (status, "ask for less" in text) == (504, True)
        monkeypatch.setattr(web_app, "MAX_SECONDS", 60)  # a busy machine may start a process first
        assert answer(client, "health") == {"status": "ok"}


def test_the_token_opens_the_service_and_reloads_it() -> None:
    models = [RULES, "3.0: dislikes(A, B) -> trusts(A, B)\n", "1.0: knows(A"]

    def reopen() -> Explorer:
        return open_rule_explorer(hb.read_facts(FACTS), hb.Model.parse(models.pop(0)), threads=1)

    with serving(reopen(), TOKEN, "0.0.0.0", processes=True, reopen=reopen) as client:
        for headers in ({}, {"authorization": "Bearer wrong"}, {"authorization": TOKEN}):
            status, text = error(ask(client, "model", **headers))
            assert (status, "Authorization: Bearer" in text) == (401, True)
        known = {"authorization": f"Bearer {TOKEN}"}
        assert json.loads(ask(client, "model", **known).body)["rules"] == 4
        assert json.loads(ask(client, "reload", {}, **known).body) == {"status": "reloaded"}
        assert json.loads(ask(client, "model", **known).body)["rules"] == 1
        status, text = error(ask(client, "reload", {}, **known))
        assert (status, "nothing was reloaded" in text) == (409, True)
        assert json.loads(ask(client, "model", **known).body)["rules"] == 1
        assert error(ask(client, "reload", {}))[0] == 401


def test_without_a_token_nobody_reloads(rules: Client) -> None:
    status, text = error(ask(rules, "reload", {}))
    assert (status, "SIGHUP" in text) == (403, True)


def test_requests_that_run_finish_with_the_old_model() -> None:
    """A visit that came before a reload is answered by the model that it came to."""
    rules = [RULES, "3.0: dislikes(A, B) -> trusts(A, B)\n"]

    def reopen() -> Explorer:
        return open_rule_explorer(hb.read_facts(FACTS), hb.Model.parse(rules.pop(0)), threads=1)

    app = web_app.WebApp(reopen(), Access("127.0.0.1", 1, None), reopen)
    before, entered, leave = app.shown, Event(), Event()
    page = before.addresses["/api/v1/model"].page

    def slow(visit: Visit) -> PageAnswer:
        entered.set()
        assert leave.wait(PATIENCE)
        return page(visit)

    async def both() -> PageAnswer:
        asked = asyncio.create_task(before.answer(Address("/x", slow, lambda _: True), Visit()))
        await asyncio.to_thread(entered.wait, PATIENCE)
        reloaded = asyncio.create_task(app.reload())
        while app.shown is before:
            await asyncio.sleep(0.01)
        leave.set()
        await reloaded
        return await asked

    with ThreadPoolExecutor(1) as thread:  # a browser's tests leave a loop in this thread
        answered = thread.submit(asyncio.run, both()).result()
    assert json.loads(answered.body)["rules"] == 4
    assert app.explorer.model.rules[0].weight == 3.0  # type: ignore[attr-defined]
    app.shown.end_processes()
