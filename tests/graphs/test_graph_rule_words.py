"""Rules of graphs in words: whatever names hold, every one of them is said, and nothing else."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from hornbeam.graphs.graph_text import graph_rule_words
from hornbeam.ranking.queries import Direction
from hornbeam.rules.body import Step
from hornbeam.rules.rule_words import PhraseRole, said
from tests.support.graph_rules import constant_rule, path_rule

NAMES = st.text(st.characters(exclude_characters="\t\r\n\0"), min_size=1, max_size=8)
STEPS = st.builds(Step, NAMES, st.booleans())
DIRECTIONS = st.sampled_from(Direction)


def spoken(words: tuple[tuple[str, PhraseRole], ...], role: PhraseRole) -> list[str]:
    return [text for text, own in words if own is role]


@given(NAMES, DIRECTIONS, st.lists(STEPS, min_size=1, max_size=4))
def test_paths_are_said(relation: str, direction: Direction, path: list[Step]) -> None:
    words = graph_rule_words(path_rule(relation, direction, path, 1, 2).clause, direction)
    shared = len(path) == 2 and path[1] == path[0].reversed()
    written = path if direction is Direction.OBJECT else path[::-1]
    expected = [s.predicate for s in written[: 1 if shared else None]]
    assert spoken(words, PhraseRole.PREDICATE) == [*expected, relation]
    ends = ["X", "Y"] if direction is Direction.OBJECT else ["Y", "X"]
    assert spoken(words, PhraseRole.VARIABLE)[-2:] == ends
    assert shared or said(words).count(" and ") >= len(path) - 1


@given(NAMES, DIRECTIONS, STEPS, st.none() | NAMES, NAMES)
def test_constants_are_said(
    relation: str, direction: Direction, step: Step, constant: str | None, answer: str
) -> None:
    rule = constant_rule(relation, direction, step, constant, answer, 1, 2)
    words = graph_rule_words(rule.clause, direction)
    named = [f"'{name}'" for name in (constant, answer) if name is not None]
    # the pair's own link never counts: "X has treats besides 'flu'"
    own = constant is None and step == Step(relation, direction is Direction.SUBJECT)
    assert spoken(words, PhraseRole.ENTITY) == named * (2 if own else 1)
    assert spoken(words, PhraseRole.PREDICATE) == [step.predicate, relation]
