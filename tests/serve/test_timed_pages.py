"""Pages of a graph with time: timelines, and reasons with dates."""

from __future__ import annotations

import re

import pytest

import hornbeam as hb
from hornbeam.serve.graph_explorer import GraphExplorer
from hornbeam.serve.timelines import MOST_ROWS, timeline_about
from tests.support.kernels import compiles
from tests.support.servers import SCRIPT, Client, serving

#: Everybody calls, and visits two days later; a name and a relation are hostile.
EVENTS = [
    *((f"e{k % 5}", "calls", f"e{(k + 1) % 5}", str(k)) for k in range(40)),
    *((f"e{k % 5}", "visits", f"e{(k + 1) % 5}", str(k + 2)) for k in range(40)),
    ("e0", "calls", SCRIPT, "7"),
    (SCRIPT, SCRIPT, "e0", "9"),
]


@pytest.fixture(scope="module")
def explorer() -> GraphExplorer:
    facts = hb.read_facts(EVENTS, time=4)
    return GraphExplorer(facts, hb.learn_graph(facts), "events", threads=1)


def test_a_timeline_has_a_dot_per_event(explorer: GraphExplorer) -> None:
    facts = explorer.facts
    for name in facts.entities:
        shown = timeline_about(facts, facts.entity(name))
        assert shown is not None
        own = [event for event in EVENTS if name in (event[0], event[2])]
        dots = [
            (row.predicate, row.inverse, dot.other, dot.time)
            for row in shown.rows
            for dot in row.dots
        ]
        assert sorted(dots) == sorted(
            (p, s != name, s if s != name else o, t) for s, p, o, t in own
        )
        assert len(shown.rows) <= MOST_ROWS
        places = sorted((int(dot.time), dot.x) for row in shown.rows for dot in row.dots)
        assert [x for _, x in places] == sorted(x for _, x in places)
    two = timeline_about(facts, facts.entity("e0"), facts.entity("e1"))
    assert two is not None
    assert {(row.predicate, row.inverse) for row in two.rows} == {
        ("calls", False), ("visits", False),
    }  # fmt: skip
    assert timeline_about(hb.read_facts([("a", "p", "b")]), 0) is None


@compiles
def test_pages_show_time(explorer: GraphExplorer) -> None:
    with serving(explorer) as client:
        assert isinstance(client, Client)
        page = client.get("/entity?name=e0").body
        assert len(re.findall("<circle", page)) == sum(
            "e0" in (event[0], event[2]) for event in EVENTS
        )
        assert "<script>alert" not in page
        assert "What is most probably next" in page
        assert f"true {len(EVENTS)} times" in page
        asked = client.get("/query?subject=e0&relation=visits").body
        assert "What is next" in asked
        assert "no fact states" not in asked
        link = client.get("/link?subject=e0&relation=visits&object=e1").body
        assert "The two over time" in link
        assert re.search(r'<span class="quiet number">\d+</span>', link)
        assert client.get("/link.json?subject=e0&relation=visits&object=e1").status in (200, 404)
        for address in ("/", "/rules?relation=visits", "/query?subject=e0&relation=visits"):
            assert client.get(address).status == 200
