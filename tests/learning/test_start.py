"""Learning that begins with an earlier model: the same result with less work."""

from __future__ import annotations

import numpy as np
import pytest

import hornbeam as hb
from hornbeam.errors import InputError
from tests.support.synthetic import planted


@pytest.mark.parametrize("seed", [0, 1, 2])
def test_an_earlier_model_changes_nothing_but_the_work(seed: int) -> None:
    data = planted(n_entities=150, n_facts=1500, n_targets=400, seed=seed)
    some = data.labels.select(np.arange(len(data.labels)) % 20 > 0)
    yesterday = hb.learn(data.facts, some)
    plain = hb.learn(data.facts, data.labels)
    for earlier in (yesterday, plain, hb.Model.parse("1: p0(A, B) -> target(A, B)")):
        warm = hb.learn(data.facts, data.labels, start=earlier)
        assert warm.trace is not None
        assert plain.trace is not None
        found, expected = warm.trace.fit.choice, plain.trace.fit.choice
        assert found is not None
        assert expected is not None
        assert found.strength == expected.strength
        assert found.log_loss == pytest.approx(expected.log_loss, abs=1e-5)
        scores = [model.predict(data.facts, data.labels)["score"] for model in (warm, plain)]
        np.testing.assert_allclose(np.asarray(scores[0]), np.asarray(scores[1]), rtol=0, atol=1e-3)
        assert warm.provenance is not None
        assert plain.provenance is not None
        assert warm.provenance.settings == plain.provenance.settings


def test_an_earlier_model_is_forgotten_where_labels_are_random() -> None:
    data = planted(n_entities=60, n_facts=400, n_targets=150, seed=3)
    truth = np.random.default_rng(0).integers(0, 2, len(data.labels)).tolist()
    labels = [(*row[:3], label) for row, label in zip(data.labels, truth, strict=True)]
    earlier = hb.Model.parse("1: p0(A, B) -> target(A, B)\n1: p1(A, B) -> target(A, B)")
    learner = hb.Joint(max_rules=1)
    plain = hb.learn(data.facts, labels, method=learner)
    warm = hb.learn(data.facts, labels, method=learner, start=earlier)
    assert len(plain.rules) == 1
    assert [str(rule.clause) for rule in warm.rules] == [str(rule.clause) for rule in plain.rules]


def test_only_joint_begins_with_an_earlier_model() -> None:
    data = planted(n_entities=50, n_facts=200, n_targets=60, seed=1)
    earlier = hb.Model.parse("1: p0(A, B) -> target(A, B)")
    with pytest.raises(InputError, match='`start` is for `method="joint"`'):
        hb.learn(data.facts, data.labels, method="boost", start=earlier)
