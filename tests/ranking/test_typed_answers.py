"""Answers of a whole graph are of types that the relation has; with names they say who is meant."""

from __future__ import annotations

import numpy as np
import pytest

import hornbeam as hb
from hornbeam.graphs.graph_ranker import MemoryRanker
from hornbeam.graphs.graph_scorer import new_facts

pytestmark = pytest.mark.slow

FACTS = hb.read_facts(
    [(f"Drug::{i}", "binds", f"Gene::{i % 4}") for i in range(16)]
    + [(f"Drug::{i}", "treats", f"Disease::{i % 4}") for i in range(12)]
    + [(f"Drug::{i}", "treats", f"Disease::{4 + i % 2}") for i in range(12)]
    + [(f"Gene::{g}", "causes", f"Disease::{g}") for g in range(4)]
)
NAMES = {
    entity: entity.split("::")[1] + " of " + entity.split("::")[0] for entity in FACTS.entities
}


@pytest.fixture(scope="module")
def model() -> hb.GraphModel:
    return hb.learn_graph(FACTS, max_length=2)


def test_answers(model: hb.GraphModel) -> None:
    asked = [("Drug::13", "treats", "?"), ("?", "treats", "Disease::1")]
    # many answers, so that those of other types would be among them
    table = model.rank(FACTS, asked, top=100, names=NAMES)
    for row in table.dicts():
        assert row["subject"].startswith("Drug::")
        assert row["object"].startswith("Disease::")
        assert (row["subject_name"], row["object_name"]) == (
            NAMES[row["subject"]], NAMES[row["object"]],
        )  # fmt: skip
    # types of one kind leave nothing out, and change no score
    alike = hb.read_names([(entity, entity, "thing") for entity in FACTS.entities])
    every = model.rank(FACTS, asked, top=100, names=alike).dicts()
    kept = [row for row in every if row["object"].startswith("Disease")
            and row["subject"].startswith("Drug")]  # fmt: skip
    assert [row["score"] for row in kept] == table["score"].tolist()
    # those that do not fit have no share of the probability
    shares = zip(kept, table["probability"].tolist(), strict=True)
    assert all(row["probability"] <= share for row, share in shares)
    assert len(every) > len(kept)


def test_scores_of_all_entities(model: hb.GraphModel) -> None:
    """Entities of other types, and known answers, have the lowest score of all."""
    found = model.ranker(FACTS).scores([("Drug::13", "treats", "?"), ("Drug::1", "treats", "?")])
    known = set(FACTS.links("treats")[1][FACTS.links("treats")[0] == FACTS.entity("Drug::1")])
    for row, facts in zip(found.values, (set(), known), strict=True):
        fit = [name.startswith("Disease::") for name in found.entities]
        out = [not ok or i in facts for i, ok in enumerate(fit)]
        assert (row[out] == row.min()).all()
        assert (row[np.logical_not(out)] > row.min()).all()


def test_new_facts(model: hb.GraphModel) -> None:
    found = new_facts(MemoryRanker.of(model, FACTS), relations=["treats"], top=100)
    assert len(found)
    assert {entity.split("::")[0] for entity in found["object"]} == {"Disease"}


def test_an_explanation_is_asked_for_by_name(model: hb.GraphModel) -> None:
    why = model.explain(FACTS, ("13 of Drug", "treats", "1 of Disease"), names=NAMES)
    assert (why.subject, why.object) == ("13 of Drug", "1 of Disease")
    assert [one.rank for one in why.directions] == [
        one.rank for one in model.explain(FACTS, ("Drug::13", "treats", "Disease::1")).directions
    ]


LIKED = [(f"p{i}", "likes", f"p{(i + k) % 12}") for i in range(12) for k in (1, 2)]


@pytest.mark.parametrize("loop", [False, True])
def test_loops_are_proposed_only_where_some_fact_is_one(loop: bool) -> None:
    """Everybody likes the next two, so that paths lead back to everybody."""
    facts = hb.read_facts([*LIKED, ("p0", "likes", "p0")] if loop else LIKED)
    model = hb.learn_graph(facts, max_length=2)
    found = new_facts(MemoryRanker.of(model, facts), top=1000)
    asked = model.rank(facts, [(f"p{i}", "likes", "?") for i in range(1, 12)], top=1000)
    for table in (found, asked):
        loops = [s for s, o in zip(table["subject"], table["object"], strict=True) if s == o]
        assert bool(loops) == loop
