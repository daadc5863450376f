"""Names and types that the facts tell by themselves."""

from __future__ import annotations

from pathlib import Path

import pytest

import hornbeam as hb
from hornbeam.facts.entity_names import names_in, types_in

RDF = """
<http://x.org/Q64> <http://www.w3.org/2000/01/rdf-schema#label> "Berlin"@de .
<http://x.org/Q90> <http://www.w3.org/2000/01/rdf-schema#label> "Parigi"@it .
<http://x.org/Q90> <http://www.w3.org/2000/01/rdf-schema#label> "Paris \\"the\\tcity\\""@en .
<http://x.org/Q90> <http://www.w3.org/2000/01/rdf-schema#label> "Aparis" .
<http://x.org/Q90> <http://www.w3.org/1999/02/22-rdf-syntax-ns#type> <http://x.org/City> .
<http://x.org/Q90> <http://www.w3.org/1999/02/22-rdf-syntax-ns#type> <http://x.org/Capital> .
<http://x.org/Q64> <http://www.w3.org/1999/02/22-rdf-syntax-ns#type> <http://x.org/City> .
<http://x.org/Q90> <http://x.org/near> <http://x.org/Q64> .
"""


def test_labels_and_types_of_rdf(tmp_path: Path) -> None:
    pytest.importorskip("pyoxigraph")
    path = tmp_path / "graph.nt"
    path.write_text(RDF)
    for names in (hb.read_names(path), hb.read_names(hb.read_facts(path))):
        assert names.names == {
            "http://x.org/Q64": "Berlin",
            "http://x.org/Q90": 'Paris "the city"',
        }
        assert names.types == {"http://x.org/Q64": "City", "http://x.org/Q90": "City"}


def test_labels_and_types_of_tables() -> None:
    facts = [
        ("Q64", "rdfs:label", "Berlin"), ("Q64", "rdf:type", "city"), ("Q64", "near", "Q90"),
        ("ada", "student"),
    ]  # fmt: skip
    names = hb.read_names(hb.read_facts(facts))
    assert (names.names, names.types) == ({"Q64": "Berlin"}, {"Q64": "city"})


def test_prefixes_are_types_where_all_have_one() -> None:
    rows = [("Gene::1", "causes", "Disease Class::a:b"), ("Gene::2", "binds", "Compound::DB1")]
    facts = hb.read_facts(rows)
    assert types_in(facts) == {
        "Gene::1": "Gene", "Gene::2": "Gene", "Disease Class::a:b": "Disease Class",
        "Compound::DB1": "Compound",
    }  # fmt: skip
    assert not len(names_in(facts))
    for other in ("plain", "::x", "Gene::", "http://x.org::1", "1::2"):
        assert types_in(hb.read_facts([*rows, ("Gene::1", "p", other)])) == {}


def test_what_is_told_and_what_is_given_go_together() -> None:
    facts = hb.read_facts([("Q64", "rdfs:label", "Berlin"), ("Q90", "near", "Q64")])
    names = hb.read_names(facts, [("Q90", "Paris")], {"Q5": "human"})
    assert names.names == {"Q64": "Berlin", "Q90": "Paris", "Q5": "human"}
    with pytest.raises(hb.errors.DataError, match="'Q64' is 'Bonn' here and 'Berlin' in the facts"):
        hb.read_names(facts, [("Q64", "Bonn")])
