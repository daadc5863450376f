"""What readers of scores are told: their place among known links, and cautions.

A model learns the odds of its training pairs. Where most of these were true, or the false ones were
sampled, scores depend on that and must be read accordingly.

Where negatives were sampled, the prior and with it every score depends on how many there were, so
no threshold says which pairs are true. A score has its place among those of known links instead:
the true facts of the target, each scored by the same rules and, as in learning, without its own
fact as evidence.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from functools import cache
from typing import Any, NamedTuple

import numpy as np

from hornbeam.base.arrays import Floats
from hornbeam.counting.engine import BodyCounter
from hornbeam.densities.integrals import score_mean
from hornbeam.facts.known import known_links
from hornbeam.facts.table import Facts, Targets
from hornbeam.graph.link_hashes import COMPARING, LinkHash
from hornbeam.learning.trace import Trace
from hornbeam.rules.rule_model import RuleModel
from hornbeam.scoring.independent_scores import CachedCounts, RuleLayout

#: What readers of such scores are told once per page or text.
CAUTION = (
    "Negatives were sampled when this model was learned, so a score is not a probability: it is "
    "shown with its place among the scores of known links, each without its own fact as evidence."
)
#: Maximum number of known links that are compared.
MAX_COMPARED = 1_000
#: Number of compared links from which their share is shown in percent.
MIN_PERCENT = 100
#: Counts of a target's compared links, and the number of its known links.
KnownCounts = Callable[[str], tuple[CachedCounts, int]]
#: Scores closer than this are equal: engines round sums of shares differently.
TIE = 1e-9


@dataclass(frozen=True)
class ScorePlace:
    """The place of a score among those of known links.

    Of the `compared` links, all `known` ones of the target or a sample of them, `lower` have a
    lower score.

    Examples
    --------
    >>> ScorePlace(756, 812, 812).words
    'higher than 93 % of the 812 known links'
    >>> ScorePlace(756, 1000, 54321).words
    'higher than 75 % of 1,000 of the 54,321 known links'
    >>> ScorePlace(14, 15, 15).words, ScorePlace(14, 15, 15).short
    ('higher than 14 of the 15 known links', 'higher than 14 of 15')
    """

    lower: int
    compared: int
    known: int

    @property
    def share(self) -> float | None:
        """Share of the compared links that have a lower score; None where no link is known."""
        return self.lower / self.compared if self.compared else None

    @property
    def words(self) -> str:
        """The place as it continues a sentence about the score."""
        if not self.known:
            return "with no known link to compare it with"
        if self.known == 1:
            return f"{'' if self.lower else 'not '}higher than the only known link"
        every = f"the {self.known:,} known links"
        if self.compared < self.known:
            every = f"{self.compared:,} of {every}"
        return f"higher than {self._amount} of {every}"

    @property
    def short(self) -> str:
        """The place for a cell of a table."""
        if not self.known:
            return "no known link"
        total = f" of {self.compared:,}" if self._amount.isdigit() else ""
        return f"higher than {self._amount}{total}"

    @property
    def _amount(self) -> str:
        """How many links score lower: percent, rounded down, where that says enough."""
        if self.lower in (0, self.compared):
            return "all" if self.lower else "none"
        if self.compared < MIN_PERCENT or 100 * self.lower < self.compared:
            return str(self.lower)
        return f"{100 * self.lower // self.compared} %"

    def as_dict(self) -> dict[str, Any]:
        """For JSON."""
        return {
            "lower": self.lower,
            "compared": self.compared,
            "known": self.known,
            "share": self.share,
            "words": self.words,
        }


class KnownLinks(NamedTuple):
    """The known links of a target that are compared, and the number of all."""

    pairs: Targets
    total: int


def compared_links(facts: Facts, target: str) -> KnownLinks:
    """The known links of a target, or a sample by hashes of their ids."""
    links = known_links(facts, [target]).only([target])
    hashes = LinkHash.of(0, COMPARING, facts.predicates.index(target) + 1)
    chosen = hashes.sample(links.subject, links.object, MAX_COMPARED)
    return KnownLinks(links.select(chosen), len(links))


@dataclass(frozen=True, eq=False)
class KnownScores:
    """Scores of known links under the weights of one model.

    `scored` returns the scores of a target's compared links and the number of its known links; it
    is called once per target.
    """

    scored: Callable[[str], tuple[Floats, int]]
    _by_target: dict[str, tuple[Floats, int]] = field(default_factory=dict, init=False, repr=False)

    def place(self, target: str, score: float) -> ScorePlace:
        """The place of a score of a pair of the target."""
        if target not in self._by_target:
            scores, known = self.scored(target)
            self._by_target[target] = np.sort(scores), known
        scores, known = self._by_target[target]
        return ScorePlace(int(np.searchsorted(scores, score - TIE)), len(scores), known)


def known_counts(model: RuleModel, facts: Facts, counter: BodyCounter) -> KnownCounts:
    """Counts of known links by target, each counted at first use; weights are not used."""

    @cache
    def counted(target: str) -> tuple[CachedCounts, int]:
        pairs, known = compared_links(facts, target)
        statistics = counter.count(pairs, model.bodies, model.language)
        layout = RuleLayout.of(model, statistics.bodies)
        return CachedCounts(model, layout, statistics, pairs), known

    return counted


# --- cautions -------------------------------------------------------------------------------------


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
        one, many, others = "a pair", "pairs", "any two entities"
        if rule.clause.body.head_arity == 1:
            one, many, others = "an entity", "entities", "all entities"
        found.append(
            f"The prior of {rule.clause.target} is positive (weight {rule.weight:.3g}): {one} "
            f"without groundings of other rules scores {score:.2f}{called}; only "
            f"rules against it can lower that.{shown} Scores hold for {many} chosen like those of "
            f"training, not for {others}."
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
