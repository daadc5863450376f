"""Graphs of NetworkX, GraphML, Neo4j and PyKEEN, and labels of RDF, are read as what they say."""

from __future__ import annotations

import warnings
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import date
from pathlib import Path
from typing import Any

import networkx as nx
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import hornbeam as hb
from hornbeam.errors import DataError, HornbeamNote, HornbeamWarning, InputError
from hornbeam.facts.names import Names
from tests.support.commands import hornbeam_
from tests.support.fact_tables import NAMES, as_dict, as_rows, write

GRAPHML = """<?xml version="1.0" encoding="UTF-8"?>
<graphml xmlns="http://graphml.graphdrawing.org/xmlns">
  <key id="d0" for="node" attr.name="born" attr.type="int"/>
  <key id="d1" for="edge" attr.name="relation" attr.type="string"><default>knows</default></key>
  <graph edgedefault="directed">
    <node id="ann"><data key="d0">1990</data></node>
    <node id="bo"/>
    <edge source="ann" target="bo"/>
    <edge source="bo" target="ann"><data key="d1">likes</data></edge>
  </graph>
</graphml>
"""


def numbers(facts: hb.Facts) -> set[tuple[str, str, float]]:
    held = facts.numbers
    columns = zip(held.entity, held.attribute, held.value.tolist(), strict=True)
    return {(facts.entities[int(e)], held.attributes[int(a)], value) for e, a, value in columns}


def types(facts: hb.Facts) -> dict[str, str]:
    held = facts.types
    return dict(zip(facts.entities.take(held.entity), held.kinds.take(held.kind), strict=True))


def people(kind: type[nx.Graph] = nx.MultiDiGraph) -> Any:  # noqa: ANN401
    """Two people with attributes of every kind, and a link."""
    graph = kind()
    graph.add_node("ann", born=1990, type="person", name="Ann", active=True, left=None)
    graph.add_node(2, height=np.float64(1.5), since=date(2020, 1, 2), speaks=["en", "fr"])
    graph.nodes[2]["active"] = False
    graph.add_edge("ann", 2, relation="knows")
    return graph


def test_attributes_of_nodes_become_numbers_types_unary_facts_and_texts() -> None:
    facts = hb.read_facts(people())
    assert set(as_dict(facts)) == {
        ("ann", "person"), ("ann", "active"), ("ann", "rdfs:label", "Ann"),
        ("2", "speaks", "en"), ("2", "speaks", "fr"), ("ann", "knows", "2"),
    }  # fmt: skip
    day = (date(2020, 1, 2) - date(1970, 1, 1)).days
    assert numbers(facts) == {("ann", "born", 1990), ("2", "height", 1.5), ("2", "since", day)}
    assert facts.numbers.dates == {"since"}
    assert types(facts) == {"ann": "person"}
    assert hb.read_names(people()).named("ann") == "Ann"
    assert numbers(hb.read_numbers(people())) == numbers(facts)
    assert set(hb.read_numbers(people(), dates=True).numbers.attributes) == {"since"}
    assert as_rows(hb.read_pairs(people())) == [("ann", "knows", "2")]


def test_an_undirected_link_is_a_fact_in_both_directions() -> None:
    facts = hb.read_facts(people(nx.Graph))
    assert {("ann", "knows", "2"), ("2", "knows", "ann")} <= set(as_dict(facts))


def test_predicates_are_keys_or_attributes_or_one_word_for_all() -> None:
    graph = nx.MultiDiGraph()
    graph.add_edge("a", "b", "knows")
    graph.add_edge("a", "b", type="likes")
    graph.add_edge("a", "b", label="hates", weight=3)
    graph.add_edge("a", "b")
    with (
        pytest.warns(HornbeamNote, match="without a predicate are 'linked'"),
        pytest.warns(HornbeamWarning, match="left out: 'weight'"),
    ):
        facts = hb.read_facts(graph)
    assert set(facts.predicates) == {"knows", "likes", "hates", "linked"}


def test_columns_say_which_attributes_are_the_predicate_and_the_value() -> None:
    graph = nx.DiGraph()
    graph.add_edge("a", "b", how="trusts", much=0.25)
    named = {"predicate": "how", "value": "much"}
    assert as_dict(hb.read_facts(graph, columns=named)) == {("a", "trusts", "b"): 250_000}
    labels = hb.read_labels(graph, columns=named)
    assert labels.millionths is not None
    assert labels.millionths.tolist() == [250_000]
    graph.add_edge("b", "c", how="trusts", much=3)
    with pytest.raises(DataError, match=r"edges, row 2: 'much': expected a truth value.*'3'"):
        hb.read_facts(graph, columns=named)
    with pytest.raises(DataError, match="a link has no 'what'; expected its predicate"):
        hb.read_facts(graph, columns={"predicate": "what"})
    with pytest.raises(DataError, match="holds no labels"):
        hb.read_labels(graph)
    with pytest.raises(InputError, match="no column for the subject"):
        hb.read_facts({"how": ["x"], "much": [1]}, columns=named)


@given(st.lists(st.tuples(NAMES, NAMES, NAMES), min_size=1, max_size=20))
def test_a_multigraph_of_any_names_has_its_triples(triples: list[tuple[str, str, str]]) -> None:
    graph = nx.MultiDiGraph()
    for subject, predicate, object_ in triples:
        graph.add_edge(subject, object_, predicate)
    assert set(as_dict(hb.read_facts(graph))) == set(triples)


@dataclass
class Factory:
    """What is read of PyKEEN's `TriplesFactory`: ids, and their labels unless it is a core one."""

    mapped_triples: Any
    entity_id_to_label: Mapping[int, str]
    relation_id_to_label: Mapping[int, str]


@dataclass
class CoreFactory:
    """PyKEEN's `CoreTriplesFactory`, without labels."""

    mapped_triples: Any


@given(st.lists(st.tuples(NAMES, NAMES, NAMES), min_size=1, max_size=20))
def test_a_triples_factory_has_its_triples(triples: list[tuple[str, str, str]]) -> None:
    entities = sorted({e for s, _, o in triples for e in (s, o)})
    relations = sorted({p for _, p, _ in triples})
    ids = [[entities.index(s), relations.index(p), entities.index(o)] for s, p, o in triples]
    factory = Factory(np.array(ids), dict(enumerate(entities)), dict(enumerate(relations)))
    assert set(as_dict(hb.read_facts(factory))) == set(triples)
    assert as_rows(hb.read_pairs(factory)) == triples


def test_a_triples_factory_without_labels_has_ids_and_mistakes_are_named() -> None:
    triples = np.array([[0, 1, 2]])
    assert set(as_dict(hb.read_facts(CoreFactory(triples)))) == {("0", "1", "2")}
    with pytest.raises(DataError, match=r"frame 1: the entity 2 has no label"):
        hb.read_facts(Factory(triples, {0: "a"}, {1: "p"}))
    with pytest.raises(DataError, match=r"frame 1: mapped_triples has the shape \(1, 2\)"):
        hb.read_facts(CoreFactory(triples[:, :2]))
    with pytest.raises(DataError, match="frame 1: has no triples"):
        hb.read_facts(CoreFactory(triples[:0]))


# --- GraphML --------------------------------------------------------------------------------------


def test_graphml_has_typed_attributes_and_defaults(tmp_path: Path) -> None:
    facts = hb.read_facts(write(tmp_path / "people.graphml", GRAPHML))
    assert set(as_dict(facts)) == {("ann", "knows", "bo"), ("bo", "likes", "ann")}
    assert numbers(facts) == {("ann", "born", 1990)}


#: Text that XML can hold.
XML_TEXT = st.text(st.characters(exclude_categories=["Cs", "Cc"]), min_size=1, max_size=5)


@given(
    st.dictionaries(XML_TEXT, st.tuples(st.integers(-5, 5), st.booleans(), XML_TEXT), min_size=1),
    st.data(),
)
def test_graphml_that_networkx_writes_is_the_graph(
    tmp_path_factory: pytest.TempPathFactory,
    nodes: dict[str, tuple[int, bool, str]],
    data: st.DataObject,
) -> None:
    graph = nx.DiGraph()
    for name, (size, active, kind) in nodes.items():
        graph.add_node(name, size=size, active=active, kind=kind)
    one = st.sampled_from(sorted(nodes))
    for start, end in data.draw(st.lists(st.tuples(one, one))):
        graph.add_edge(start, end, relation=data.draw(XML_TEXT))
    path = tmp_path_factory.mktemp("graphs") / "graph.graphml"
    nx.write_graphml(graph, path)
    in_memory, read = hb.read_facts(graph), hb.read_facts(path)
    assert as_dict(read) == as_dict(in_memory)
    assert numbers(read) == numbers(in_memory)


def test_keys_of_a_multigraph_are_the_ids_of_its_links_in_graphml(tmp_path: Path) -> None:
    graph = nx.MultiDiGraph(
        [("ann", "bo", "knows"), ("ann", "bo", "likes"), ("bo", "ann", "likes")]
    )
    nx.write_graphml(graph, path := tmp_path / "graph.graphml")
    assert as_dict(hb.read_facts(path, columns={"predicate": "id"})) == as_dict(
        hb.read_facts(graph)
    )
    with pytest.warns(HornbeamNote, match="links without a predicate are 'linked'"):
        assert len(hb.read_facts(path)) == 2
    attributed = write(tmp_path / "people.graphml", GRAPHML)
    with pytest.raises(InputError, match="a link has no 'id'; expected its predicate"):
        hb.read_facts(attributed, columns={"predicate": "id"})


@pytest.mark.parametrize(
    ("old", "new", "line", "problem"),
    [
        ("1990", "199O", 6, "'born': expected a value of type int, found '199O'"),
        ('target="bo"', 'target="eve"', 8, "no node 'eve' is in the file"),
        ('key="d1"', 'key="d9"', 9, "no key 'd9' is declared"),
        ("</graph>", "", 11, "mismatched tag; expected GraphML"),
        ('<edge source="ann" ', "<edge ", 8, "<edge> has no source"),
        ("directed", "sideways", 5, "edgedefault is 'sideways'; expected directed or undirected"),
        ("<graphml", "<!DOCTYPE g [<!ENTITY x 'y'>]>\n<graphml", 2, "declares the entity 'x'"),
        (
            "<graphml",
            "<!DOCTYPE g [<!ENTITY x SYSTEM '/etc/hostname'>]>\n<graphml",
            2,
            "declares the entity 'x'",
        ),
        ("graphml", "svg", 2, "begins with <svg>; expected <graphml>"),
        ("node", "hyperedge", 6, "a hyperedge joins any number of nodes"),
    ],
)
def test_mistakes_in_graphml_have_their_line(
    tmp_path: Path, old: str, new: str, line: int, problem: str
) -> None:
    path = write(tmp_path / "bad.graphml", GRAPHML.replace(old, new))
    ended = hornbeam_("candidates", "--facts", path, "--target", "knows")
    [message] = [told for told in ended.told if not told.startswith("note: ")]
    assert (ended.code, ended.stdout) == (2, "")
    assert message.startswith(f"hornbeam: {path}, line {line}: {problem}")


# --- Neo4j ----------------------------------------------------------------------------------------

PERSONS = """personId:ID(Person),name,born:int,speaks:string[],ok:boolean,:IGNORE,:LABEL
1,"Bo, b",1990,en;fr,true,x,Person;Actor
2,Ann,,,false,,Person
"""
FILMS = "id:ID(Film){id-type:long},title,out:date,:LABEL\n1,Heat,1995-12-15,Film\n"
ROLES = ":START_ID(Person),:END_ID(Film),:TYPE\n1,1,ACTED_IN\n"


def test_neo4j_files_are_read_by_their_headers(tmp_path: Path) -> None:
    files = {"persons.csv": PERSONS, "films.csv": FILMS, "roles.csv": ROLES}
    facts = hb.read_facts(*(write(tmp_path / name, text) for name, text in files.items()))
    assert set(as_dict(facts)) == {
        ("Person:1", "Person"), ("Person:1", "Actor"), ("Person:1", "ok"), ("Person:2", "Person"),
        ("Person:1", "rdfs:label", "Bo, b"), ("Person:2", "rdfs:label", "Ann"),
        ("Person:1", "speaks", "en"), ("Person:1", "speaks", "fr"),
        ("Film:1", "Film"), ("Film:1", "title", "Heat"), ("Person:1", "ACTED_IN", "Film:1"),
    }  # fmt: skip
    day = (date(1995, 12, 15) - date(1970, 1, 1)).days
    assert numbers(facts) == {("Person:1", "born", 1990), ("Film:1", "out", day)}
    # of two classes the one that more nodes have
    assert types(facts) == {"Person:1": "Person", "Person:2": "Person", "Film:1": "Film"}
    assert hb.read_names(facts).type_of("Person:1") == "Person"


def test_neo4j_files_without_labels_and_types_are_named(tmp_path: Path) -> None:
    nodes = write(tmp_path / "nodes.csv", "id:ID\na\nb\n")
    edges = write(tmp_path / "edges.csv", ":START_ID,since:int,:END_ID\na,3,b\n")
    facts = hb.read_facts(f"Person={nodes}", f"KNOWS={edges}")
    assert set(as_dict(facts)) == {("a", "Person"), ("b", "Person"), ("a", "KNOWS", "b")}
    with pytest.raises(DataError, match=r"line 1: relationships have no :TYPE; expected the type"):
        hb.read_facts(edges)


def test_everything_that_apoc_exports_is_in_one_file(tmp_path: Path) -> None:
    header = "_id,_labels,age,_start,_end,_type,since"
    text = f'{header}\n1,:Person:Actor,"40",,,,\n2,,,,,,\n,,,1,2,KNOWS,7\n'
    with pytest.warns(HornbeamWarning, match="left out: 'since'"):
        facts = hb.read_facts(write(tmp_path / "all.csv", text))
    wanted = {("1", "Person"), ("1", "Actor"), ("1", "age", "40"), ("1", "KNOWS", "2")}
    assert set(as_dict(facts)) == wanted


@pytest.mark.parametrize(
    ("text", "line", "problem"),
    [
        ("id:ID,age:int\na,1\nb,x\n", 3, "'age': expected a value of type int, found 'x'"),
        ("id:ID,age:int\na\n", 2, "expected 2 fields, as in the header, found 1"),
        ("id:ID,age:int\n,1\n", 2, "the node is empty"),
        ("id:ID,b:ID\na,b\n", 1, "two columns are :ID; expected one"),
        ("id:ID,d:date\na,1990-13-01\n", 2, "'d': expected a value of type date"),
        (":START_ID(P),:TYPE,:END_ID(P)\na,K,b\na,K,\n", 3, "the object is empty"),
        ("_id,_labels,_start,_end,_type\n,,a,,K\n", 2, "the end is empty"),
    ],
)
def test_mistakes_in_files_of_neo4j_have_their_line(
    tmp_path: Path, text: str, line: int, problem: str
) -> None:
    path = write(tmp_path / "bad.csv", text)
    ended = hornbeam_("candidates", "--facts", path, "--target", "K")
    [message] = [told for told in ended.told if not told.startswith("note: ")]
    assert (ended.code, ended.stdout) == (2, "")
    assert message.startswith(f"hornbeam: {path}, line {line}: {problem}")


def test_an_attribute_and_a_relation_of_one_name_are_refused(tmp_path: Path) -> None:
    nodes = write(tmp_path / "n.csv", "id:ID,knows:boolean\na,true\n")
    edges = write(tmp_path / "e.csv", ":START_ID,:END_ID,:TYPE\na,a,knows\n")
    with pytest.raises(DataError, match=r"'knows' has 2 arguments here and 1 in .*n.csv, line 2"):
        hb.read_facts(nodes, edges)


# --- labels of RDF --------------------------------------------------------------------------------

WIKIDATA = """
<http://www.wikidata.org/entity/Q42> <http://www.wikidata.org/prop/direct/P551> <http://www.wikidata.org/entity/Q84> .
<http://www.wikidata.org/entity/Q84> <http://schema.org/name> "London"@en .
<http://www.wikidata.org/entity/Q84> <http://schema.org/name> "Londres"@fr .
<http://www.wikidata.org/entity/Q84> <http://schema.org/name> "London (Brit)"@en-GB .
<http://www.wikidata.org/entity/Q42> <http://www.w3.org/2000/01/rdf-schema#label> "Douglas Adams" .
<http://www.wikidata.org/entity/Q42> <http://schema.org/name> "Adams" .
<http://www.wikidata.org/entity/P551> <http://www.w3.org/2000/01/rdf-schema#label> "residence"@en .
<http://www.wikidata.org/entity/P551> <http://www.w3.org/2000/01/rdf-schema#label> "Wohnort"@de .
"""  # noqa: E501


@pytest.mark.parametrize(
    ("language", "city", "relation"),
    [
        ("en", "London", "residence"),
        ("fr", "Londres", "residence"),
        ("de", "London", "Wohnort"),
        ("en-GB", "London (Brit)", "residence"),
    ],
)
def test_labels_of_wikidata_name_entities_and_relations(
    tmp_path: Path, language: str, city: str, relation: str
) -> None:
    pytest.importorskip("pyoxigraph")
    names = hb.read_names(write(tmp_path / "facts.nt", WIKIDATA), language=language)
    base = "http://www.wikidata.org"
    assert names.named(f"{base}/entity/Q84") == city
    assert names.named(f"{base}/entity/Q42") == "Douglas Adams"
    assert names.named(f"{base}/prop/direct/P551") == relation
    known = Names.of([f"{base}/prop/direct/P551"])
    assert names.relation(relation, list(known)) == f"{base}/prop/direct/P551"
    # the property, which has the label, and its relation are not two things of one name
    assert names.shown(f"{base}/prop/direct/P551") == relation
    assert names.shown(f"{base}/entity/P551") == relation
    both = hb.read_names({**names.names, f"{base}/prop/qualifier/P551": relation})
    assert both.shown(f"{base}/prop/direct/P551") == f"{relation} ({base}/prop/direct/P551)"


def test_notes_are_of_graphs_alone(tmp_path: Path) -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        hb.read_facts(people(), write(tmp_path / "people.graphml", GRAPHML))
