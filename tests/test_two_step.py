"""Collective models of two steps: learned where they pay, scored as their rules say."""

from __future__ import annotations

import warnings
from functools import cache

import numpy as np
import pytest

import hornbeam as hb
from hornbeam import two_step
from hornbeam.errors import HornbeamWarning, InputError
from hornbeam.facts.table import ONE
from hornbeam.learning.boost import Boost
from hornbeam.learning.greedy import Greedy
from hornbeam.learning.learner import Learner
from hornbeam.learning.ppll import Ppll
from hornbeam.learning.trace import Trace
from hornbeam.rules.body import Kind
from tests.support.recorded_progress import RecordedProgress

N = 100
PATHS = hb.RuleLimits(max_length=2, bodies=(Kind.PATH,))

pytestmark = pytest.mark.xdist_group("two_step")  # models are learned once for all


@cache
def world(seed: int, telling: bool = True) -> tuple[hb.Facts, hb.Targets]:
    """Every subject is asked with four objects, one of them right; links tell it half the time.

    Unless `telling`, which pair is right is up to nobody's subject.
    """
    rng = np.random.default_rng(seed)
    facts, labels = [("o0", "kind", "o1")], []
    for i in range(N):
        objects = rng.choice(30, 4, replace=False)
        right = rng.random(4) < 1 / 4 if not telling else np.arange(4) == 0
        for j, true in zip(objects, right, strict=True):
            if rng.random() < (0.95 if true else 0.4):
                facts.append((f"s{i}", "hint", f"o{j}"))
            labels.append((f"s{i}", "t", f"o{j}", float(true)))
    return hb.read_facts(facts), hb.read_labels(labels)


@cache
def learned(seed: int = 0, telling: bool = True, **settings: object) -> hb.Model:
    facts, labels = world(seed, telling)
    # with open conditions or shares a plain model would tell rivals by their hints
    given = {"collective": True, "language": PATHS, "counts": "exists", **settings}
    return hb.learn(facts, labels, **given)  # type: ignore[arg-type]


@pytest.mark.slow
def test_rivals_are_learned_where_they_tell() -> None:
    model, plain = learned(), learned(collective=False)
    assert model.trace is not None
    assert model.trace.second_step is not None
    assert model.trace.second_step.kept
    assert model.trace.second_step.gain > model.trace.second_step.standard_error > 0
    assert model.beliefs == plain.rules
    rivals = [rule for rule in model.rules if "believed_t(A, C)" in str(rule.clause)]
    assert rivals
    assert all(rule.clause.negated for rule in rivals)
    test = world(1)
    assert model.evaluate(*test).log_loss < plain.evaluate(*test).log_loss
    assert (model.evaluate(*test).auc_roc or 0) > (plain.evaluate(*test).auc_roc or 1) + 0.02
    again = hb.Model.parse(model.text)
    np.testing.assert_array_equal(again.predict(*test), model.predict(*test))
    assert Trace.from_dict(model.trace.as_dict()) == model.trace


@pytest.mark.slow
def test_the_second_step_reports_as_one_stage_from_its_beginning_to_its_end() -> None:
    progress = RecordedProgress()
    learned(progress=progress)
    second = [report for report in progress.reports if report[0] == two_step.SECOND_STEP]
    shares = [done / total for _, done, total in second]
    assert shares == sorted(shares)
    assert (shares[0], shares[-1]) == (0.0, 1.0)
    assert len(set(shares)) > 20


@pytest.mark.slow
def test_the_plain_model_is_returned_where_other_pairs_tell_nothing() -> None:
    model, plain = learned(telling=False), learned(telling=False, collective=False)
    assert model.trace is not None
    assert model.trace.second_step is not None
    assert not model.trace.second_step.kept
    assert "The model is the plain one" in model.trace.second_step.sentence
    assert model == plain
    assert model.text.partition("\n")[2] == plain.text.partition("\n")[2]  # but for the settings


@pytest.mark.slow
def test_neither_order_nor_names_of_pairs_matter() -> None:
    facts, labels = world(0)
    shuffled = labels.select(np.random.default_rng(0).permutation(len(labels)))
    one, other = (
        hb.learn(facts, some, collective=True, language=PATHS) for some in (labels, shuffled)
    )
    assert one.clause_texts == other.clause_texts
    for here, there in zip(one.rules, other.rules, strict=True):
        assert here.weight == pytest.approx(there.weight, abs=1e-6)


@pytest.mark.slow
@pytest.mark.parametrize(
    "learner", [Ppll(), Greedy(), Boost(trees=20, folds=2)], ids=lambda learner: learner.name
)
def test_the_first_step_may_be_any_learners(learner: Learner) -> None:
    model = learned(method=learner)  # type: ignore[arg-type]
    assert model.semantics.two_steps
    relaxation = model.semantics.relaxation
    plain = learned(method=learner, collective=False, relaxation=relaxation)  # type: ignore[arg-type]
    assert model.beliefs == plain.rules
    facts, labels = world(1)
    assert (model.evaluate(facts, labels).auc_roc or 0.0) > 0.75


@pytest.mark.slow
def test_with_cross_evidence_only_the_pairs_of_a_fold_are_asked_together() -> None:
    model = learned(cross_evidence=True)
    assert model.semantics.cross_evidence
    assert model.semantics.asked is not None
    assert model.semantics.asked.per_subject == 4.0
    assert model.semantics.asked.per_object < 4.0


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore:these pairs are not distributed as those of training")
def test_asked_only_counts_pairs_and_believes_in_all() -> None:
    rng = np.random.default_rng(0)
    facts, labels = [("o0", "kind", "o1")], []
    for i in range(80):  # of a subject that is asked often almost all pairs are true
        asked = int(rng.choice([2, 6]))
        for j in rng.choice(30, asked, replace=False):
            true = rng.random() < (0.9 if asked == 6 else 0.1)
            if rng.random() < (0.7 if true else 0.4):
                facts.append((f"s{i}", "hint", f"o{j}"))
            labels.append((f"s{i}", "t", f"o{j}", float(true)))
    model = hb.learn(facts, labels, language=PATHS, counts="log", collective="asked-only")
    assert [str(rule.clause) for rule in model.beliefs] == ["t(A, B)"]
    assert any("believed_t(A, C)" in str(rule.clause) for rule in model.rules)
    alone, among_all = model.predict(facts, labels[::2]), model.predict(facts, labels)
    assert np.all(among_all["score"][::2] > alone["score"]), "a pair more speaks for the others"


def test_what_the_second_step_is_held_against() -> None:
    # four pairs as asked, then copies without a quarter, half and three quarters of the true ones
    truth = np.array([1.0, 1.0, 0.0, 0.0])
    copies = [np.arange(4), np.array([0, 2, 3]), np.array([1, 2, 3]), np.array([0, 2, 3])]
    y, group = truth[np.concatenate(copies)], np.arange(4)
    plain, facts_only = np.full(4, 0.5), np.where(truth > 0, 0.6, 0.4)
    scores = np.where(y > 0, 0.8, 0.3)
    judged = two_step._held_out_gain(group, y, scores, plain, facts_only, copies)
    gains = np.log(np.where(truth > 0, 0.8 / 0.6, 0.7 / 0.6))
    assert judged.gain == pytest.approx(gains.mean())
    assert judged.standard_error == pytest.approx(gains.std(ddof=1) / np.sqrt(4))
    # where a share of the true pairs is left out the plain model's odds fall to what is left
    chances = [left / (left + 1) for left in (0.75, 0.5, 0.25)]
    fewer = [[np.log(0.8 / p), *[np.log(0.7 / (1 - p))] * 2] for p in chances]
    assert judged.gain_with_fewer == pytest.approx(np.mean(fewer))
    assert judged.kept
    misled = np.where(np.arange(len(y)) < 4, scores, 0.9)
    judged = two_step._held_out_gain(group, y, misled, plain, facts_only, copies)
    assert not judged.kept
    assert "where fewer true pairs are scored the plain model is better" in judged.sentence
    assert "The model is the plain one" in judged.sentence


TEXT = """# hornbeam: {"collective": "two-step"}
2: believed_t(A, C) -> !t(A, B)
1.5: p(A, B) & believed_t(B, C) -> t(A, C) [log]
0.5: t(A, B)
1: p(A, B) -> believed_t(A, B)
"""


def test_scores_by_hand() -> None:
    facts = hb.read_facts([("a", "p", "b")])
    pairs = hb.read_pairs([("a", "t", "b"), ("a", "t", "c"), ("b", "t", "c")])
    mean = 1 / (1 + np.exp(-1))  # of a with b; the others are believed to a half
    odds = [0.5 - 2 * 0.5, 0.5 - 2 * mean + 1.5 * np.log2(1.5), 0.5]
    found = hb.Model.parse(TEXT).predict(facts, pairs)
    np.testing.assert_allclose(found, 1 / (1 + np.exp(-np.array(odds))), atol=1e-6)


def test_explanations_name_other_pairs_with_their_beliefs() -> None:
    facts = hb.read_facts([("a", "p", "b")])
    pairs = hb.read_pairs([("a", "t", "b"), ("a", "t", "c"), ("b", "t", "c")])
    explained = hb.Model.parse(TEXT).explain(facts, ("a", "c"), pairs=pairs)
    assert explained.alone == 0.5
    assert "by its own facts it scores 0.5" in str(explained)
    assert "a -believed_t [0.731059]-> b" in str(explained)
    assert "a -p-> b -believed_t [0.5]-> c" in str(explained)
    assert explained.flip is None
    with pytest.raises(InputError, match="is not among the pairs"):
        hb.Model.parse(TEXT).explain(facts, ("b", "b"), pairs=pairs)


def test_pairs_that_are_facts_are_known_and_not_asked() -> None:
    facts = hb.read_facts([("a", "p", "b"), ("a", "t", "b")])
    pairs = hb.read_pairs([("a", "t", "b"), ("a", "t", "c")])
    found = np.asarray(hb.Model.parse(TEXT).predict(facts, pairs))
    np.testing.assert_allclose(np.log(found / (1 - found)), [0.5 - 2 * 0.5, 0.5], atol=1e-5)


def test_a_pair_of_a_symmetric_target_is_no_rival_of_its_mirror_image() -> None:
    model = hb.Model.parse(
        """# hornbeam: {"collective": "two-step"}
        2: believed_t(A, C) -> !t(A, B)
        2: believed_t(B, C) -> !t(A, B)
        1: p(A, B) -> believed_t(A, B)
        """
    )
    assert model.symmetric
    assert not hb.Model.parse(TEXT).symmetric
    facts = hb.read_facts([("a", "p", "b"), ("b", "p", "a"), ("a", "p", "c"), ("c", "p", "a")])
    pairs = hb.read_pairs([("a", "t", "b"), ("a", "t", "c"), ("b", "t", "a"), ("c", "t", "a")])
    found = np.asarray(model.predict(facts, pairs))
    # the one rival of each is the other unordered pair, at the same end
    np.testing.assert_allclose(found, 1 / (1 + np.exp(2 / (1 + np.exp(-1)))), atol=1e-6)
    explained = model.explain(facts, ("b", "a"), pairs=pairs)
    assert explained.score == pytest.approx(found[2])
    assert "a -believed_t [0.731059]-> c" in str(explained)


def test_pairs_that_are_asked_otherwise_are_warned_of() -> None:
    header = TEXT.splitlines()[0].replace(
        "}", ', "asked": {"per_subject": 4, "per_object": 20, "alone": 0}}'
    )
    model = hb.Model.parse("\n".join([header, *TEXT.splitlines()[1:]]))
    facts, labels = world(0)
    with warnings.catch_warnings():
        warnings.simplefilter("error", HornbeamWarning)
        facts = hb.read_facts([("s0", "p", "o1")])
        model.predict(facts, labels)
        model.predict(facts, labels.select(np.arange(4)))  # all pairs of one subject
    few = labels.select(np.flatnonzero(labels.millionths == ONE))
    with pytest.warns(HornbeamWarning, match=r"1 pairs per subject \(in training 4\)"):
        model.predict(facts, few)
    with pytest.warns(HornbeamWarning, match="100% of the pairs share no end with another"):
        model.predict(facts, labels.select(np.arange(1)))


def test_what_two_steps_do_not_take() -> None:
    facts, labels = world(0)
    with pytest.raises(InputError, match="Boolean targets, not squared"):
        hb.learn(facts, labels, collective=True, relaxation="squared")
    with pytest.raises(InputError, match="unknown `collective` 'twice'"):
        hb.learn(facts, labels, collective="twice")
    with pytest.raises(InputError, match="in memory"):
        hb.learn(facts, labels, collective=True, engine="duckdb")
