"""Proposals by all kinds of bodies are the best of all pairs that some rule speaks for."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import hornbeam as hb
from hornbeam.base.choices import Score
from hornbeam.scoring import proposals
from tests.support.proposed import Scored, new_pairs
from tests.support.rich_worlds import (
    CRISP,
    ENTITIES,
    SOFT,
    RichWorld,
    pairs_of,
    rich_models,
    rich_worlds,
)

pytestmark = pytest.mark.filterwarnings("ignore::hornbeam.errors.HornbeamWarning")


def expected_links(
    model: hb.Model, world: RichWorld, target: str, subjects: list[str], score: Score
) -> Scored:
    """Every new pair of the subjects that may be proposed with its score, in order."""
    pairs = [pair for pair in new_pairs(model, world, target) if pair[0] in subjects]
    if not pairs:
        return []
    scores = model.predict(world.facts, pairs_of(*pairs), score=score, threads=1)["score"]
    rows = [(s, o, value) for (s, _, o), value in zip(pairs, scores.tolist(), strict=True)]
    return sorted(rows, key=lambda row: (-row[2], row[0], row[1]))


def score_only_the_best(patch: pytest.MonkeyPatch) -> None:
    """Let bounds decide which pairs are scored: small worlds are scored whole otherwise."""
    patch.setattr(proposals, "FIRST_PAIRS", 0)
    patch.setattr(proposals, "FIRST_OF_EACH", 0)


@given(value=st.sampled_from([CRISP, SOFT]), most_pairs=st.sampled_from([1, 1000]), data=st.data())
@settings(max_examples=60)
def test_they_are_the_best_of_all_pairs(
    value: st.SearchStrategy[int], most_pairs: int, data: st.DataObject
) -> None:
    world = data.draw(rich_worlds(value))
    model = data.draw(rich_models())
    top, per_subject = data.draw(st.integers(1, 6)), data.draw(st.booleans())
    score = data.draw(st.sampled_from(Score))
    known = sorted({atom[1] for atom in world.values if atom[0] == "t"}) or list(ENTITIES)
    everything = expected_links(model, world, "t", known, score)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(proposals, "MAX_PAIRS", most_pairs)
        score_only_the_best(patch)
        found = model.propose(
            world.facts, target="t", top=top, per_subject=per_subject, score=score, threads=1
        )
    best = everything[:top]
    if per_subject:
        best = [r for s in known for r in [row for row in everything if row[0] == s][:top]]
    assert [(s, o) for s, _, o, _ in found] == [row[:2] for row in best]
    assert found["score"].tolist() == pytest.approx([row[2] for row in best], abs=1e-12)


FACTS = hb.read_facts(
    [("a", "p", "x"), ("b", "p", "y"), ("a", "t", "x"), ("c", "t", "y"), ("z", "q", "gold")]
)


@pytest.mark.parametrize(
    ("rule", "expected"),
    [
        # nothing but the subject's own edges: every object that t has
        ("p(A, X) -> t(A, B)", {("a", "y"), ("b", "x"), ("b", "y")}),
        # nothing but the object's: every subject that t has
        ("q(B, 'gold') -> t(A, B)", {("a", "z"), ("c", "z")}),
        ("p(A, X) & q(B, 'gold') -> t(A, B)", {("a", "z"), ("b", "z")}),
        ("(B == 'gold') & p(A, X) -> t(A, B)", {("a", "gold"), ("b", "gold")}),
        ("t(X, B) [n >= 1] & p(A, Y) -> t(A, B)", {("a", "y"), ("b", "x"), ("b", "y")}),
        # a path that an object condition and a threshold leave nothing of
        ("p(A, B) & q(B, X) -> t(A, B)", set()),
        ("(p(A, X) & p(Y, X) & t(Y, B)) [n >= 2] -> t(A, B)", set()),
    ],
)
def test_what_leads_and_what_filters(rule: str, expected: set[tuple[str, str]]) -> None:
    model = hb.Model.parse(f"1.0: {rule}\n0.5: !t(A, B)\n")
    found = model.propose(FACTS, subjects=["a", "b", "c"], top=100)
    assert {(s, o) for s, _, o, _ in found} == expected


@pytest.mark.parametrize(
    ("rule", "best"),
    [
        # three paths weigh 1, 3 times 0.6, and log2(1 + 3) times 0.8; the other rule weighs 1.5
        ("1.0: p(A, X) & q(X, B) -> t(A, B) [exists]", "near"),
        ("0.6: p(A, X) & q(X, B) -> t(A, B)", "far"),
        ("0.7: p(A, X) & q(X, B) -> t(A, B) [log]", "near"),
        ("0.8: p(A, X) & q(X, B) -> t(A, B) [log]", "far"),
    ],
)
def test_the_way_of_counting_decides_which_link_is_best(
    rule: str, best: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    score_only_the_best(monkeypatch)
    facts = [("a", "r", "near"), ("c", "t", "d")]
    facts += [row for x in "xyz" for row in [("a", "p", x), (x, "q", "far")]]
    model = hb.Model.parse(f"{rule}\n1.5: r(A, B) -> t(A, B)\n0.5: !t(A, B)\n")
    assert model.propose(facts, subjects=["a"], top=1)["object"].tolist() == [best]
