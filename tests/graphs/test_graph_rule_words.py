"""Rules of graphs in words: whatever names hold, every one of them is said, and nothing else."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from hornbeam.graphs.graph_rule_words import graph_rule_words
from hornbeam.graphs.graph_text import rule_text
from hornbeam.graphs.ranking_model import ConstantRule, GraphRule
from hornbeam.ranking.queries import Direction
from hornbeam.rules.body import Step
from hornbeam.rules.rule_words import PhraseRole, said

NAMES = st.text(st.characters(exclude_characters="\t\r\n\0"), min_size=1, max_size=8)
STEPS = st.builds(Step, NAMES, st.booleans())
DIRECTIONS = st.sampled_from(Direction)


def spoken(words: tuple[tuple[str, PhraseRole], ...], role: PhraseRole) -> list[str]:
    return [text for text, own in words if own is role]


@given(NAMES, DIRECTIONS, st.lists(STEPS, min_size=1, max_size=4))
def test_paths_are_said(relation: str, direction: Direction, path: list[Step]) -> None:
    words = graph_rule_words(rule_text(relation, direction, GraphRule(tuple(path), 1, 2)))
    assert spoken(words, PhraseRole.PREDICATE) == [*(s.predicate for s in path), relation]
    ends = ["X", "Y"] if direction is Direction.OBJECT else ["Y", "X"]
    assert spoken(words, PhraseRole.VARIABLE)[-2:] == ends
    assert said(words).count(" and ") >= len(path) - 1


@given(NAMES, DIRECTIONS, STEPS, st.none() | NAMES, NAMES)
def test_constants_are_said(
    relation: str, direction: Direction, step: Step, constant: str | None, answer: str
) -> None:
    rule = ConstantRule(step, constant, answer, 1, 2)
    words = graph_rule_words(rule_text(relation, direction, rule))
    named = [f"'{name}'" for name in (constant, answer) if name is not None]
    assert spoken(words, PhraseRole.ENTITY) == named
    assert spoken(words, PhraseRole.PREDICATE) == [step.predicate, relation]
    assert ("something" in [text for text, _ in words]) >= (constant is None)
