"""The server as clients meet it, the well-behaved and the others."""

from __future__ import annotations

import html
import json
import re
import socket
import threading
import time
from contextlib import suppress
from pathlib import Path
from urllib.parse import quote

import pytest

import hornbeam as hb
from hornbeam.serve import server, web_app
from hornbeam.serve.edits import MAX_BYTES
from hornbeam.serve.entity_search import EntitySearch
from hornbeam.serve.guard import MAX_TARGET
from hornbeam.serve.pair_explorers import open_rule_explorer
from hornbeam.serve.rule_explorer import RuleExplorer
from hornbeam.serve.site import Site
from hornbeam.serve.visits import Visit
from tests.support.commands import HOSTILE, PATIENCE, hornbeam_, write
from tests.support.servers import FACTS, LABELS, SCRIPT, Client, serving, small_explorer

PAGES = [
    "/", "/search?q=a", "/entity?name=ann", "/link?subject=ann&predicate=trusts&object=dora",
    "/flip?subject=ann&predicate=trusts&object=dora", "/rules", "/pairs", "/pairs?order=error",
    "/compare", "/edited.psl", "/static/explorer.css", "/static/htmx.min.js", "/static/icon.svg",
]  # fmt: skip
TOKEN = "a-token-of-many-letters"


def link(subject: str, object_: str) -> str:
    return f"/link?subject={quote(subject)}&predicate=trusts&object={quote(object_)}"


@pytest.mark.parametrize("page", PAGES)
def test_every_page_answers_and_is_guarded(client: Client, page: str) -> None:
    reply = client.get(page)
    assert reply.status == 200
    policy = reply.headers["content-security-policy"]
    assert "default-src 'none'" in policy
    assert "frame-ancestors 'none'" in policy
    assert "unsafe" not in policy
    assert reply.headers["x-content-type-options"] == "nosniff"
    assert reply.headers["referrer-policy"] == "same-origin"
    assert "server" not in reply.headers
    assert not re.search(r"<[^>]+ (style|on[a-z]+)=", reply.body) or page.startswith("/static")


@pytest.mark.parametrize("name", [SCRIPT, *HOSTILE])
def test_every_name_is_shown_escaped_and_leads_back(client: Client, name: str) -> None:
    found = client.get(f"/search?q={quote(name)}").body
    assert f'href="/entity?name={quote(name, safe="")}"' in found
    page = client.get(f"/entity?name={quote(name)}")
    assert page.status == 200
    assert html.escape(name, quote=False) in page.body.replace("&#34;", '"').replace("&#39;", "'")
    for text in (found, page.body, client.get(link("ann", name)).body):
        assert SCRIPT not in text
        assert "<script>alert" not in text
        assert "[bold]x[/bold]</bdi>" in text or name != "[bold]x[/bold]"


@pytest.mark.parametrize(
    ("page", "status"),
    [
        ("/nothing", 404), ("/static/../app.py", 404), ("/static/%2e%2e/app.py", 404),
        ("/static/", 404), ("/entity?name=nobody", 404), ("/entity", 404), ("/link", 400),
        ("/link?subject=ann&predicate=knows&object=bob", 404), ("/flip?subject=a", 400),
        ("/link?subject=stranger&predicate=trusts&object=other", 200),
        ("/pairs?page=99999999999999999999", 200), ("/pairs?page=-1", 200),
        ("/pairs?order=%00", 200), ("/search?q=" + "a" * 5000, 200), ("/search?q=%ff%fe", 200),
        ("/edit", 404), ("/" + "a" * (MAX_TARGET + 1), 414),
    ],
)  # fmt: skip
def test_odd_requests_get_an_answer(client: Client, page: str, status: int) -> None:
    reply = client.get(page)
    assert reply.status == status
    assert "Traceback" not in reply.body
    assert "content-security-policy" in reply.headers


def test_the_strongest_of_many_reasons_are_shown() -> None:
    text = "".join(f"{1 + i / 100}: p{i}(A, B) -> t(A, B)\n" for i in range(50))
    facts = hb.read_facts([("a", f"p{i}", "b") for i in range(50)])
    site = Site(open_rule_explorer(facts, hb.Model.parse(text), threads=1))
    body = (
        site.addresses["/link"].page(Visit({"subject": "a", "predicate": "t", "object": "b"})).body
    )
    assert body.count('<article class="reason') == 40
    assert "10 more rules count" in body


def test_a_compare_page_needs_a_second_model() -> None:
    site = Site(small_explorer(other=None, labels=None, pairs=None))
    assert site.addresses["/compare"].page(Visit()).status == 404
    assert "with labelled pairs" in site.addresses["/rules"].page(Visit()).body
    assert "Compare" not in site.addresses["/"].page(Visit()).body


# -- edits -----------------------------------------------------------------------------------------


def auc(body: str) -> str:
    found = re.search(r"AUC-ROC</dt><dd><span class=\"number\">([0-9.]+)", body)
    assert found
    return found[1]


def test_the_prior_is_where_pairs_start_not_one_rule_among_others(port: int) -> None:
    body = Client(port).get("/rules").body
    rows = re.findall(r'<tr id="rule-\d+">.*?</tr>', body, re.DOTALL)
    assert ["Starting point." in row for row in rows] == [True] + [False] * (len(rows) - 1)


def test_edits_are_the_visitors_own(port: int) -> None:
    one, two = Client(port), Client(port)
    before = auc(one.get("/rules").body)
    reply = one.post("/edit", {"what": "switch", "rule": 0})
    assert reply.status == 303
    assert reply.headers["location"] == "/rules#rule-0"
    cookie = reply.headers["set-cookie"]
    assert "HttpOnly" in cookie
    assert "SameSite=strict" in cookie
    assert auc(one.get("/rules").body) != before
    assert auc(two.get("/rules").body) == before
    one.post("/edit", {"what": "reset-all"})
    assert auc(one.get("/rules").body) == before
    assert not one.cookies


def test_the_downloaded_model_is_what_the_pages_show(client: Client, tmp_path: Path) -> None:
    client.post("/edit", {"what": "weight", "rule": 1, "weight": "0.125"})
    client.post("/edit", {"what": "switch", "rule": 2})
    shown = auc(client.get("/rules").body)
    reply = client.get("/edited.psl")
    assert "attachment" in reply.headers["content-disposition"]
    model = tmp_path / "edited.psl"
    model.write_text(reply.body)
    assert [rule.weight for rule in hb.Model.load(model).rules] == [2.0, 0.125, 1.0]
    ended = hornbeam_(
        "evaluate", model, "--facts", write(tmp_path / "facts.tsv", FACTS),
        "--labels", write(tmp_path / "labels.tsv", LABELS), "--json",
    )  # fmt: skip
    assert f"{ended.json['auc_roc']:.3f}" == shown


def test_a_model_without_rules_is_not_downloaded(client: Client) -> None:
    for rule in range(4):
        client.post("/edit", {"what": "switch", "rule": rule})
    reply = client.get("/edited.psl")
    assert (reply.status, "every rule is off" in reply.body) == (400, True)


def test_an_edit_answers_htmx_with_what_changed(client: Client) -> None:
    reply = client.post("/edit", {"what": "weight", "rule": 0, "weight": "0.01"}, hx_request="true",
                        hx_trigger="slide-form-0")  # fmt: skip
    assert reply.status == 200
    assert 'hx-swap-oob="innerHTML:#figures"' in reply.body
    assert 'id="weight-0"' in reply.body
    assert 'id="slide-0"' not in reply.body, "what the visitor holds in hand is left alone"
    assert 'id="weight-1"' not in reply.body


@pytest.mark.parametrize(
    "form",
    [
        {}, {"what": "weight", "rule": 0, "weight": "nan"}, {"what": "weight", "rule": 0},
        {"what": "weight", "rule": 0, "weight": "-1"}, {"what": "weight", "rule": 99, "weight": 1},
        {"what": "switch", "rule": "x"}, {"what": "switch", "rule": "²"}, {"what": "rm", "rule": 0},
        {"what": "weight", "rule": 0, "weight": "1e999"},
        {"what": "weight", "rule": 0, "weight": "1_0"},
        {"what": "weight", "rule": 0, "weight": "١"},
    ],
)  # fmt: skip
def test_wrong_edits_change_nothing(client: Client, form: dict[str, object]) -> None:
    for headers in ({}, {"hx_request": "true"}):
        reply = client.post("/edit", form, **headers)
        assert reply.status == 400
        assert "set-cookie" not in reply.headers


@pytest.mark.parametrize("cookie", ["x", "_" * 3000, "%00", '"', "a" * (MAX_BYTES + 10)])
def test_wrong_cookies_are_no_edits(client: Client, cookie: str) -> None:
    client.cookies = {f"hornbeam-edits-{client.port}": cookie}
    assert "as learned" in client.get("/rules").body


@pytest.mark.slow
def test_more_edits_than_fit_are_refused(explorer: RuleExplorer) -> None:
    text = "".join(f"1.0: p{i}(A, B) -> t(A, B)\n" for i in range(600))
    many = open_rule_explorer(explorer.facts, hb.Model.parse(text), threads=1)
    items = [many.fingerprint]
    while len("_".join(items)) < MAX_BYTES - 10:
        items.append(f"{len(items)}w0.{len(items)}1")
    with serving(many) as client:
        client.cookies = {f"hornbeam-edits-{client.port}": "_".join(items)}
        assert f"{len(items) - 1} of 600 rules edited" in client.get("/rules").body
        reply = client.post("/edit", {"what": "weight", "rule": 0, "weight": "0.123456789"})
        assert reply.status == 400
        assert "download the edited model" in reply.body


# -- strangers -------------------------------------------------------------------------------------


@pytest.mark.parametrize("host", ["evil.example", "evil.example:80", "127.0.0.1.evil.example", ""])
def test_other_hosts_are_not_answered(client: Client, host: str) -> None:
    reply = client.get("/", host=host)
    assert reply.status == 421
    assert "ann" not in reply.body


@pytest.mark.parametrize(
    "headers",
    [{"origin": "http://evil.example"}, {"origin": "null"}, {"sec_fetch_site": "cross-site"}],
)
def test_edits_from_other_pages_are_refused(client: Client, headers: dict[str, str]) -> None:
    reply = client.post("/edit", {"what": "reset-all"}, **headers)
    assert reply.status == 403
    own = client.post("/edit", {"what": "reset-all"}, origin=client.url)
    assert own.status == 303


def test_a_token_opens_the_door_once(explorer: RuleExplorer) -> None:
    with serving(explorer, TOKEN, host="0.0.0.0") as client:
        for path in ("/", "/entity?name=ann", "/edited.psl", "/?token=wrong", "/?token=", "/nope"):
            reply = client.get(path)
            assert reply.status == 401
            assert "ann" not in reply.body
            assert "model.psl" not in reply.body
        assert client.post("/edit", {"what": "reset-all", "token": TOKEN}).status == 401
        assert client.get("/static/explorer.css").status == 200
        reply = client.get(f"//evil.example/?token={TOKEN}&name=ann")
        assert reply.status == 303
        assert reply.headers["location"] == "/evil.example/?name=ann"
        cookie = reply.headers["set-cookie"]
        assert "HttpOnly" in cookie
        assert "SameSite=strict" in cookie
        assert client.get("/entity?name=ann").status == 200
        client.cookies = {f"hornbeam-token-{client.port}": TOKEN[:-1]}
        assert client.get("/").status == 401


def answer_to(client: Client, sent: bytes) -> bytes:
    with client.connect() as connection:
        parts = []
        with suppress(ConnectionError):  # the server need not read to the end
            connection.sendall(sent)
        with suppress(ConnectionError):
            while part := connection.recv(65536):
                parts.append(part)
        return b"".join(parts)


HOST = b"Host: 127.0.0.1\r\n"


@pytest.mark.parametrize(
    ("sent", "status"),
    [
        (b"GET / HTTP/1.1\r\n\r\n", b"400"),
        (b"nonsense\r\n\r\n", b"400"),
        (b"\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03", b"400"),
        (b"GET / HTTP/1.1\r\n" + HOST + b"X: " + b"a" * 40_000 + b"\r\n\r\n", b"431"),
        (b"GET / HTTP/1.1\r\n" + HOST + b"abc: def\r\n" * 6_000 + b"\r\n", b"431"),
        (b"GET /" + b"a" * 40_000 + b" HTTP/1.1\r\n" + HOST + b"\r\n", b"414"),
        (b"GET / HTTP/1.1\r\n" + HOST + b"X: " + b"a" * 2_000_000, b"400"),
        (b"POST /edit HTTP/1.1\r\nConnection: close\r\n" + HOST + b"Content-Length: 4\r\n\r\nwhat"
         + b"x" * 1_000_000, b"400"),
        (b"PUT / HTTP/1.1\r\nConnection: close\r\n" + HOST + b"\r\n", b"405"),
        (b"POST /edit HTTP/1.1\r\nConnection: close\r\n" + HOST + b"\r\n", b"400"),
        (b"POST /api/v1/reload HTTP/1.1\r\nConnection: close\r\n" + HOST + b"\r\n", b"403"),
        (b"POST /edit HTTP/1.1\r\n" + HOST + b"Transfer-Encoding: chunked\r\n\r\n", b"400"),
        (b"POST /edit HTTP/1.1\r\n" + HOST + b"Content-Length: 4\r\nTransfer-Encoding: chunked\r\n"
         b"\r\n0\r\n\r\nGET / HTTP/1.1\r\n" + HOST + b"\r\n", b"400"),
        (b"GET / HTTP/1.1\r\n" + HOST + b"Content-Length: 4\r\nContent-Length: 5\r\n\r\n", b"400"),
        (b"GET / HTTP/1.1\r\n" + HOST + b"Host: evil.example\r\n\r\n", b"400"),
        (b"POST /edit HTTP/1.1\r\n" + HOST + b"Content-Length: 99999999999\r\n\r\n", b"413"),
        (b"GET / HTTP/1.1\r\nUpgrade: websocket\r\nConnection: Upgrade, close\r\n" + HOST + b"\r\n",
         b"200"),
    ],
)  # fmt: skip
def test_what_is_no_proper_request(client: Client, sent: bytes, status: bytes) -> None:
    assert answer_to(client, sent).startswith(b"HTTP/1.1 " + status)
    assert client.get("/").status == 200


# -- slow and many ---------------------------------------------------------------------------------


def is_closed(connection: socket.socket, seconds: float) -> bool:
    connection.settimeout(seconds)
    try:
        return connection.recv(1) == b""
    except ConnectionError:
        return True
    except TimeoutError:
        return False


@pytest.mark.slow
def test_who_sends_a_byte_now_and_then_is_cut_off(
    explorer: RuleExplorer, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(server, "REQUEST_SECONDS", 0.6)
    with serving(explorer) as client, client.connect() as drip, client.connect() as silent:
        drip.sendall(b"GET / HTTP/1.1\r\nX: ")
        for _ in range(300):
            with suppress(ConnectionError):
                drip.sendall(b"a")
            if is_closed(drip, 0.05):
                break
        else:
            pytest.fail("300 bytes were heard")
        assert is_closed(silent, PATIENCE)
        assert client.get("/").status == 200


@pytest.mark.slow
def test_who_sends_half_a_body_is_cut_off(
    explorer: RuleExplorer, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(server, "ANSWER_SECONDS", 0.6)
    with serving(explorer) as client, client.connect() as half:
        half.sendall(b"POST /edit HTTP/1.1\r\n" + HOST + b"Content-Length: 14\r\n\r\nwhat")
        assert is_closed(half, PATIENCE)
        assert client.get("/").status == 200


@pytest.mark.slow
def test_idle_connections_are_closed(
    explorer: RuleExplorer, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(server, "IDLE_SECONDS", 1)
    with serving(explorer) as client, client.connect() as kept:
        kept.sendall(b"GET /static/icon.svg HTTP/1.1\r\n" + HOST + b"\r\n")
        assert kept.recv(65536).startswith(b"HTTP/1.1 200")
        while not is_closed(kept, PATIENCE):
            pass


@pytest.mark.slow
def test_a_crowd_of_silent_connections_makes_room(
    explorer: RuleExplorer, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(server, "MAX_CONNECTIONS", 5)
    with serving(explorer) as client:
        crowd = [client.connect() for _ in range(20)]
        try:
            assert client.get("/entity?name=ann").status == 200
            end = time.monotonic() + PATIENCE
            while sum(is_closed(one, 0.01) for one in crowd) < 15:
                assert time.monotonic() < end
        finally:
            for one in crowd:
                one.close()


@pytest.mark.slow
def test_slow_pages_do_not_stop_quick_ones(
    explorer: RuleExplorer, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Site that take long have a thread of their own and a queue that ends."""
    release = threading.Event()
    original = RuleExplorer.explain

    def explain(self: RuleExplorer, *args: object, flip: bool = False, **more: object) -> object:
        if flip:
            release.wait(PATIENCE)
        return original(self, *args, flip=flip, **more)  # type: ignore[arg-type]

    monkeypatch.setattr(RuleExplorer, "explain", explain)
    monkeypatch.setattr(web_app, "MAX_SLOW_WAITING", 2)
    page = "/flip?subject=ann&predicate=trusts&object=dora"
    with serving(explorer) as client:
        statuses: list[int] = []
        asking = [
            threading.Thread(target=lambda: statuses.append(Client(client.port).get(page).status))
            for _ in range(6)
        ]
        for thread in asking:
            thread.start()
        while statuses.count(503) < 3:
            assert client.get("/entity?name=ann").status == 200
        release.set()
        for thread in asking:
            thread.join()
        assert sorted(statuses) == [200, 200, 200, 503, 503, 503]


def test_a_fault_is_told_without_its_details(
    explorer: RuleExplorer, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    def broken(*_: object) -> None:
        raise RuntimeError("secret detail")

    monkeypatch.setattr(EntitySearch, "find", broken)
    with serving(explorer) as client:
        reply = client.get("/search?q=a")
    assert reply.status == 500
    assert "secret" not in reply.body
    assert "content-security-policy" in reply.headers
    assert "secret detail" in caplog.text


def test_answers_are_not_stored_by_caches(client: Client) -> None:
    assert client.get("/rules").headers["cache-control"] == "no-store"
    assert json.dumps(client.get("/static/htmx.min.js").headers["cache-control"]) != "no-store"
