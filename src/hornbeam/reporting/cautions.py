"""Caveats for readers of scores: for `learn`, the report, the explorer.

A model learns the odds of its training pairs. Where most of these were true, or the false ones were
sampled, scores depend on that and must be read accordingly.
"""

from __future__ import annotations

from hornbeam.densities.integrals import score_mean
from hornbeam.learning.trace import Trace
from hornbeam.rules.rule_model import RuleModel


def cautions(model: RuleModel, trace: Trace | None = None) -> list[str]:
    """Sentences about priors, sampled negatives and beliefs; none where there is no caveat."""
    second = [] if trace is None or trace.second_step is None else [trace.second_step.sentence]
    return [*_positive_priors(model, trace), *_sampled(model, trace), *second]


def _positive_priors(model: RuleModel, trace: Trace | None) -> list[str]:
    """Caveat: without evidence such a model calls a pair true, or scores it high."""
    found = []
    for rule in model.rules:
        if not rule.clause.is_prior or rule.clause.negated or rule.weight == 0.0:
            continue
        score = float(score_mean([rule.weight], [0.0], model.semantics.relaxation)[0])
        shown = "" if trace is None else (
            f" It learned from {trace.targets:,} pairs of which {trace.positives:,} are true."
        )  # fmt: skip
        called = ""
        if model.semantics.decides:
            called = f" and is called {'true' if score >= model.semantics.threshold else 'false'}"
        found.append(
            f"The prior of {rule.clause.target} is positive (weight {rule.weight:.3g}): a pair "
            f"without groundings of other rules scores {score:.2f}{called}; only "
            f"rules against it can lower that.{shown} Scores hold for pairs chosen like those of "
            "training, not for any two entities."
        )
    return found


def _sampled(model: RuleModel, trace: Trace | None) -> list[str]:
    """Caveat: scores depend on the number of negatives, and rules on how they were sampled."""
    sampling = model.semantics.sampled_negatives or (trace and trace.sampled_negatives)
    if sampling is None:
        return []
    ratio = ""
    if trace is not None:
        ratio = f", {(trace.targets - trace.positives) / trace.positives:.3g} for every true one"
    found = [
        f"False pairs were sampled ({sampling}){ratio}, and scores depend on that: with ten times "
        "as many, what now scores 0.5 would score about 0.1. Read scores as an order of pairs, not "
        "as the share of them that is true."
    ]
    if sampling == "uniform":
        found.append(
            "They were drawn uniformly: most are not even of the right type, so that rules learn "
            "which types of entities go together, and figures on such pairs are optimistic. "
            "Typed sampling leaves the types out."
        )
    return found
