"""Rules as queries: SPARQL in pyoxigraph and Cypher in Kùzu return as many rows as we count."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import kuzu
import pyoxigraph as ox
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import hornbeam as hb
from hornbeam.errors import InputError
from hornbeam.facts.reading.rdf import TYPE, XSD
from hornbeam.graphs.graph_reasons import Walks
from hornbeam.graphs.linked_graph import LinkedGraph
from hornbeam.graphs.ranking_model import Calibration, LinkedShares, RelationRules
from hornbeam.programs.cypher import name_of
from hornbeam.programs.query_parts import BASE
from hornbeam.programs.sparql import term_of
from hornbeam.ranking.queries import Direction
from hornbeam.rules.body import AnyBody, Body, Conjunction, Kind, Part, Step
from hornbeam.rules.clause import Clause
from hornbeam.rules.codes import step_code
from hornbeam.rules.rule_model import CountedRule, Rule, Semantics
from tests.support.commands import HOSTILE, hornbeam_
from tests.support.graph_rules import constant_rule, path_rule
from tests.support.rich_worlds import ENTITIES, Pair, RichWorld, bodies, rich_worlds

#: Arguments of atoms that are links or classes.
PLAIN = (1, 2)
PAIRS = st.tuples(st.sampled_from(ENTITIES), st.just("t"), st.sampled_from(ENTITIES))


def node(name: str) -> Any:  # noqa: ANN401
    return ox.NamedNode(term_of(name, BASE)[1:-1])


def store_of(world: RichWorld) -> ox.Store:
    """The world as RDF."""
    store = ox.Store()
    for name, first, *others in world.values:
        triple = (node(first), node(name), node(others[0])) if others else (
            node(first), ox.NamedNode(TYPE), node(name)
        )  # fmt: skip
        store.add(ox.Quad(*triple))
    for (attribute, entity), values in world.numbers.items():
        for value in values:
            number = ox.Literal(repr(value), datatype=ox.NamedNode(f"{XSD}double"))
            store.add(ox.Quad(node(entity), node(attribute), number))
    return store


def opened() -> kuzu.Connection:
    """An empty database in memory; by default each would reserve terabytes of addresses."""
    return kuzu.Connection(
        kuzu.Database(":memory:", buffer_pool_size=1 << 26, max_db_size=1 << 28), num_threads=1
    )


def database_of(world: RichWorld, relations: list[str], attributes: list[str]) -> kuzu.Connection:
    """The world in Kùzu, where a node has one label: that of its unary fact, or `entity`."""
    connection = opened()
    label = {atom[1]: atom[0] for atom in world.values if len(atom) == 2}
    labels = sorted({"entity", "u", "v", *label.values()})
    columns = "".join(f", {name_of(attribute)} DOUBLE" for attribute in attributes)
    for name in labels:
        connection.execute(f"CREATE NODE TABLE {name_of(name)}(id STRING PRIMARY KEY{columns})")
    ends = ", ".join(f"FROM {name_of(a)} TO {name_of(b)}" for a in labels for b in labels)
    for relation in relations:
        connection.execute(f"CREATE REL TABLE {name_of(relation)}({ends})")
    for entity in ENTITIES:
        values = {a: min(v) for (a, e), v in world.numbers.items() if e == entity}
        given = "".join(f", {name_of(a)}: {v}" for a, v in values.items())
        kind = name_of(label.get(entity, "entity"))
        connection.execute(f"CREATE (:{kind} {{id: $id{given}}})", {"id": entity})
    for relation, *ends_ in (atom for atom in world.values if len(atom) == 3):
        first, second = (f"{name_of(label.get(end, 'entity'))} {{id: '{end}'}}" for end in ends_)
        connection.execute(
            f"MATCH (x:{first}), (y:{second}) CREATE (x)-[:{name_of(relation)}]->(y)"
        )
    return connection


def rows_of(connection: kuzu.Connection, query: str, pair: Pair) -> int:
    """Number of rows of a query."""
    found = connection.execute(query, {"A": pair[0], "B": pair[2]})
    assert isinstance(found, kuzu.QueryResult)
    number = found.get_num_tuples()
    found.close()
    connection.database.close()
    return number


def solutions(store: ox.Store, query: str) -> list[ox.QuerySolution]:
    """The rows of a query."""
    found = store.query(query)
    assert isinstance(found, ox.QuerySolutions)
    return list(found)


def model_of(body: AnyBody, distinct: bool) -> hb.Model:
    return hb.Model((Rule(1.0, Clause(body)),), Semantics(distinct_variables=distinct))


@settings(max_examples=60)
@given(rich_worlds(arities=PLAIN), bodies("t", PLAIN, shares=False), PAIRS, st.booleans())
def test_sparql_returns_every_grounding(
    world: RichWorld,
    body: AnyBody,
    pair: Pair,
    distinct: bool,
) -> None:
    model = model_of(body, distinct)
    [query] = model.queries("sparql", pair=(pair[0], pair[2]))["query"]
    found = solutions(store_of(world), query)
    assert len(found) == world.count(body, pair, model.semantics), query


@settings(max_examples=40)
@given(rich_worlds(arities=PLAIN), bodies("t", PLAIN, shares=False), PAIRS, st.booleans())
def test_cypher_returns_every_grounding(
    world: RichWorld,
    body: AnyBody,
    pair: Pair,
    distinct: bool,
) -> None:
    # a node has one label in Kùzu, and one value of a property
    label = {atom[1]: atom for atom in world.values if len(atom) == 2}
    plain = RichWorld(
        {atom: v for atom, v in world.values.items() if len(atom) == 3 or label[atom[1]] == atom},
        {key: frozenset([min(values)]) for key, values in world.numbers.items()},
    )
    model = model_of(body, distinct)
    [query] = model.queries("cypher")["query"]
    database = database_of(plain, ["p", "q", "t", "nowhere"], ["m", "n", "nothing"])
    assert rows_of(database, query, pair) == plain.count(body, pair, model.semantics), query


def test_any_name_is_said_in_sparql() -> None:
    for name in (*HOSTILE, "http://x.org/a b", "urn:é<>", "it's \\ `x`", '"7"', '"x"@en'):
        steps = (Step("is"), Step(f"p{name}"))
        body = Conjunction((Part(Body(steps, "t")), Part(Body((), "t", Kind.ANCHORED, 1, name))))
        store = ox.Store()
        literals = {'"7"': ox.Literal("7"), '"x"@en': ox.Literal("x", language="en")}
        last = literals[name] if name in literals else node(name)
        store.add(ox.Quad(node("a"), node("is"), node("b")))
        store.add(ox.Quad(node("b"), node(f"p{name}"), last))
        [query] = model_of(body, distinct=False).queries("sparql", pair=("a", name))["query"]
        assert len(solutions(store, query)) == 1, query


def test_any_name_is_said_in_cypher() -> None:
    for name in (*HOSTILE, "it's \\ `x`"):
        relation = f"p {name}".replace("`", "'")  # Kùzu does not know the escape of a backtick
        body = Conjunction(
            (
                Part(Body((Step(relation),), "t")),
                Part(Body((Step("p", inverse=True),), "t", Kind.ANCHORED, 1, name)),
            )
        )
        connection = opened()
        connection.execute("CREATE NODE TABLE entity(id STRING PRIMARY KEY)")
        for entity in ("a", "b", name):
            connection.execute("CREATE (:entity {id: $id})", {"id": entity})
        for start, table in (("a", relation), (name, "p")):
            connection.execute(f"CREATE REL TABLE {name_of(table)}(FROM entity TO entity)")
            query = "MATCH (x {id: $x}), (y {id: 'b'}) CREATE (x)-[:" + name_of(table) + "]->(y)"
            connection.execute(query, {"x": start})
        [query] = model_of(body, distinct=False).queries("cypher")["query"]
        assert rows_of(connection, query, ("a", "t", "b")) == 1, query


def test_a_target_on_one_entity_has_one_parameter() -> None:
    text = "1: owns(A, B) & costs(B, 'much') & late(A) -> churn(A)\n1: late(A) -> churn(A)\n"
    model = hb.Model.parse(text + "1: knows(A, X) & churn(X) -> churn(A)\n")
    facts = [("a", "owns", "x"), ("a", "owns", "y"), ("x", "costs", "much"), ("y", "costs", "much"),
             ("a", "knows", "a"), ("a", "knows", "b")]  # fmt: skip
    store = ox.Store()
    for subject, predicate, object_ in facts:
        store.add(ox.Quad(node(subject), node(predicate), node(object_)))
    for entity, kind in (("a", "late"), ("a", "churn"), ("b", "churn")):
        store.add(ox.Quad(node(entity), ox.NamedNode(TYPE), node(kind)))
    queries = model.queries("sparql", pair=("a",))["query"]
    assert [len(solutions(store, query)) for query in queries] == [2, 1, 1]
    listed = [*facts, ("a", "late"), ("a", "churn"), ("b", "churn")]
    explained = model.explain(listed, ("a", "churn"))
    assert sorted(reason.count for reason in explained.reasons) == [1, 1, 2]
    assert "$B" not in "".join(model.queries("cypher")["query"])


EMPTY = hb.GraphModel(
    relations=(), features=("best",), weights=(1.0,), ridge=None, constants=True, backward=True,
    slots=False, pool=50, max_length=2, calibration=Calibration(), linked=LinkedShares(0.5),
)  # fmt: skip


def graph_model_of(rule: CountedRule, direction: Direction) -> hb.GraphModel:
    part = RelationRules("t", direction, 1, (rule,) if isinstance(rule.clause.body, Body) else ())
    part = replace(part, constants=() if part.rules else (rule,))
    return replace(EMPTY, relations=(part,))


LINKS = st.tuples(st.sampled_from(ENTITIES), st.sampled_from("pqt"), st.sampled_from(ENTITIES))


@given(st.lists(LINKS, max_size=14), st.data())
def test_rules_of_a_whole_graph_walk_as_its_ranking_does(
    links: list[tuple[str, str, str]], data: st.DataObject
) -> None:
    facts = hb.read_facts([("a", "p", "b"), ("b", "q", "c"), ("c", "t", "d"), *links])
    steps = st.builds(Step, st.sampled_from("pqt"), st.booleans())
    path = tuple(data.draw(st.lists(steps, min_size=2, max_size=3)))
    direction = data.draw(st.sampled_from(Direction))
    known, answer = data.draw(st.sampled_from(ENTITIES)), data.draw(st.sampled_from(ENTITIES))
    model = graph_model_of(path_rule("t", direction, path, 1, 2), direction)
    pair = (known, answer) if direction is Direction.OBJECT else (answer, known)
    [query] = model.queries("sparql", pair=pair)["query"]
    store = ox.Store()
    for subject, predicate, object_ in facts.to_table():
        store.add(ox.Quad(node(subject), node(predicate), node(object_)))
    graph = LinkedGraph.of(facts)
    codes = [step_code(facts.predicates.index(step.predicate), step.inverse) for step in path]
    a, c = facts.entities.find([known, answer]).tolist()
    assert len(solutions(store, query)) == Walks(graph, a, c, codes).number


def test_a_constant_rule_of_a_whole_graph_asks_for_its_link() -> None:
    direction = Direction.OBJECT
    rule = constant_rule("t", direction, Step("lives in"), "rome", "italy", 3, 4)
    [query] = graph_model_of(rule, direction).queries("cypher")["query"]
    assert query.splitlines() == [
        "// 0.333333: lives in(A, 'rome') -> t(A, 'italy')",
        "MATCH (A {`id`: $A}), (B {`id`: $B})",
        "MATCH (A)-[:`lives in`]->({`id`: 'rome'})",
        "WITH * WHERE B.`id` = 'italy'",
        "RETURN A.`id` AS A, B.`id` AS B;",
    ]


UNSAYABLE = """# hornbeam: {"version": 1}
0.4: !t(A, B)
1: r(A, B, X) -> t(A, B)
1: p(A, X) & q(X, B) [share > 0.5] & u(A) -> t(A, B)
1: (born(A) - born(B) < 3 days) -> t(A, B)
1: p(A, '_:b') -> t(A, B)
1: p(A, B) -> t(A, B) [log]
"""
REASONS = ["no condition", "three or more arguments", "shares", "days between two dates", "blank"]


def test_what_no_query_says_has_a_reason(tmp_path: Path) -> None:
    model = tmp_path / "model.psl"
    text = UNSAYABLE.replace("p(A, X) & q(X, B) [share > 0.5]", "(p(A, X) & q(X, B)) [share > 0.5]")
    model.write_text(text)
    table = hb.load(model).queries("sparql")
    assert [bool(query) for query in table["query"]] == [False] * 5 + [True]
    for reason, expected in zip(table["reason"], REASONS, strict=False):
        assert expected in reason
    written = tmp_path / "rules.rq"
    ended = hornbeam_("export", model, "--format", "sparql", "-o", written, "--json")
    assert ended.json == {"queries": str(written), "rules": 6, "without_query": 5}
    assert written.read_text().count("# no query: ") == 5
    assert hornbeam_("export", model, "--format", "cypher", "-o", tmp_path / "r.jsonl").code == 0
    assert len((tmp_path / "r.jsonl").read_text().splitlines()) == 6
    limited = hb.Model.parse('# hornbeam: {"version": 1, "max_fanout": 3}\n1: p(A, B) -> t(A, B)\n')
    assert "limit on the fan-out" in limited.queries("cypher")["reason"][0]


@pytest.mark.parametrize(
    ("words", "problem"),
    [
        (["--format", "cypher", "--base", "urn:x"], "--base is for --format sparql"),
        (["--id-property", "name"], "--id-property is for --format cypher"),
        (["--format", "sparql", "--plain"], "queries are about rules alone"),
        (["--format", "gremlin"], "'gremlin' is not one of"),
    ],
)
def test_options_of_queries_are_checked(tmp_path: Path, words: list[str], problem: str) -> None:
    model = tmp_path / "model.psl"
    model.write_text("1: p(A, B) -> t(A, B)\n")
    ended = hornbeam_("export", model, *words, "-o", tmp_path / "out")
    assert ended.code == 2
    assert problem in " ".join(ended.stderr.split())
    assert not (tmp_path / "out").exists()


def test_an_unknown_language_is_refused() -> None:
    model = hb.Model.parse("1: p(A, B) -> t(A, B)\n")
    with pytest.raises(InputError, match="no queries in 'gremlin'; expected sparql or cypher"):
        model.queries("gremlin")
    with pytest.raises(InputError, match="leave out `pair`"):
        model.queries("cypher", pair=("a", "b"))
    with pytest.raises(InputError, match="`pair` has 1 names"):
        model.queries("sparql", pair=("a",))
