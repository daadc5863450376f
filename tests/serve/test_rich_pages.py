"""The explorer on a model with rules of every kind, over facts of one, two and three arguments."""

from __future__ import annotations

import json
from pathlib import Path
from urllib.parse import quote

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import hornbeam as hb
from hornbeam.serve.drawing import draw
from hornbeam.serve.edits import NO_EDITS
from hornbeam.serve.pair_explorers import open_rule_explorer
from hornbeam.serve.rule_explorer import RuleExplorer
from hornbeam.serve.site import Site
from hornbeam.serve.visits import Visit
from tests.support.pages import Page
from tests.support.rich_worlds import ENTITIES, pairs_of, rich_models, rich_worlds
from tests.support.servers import LABELS, RICH_RULES, SCRIPT, rich_explorer

N_RULES = RICH_RULES.count(":")


@pytest.fixture(scope="module")
def rich(tmp_path_factory: pytest.TempPathFactory) -> RuleExplorer:
    return rich_explorer(tmp_path_factory.mktemp("rich"))


def shown(rich: RuleExplorer, page: str, **query: str) -> Page:
    site = Site(rich)
    answer = site.addresses[f"/{page}"].page(Visit(query))
    assert answer.status == 200
    assert SCRIPT not in answer.body
    return Page.of(answer.body)


PAIR = {"subject": "ann", "predicate": "trusts", "object": "dora"}


@pytest.mark.parametrize("page", ["", "rules", "pairs", "compare"])
def test_every_page_shows(rich: RuleExplorer, page: str) -> None:
    assert shown(rich, page).text


def test_the_page_of_a_pair_names_what_every_condition_rests_on(rich: RuleExplorer) -> None:
    words = shown(rich, "link", **PAIR).words
    for text in (
        "ann knows → bob trusts → dora",  # paths
        "dora ← from trusts bob",  # open, on the object
        "ann dislikes → cy",  # open, on the subject
        "dora wise",  # unary
        "ann knows → bob",  # anchored
        "needs no fact",  # (A == 'ann')
        "lent(ann, book, dora)",  # three arguments
        "The evidence",
        "share",
    ):
        assert text in words
    explained = rich.explain("ann", "trusts", "dora", NO_EDITS)
    by_rule = {reason.index: reason for reason in explained.reasons}
    assert set(by_rule) == set(range(N_RULES)) - {8}
    assert [one.count for one in by_rule[4].conditions] == [1, 2, 2]
    assert by_rule[4].count == 1 * 1 * 1
    assert by_rule[6].count == 2


def test_the_page_of_an_entity_lists_facts_of_any_number_of_arguments(rich: RuleExplorer) -> None:
    dora, ann = (shown(rich, "entity", name=name).words for name in ("dora", "ann"))
    assert "wise holds of it" in dora
    assert "lent 3 (ann, <script>alert(1)</script>, dora) (ann, book, dora) (bob, ann, book)" in ann
    assert "New links: ann trusts" in ann
    assert "lent\t" not in ann


def test_flips_take_any_facts_away(rich: RuleExplorer) -> None:
    for object_ in ("dora", "cy", SCRIPT):
        query = {**PAIR, "object": object_}
        words = shown(rich, "flip", **query).words
        explained = rich.explain("ann", "trusts", object_, NO_EDITS, flip=True)
        assert explained.flip is not None
        single = len(explained.flip.facts) == 1
        assert explained.flip.status.value in (
            ("exact",) if single else ("upper bound", "not found")
        )
        for fact in explained.flip.facts:
            assert fact.predicate in words


def test_rules_are_shown_in_psl_and_in_words(rich: RuleExplorer) -> None:
    words = shown(rich, "rules").words
    assert "wise(B) -> trusts(A, B)" in words
    assert "[n >= 2]" in words
    assert words.count("If ") >= N_RULES - 1
    assert words.count("the facts lack a predicate or constant of it") == 1


@pytest.mark.filterwarnings("ignore:no fact has 'nobody'")
@pytest.mark.parametrize("rule", range(N_RULES))
def test_edits_of_every_rule_score_as_the_downloaded_model(rich: RuleExplorer, rule: int) -> None:
    site, labels = Site(rich), hb.read_labels(LABELS)
    for form in ({"what": "switch", "on": "0"}, {"what": "weight", "weight": "1.25"}):
        answer = site.addresses["/edit"].page(Visit({"rule": str(rule), **form}, is_htmx=True))
        assert answer.edits is not None
        text = site.addresses["/edited.psl"].page(Visit(edits=answer.edits)).body
        again = hb.Model.parse(text)
        assert len(again.rules) == N_RULES - ("on" in form)
        expected = again.predict(rich.facts, labels)["score"]
        np.testing.assert_allclose(rich.scores(answer.edits)[0], expected, atol=1e-12)


def test_every_kind_is_drawn(rich: RuleExplorer) -> None:
    bands = []
    for rule in range(N_RULES - 1):
        others = [k for k in range(N_RULES) if k != rule]
        edits = NO_EDITS
        for k in others:
            edits = edits.switched(k, on=False)
        drawing = draw(rich.explain("ann", "trusts", "dora", edits))
        bands.append([] if drawing is None else list(drawing.bands))
        for band in bands[-1]:
            assert drawing is not None
            for node in band.nodes:
                assert drawing.ends[0].right < node.left < node.right < drawing.ends[1].left
                assert band.top < node.top < node.y < band.top + band.height
    assert [len(some) for some in bands] == [1, 1, 1, 1, 3, 0, 1, 1, 0]
    [on_object], [on_subject], [unary] = bands[1], bands[2], bands[3]
    assert on_object.nodes[0].x > 460 > on_subject.nodes[0].x
    assert {node.name for node in on_object.nodes} == {"bob", "cy"}
    assert [node.is_entity for node in unary.nodes] == [False]
    assert [edge.title for edge in on_subject.edges] == ["dislikes(ann, cy)"]


@pytest.mark.slow
@given(data=st.data())
@settings(max_examples=20)
@pytest.mark.filterwarnings("ignore::hornbeam.errors.HornbeamWarning")
def test_pages_of_any_model(data: st.DataObject) -> None:
    """Nothing crashes, and what is shown is what the library says."""
    world, model = data.draw(rich_worlds()), data.draw(rich_models())
    name = st.sampled_from([*ENTITIES, "unseen"])
    pair = (data.draw(name), "t", data.draw(name))
    explorer = open_rule_explorer(world.facts, model, pairs=pairs_of(pair), threads=1)
    site = Site(explorer)
    query = {"subject": pair[0], "predicate": "t", "object": pair[2]}
    paths = ["/", "/rules", "/pairs"]
    for answer in (
        *(site.addresses[path].page(Visit()) for path in paths),
        site.addresses["/link"].page(Visit(query)), site.addresses["/flip"].page(Visit(query)),
        site.addresses["/entity"].page(Visit({"name": pair[0]})),
    ):  # fmt: skip
        assert answer.status == 200
    expected = model.predict(world.facts, pairs_of(pair), threads=1)["score"][0]
    assert f"{expected:.3f}" in site.addresses["/link"].page(Visit(query)).body


def test_a_listed_entity_that_no_fact_has_has_a_page() -> None:
    model = hb.Model.parse("0.1: !t(A, B)\n")
    for time in (None, 4):
        row = ("x", "p", "y") if time is None else ("x", "p", "y", "2024-01-01")
        facts = hb.read_facts([row], time=time)
        site = Site(open_rule_explorer(facts, model, pairs=pairs_of(("a", "t", "b")), threads=1))
        for path, query in (("/entity", {"name": "a"}), ("/link", {"subject": "a", "object": "b"})):
            page = site.addresses[path].page(Visit(query | {"predicate": "t"}))
            assert page.status == 200
            assert "b" in page.body


def test_addresses_of_names_are_quoted(rich: RuleExplorer) -> None:
    page = shown(rich, "link", **PAIR)
    links = [a["href"] or "" for a in page.all("a")]
    assert f"/entity?name={quote('dora')}" in links
    assert not any("None" in link for link in links)


def test_a_trace_beside_the_model_is_said(tmp_path: Path) -> None:
    model = hb.Model.parse("1.0: p(A, B) -> t(A, B)\n2.0: t(A, B)\n")
    explorer = open_rule_explorer(hb.read_facts([("a", "p", "b")]), model, threads=1)
    body = Site(explorer).addresses["/"].page(Visit()).body
    assert "The prior of t is positive" in body


def test_an_entity_page_has_its_numbers_and_dates() -> None:
    """Next to its facts; an entity without numbers has none, and of unknown ones none are asked."""
    facts = hb.read_facts(
        [("ann", "knows", "bob")],
        numbers=[("ann", "age", 31), ("ann", "age", 32.5), ("bob", "height", 1.8)],
        dates=[("ann", "born", "1994-03-02")],
    )
    pairs = [("ann", "trusts", "zed")]
    model = hb.Model.parse("1: knows(A, B) -> trusts(A, B)")
    explorer = open_rule_explorer(facts, model, pairs=hb.read_pairs(pairs), threads=1)
    assert "age 31, 32.5 born 1994-03-02" in shown(explorer, "entity", name="ann").words
    asked = Site(explorer).addresses["/entity.json"]
    told = [
        json.loads(asked.page(Visit({"name": name})).body)["numbers"]
        for name in ("ann", "bob", "zed")
    ]
    assert told == [{"age": ["31", "32.5"], "born": ["1994-03-02"]}, {"height": ["1.8"]}, {}]


def test_values_stand_on_the_page_and_end_its_drawings() -> None:
    """Also where an entity has two, which ground `has_age(A)` once and a comparison twice."""
    numbers = [("ann", "age", 31), ("ann", "age", 32), ("bob", "age", 40), ("dora", "age", 20)]
    facts = hb.read_facts([("ann", "knows", "bob"), ("bob", "knows", "dora")], numbers=numbers)
    rules = """
    1: (age(A) - age(B) < 12) -> trusts(A, B)
    2: has_age(A) -> trusts(A, B)
    3: knows(X, B) & (age(X) >= 30) -> trusts(A, B)
    4: knows(A, X) & has_age(X) -> trusts(A, B)
    """
    explorer = open_rule_explorer(facts, hb.Model.parse(rules), threads=1)
    page = shown(explorer, "link", subject="ann", relation="trusts", object="dora")
    for text in (
        "ann age 31 and dora age 20",
        "Fact ann age 31",
        "dora ← from knows bob age 40",
        "ann knows → bob age 40",
    ):
        assert text in page.words, text
    links = {given.get("href") or given.get("xlink:href") for _, given in page.tags}
    assert "/entity?name=bob" in links
    assert not {"/entity?name=40", "/entity?name=31", "/entity?name=age"} & links
    model = hb.Model.parse("1: knows(A, X) & (age(X) < 41) -> trusts(A, B)")
    explained = str(model.explain(facts, ("ann", "trusts", "dora")))
    assert "ann -knows-> bob & bob  age  40" in explained
