"""Collective models in the explorer: pages show what `predict --pairs` and `explain` say."""

from __future__ import annotations

import re
import threading
import warnings
from urllib.parse import quote

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import hornbeam as hb
from hornbeam.base.choices import CollectiveMethod, Relaxation
from hornbeam.errors import HornbeamWarning, InputError
from hornbeam.explaining.explainer import JointExplainer
from hornbeam.rules.rule_model import Rule, Semantics
from hornbeam.serve.edits import NO_EDITS, Edits
from hornbeam.serve.pair_explorers import CollectiveExplorer, open_rule_explorer
from hornbeam.serve.rule_explorer import RuleExplorer
from hornbeam.serve.site import Site
from hornbeam.serve.visits import Visit
from hornbeam.serve.weight_pages import compared_models
from tests.support.collective_worlds import RELAXATIONS, models
from tests.support.commands import HOSTILE, PATIENCE
from tests.support.servers import (
    COLLECTIVE_FACTS,
    COLLECTIVE_PAIRS,
    COLLECTIVE_RULES,
    LABELS,
    PAIRS,
    RULES,
    Client,
    collective_explorer,
    serving,
    small_explorer,
)
from tests.support.worlds import World, worlds

MAP = CollectiveMethod.MAP

#: Rules whose weights are not so small that inference has to divide by nothing.
MODELS = models(2).filter(lambda rules: all(not 0 < rule.weight < 1e-100 for rule in rules))
MODEL, WORLD = hb.Model.parse(COLLECTIVE_RULES), hb.read_facts(COLLECTIVE_FACTS)
ALL_PAIRS = hb.read_pairs([*(row[:3] for row in LABELS), *COLLECTIVE_PAIRS])


def pair(subject: str, object_: str) -> Visit:
    return Visit({"subject": subject, "predicate": "trusts", "object": object_})


@pytest.fixture(scope="module")
def explorer() -> RuleExplorer:
    return collective_explorer()


@pytest.mark.slow
@given(world=worlds(max_facts=6), rules=MODELS, relaxation=RELAXATIONS, data=st.data())
@settings(max_examples=20, deadline=None)
def test_scores_and_figures_are_those_of_the_downloaded_model(
    world: World, rules: list[Rule], relaxation: Relaxation, data: st.DataObject
) -> None:
    model = hb.Model(tuple(rules), Semantics(relaxation=relaxation, collective=MAP))
    some = np.array(data.draw(st.lists(st.booleans(), min_size=len(world.targets),
                                       max_size=len(world.targets))))  # fmt: skip
    labels = world.targets.select(some) if some.any() else None
    explorer = open_rule_explorer(world.facts, model, labels=labels, pairs=world.targets, threads=1)
    rule = data.draw(st.integers(0, len(rules) - 1))
    edits = NO_EDITS.with_weight(rule, 0.5).switched(rule, on=data.draw(st.booleans()))
    again = hb.Model.parse(explorer.edited_text(edits))
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", HornbeamWarning)
        expected = again.predict(world.facts, world.targets, threads=1)["score"]
    order = np.argsort(~some, kind="stable")  # the labelled pairs stand first
    found = np.concatenate(explorer.scores(edits))
    np.testing.assert_allclose(found, expected[order], atol=1e-9)
    if labels is not None:
        figures = explorer.figures(edits)
        assert figures is not None
        assert figures.n == some.sum()


def test_every_page_shows_the_scores_of_predict(explorer: RuleExplorer) -> None:
    names = [ALL_PAIRS.entities.take(ids) for ids in (ALL_PAIRS.subject, ALL_PAIRS.object)]
    scores = MODEL.predict(WORLD, ALL_PAIRS)["score"].tolist()
    expected = dict(zip(zip(*names, strict=True), scores, strict=True))
    links, total = explorer.listed_page(NO_EDITS, "score", 0, 100)
    assert total == len(expected)
    assert {(link.subject, link.object): link.score for link in links} == pytest.approx(expected)
    site = Site(explorer)
    body = site.addresses["/entity"].page(Visit({"name": "ann"})).body
    assert "New links" not in body
    mine = sorted(f"{score:.3f}" for names, score in expected.items() if "ann" in names)
    shown = re.findall(r'<td class="score" ><span class="number">([0-9.]+)', body)
    assert sorted(shown) == mine
    big = re.search(r'<div class="big"><span class="number">([0-9.]+)',
                    site.addresses["/link"].page(pair("ann", "eve")).body)  # fmt: skip
    assert big
    assert big[1] == f"{expected['ann', 'eve']:.3f}"


@pytest.mark.slow
def test_reasons_are_those_of_explain(explorer: RuleExplorer) -> None:
    for names in (("ann", "eve"), ("bob", "fay"), ("ann", "cy")):
        found = explorer.explain(names[0], "trusts", names[1], NO_EDITS)
        expected = MODEL.explain(WORLD, names, pairs=ALL_PAIRS, paths=12)
        assert found.as_dict() == expected.as_dict()
    site = Site(explorer)
    for_ann, against_bob = (
        site.addresses["/link"].page(pair("ann", "eve")).body,
        site.addresses["/link"].page(pair("bob", "fay")).body,
    )
    assert for_ann.count('class="inferred"') == 1
    assert "of its ground clauses" not in for_ann
    assert "of its ground clauses" in against_bob
    assert "What would flip the decision" not in for_ann
    off = explorer.explain("ann", "trusts", "eve", NO_EDITS.switched(0, on=False))
    assert [reason.index for reason in off.reasons] == [3]


def test_an_edit_moves_pairs_that_the_rule_does_not_speak_of(explorer: RuleExplorer) -> None:
    alone = explorer.explain("ann", "trusts", "eve", NO_EDITS)
    assert 1 not in {reason.index for reason in alone.reasons}
    off = NO_EDITS.switched(1, on=False)
    assert ("ann", "eve") in {(link.subject, link.object) for link in explorer.changed(off, 20)}
    before, after = explorer.figures(NO_EDITS), explorer.figures(off)
    assert before is not None
    assert after is not None
    assert before.log_loss != after.log_loss


@pytest.mark.slow
def test_beside_a_model_whose_pairs_stand_alone() -> None:
    alone, facts = hb.Model.parse(RULES), WORLD
    pairs = hb.read_pairs([*PAIRS, *(row[:3] for row in LABELS)])
    for one, other in ((alone, MODEL), (MODEL, alone)):
        both = open_rule_explorer(
            facts, one, other=other, labels=hb.read_labels(LABELS), pairs=pairs
        )
        assert both.other is not None
        found = compared_models(both, both.other, NO_EDITS, 4)
        scores = [model.predict(facts, pairs)["score"] for model in (one, other)]
        assert abs(found.links[0].change) == pytest.approx(np.abs(scores[0] - scores[1]).max())
        for figures, score in zip((found.figures_edited, found.figures_other), scores, strict=True):
            assert figures is not None
            truth = hb.read_labels(LABELS).truth
            assert figures.brier == pytest.approx(np.mean((score[len(PAIRS) :] - truth) ** 2))


@pytest.mark.slow
def test_what_is_refused() -> None:
    with pytest.raises(InputError, match=r"other\.psl: the model is collective.*`pairs`"):
        small_explorer(other=MODEL, pairs=None)
    with pytest.raises(InputError, match=r"model: the model is collective.*`pairs`"):
        open_rule_explorer(WORLD, MODEL, labels=hb.read_labels(LABELS))
    soft = hb.read_facts([("ann", "knows", "bob", 0.5)])
    with pytest.raises(InputError, match="round the facts"):
        open_rule_explorer(soft, MODEL, pairs=hb.read_pairs(PAIRS))


def test_pages_that_do_not_go_with_it(explorer: RuleExplorer) -> None:
    with serving(explorer) as client:
        flip = client.get("/flip?subject=ann&predicate=trusts&object=dora")
        assert flip.status == 400
        assert "The model is collective" in flip.body
        stranger = client.get("/link?subject=dora&predicate=trusts&object=bob")
        assert stranger.status == 400
        assert "is not among the pairs" in stranger.body
        nothing = client.get(f"/entity?name={quote(HOSTILE[1], safe='')}")
        assert nothing.status == 200
        assert "No listed pair names it" in nothing.body
        assert "ann" in client.get("/").body


@pytest.mark.slow
def test_who_waits_for_inference_holds_up_nobody(monkeypatch: pytest.MonkeyPatch) -> None:
    explorer = collective_explorer()
    release = threading.Event()
    original = CollectiveExplorer.reweighted

    def infer(self: CollectiveExplorer, edits: Edits) -> JointExplainer:
        assert release.wait(PATIENCE)
        return original(self, edits)

    monkeypatch.setattr(CollectiveExplorer, "reweighted", infer)
    assert explorer.is_ready(NO_EDITS)
    with serving(explorer) as client:
        replies: list[str] = []
        editor = Client(client.port)

        def edit() -> None:
            form = {"what": "weight", "rule": 0, "weight": "0.25"}
            replies.append(editor.post("/edit", form, hx_request="true").body)

        asking = threading.Thread(target=edit)
        asking.start()
        for _ in range(10):
            assert client.get("/rules").status == 200
            assert client.get("/entity?name=ann").status == 200
        assert not replies
        release.set()
        asking.join(PATIENCE)
        assert 'hx-swap-oob="innerHTML:#figures"' in replies[0]
        assert explorer.is_ready(NO_EDITS.with_weight(0, 0.25))
        assert "1 of 4 rules edited" in editor.get("/rules").body


@pytest.mark.slow
def test_states_that_were_let_go_are_inferred_again() -> None:
    explorer = collective_explorer()
    edits = [NO_EDITS.with_weight(0, weight) for weight in np.linspace(0.1, 1.0, 9).tolist()]
    first = [explorer.explain("ann", "trusts", "dora", edit).score for edit in edits]
    assert not explorer.is_ready(edits[0])
    assert explorer.is_ready(NO_EDITS)
    assert explorer.is_ready(edits[-1])
    again = [explorer.explain("ann", "trusts", "dora", edit).score for edit in edits]
    assert first == again


@given(world=worlds(max_facts=6), rules=MODELS, relaxation=RELAXATIONS, data=st.data())
@settings(max_examples=15, deadline=None)
def test_reasons_under_edits_are_those_of_a_model_with_such_weights(
    world: World, rules: list[Rule], relaxation: Relaxation, data: st.DataObject
) -> None:
    """Ground clauses are found once and weighed again; also those of a rule without weight."""
    rules[0] = Rule(data.draw(st.sampled_from([0.0, 0.7])), rules[0].clause)
    model = hb.Model(tuple(rules), Semantics(relaxation=relaxation, collective=MAP))
    explorer = open_rule_explorer(world.facts, model, pairs=world.targets, threads=1)
    edits = NO_EDITS
    for rule in data.draw(st.sets(st.integers(0, len(rules) - 1))):
        edits = edits.with_weight(rule, data.draw(st.sampled_from([0.0, 0.25, 2.0])))
    again = hb.Model(tuple(edits.scoring(model.rules)), model.semantics)
    subject, target, object_ = world.labels[0][0]
    found = explorer.explain(subject, target, object_, edits)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", HornbeamWarning)
        expected = again.explain(world.facts, (subject, target, object_), pairs=world.targets)
    assert found.score == pytest.approx(expected.score, abs=1e-9)
    mine, theirs = ({r.index: r for r in each.reasons} for each in (found, expected))
    assert mine.keys() == theirs.keys()
    for index, reason in mine.items():
        assert (reason.count, reason.weight) == (theirs[index].count, theirs[index].weight)
        assert reason.pull == pytest.approx(theirs[index].pull, abs=1e-9)


def test_two_steps_are_edited_and_explained() -> None:
    """Edits are to the second step; what the first one believes stays."""
    text = """# hornbeam: {"collective": "two-step"}
2: believed_t(A, C) -> !t(A, B)
0.5: t(A, B)
1: p(A, B) -> believed_t(A, B)
"""
    facts = hb.read_facts([("a", "p", "b")])
    pairs = hb.read_pairs([("a", "t", "b"), ("a", "t", "c")])
    explorer = open_rule_explorer(facts, hb.Model.parse(text), pairs=pairs, threads=1)
    edits = NO_EDITS.with_weight(0, 3.0)
    for one in (NO_EDITS, edits):
        again = hb.Model.parse(explorer.edited_text(one))
        expected = again.predict(facts, pairs, threads=1)["score"]
        np.testing.assert_array_equal(explorer.scores(one)[0], expected)
    explained = explorer.explain("a", "t", "c", edits)
    assert explained.alone == 0.5
    assert "believed_t" in str(explained.reasons[0].groundings[0])
