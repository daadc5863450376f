"""A running explorer, and clients that speak to it."""

from __future__ import annotations

import asyncio
import socket
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from http.client import HTTPConnection
from pathlib import Path
from threading import Event, Thread
from urllib.parse import urlencode

import hornbeam as hb
from hornbeam.facts.entity_names import NO_NAMES, EntityNames
from hornbeam.graph_model import GraphModel
from hornbeam.graphs.ranking_model import (
    Calibration,
    LinkedShares,
    RelationRules,
)
from hornbeam.ranking.queries import Direction
from hornbeam.rules.body import Step
from hornbeam.serve.explorer import Explorer
from hornbeam.serve.graph_explorer import GraphExplorer
from hornbeam.serve.guard import Access
from hornbeam.serve.pair_explorers import open_rule_explorer
from hornbeam.serve.rule_explorer import RuleExplorer
from hornbeam.serve.server import listen, make_server
from hornbeam.serve.web_app import WebApp
from tests.support.commands import HOSTILE, PATIENCE, write
from tests.support.graph_rules import constant_rule, path_rule

SCRIPT = "<script>alert(1)</script>"

#: Two models of who trusts whom; predicate and entities have names that break careless pages.
RULES = """
2.0: knows(A, B) & trusts(B, C) -> trusts(A, C)
1.5: knows(A, B) -> trusts(A, B)
0.5: dislikes(A, B) -> !trusts(A, B)
1.0: !trusts(A, B)
"""
OTHER_RULES = """
0.7: knows(A, B) & trusts(B, C) -> trusts(A, C)
3.0: knows(B, A) -> trusts(A, B)
1.0: !trusts(A, B)
"""
FACTS = [
    ("ann", "knows", "bob"),
    ("ann", "knows", "cy"),
    ("bob", "trusts", "dora"),
    ("cy", "trusts", "dora"),
    ("cy", "trusts", SCRIPT),
    ("ann", "dislikes", "cy"),
    *((name, "knows", "bob") for name in HOSTILE),
    *(("bob", "trusts", name) for name in HOSTILE),
]
LABELS = [
    ("ann", "trusts", "dora", 1),
    ("ann", "trusts", "cy", 0),
    ("ann", "trusts", SCRIPT, 1),
    ("cy", "trusts", "bob", 0),
    (HOSTILE[0], "trusts", "dora", 1),
    ("dora", "trusts", "ann", 0),
]
PAIRS = [("ann", "trusts", "bob"), ("stranger", "trusts", "dora")]


#: A model in which pairs are evidence for each other: that bob trusts eve speaks for ann, and that
#: ann does not trust fay against bob.
COLLECTIVE_RULES = """# hornbeam: {"collective": true}
2.0: knows(A, B) & trusts(B, C) -> trusts(A, C)
2.5: knows(A, B) -> trusts(A, B)
1.5: dislikes(A, B) -> !trusts(A, B)
1.0: !trusts(A, B)
"""
COLLECTIVE_FACTS = [
    *FACTS, ("bob", "knows", "eve"), ("bob", "knows", "fay"), ("ann", "dislikes", "fay")
]  # fmt: skip
COLLECTIVE_PAIRS = [
    *PAIRS,
    *((who, "trusts", whom) for who in ("ann", "bob") for whom in ("eve", "fay")),
]


#: A model of the same world with rules of every kind, and facts of one, two and three arguments.
RICH_RULES = """
2.0: knows(A, B) & trusts(B, C) -> trusts(A, C) [share / 0.3]
0.9: trusts(X, B) -> trusts(A, B) [log]
0.4: dislikes(A, X) -> !trusts(A, B) [exists]
0.7: wise(B) -> trusts(A, B)
0.8: knows(A, 'bob') & (knows(A, X) & trusts(X, B)) [n >= 1] & trusts(Y, B) [n >= 2] -> trusts(A, B)
0.3: (A == 'ann') -> trusts(A, B)
0.6: lent(A, X, B) -> trusts(A, B)
0.5: lent(Y, A, X) -> !trusts(A, B)
0.5: knows(A, 'nobody') -> !trusts(A, B)
1.5: !trusts(A, B)
"""
RICH_FACTS = [*FACTS, ("dora", "wise"), (HOSTILE[1], "wise")]
RICH_TABLE = [("ann", "book", "dora"), ("ann", SCRIPT, "dora"), ("bob", "ann", "book")]


def rich_explorer(folder: Path) -> RuleExplorer:
    """An explorer on a model with rules of every kind; a file goes to the folder."""
    table = write(folder / "lent.tsv", RICH_TABLE)
    return open_rule_explorer(
        hb.read_facts(RICH_FACTS, f"lent={table}"),
        hb.Model.parse(RICH_RULES),
        "rich.psl",
        other=hb.Model.parse(RULES),
        other_name="other.psl",
        labels=hb.read_labels(LABELS),
        pairs=hb.read_pairs(PAIRS),
        threads=1,
    )


def small_explorer(**options: object) -> RuleExplorer:
    """An explorer on the hostile world, with labels, pairs and a second model unless left out."""
    given: dict[str, object] = {
        "other": hb.Model.parse(OTHER_RULES),
        "other_name": "other.psl",
        "labels": hb.read_labels(LABELS),
        "pairs": hb.read_pairs(PAIRS),
        "threads": 1,
        **options,
    }
    return open_rule_explorer(hb.read_facts(FACTS), hb.Model.parse(RULES), "model.psl", **given)  # type: ignore[arg-type]


def collective_explorer() -> RuleExplorer:
    """An explorer on a collective model of the same world."""
    return open_rule_explorer(
        hb.read_facts(COLLECTIVE_FACTS),
        hb.Model.parse(COLLECTIVE_RULES),
        "together.psl",
        labels=hb.read_labels(LABELS),
        pairs=hb.read_pairs(COLLECTIVE_PAIRS),
        threads=1,
    )


#: A model of the whole of that world; one relation has a name that breaks careless pages.
GRAPH_FACTS = [
    *FACTS,
    *((name, SCRIPT, "bob") for name in HOSTILE[:4]),
    *((name, "trusts", "eve") for name in ("ann", "cy", "dora")),
    ("dora", "knows", "bob"),
    ("dora", "wise"),
]


def graph_model(ridge: float | None = 2.0) -> GraphModel:
    """A model by hand: two path rules, every class of rules, and three relations."""
    features: tuple[str, ...] = ("best", "frequency", "path_best", "forward_best", "backward_best")
    if ridge is not None:
        features += ("ridge_sum",)
    forwards, backwards = ("trusts", Direction.OBJECT), ("trusts", Direction.SUBJECT)
    paths = (
        path_rule(*forwards, (Step("knows"), Step("trusts")), 6, 9),
        path_rule(*forwards, (Step("dislikes"),), 1, 8, -0.25),
    )
    back = (path_rule(*backwards, (Step("knows", True),), 2, 9),)
    shown = (constant_rule(*forwards, Step("knows"), HOSTILE[2], "bob", 3, 4),)
    script = (path_rule(SCRIPT, Direction.OBJECT, (Step("knows"),), 3, 9),)
    return GraphModel(
        (
            RelationRules("trusts", Direction.OBJECT, 20, paths, shown),
            RelationRules("trusts", Direction.SUBJECT, 20, back),
            RelationRules("knows", Direction.OBJECT, 15),
            RelationRules("knows", Direction.SUBJECT, 15),
            RelationRules(SCRIPT, Direction.OBJECT, 4, script),
            RelationRules("nowhere", Direction.OBJECT, 1),
        ),
        features,
        (1.0,) * len(features),
        ridge,
        constants=True,
        backward=True,
        slots=True,
        pool=50,
        max_length=2,
        calibration=Calibration(0.9, -0.1),
        linked=LinkedShares(0.5, 0.1),
        chosen={"held_out_mrr": 0.5},
    )  # fmt: skip


def graph_explorer(
    names: EntityNames = NO_NAMES, ridge: float | None = 2.0, *, slots: bool = True
) -> GraphExplorer:
    """An explorer on a model of the whole hostile world."""
    facts, model = hb.read_facts(GRAPH_FACTS), replace(graph_model(ridge), slots=slots)
    return GraphExplorer(facts, model, "graph.hornbeam", entity_names=names, threads=1)


@dataclass(frozen=True)
class Reply:
    """What came back."""

    status: int
    headers: Mapping[str, str]
    body: str


@dataclass
class Client:
    """A browser without eyes: keeps cookies, follows nothing."""

    port: int
    cookies: dict[str, str] = field(default_factory=dict)

    @property
    def url(self) -> str:
        """Where the server is."""
        return f"http://127.0.0.1:{self.port}"

    def get(self, path: str, **headers: str) -> Reply:
        """Ask for a page."""
        return self._ask("GET", path, None, headers)

    def post(self, path: str, form: Mapping[str, object], **headers: str) -> Reply:
        """Send a form."""
        return self._ask("POST", path, urlencode(form), headers)

    def send(self, path: str, body: bytes, **headers: str) -> Reply:
        """Send a body as it is."""
        return self._ask("POST", path, body, headers)

    def _ask(
        self, method: str, path: str, body: str | bytes | None, headers: dict[str, str]
    ) -> Reply:
        sent = {name.replace("_", "-"): value for name, value in headers.items()}
        if self.cookies:
            sent["cookie"] = "; ".join(f"{k}={v}" for k, v in self.cookies.items())
        connection = HTTPConnection("127.0.0.1", self.port, timeout=PATIENCE)
        try:
            connection.request(method, path, body, sent)
            reply = connection.getresponse()
            text = reply.read().decode()
        finally:
            connection.close()
        for cookie in reply.headers.get_all("set-cookie") or []:
            name, _, rest = cookie.partition("=")
            value = rest.partition(";")[0].strip('"')
            if value:
                self.cookies[name] = value
            else:
                self.cookies.pop(name, None)
        lower = {name.lower(): value for name, value in reply.headers.items()}
        return Reply(reply.status, lower, text)

    def connect(self) -> socket.socket:
        """A bare connection."""
        return socket.create_connection(("127.0.0.1", self.port), timeout=PATIENCE)


@contextmanager
def serving(
    explorer: Explorer,
    token: str | None = None,
    host: str = "127.0.0.1",
    processes: bool = False,
    reopen: Callable[[], Explorer] | None = None,
) -> Iterator[Client]:
    """Serve on a free port while inside; `host` is what the server takes itself to listen on.

    With `processes` pages are made in processes, as of a server that is warm.
    """
    opened = listen("127.0.0.1", 0)
    port = opened.getsockname()[1]
    ready, loops = Event(), list[asyncio.AbstractEventLoop]()
    access = Access(host, port, token)
    app = WebApp(explorer, access, reopen)

    def started() -> None:
        loops.append(asyncio.get_running_loop())
        ready.set()

    server = make_server(app.guarded(), started)
    thread = Thread(target=server.run, kwargs={"sockets": [opened]}, daemon=True)
    thread.start()
    assert ready.wait(PATIENCE)
    try:
        if processes:
            asyncio.run_coroutine_threadsafe(app.shown.move_to_processes(), loops[0]).result(
                PATIENCE
            )
        yield Client(port)
    finally:
        app.shown.end_processes()
        server.should_exit = True
        thread.join(PATIENCE)
        assert not thread.is_alive()
