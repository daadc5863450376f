"""With types known, nothing is proposed where its type does not belong; names lead to ids."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import hornbeam as hb
from hornbeam.errors import InputError
from hornbeam.facts.argument_types import ArgumentTypes
from hornbeam.facts.entity_names import EntityNames

MODEL = hb.Model.parse("2: near(A, B) -> treats(A, B)\n1: linked(A, B) -> treats(A, B)\n")
PREFIXED = hb.read_facts(
    [
        ("Drug::x", "treats", "Disease::a"),
        ("Drug::x", "near", "Gene::g"),
        ("Drug::x", "near", "Disease::b"),
        ("Drug::x", "linked", "Disease::c"),
        ("Drug::y", "linked", "Drug::x"),
    ]
)
NAMES = [("x", "Aspirin", "drug"), ("a", "headache", "disease"), ("g", "gene G", "gene"),
         ("b", "gout", "disease"), ("c", "gout", "disease")]  # fmt: skip


def without_prefixes() -> hb.Facts:
    return hb.read_facts([tuple(cell.split("::")[-1] for cell in row) for row in PREFIXED])


@pytest.mark.parametrize("per_subject", [False, True])
def test_proposals_by_prefix_and_by_names(per_subject: bool) -> None:
    found = MODEL.propose(PREFIXED, per_subject=per_subject)
    assert [row[2] for row in found] == ["Disease::b", "Disease::c"]
    facts = without_prefixes()
    assert set(MODEL.propose(facts)["object"]) == {"g", "b", "c"}
    named = MODEL.propose(facts, names=NAMES, per_subject=per_subject)
    assert named.names == ["subject", "predicate", "object", "score", "subject_name", "object_name"]
    assert [row[2::2] for row in named] == [("b", "Aspirin"), ("c", "Aspirin")]
    assert list(MODEL.propose(facts, subjects=["Aspirin"], names=NAMES)) == list(named)


def test_answers_by_type() -> None:
    asked = [("Drug::x", "treats", "?"), ("?", "treats", "Gene::g"), ("?", "treats", "Drug::x")]
    found = MODEL.rank(PREFIXED, asked)
    # genes and drugs are not treated, whichever argument is asked for
    assert [row[:3] for row in found] == [
        ("Drug::x", "treats", "Disease::b"), ("Drug::x", "treats", "Disease::c"),
    ]  # fmt: skip
    assert found["rank"].tolist() == [1, 2]


@given(st.lists(st.tuples(*[st.integers(0, 7)] * 2, st.sampled_from("tp")), min_size=1), st.data())
@settings(max_examples=20)
def test_they_are_the_proposals_of_fitting_type(
    links: list[tuple[int, int, str]], data: st.DataObject
) -> None:
    """The same as to propose everything, and then to look at types."""
    rows = [(f"e{s}", p, f"e{o}") for s, o, p in links]
    facts = hb.read_facts([*rows, ("e0", "p", "e1"), ("e0", "t", "e2")])
    kinds = {f"e{i}": data.draw(st.sampled_from(["", "u", "v"])) for i in range(8)}
    names = hb.read_names([(e, e, kind) for e, kind in kinds.items()])
    model = hb.Model.parse("1: p(A, B) -> t(A, B)\n0.5: p(A, B) & p(B, C) -> t(A, C)\n")
    seen = {kinds[o] for _, p, o in facts if p == "t"} - {""}
    every = list(model.propose(facts, top=1000))
    fit = [row for row in every if not seen or kinds[row[2]] in seen | {""}]
    for top in (2, 100):
        found = list(model.propose(facts, top=top, names=names))
        assert [row[:3] for row in found] == [row[:3] for row in fit[:top]]


def test_types_that_no_fact_shows_forbid_nothing() -> None:
    types = ArgumentTypes(PREFIXED)
    assert types.allowed("unheard of", 1) is None
    assert ArgumentTypes(without_prefixes()).allowed("treats", 1) is None
    allowed = types.allowed("treats", 0)
    assert allowed is not None
    assert PREFIXED.entities.take(np.flatnonzero(allowed)) == ["Drug::x", "Drug::y"]


def test_people_ask_by_name() -> None:
    facts = without_prefixes()
    why = MODEL.explain(facts, ("Aspirin", "headache"), names=NAMES)
    assert (why.subject, why.object) == ("Aspirin", "headache")
    assert why.score == MODEL.explain(facts, ("x", "a")).score
    with pytest.raises(InputError, match="2 entities are called 'gout': b, c"):
        MODEL.explain(facts, ("Aspirin", "gout"), names=NAMES)
    assert MODEL.explain(facts, ("x", "b"), names=NAMES).object == "gout (b)"
    table = MODEL.predict(facts, [("x", "a")], names=dict(row[:2] for row in NAMES))
    assert table.dicts()[0]["object_name"] == "headache"


def test_names_of_some_entities_leave_the_others_their_types() -> None:
    """A file of names and types need not have every entity, nor the words of the ids."""
    rows = [("Drug::1", "treats", "Disease::1"), ("Drug::2", "treats", "Disease::2")]
    rows += [("Drug::1", "binds", "Gene::1"), ("Disease::3", "causes", "Disease::1")]
    facts = hb.read_facts(rows)

    def objects(types: dict[str, str]) -> set[str]:
        allowed = ArgumentTypes(facts, EntityNames({}, types)).allowed("treats", 1)
        assert allowed is not None
        return {name for name, may in zip(facts.entities, allowed, strict=True) if may}

    diseases = {"Disease::1", "Disease::2", "Disease::3"}
    assert objects({}) == diseases
    assert objects({"Disease::1": "disorder"}) == diseases
    assert objects({"Drug::1": "compound", "Disease::2": "disorder"}) == diseases
    # what is one of several kinds of disease may be of each
    assert objects({"Disease::1": "acute", "Disease::2": "chronic"}) == diseases
