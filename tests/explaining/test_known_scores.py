"""The place of a score is what counting the known links of lower score, one by one, gives."""

from __future__ import annotations

import math
from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import hornbeam as hb
from hornbeam.base.choices import CollectiveMethod
from hornbeam.explaining import known_scores
from hornbeam.explaining.known_scores import CAUTION, ScorePlace, compared_links

HEADER = '# hornbeam: {"sampled_negatives": "typed"}\n'
MODEL = f"""{HEADER}2: p(A, B) & t(B, C) -> t(A, C)
0.7: t(A, X) -> t(A, B) [log]
1: p(A, B) -> !t(A, B)
0.5: !t(A, B)
"""
NAMES = "abcd"
Link = tuple[str, str]


def score(pair: Link, p: set[Link], t: set[Link]) -> float:
    """The score of a pair by the rules above, its own fact left out."""
    (a, b), seen = pair, t - {pair}
    paths = sum((a, x) in p and (x, b) in seen for x in NAMES)
    others = sum((a, x) in seen for x in NAMES)
    log_odds = 2 * paths + 0.7 * math.log2(1 + others) - ((a, b) in p) - 0.5
    return 1 / (1 + math.exp(-log_odds))


links = st.sets(st.tuples(st.sampled_from(NAMES), st.sampled_from(NAMES)), min_size=1, max_size=9)


def facts_of(p: set[Link], t: set[Link]) -> hb.Facts:
    rows = [(a, name, b) for name, some in (("p", p), ("t", t)) for a, b in sorted(some)]
    return hb.read_facts(rows)


@given(links, links)
def test_a_place_counts_known_links_of_lower_score(p: set[Link], t: set[Link]) -> None:
    explainer = hb.Model.parse(MODEL).explainer(facts_of(p, t))
    known = [score(link, p, t) for link in t]
    seen = sorted({name for link in p | t for name in link})  # others score by the prior alone
    for pair in [*sorted(t)[:3], *((a, b) for a in seen[:2] for b in seen[-2:])]:
        mine = score(pair, p, t)
        found = explainer.explain(pair[0], "t", pair[1], flip=False)
        assert found.score == pytest.approx(mine)
        lower = sum(other < mine - 1e-7 for other in known)
        assert found.place == ScorePlace(lower, len(t), len(t))


def test_the_score_after_a_flip_has_its_own_place() -> None:
    p, t = {("a", "b"), ("b", "c")}, {("b", "d"), ("c", "d"), ("c", "a")}
    found = hb.Model.parse(MODEL).explain(facts_of(p, t), ("a", "d"))
    assert found.flip is not None
    assert found.flip.facts
    lower = sum(score(link, p, t) < found.flip.score - 1e-7 for link in t)
    assert found.flip.place == ScorePlace(lower, 3, 3)
    assert found.place != found.flip.place


@pytest.mark.parametrize("collective", [CollectiveMethod.MAP, CollectiveMethod.TWO_STEP])
def test_known_links_of_a_collective_model_are_scored_next_to_the_pairs(
    collective: CollectiveMethod,
) -> None:
    rules = hb.Model.parse(MODEL.replace("0.7: t(A, X) -> t(A, B) [log]\n", ""))
    semantics = replace(rules.semantics, collective=collective)
    model = hb.Model(rules.rules, semantics)
    if semantics.two_steps:
        second = hb.Model.parse("1: p(A, B) & believed_t(B, C) -> t(A, C)\n0.2: !t(A, B)")
        model = hb.Model(second.rules, semantics, rules.rules)
    p = {("a", "b"), ("b", "c"), ("c", "e"), ("d", "a")}
    t = [("b", "d"), ("c", "d"), ("a", "e"), ("d", "e")]
    facts, pairs = facts_of(p, set(t)), [("a", "d"), ("b", "e"), ("c", "b"), ("c", "d")]
    together = hb.read_pairs([(a, "t", b) for a, b in [*pairs, *t]])
    scores = model.predict(facts, together)["score"]
    known = scores[len(pairs) :]
    assert len(set(np.round(known, 6))) > 1
    explainer = model.explainer(facts, [(a, "t", b) for a, b in pairs])
    for row, (a, b) in enumerate(pairs):
        lower = int((known < scores[row] - 1e-5).sum())
        assert explainer.explain(a, "t", b).place == ScorePlace(lower, 4, 4)


def test_many_known_links_are_a_sample_that_no_order_of_rows_changes(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(known_scores, "MAX_COMPARED", 5)
    rows = [(f"a{i}", "t", f"b{j}") for i in range(6) for j in range(4)]
    rows.append(("a0", "p", "b0"))
    found = [compared_links(hb.read_facts(some), "t") for some in (rows, rows[::-1])]
    chosen = [sorted(map(tuple, links.pairs.to_table())) for links in found]
    assert chosen[0] == chosen[1]
    assert [len(links.pairs) for links in found] == [5, 5]
    assert {links.total for links in found} == {24}
    place = hb.Model.parse(MODEL).explain(hb.read_facts(rows), ("a0", "b0"), flip=False).place
    assert place is not None
    assert (place.compared, place.known) == (5, 24)
    assert place.words.endswith("5 of the 24 known links")


def test_soft_facts_below_a_half_are_no_known_links() -> None:
    facts = hb.read_facts([("a", "t", "b", 0.9), ("b", "t", "c", 0.2), ("a", "p", "c", 1.0)])
    assert len(compared_links(facts, "t").pairs) == 1


@pytest.mark.filterwarnings("ignore:the facts have no predicate 't'")
def test_without_a_known_link_there_is_no_comparison_and_no_decision() -> None:
    found = hb.Model.parse(MODEL).explain([("a", "p", "b")], ("a", "b"))
    assert found.place == ScorePlace(0, 0, 0)
    assert f"score {found.score:.4g}, with no known link to compare it with" in repr(found)
    assert found.as_dict()["place"]["share"] is None


@pytest.mark.parametrize(
    ("lower", "compared", "known", "words", "short"),
    [
        (0, 0, 0, "with no known link to compare it with", "no known link"),
        (1, 1, 1, "higher than the only known link", "higher than all"),
        (0, 1, 1, "not higher than the only known link", "higher than none"),
        (0, 12, 12, "higher than none of the 12 known links", "higher than none"),
        (3, 12, 12, "higher than 3 of the 12 known links", "higher than 3 of 12"),
        (12, 12, 12, "higher than all of the 12 known links", "higher than all"),
        (93, 100, 100, "higher than 93 % of the 100 known links", "higher than 93 %"),
        (999, 1000, 1000, "higher than 99 % of the 1,000 known links", "higher than 99 %"),
        (3, 1000, 1000, "higher than 3 of the 1,000 known links", "higher than 3 of 1,000"),
        (930, 1000, 7000, "higher than 93 % of 1,000 of the 7,000 known links", "higher than 93 %"),
    ],
)
def test_the_words_of_a_place(
    lower: int, compared: int, known: int, words: str, short: str
) -> None:
    place = ScorePlace(lower, compared, known)
    assert (place.words, place.short) == (words, short)


def test_a_model_of_given_labels_has_no_place() -> None:
    model = hb.Model.parse(MODEL.removeprefix(HEADER))
    found = model.explain([("a", "p", "b"), ("b", "t", "c")], ("a", "c"))
    assert found.place is None
    assert found.as_dict()["place"] is None
    assert CAUTION not in repr(found)
