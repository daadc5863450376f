"""What the explorer answers is what the library answers for the edited model."""

from __future__ import annotations

import itertools
import warnings

import numpy as np
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st

import hornbeam as hb
from hornbeam.base.arrays import largest
from hornbeam.base.choices import Relaxation
from hornbeam.errors import HornbeamWarning
from hornbeam.model import Model
from hornbeam.ranking.queries import Direction
from hornbeam.reporting.model_diff import paired_rules
from hornbeam.serve.cache import BoundedCache
from hornbeam.serve.edits import NO_EDITS, Edits
from hornbeam.serve.pair_explorers import open_rule_explorer
from hornbeam.serve.rule_explorer import RuleExplorer
from hornbeam.serve.weight_pages import compared_models
from tests.support.random_rules import rule_models
from tests.support.servers import FACTS, LABELS, OTHER_RULES, PAIRS, RULES, SCRIPT, small_explorer
from tests.support.worlds import SOFT, worlds


@given(data=st.data())
@settings(max_examples=25)
def test_scores_and_figures_are_those_of_the_downloaded_model(data: st.DataObject) -> None:
    world = data.draw(worlds(SOFT))
    drawn = data.draw(rule_models("t", tuple(Relaxation)))
    model = Model(drawn.rules, drawn.semantics)
    explorer = open_rule_explorer(world.facts, model, labels=world.targets, threads=1)
    numbers = st.integers(0, max(len(model.rules) - 1, 0))
    edits = NO_EDITS
    for rule in data.draw(st.lists(numbers, max_size=3)) if model.rules else []:
        edits = edits.with_weight(rule, data.draw(st.sampled_from([0.0, 0.25, 3.0])))
        edits = edits.switched(rule, on=data.draw(st.booleans()))
    assume(edits.kept(model.rules))  # a model has at least one rule
    again = Model.parse(explorer.edited_text(edits))
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", HornbeamWarning)  # about predicates that facts lack
        expected = again.predict(world.facts, world.targets, threads=1)["score"]
    np.testing.assert_allclose(explorer.scores(edits)[0], expected, atol=1e-12)


def test_an_edit_moves_scores_and_auc(explorer: RuleExplorer) -> None:
    before, off = explorer.figures(NO_EDITS), NO_EDITS.switched(0, on=False)
    after = explorer.figures(off)
    assert before is not None
    assert after is not None
    assert before.auc_roc != after.auc_roc
    moved = explorer.changed(off, 10)
    names = {(link.subject, link.object) for link in moved}
    assert ("ann", "dora") in names
    assert all(abs(a.change) >= abs(b.change) for a, b in itertools.pairwise(moved))
    assert explorer.changed(NO_EDITS, 10) == []
    assert explorer.figures(NO_EDITS) == before, "an edit is for its visitor only"


def test_explanations_follow_edits(explorer: RuleExplorer) -> None:
    edits = NO_EDITS.with_weight(0, 0.1)
    explained = explorer.explain("ann", "trusts", "dora", edits)
    facts, pairs = hb.read_facts(FACTS), hb.read_pairs([("ann", "trusts", "dora")])
    expected = Model.parse(explorer.edited_text(edits)).predict(facts, pairs)["score"][0]
    assert explained.score == pytest.approx(expected)
    assert {reason.index: reason.weight for reason in explained.reasons} == {0: 0.1, 3: 1.0}
    off = explorer.explain("ann", "trusts", "dora", NO_EDITS.switched(0, on=False))
    assert [reason.index for reason in off.reasons] == [3]


def test_lists_of_an_entity(explorer: RuleExplorer) -> None:
    links, total = explorer.listed("ann", NO_EDITS, 3)
    assert total == 5
    assert [link.score for link in links] == sorted((link.score for link in links), reverse=True)
    assert explorer.listed("nobody", NO_EDITS, 3) == ([], 0)
    strangers, _ = explorer.listed("stranger", NO_EDITS, 3)
    assert [link.label for link in strangers] == [None]
    assert explorer.label("ann", "trusts", SCRIPT) == 1.0
    assert explorer.label("ann", "trusts", "bob") is None


@pytest.mark.parametrize("order", ["score", "error"])
def test_pages_of_the_list(explorer: RuleExplorer, order: str) -> None:
    everything, total = explorer.listed_page(NO_EDITS, order, 0, 100)
    assert total == len(everything) == len(LABELS) + len(PAIRS)
    parts = [explorer.listed_page(NO_EDITS, order, first, 3)[0] for first in range(0, total, 3)]
    assert [link for part in parts for link in part] == everything
    keys = [
        link.score if order == "score" else -1.0 if link.label is None
        else abs(link.score - link.label)
        for link in everything
    ]  # fmt: skip
    assert keys == sorted(keys, reverse=True)


def test_comparison(explorer: RuleExplorer) -> None:
    assert explorer.other is not None
    found = compared_models(explorer, explorer.other, NO_EDITS, 4)
    assert [pair.rule for pair in found.only_other] == ["knows(B, A) -> trusts(A, B)"]
    assert {pair.rule for pair in found.only_edited} == {
        "knows(A, B) -> trusts(A, B)",
        "dislikes(A, B) -> !trusts(A, B)",
    }
    assert [(pair.rule, pair.weight, pair.other_weight) for pair in found.shared] == [
        ("knows(A, B) & trusts(B, C) -> trusts(A, C)", 2.0, 0.7),
        ("!trusts(A, B)", 1.0, 1.0),
    ]
    facts, labels = hb.read_facts(FACTS), hb.read_labels(LABELS)
    for text, figures in ((RULES, found.figures_edited), (OTHER_RULES, found.figures_other)):
        assert figures == Model.parse(text).evaluate(facts, labels)
    scores = [Model.parse(text).predict(facts, labels)["score"] for text in (RULES, OTHER_RULES)]
    assert abs(found.links[0].change) == pytest.approx(np.abs(scores[0] - scores[1]).max())
    off = compared_models(explorer, explorer.other, NO_EDITS.switched(1, on=False), 4)
    assert [pair.rule for pair in off.only_edited] == ["dislikes(A, B) -> !trusts(A, B)"]


def test_a_clause_that_stands_twice_weighs_both() -> None:
    twice, once = (
        Model.parse(text) for text in ("1.0: p(A, B) -> t(A, B)\n" * 2, "2.0: p(A, B) -> t(A, B)")
    )
    [pair] = paired_rules(twice, once)
    assert (pair.weight, pair.other_weight) == (2.0, 2.0)


@pytest.mark.slow
def test_a_pair_is_listed_once() -> None:
    again = [*PAIRS, LABELS[0][:3], LABELS[-1][:3], ("unheard", "of", "dora")]
    explorer = small_explorer(pairs=hb.read_pairs(again))
    links, total = explorer.listed_page(NO_EDITS, "score", 0, 100)
    assert total == len(LABELS) + len(PAIRS) + 1
    assert len({(link.subject, link.predicate, link.object) for link in links}) == total


def test_without_labels_and_pairs() -> None:
    explorer = small_explorer(other=None, labels=None, pairs=None)
    assert explorer.figures(NO_EDITS) is None
    assert explorer.listings == []
    assert explorer.changed(Edits().switched(0, on=False), 5) == []


def test_facts_without_edges_and_rules_without_facts() -> None:
    facts = hb.read_facts([("a", "other", "b")])
    explorer = open_rule_explorer(facts, Model.parse(RULES), threads=1)
    assert explorer.lacks(0)
    assert not explorer.lacks(3)
    asked = explorer.ask("a", "trusts", Direction.OBJECT, NO_EDITS, 5)
    assert (list(asked.answers), asked.candidates, asked.left_out) == ([], 0, 0)


def test_the_cache_is_bounded() -> None:
    cache = BoundedCache[list[int]](limit=10, size=len)
    for n in range(6):
        assert cache.get(n, lambda n=n: [0] * n) == [0] * n  # type: ignore[misc]
    assert len(cache) == 2, "4 + 5 <= 10"
    assert cache.get("large", lambda: [0] * 11) == [0] * 11
    assert len(cache) == 2
    made = []
    cache.get(5, lambda: made.append(5) or [])  # type: ignore[func-returns-value]
    assert not made


@given(st.lists(st.sampled_from([0.0, 0.25, 0.5, 1.0]), max_size=12), st.integers(1, 14))
def test_the_largest_are_the_first_of_a_stable_order(values: list[float], top: int) -> None:
    expected = sorted(range(len(values)), key=lambda i: (-values[i], i))[:top]
    assert largest(np.array(values), top).tolist() == expected
