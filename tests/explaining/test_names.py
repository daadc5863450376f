"""Explanations in names: every id is replaced, and nothing else."""

from __future__ import annotations

import hornbeam as hb
from hornbeam.facts.entity_names import NO_NAMES, EntityNames

FACTS = [
    ("e1", "knows", "e2"), ("e2", "works_in", "e3"), ("e4", "knows", "e2"), ("e1", "wise"),
    ("e3", "works_in", "e1"),
]  # fmt: skip
RULES = """
2.0: knows(A, B) & works_in(B, C) -> works_in(A, C)
1.0: works_in(B, A) -> works_in(A, B)
0.4: knows(A, 'e2') & wise(A) -> works_in(A, B)
0.5: !works_in(A, B)
"""
NAMES = EntityNames({"e1": "Ann", "e2": "Ann", "e3": "<b>Rome</b>"})


def explained() -> hb.Explanation:
    return hb.Model.parse(RULES).explain(hb.read_facts(FACTS), ("e1", "e3"))


def test_names_stand_in_the_place_of_ids() -> None:
    found = explained()
    named = found.in_names(NAMES)
    assert (named.subject, named.object) == ("Ann (e1)", "<b>Rome</b>")
    text = str(named)
    # two people of one name are told apart, and steps keep their directions
    assert "Ann (e1) -knows-> Ann (e2) -works_in-> <b>Rome</b>" in text
    assert "Ann (e1) <-works_in- <b>Rome</b>" in text
    assert "wise(Ann (e1))" in text
    assert "  Ann (e1)  knows  Ann (e2)\n    <b>Rome</b>  works_in  Ann (e1)" in text
    assert "<b>" not in named._repr_html_()
    # rules stay as the model file has them
    assert [reason.rule for reason in named.reasons] == [reason.rule for reason in found.reasons]
    assert named.score == found.score


def test_without_names_nothing_changes() -> None:
    found = explained()
    assert found.in_names(NO_NAMES) is found


def test_all_entities_and_relations_are_mentioned() -> None:
    mentioned = {"e1", "e2", "e3", "knows", "works_in", "wise"}
    assert set(explained().mentioned) == mentioned
