"""What scores depend on is said: priors that call pairs true, and sampled negatives."""

from __future__ import annotations

import pytest

import hornbeam as hb
from hornbeam.base.choices import Relaxation, Sampling
from hornbeam.explaining.known_scores import cautions
from hornbeam.learning.trace import Trace
from hornbeam.rules.clause import prior
from hornbeam.rules.rule_model import Rule, RuleModel, Semantics

FALSE, TRUE = prior("t"), prior("t", negated=False)


def trace(sampled: Sampling | None = None, negatives: int = 10) -> Trace:
    return Trace("joint", "log", 10 + negatives, 10, 1, (), {}, sampled_negatives=sampled)


def test_nothing_to_beware_of_is_nothing_said() -> None:
    assert cautions(RuleModel((Rule(1.0, FALSE),)), trace()) == []
    assert cautions(RuleModel((Rule(0.0, TRUE),))) == []


@pytest.mark.parametrize("relaxation", Relaxation)
def test_a_positive_prior_says_what_it_scores(relaxation: Relaxation) -> None:
    model = hb.Model((Rule(1.5, TRUE),), Semantics(relaxation=relaxation))
    [score] = model.predict(hb.read_facts([("a", "p", "b")]), hb.read_pairs([("a", "t", "b")]))[
        "score"
    ]
    [said] = cautions(model, trace(negatives=4))
    assert "The prior of t is positive (weight 1.5)" in said
    assert f"scores {score:.2f} and is called true" in said
    assert "14 pairs of which 10 are true" in said
    [untraced] = cautions(model)
    assert "of which" not in untraced
    strict = hb.Model(model.rules, Semantics(relaxation=relaxation, threshold=0.99))
    assert "is called false" in cautions(strict)[0]


def test_a_positive_prior_from_sampled_negatives_decides_nothing() -> None:
    prior_caution, sampling = cautions(
        RuleModel((Rule(1.5, TRUE),), Semantics(sampled_negatives="typed"))
    )
    assert "scores 0.82; only rules against it" in prior_caution
    assert sampling.startswith("False pairs were sampled (typed), and scores depend on that")


@pytest.mark.parametrize(
    ("sampling", "notes"), [("uniform", 2), ("typed", 1), ("frequency", 1), (None, 0)]
)
def test_sampled_negatives_set_the_scores(sampling: Sampling | None, notes: int) -> None:
    found = cautions(RuleModel((Rule(1.0, FALSE),)), trace(sampling, 25))
    assert len(found) == notes
    if found:
        assert f"sampled ({sampling}), 2.5 for every true one" in found[0]
    assert any("which types of entities" in one for one in found) == (sampling == "uniform")
