"""Every search proposes the same pairs: those of the one definition."""

from __future__ import annotations

from functools import partial

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import hornbeam as hb
from hornbeam.facts.entity_names import EntityNames
from hornbeam.ranking.queries import Direction
from hornbeam.rules.rule_model import Rule
from hornbeam.serve.edits import NO_EDITS
from hornbeam.serve.pair_explorers import open_rule_explorer
from tests.support.proposed import new_pairs
from tests.support.rich_worlds import ENTITIES, RichWorld, rich_models, rich_worlds

Pairs = set[tuple[str, str]]


def typed_pairs(model: hb.Model, world: RichWorld, kinds: dict[str, str]) -> Pairs:
    """New pairs of the definition whose ends have types that facts have there, or none."""
    seen = [
        {kinds[atom[place]] for atom in world.values if atom[0] == "t"} - {""} for place in (1, 2)
    ]
    return {
        (s, o)
        for s, _, o in new_pairs(model, world, "t")
        if all(
            not types or kinds[end] in types | {""} for end, types in zip((s, o), seen, strict=True)
        )
    }


def searches(model: hb.Model, facts: hb.Facts, names: EntityNames) -> dict[str, Pairs]:
    """Pairs by the search that proposes them."""
    found = {}
    for per_subject in (False, True):
        table = model.propose(facts, subjects=ENTITIES, top=99, per_subject=per_subject,
                              names=names, target="t", threads=1)  # fmt: skip
        found[f"propose, per subject: {per_subject}"] = table
        backward = partial(model.propose, facts, objects=ENTITIES, top=99, names=names, target="t",
                           threads=1)  # fmt: skip
        found[f"propose between, per subject: {per_subject}"] = backward(
            subjects=ENTITIES, per_subject=per_subject
        )
    found["propose from objects"] = backward()
    for place in (0, 2):
        queries = [[*("?t?")] for _ in ENTITIES]
        for query, entity in zip(queries, ENTITIES, strict=True):
            query[place] = entity
        found[f"rank from {place}"] = model.rank(facts, queries, top=99, names=names, threads=1)
    pairs = {
        search: set(zip(table["subject"], table["object"], strict=True))
        for search, table in found.items()
    }
    explorer = open_rule_explorer(facts, model, entity_names=names, threads=1)
    for asks in Direction:
        links = [
            link
            for entity in ENTITIES
            for link in explorer.ask(entity, "t", asks, NO_EDITS, 99).answers
        ]
        pairs[f"explorer, asked for the {asks}"] = {(link.subject, link.object) for link in links}
    return pairs


@pytest.mark.filterwarnings("ignore::hornbeam.errors.HornbeamWarning")
@given(rich_worlds(), rich_models(), st.data())
@settings(max_examples=40)
def test_all_searches_agree(world: RichWorld, model: hb.Model, data: st.DataObject) -> None:
    kinds = {entity: data.draw(st.sampled_from(["", "", "k", "l"])) for entity in ENTITIES}
    names = EntityNames({}, {entity: kind for entity, kind in kinds.items() if kind})
    expected = typed_pairs(model, world, kinds)
    for search, found in searches(model, world.facts, names).items():
        assert found == expected, search
    # what is against the target changes scores only
    pulling = [rule for rule in model.rules if not rule.clause.negated]
    without = model.with_rules([*pulling, Rule(0.0, model.rules[-1].clause)])
    assert typed_pairs(without, world, kinds) == expected


FACTS = hb.read_facts(
    [("a", "t", "b"), ("c", "t", "d"), ("a", "r", "e"), ("f", "r", "g")], [("a", "u"), ("g", "v")]
)


@pytest.mark.parametrize(
    ("rules", "expected"),
    [
        # every object that facts of t have; the rule against connects a and e
        ("2: u(A) -> t(A, B)\n0.1: r(A, B) -> !t(A, B)\n", {("a", "d")}),
        ("2: v(B) -> t(A, B)\n0.1: r(A, B) -> !t(A, B)\n", {("a", "g"), ("c", "g")}),
        ("2: u(A) & v(B) -> t(A, B)\n", {("a", "g")}),
        ("2: r(A, B) -> t(A, B)\n", {("a", "e"), ("f", "g")}),
        ("2: r(A, B) -> t(A, B)\n1: u(A) -> t(A, B)\n", {("a", "e"), ("f", "g"), ("a", "d")}),
        ("2: r(A, B) -> !t(A, B)\n1: t(A, B)\n", set()),
        # of s nothing is known, so that everything fits
        ("2: v(A) -> s(A, B)\n", {("g", other) for other in "abcdef"}),
    ],
)
def test_the_definition(rules: str, expected: Pairs) -> None:
    model = hb.Model.parse(rules + f"1: !{'s' if 's(' in rules else 't'}(A, B)\n")
    found = model.propose(FACTS, subjects=[*FACTS.entities], top=99)
    assert {(s, o) for s, _, o, _ in found} == expected
    [target] = model.targets
    for queries in ([(e, target, "?") for e in "abcdefg"], [("?", target, e) for e in "abcdefg"]):
        assert {(row[0], row[2]) for row in model.rank(FACTS, queries, top=99)} == expected
