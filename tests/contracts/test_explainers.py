"""One contract for all scorers and explainers: what each says agrees with `predict` and `rank`."""

from __future__ import annotations

import importlib
import inspect
import json
import math
import pkgutil
from collections.abc import Callable
from dataclasses import replace
from functools import partial

import numpy as np
import pytest
from markupsafe import escape

import hornbeam as hb
from hornbeam.base.choices import CollectiveMethod, Relaxation, Score
from hornbeam.base.texts import printable
from hornbeam.counting.opening import open_in_memory
from hornbeam.explaining.collective_explainer import CollectiveExplainer, TwoStepExplainer
from hornbeam.explaining.explainer import (
    Explainer,
    JointExplainer,
    RuleExplainer,
    open_explainer,
)
from hornbeam.explaining.independent_explainer import IndependentExplainer
from hornbeam.facts.entity_names import NO_NAMES, EntityNames
from hornbeam.graphs.graph_explainer import GraphExplainer
from hornbeam.graphs.timed.timed_explainer import TimedExplainer
from hornbeam.rules.codes import step_code
from hornbeam.rules.rule_model import Rule
from hornbeam.rules.rule_words import rule_words
from hornbeam.scoring.scored_links import pair_scores
from tests.support.servers import GRAPH_FACTS, graph_model

#: The explainer of models, by how those are collective. A new kind adds a line here.
CONTRACT = {
    None: IndependentExplainer,
    CollectiveMethod.MAP: CollectiveExplainer,
    CollectiveMethod.MAP_HEADS: CollectiveExplainer,
    CollectiveMethod.TWO_STEP: TwoStepExplainer,
}
every_kind = pytest.mark.parametrize("collective", list(CONTRACT))
every_relaxation = pytest.mark.parametrize("relaxation", list(Relaxation))

RULES = """2: p(A, B) & t(B, C) -> t(A, C)
1: p(A, B) -> t(A, B)
3: q(A, B) -> !t(A, B)
0.5: !t(A, B)
"""
OF_BELIEFS = """0.7: p(A, B) & believed_t(B, C) -> t(A, C)
0.4: believed_t(A, C) -> !t(A, B)
0.9: believed_t(B, A) -> t(A, B)
"""
FACTS = [
    ("a", "p", "b"), ("b", "p", "c"), ("c", "t", "d"), ("a", "q", "d"), ("b", "q", "b"),
]  # fmt: skip
#: What all kinds of models say in JSON, and in tables; `docs/howto/reasons.md` describes the keys.
JSON_KEYS = {
    "schema", "subject", "predicate", "relation", "object", "score", "map", "threshold", "decision",
    "parts", "reasons", "waterfall", "flip", "unseen", "alone", "place", "is_fact", "rank",
    "directions",
}  # fmt: skip
REASON_KEYS = {
    "part", "kind", "rule", "words", "weight", "confidence", "hits", "predicted", "count", "pull",
    "log_odds", "prior", "index", "groundings", "conditions", "beside",
}  # fmt: skip
TABLE_COLUMNS = [
    "rule", "words", "weight", "count", "log_odds", "pull", "confidence", "hits", "predicted",
    "grounding", "asks", "part",
]  # fmt: skip
PAIRS = [("a", "t", "c"), ("b", "t", "d"), ("a", "t", "d"), ("c", "t", "d"), ("a", "t", "new")]


def opened(
    collective: CollectiveMethod | None, relaxation: Relaxation = Relaxation.BOOLEAN
) -> tuple[hb.Model, hb.Facts, hb.Targets]:
    model = hb.Model.parse(RULES)
    semantics = replace(model.semantics, collective=collective, relaxation=relaxation)
    rules, beliefs = model.rules, tuple[Rule, ...]()
    if semantics.two_steps:
        rules, beliefs = (*hb.Model.parse(OF_BELIEFS).rules, *rules), rules
    return hb.Model(rules, semantics, beliefs), hb.read_facts(FACTS), hb.read_pairs(PAIRS)


def implementations(package: str, method: str) -> set[type]:
    """Classes of a package with a method of that name that are no protocols, nor abstract."""
    path = importlib.import_module(package).__path__
    return {
        kind
        for module in pkgutil.iter_modules(path, f"{package}.")
        for _, kind in inspect.getmembers(importlib.import_module(module.name), inspect.isclass)
        if hasattr(kind, method)
        and kind.__module__.startswith(package)
        and not inspect.isabstract(kind)
    } - {Explainer, RuleExplainer, JointExplainer}


def test_every_implementation_is_held_to_the_contract() -> None:
    assert set(CONTRACT) == {None, *CollectiveMethod}
    assert implementations("hornbeam.explaining", "explain") == set(CONTRACT.values())
    assert implementations("hornbeam.graphs", "explain") == {GraphExplainer, TimedExplainer}


@every_kind
def test_a_model_opens_its_own(collective: CollectiveMethod | None) -> None:
    model, facts, pairs = opened(collective)
    explainer = open_explainer(model, open_in_memory(facts), pairs)
    assert type(explainer) is CONTRACT[collective]


@every_relaxation
@every_kind
def test_scores_are_those_of_predict(
    collective: CollectiveMethod | None, relaxation: Relaxation
) -> None:
    model, facts, pairs = opened(collective, relaxation)
    engine = open_in_memory(facts)
    explainer = open_explainer(model, engine, pairs)
    for score in Score:
        expected = model.predict(facts, pairs, score=score, threads=1)["score"]
        np.testing.assert_array_equal(pair_scores(model, engine, pairs, score), expected)
        for row, pair in enumerate(PAIRS):
            found = explainer.explain(*pair)
            value = found.map if score is Score.MAP else found.score
            assert value == pytest.approx(expected[row], abs=1e-9)
    scores = explainer.scores(pairs, explainer.count(pairs))
    np.testing.assert_array_equal(scores, model.predict(facts, pairs, threads=1)["score"])


@every_kind
def test_counts_paths_and_pulls_agree(collective: CollectiveMethod | None) -> None:
    model, facts, pairs = opened(collective)
    explainer = open_explainer(model, open_in_memory(facts), pairs)
    assert explainer.model == model
    assert explainer.facts.atoms is facts.atoms
    counted = explainer.count(pairs)
    for row, pair in enumerate(PAIRS):
        found = explainer.explain(*pair, paths=100)
        for reason in found.reasons:
            assert reason.index is not None
            clause = model.rules[reason.index].clause
            assert reason.weight == model.rules[reason.index].weight
            if not clause.is_prior and not reason.linked_pairs:
                [part] = clause.body.parts
                rows = counted.column(list(counted.bodies).index(part.body))
                mine = counted.target[rows] == row
                assert len(reason.groundings) == counted.count[rows][mine].sum() == reason.count
                again = explainer.groundings(clause.body, pair[0], pair[2], 100)
                assert again == reason.groundings
            assert (reason.is_prior, reason.words) == (clause.is_prior, rule_words(clause))
        strengths = [abs(reason.strength) for reason in found.reasons]
        assert strengths == sorted(strengths, reverse=True)
        assert explainer.explain(*pair, flip=False).flip is None


# --- every explanation, of pairs and of answers ---------------------------------------------------

#: How to open the explainer of a kind of model, the atoms to explain, and its own score of each:
#: the log-odds that the parts add up to, None where they are no sum.
Opened = tuple[Explainer, list[tuple[str, str, str]], Callable[[str, str, str], list[float | None]]]


def opened_graph() -> Opened:
    explainer = graph_model().explainer(GRAPH_FACTS, threads=1)
    assert isinstance(explainer, GraphExplainer)
    atoms = [("ann", "trusts", "dora"), ("dora", "trusts", "bob"), ("eve", "knows", "cy")]

    def totals(subject: str, relation: str, object_: str) -> list[float | None]:
        facts, ranker, found = explainer.facts, explainer.ranker, list[float | None]()
        ends = facts.entity(subject), facts.entity(object_)
        for inverse in (False, True):
            known, answer = ends[::-1] if inverse else ends
            step = step_code(facts.predicates.index(relation), inverse)
            pool, score = ranker.scored(step, np.array([known], dtype=np.int32))
            fit = ranker.fit(step, np.full_like(pool.entity, known), pool.entity)
            fit |= pool.entity == answer
            pool, score = pool.where(fit), score[fit]
            rows = np.flatnonzero(pool.entity == answer)
            found += [float(score[row] - score.mean()) for row in rows] or [0.0]
        return found

    return explainer, atoms, totals


def opened_pairs(collective: CollectiveMethod | None, relaxation: Relaxation) -> Opened:
    model, facts, pairs = opened(collective, relaxation)
    explainer = open_explainer(model, open_in_memory(facts), pairs)
    adds_up = relaxation is Relaxation.BOOLEAN and collective in (None, CollectiveMethod.TWO_STEP)

    def totals(*pair: str) -> list[float | None]:
        [row] = [k for k, other in enumerate(PAIRS) if other == pair]
        score = float(model.predict(facts, pairs, threads=1)["score"][row])
        return [math.log(score / (1 - score)) if adds_up else None]

    return explainer, PAIRS, totals


KINDS: dict[str, Callable[[], Opened]] = {
    **{
        f"{collective or 'independent'}-{relaxation}": partial(opened_pairs, collective, relaxation)
        for collective in CONTRACT
        for relaxation in Relaxation
    },
    "graph": opened_graph,
}
every_explainer = pytest.mark.parametrize("kind", list(KINDS))


@every_explainer
def test_parts_add_up_to_the_score(kind: str) -> None:
    explainer, atoms, totals = KINDS[kind]()
    for atom in atoms:
        found = explainer.explain(*atom)
        expected = totals(*atom)
        assert len(found.directions) == len(expected)
        for one, total in zip(found.directions, expected, strict=True):
            if total is None:
                assert one.total is None or not one.parts
            else:
                assert one.total == pytest.approx(total, abs=1e-9)
        first = found.directions[0]
        assert (found.score, found.parts, found.rank) == (first.score, first.parts, first.rank)


@every_explainer
def test_the_largest_part_comes_first_and_every_reason_is_of_a_part(kind: str) -> None:
    explainer, atoms, _ = KINDS[kind]()
    named = 0
    for atom in atoms:
        for one in explainer.explain(*atom).directions:
            sizes = [abs(part.value or 0.0) for part in one.parts]
            assert sizes == sorted(sizes, reverse=True)
            in_parts = [reason for part in one.parts for reason in part.reasons]
            assert sorted(map(str, in_parts)) == sorted(map(str, one.reasons))
            assert len({part.name for part in one.parts}) == len(one.parts)
            for part in one.parts:
                strengths = [abs(reason.strength) for reason in part.reasons]
                assert strengths == sorted(strengths, reverse=True)
            named += len(in_parts)
    assert named


@every_explainer
def test_every_grounding_is_made_of_facts_and_counted(kind: str) -> None:
    explainer, atoms, _ = KINDS[kind]()
    for atom in atoms:
        for one in explainer.explain(*atom, paths=2).directions:
            for reason in one.reasons:
                assert reason.is_prior or reason.linked_pairs or reason.groundings
                for condition in reason.conditions:
                    # a pair in the body of another pair's clause counts, and has no path here
                    assert reason.linked_pairs or len(condition.groundings) == min(
                        condition.count, 2
                    )
                    lengths = {len(grounding.facts) for grounding in condition.groundings}
                    assert lengths <= {condition.steps}


@every_explainer
def test_names_stand_everywhere_but_in_the_texts_of_rules(kind: str) -> None:
    explainer, atoms, _ = KINDS[kind]()
    for atom in atoms:
        explained = explainer.explain(*atom)
        ids = set(explained.mentioned)
        assert {atom[0], atom[2]} <= ids
        names = EntityNames({entity: f"Name of {i}" for i, entity in enumerate(sorted(ids))})
        shown = explained.in_names(names)
        assert {one for one in shown.mentioned if not one.startswith("Name of ")} == set()
        assert [part.name for part in shown.parts] == [part.name for part in explained.parts]
        assert [reason.rule for reason in shown.reasons] == [
            reason.rule for reason in explained.reasons
        ]
        assert explained.in_names(NO_NAMES) is explained


@every_explainer
def test_text_page_table_and_json_say_the_same(kind: str) -> None:
    explainer, atoms, _ = KINDS[kind]()
    for atom in atoms:
        found = explainer.explain(*atom)
        told = json.loads(json.dumps(found.as_dict()))
        assert set(told) == JSON_KEYS
        assert (told["schema"], told["subject"], told["predicate"], told["object"]) == (1, *atom)
        assert told["parts"] == {part.name: part.value for part in found.parts}
        for one in [told, *told["directions"]]:
            assert all(set(reason) == REASON_KEYS for reason in one["reasons"])
            assert {reason["part"] for reason in one["reasons"]} <= set(one["parts"])
        table = found.to_table()
        assert table.names == [name for name in TABLE_COLUMNS if name in table.names]
        assert {"rule", "words", "count", "grounding", "part"} <= set(table.names)
        assert json.loads(json.dumps(list(table.dicts()), allow_nan=False))
        every = [reason for one in found.directions for reason in one.reasons]
        assert list(table["rule"]) == [reason.rule for reason in every]
        text, page = str(found), found._repr_html_()
        for reason in every:
            assert printable(reason.rule) in text
            assert str(escape(printable(reason.rule))) in page
            assert all(str(grounding) in text for grounding in reason.groundings)
        for part in found.parts:
            assert not part.reasons or f"\n{part.name.capitalize()}" in text


def test_every_part_of_an_answer_names_its_own_best_rules() -> None:
    """Rules of one part never take the place of another's, however confident they are."""
    explainer, atoms, _ = opened_graph()
    assert isinstance(explainer, GraphExplainer)
    few, many = (replace(explainer, reasons=n) for n in (1, 10**6))
    fired = list[int]()
    for atom in atoms:
        both = few.explain(*atom).directions, many.explain(*atom).directions
        for one, every in zip(*both, strict=True):
            assert [part.name for part in one.parts] == [part.name for part in every.parts]
            for part, whole in zip(one.parts, every.parts, strict=True):
                assert part.reasons == whole.reasons[:1]
                fired.append(len(whole.reasons))
    assert max(fired) > 1
