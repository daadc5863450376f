"""Rules that are added up at once score and reach exactly what they do one by one."""

from __future__ import annotations

import numpy as np
import pytest

from hornbeam.counting.statistics import Statistics
from hornbeam.facts.names import Names
from hornbeam.facts.table import ONE, Targets
from hornbeam.rules.body import Body, Kind, Step
from hornbeam.rules.clause import Clause, prior
from hornbeam.rules.rule_model import Relaxation, Rule, RuleModel, Semantics
from hornbeam.rules.weighing import Counts, Weighing
from hornbeam.scoring.independent_scorer import score_targets
from hornbeam.scoring.proposals import grounded_for, pulls_up
from hornbeam.scoring.reach import leading
from hornbeam.serve.rule_columns import RuleColumns

BODIES = [
    *(Body((Step(name), Step(name, inverse=True)), "t") for name in "pqrsuv"),
    Body((Step("p"),), "t", Kind.OPEN, 0),
    Body((Step("p"),), "t", Kind.OPEN, 1),
]


def rules_of(weights: np.ndarray) -> list[Rule]:
    clauses = [Clause(body, negated=k % 3 == 1) for k, body in enumerate(BODIES)]
    return [Rule(float(w), clause)
            for w, clause in zip(weights, [*clauses, prior("t")], strict=True)]  # fmt: skip


def counted_at_random(rng: np.random.Generator, n_targets: int) -> Statistics:
    cells = np.flatnonzero(rng.random(len(BODIES) * n_targets) < 0.3)
    path, target = np.divmod(cells, max(n_targets, 1))
    truth, count = np.full(len(cells), ONE), rng.integers(1, 9, len(cells))
    return Statistics.of(BODIES, n_targets, path, target.astype(np.int32), truth, count)


@pytest.mark.parametrize("counts", [Counts.RAW, Counts.LOG, Counts.EXISTS])
@pytest.mark.parametrize("relaxation", list(Relaxation))
@pytest.mark.parametrize("n_targets", [0, 1, 60])
def test_they_say_what_rules_say_one_by_one(
    counts: Counts, relaxation: Relaxation, n_targets: int
) -> None:
    rng = np.random.default_rng(n_targets)
    semantics = Semantics(counts=counts, relaxation=relaxation)
    zeros = np.zeros(n_targets, dtype=np.int32)
    pairs = Targets(Names.of("a"), Names.of("t"), zeros, zeros, zeros)
    columns = RuleColumns.of(RuleModel(tuple(rules_of(np.ones(9))), semantics), BODIES)
    assert columns is not None
    for share_on in (1.0, 0.5, 0.0):
        weights = rng.random(9) * (rng.random(9) < share_on)
        model = RuleModel(tuple(rules_of(weights)), semantics)
        counted = counted_at_random(rng, n_targets)
        found = columns.scores(counted, weights)
        assert found.tolist() == score_targets(model, counted, pairs).tolist()
        pulling = [rule.clause.body for rule in model.rules if pulls_up(rule)]
        for near in (0, 1):
            expected = grounded_for(counted, leading(pulling, near))
            assert columns.grounded(counted, weights, near).tolist() == expected.tolist()


def test_where_only_conditions_on_the_start_are_on_they_lead_everywhere() -> None:
    weights = np.zeros(9)
    weights[6] = 1.0
    columns = RuleColumns.of(RuleModel(tuple(rules_of(weights))), BODIES)
    counted = counted_at_random(np.random.default_rng(3), 40)
    assert columns is not None
    expected = counted.target[counted.column(6)].tolist()
    assert columns.grounded(counted, weights, 0).tolist() == expected


def test_rules_of_other_forms_are_left_to_others() -> None:
    rules = rules_of(np.ones(9))
    weighed = Rule(1.0, Clause(BODIES[0], weighing=Weighing(Counts.LOG)))
    other = Rule(1.0, prior("u"))
    for some in (rules[::-1], [*rules, rules[0]], [weighed, *rules[1:]], [*rules, other]):
        model = RuleModel(tuple(some))
        assert RuleColumns.of(model, model.bodies) is None
