"""What the trace says of candidates: which are kept, and why the others are not."""

from __future__ import annotations

from typing import Any

import pytest

import hornbeam as hb
from hornbeam.learning.registry import BUNDLED
from hornbeam.learning.trace import CandidateOutcome
from hornbeam.rules.body import Kind
from hornbeam.rules.clause import Clause

P, TWIN, AGAINST, NOISE = (f"{name}(A, B) -> t(A, B)" for name in ("p", "twin", "against", "noise"))

#: Why a learner gives a candidate no weight. A new learner adds a line here.
DROPPED = {
    "joint": "adds nothing to the rules that are kept",
    "boost": "no tree uses it, or the shortened model dropped it",
    "ppll": "weight 0 is best for it",
    "greedy": "gains too little in addition to the rules that are kept",
}


def world() -> tuple[hb.Facts, hb.Targets]:
    """40 true and 40 false pairs, of which each predicate knows some.

    `p` holds of most true pairs, `twin` of the very same, `against` of most false ones, and
    `noise` of as many true as false ones.
    """
    facts, labels = [], []
    for k in range(80):
        s, o, true = f"s{k}", f"o{k}", k % 2 == 0
        labels.append((s, "t", o, float(true)))
        known = k % 20 > 3  # 32 of the 40 pairs of either label
        names = (["p", "twin"] if true == known else []) + (["against"] if true != known else [])
        facts += [(s, name, o) for name in names]
        facts += [(s, "noise", o)] if k % 4 < 2 else []
    return hb.read_facts(facts), hb.read_labels(labels)


def learned(method: str, **options: Any) -> tuple[hb.Model, dict[str, CandidateOutcome]]:  # noqa: ANN401
    """A model, and what its trace says of every candidate."""
    language = hb.RuleLimits(max_length=1, min_coverage=1, bodies=(Kind.PATH,))
    model = hb.learn(*world(), method=method, language=language, **options)
    assert model.trace is not None
    return model, {row.clause: row for row in model.trace.candidates}


def weights_of(model: hb.Model, candidate: str) -> list[str]:
    """What is said of the rules that have a candidate for a body, or for a part of it."""
    said = []
    for rule in model.rules:
        side = " against the target" if rule.clause.negated else ""
        counted = f" {rule.clause.weighing}" if rule.clause.weighing else ""
        among = " in a conjunction" if len(rule.clause.body.parts) > 1 else ""
        bodies = [str(Clause(part.body)) for part in rule.clause.body.parts]
        said += [f"weight {rule.weight:.3g}{side}{counted}{among}"] * bodies.count(candidate)
    return said


def test_every_learner_is_in_this_suite() -> None:
    assert set(DROPPED) == {point.name for point in BUNDLED}


@pytest.mark.slow
@pytest.mark.parametrize("refit", [False, True])
@pytest.mark.parametrize("method", list(DROPPED))
def test_what_is_kept_is_what_has_a_rule_and_its_weight_is_told(method: str, refit: bool) -> None:
    model, rows = learned(method, refit=refit)
    assert set(rows) == {P, TWIN, AGAINST, NOISE}
    for candidate, row in rows.items():
        weights = weights_of(model, candidate)
        assert row.kept is bool(weights)
        if row.kept:
            assert row.outcome == " and ".join(weights)
    assert rows[P].kept
    if method != "boost":  # whose conjunctions may say a body several times
        assert rows[P].outcome.count("weight") == 1
        assert "against the target" not in rows[P].outcome


@pytest.mark.slow
@pytest.mark.parametrize("method", list(DROPPED))
def test_what_tells_nothing_is_dropped_for_the_learners_own_reason(method: str) -> None:
    _, rows = learned(method)
    assert not rows[NOISE].kept
    assert rows[NOISE].outcome == DROPPED[method]


def test_a_rule_against_the_target_is_said_to_be_one() -> None:
    _, rows = learned("ppll")
    assert rows[AGAINST].kept
    # of 40 pairs 8 are true: the root of 40 (1 / w - 1 / (exp(w) - 1) - 0.2) = w / 100
    assert rows[AGAINST].outcome == "weight 4.77 against the target"


@pytest.mark.slow
@pytest.mark.parametrize("method", list(DROPPED))
def test_twins_crowd_each_other_out_only_where_rules_are_weighed_together(method: str) -> None:
    _, rows = learned(method)
    if method == "ppll":
        assert rows[TWIN].kept
        assert rows[TWIN].outcome == rows[P].outcome
    else:
        assert not rows[TWIN].kept
        assert rows[TWIN].outcome == f"same counts on every pair as {P}"


@pytest.mark.parametrize("counts", ["raw", "exists"])
def test_twins_are_those_of_the_counts_in_use(counts: str) -> None:
    """Two ways for every pair that p connects: other counts, and the same where one is enough."""
    facts = [(s, "p", o) for k in range(20) for s, o in [(f"s{2 * k}", f"o{2 * k}")]]
    facts += [(s, "q", f"{s}{way}") for s, _, _ in facts for way in "xy"]
    facts += [(f"s{2 * k}{way}", "r", f"o{2 * k}") for k in range(20) for way in "xy"]
    labels = [(f"s{k}", "t", f"o{k}", float(k % 2 == 0)) for k in range(40)]
    model = hb.learn(
        hb.read_facts(facts), hb.read_labels(labels), method="greedy", counts=counts,
        language=hb.RuleLimits(max_length=2, min_coverage=1),
    )  # fmt: skip
    assert model.trace is not None
    rows = {row.clause: row.outcome for row in model.trace.candidates}
    two = "q(A, B) & r(B, C) -> t(A, C)"
    twins = rows[two] == f"same counts on every pair as {P}"
    assert twins == (counts == "exists")


def test_the_trace_tells_what_was_searched() -> None:
    model, rows = learned("ppll")
    assert model.trace is not None
    assert model.trace.method == "ppll"
    assert model.trace.language.min_coverage == 1
    figures = {k: (row.coverage, row.coverage_true, row.paths) for k, row in rows.items()}
    assert figures == {
        P: (40, 32, 40),
        TWIN: (40, 32, 40),
        AGAINST: (40, 8, 40),
        NOISE: (40, 20, 40),
    }
