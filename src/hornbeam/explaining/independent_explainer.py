"""Explains independent pairs: scores without each rule, groundings, and facts that flip a decision.

Counts come from the engine that scores, groundings from a walk over the same graph, and every set
of facts that is reported to flip a decision has been verified by scoring without it.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from functools import cached_property, lru_cache
from itertools import chain, islice
from typing import ClassVar, Self

import numpy as np

from hornbeam.base.arrays import Floats, Ints
from hornbeam.base.progress import SILENT, Progress
from hornbeam.counting.engine import BodyCounter
from hornbeam.counting.memory.memory_engine import MemoryEngine
from hornbeam.counting.number_counts import ends_a_chain
from hornbeam.counting.snapshot_engine import SnapshotEngine
from hornbeam.counting.statistics import Statistics
from hornbeam.explaining.explanation import PATHS, ExplainedScore, Explanation
from hornbeam.explaining.flips import Flip, FlipStatus, Removals, growing_sets, smallest_flip
from hornbeam.explaining.grounding_finder import GroundingFinder
from hornbeam.explaining.known_scores import (
    KnownCounts,
    KnownScores,
    ScorePlace,
    known_counts,
)
from hornbeam.explaining.number_groundings import NumberGroundings
from hornbeam.explaining.reason import GroundedCondition, Grounding, Reason, parts_of
from hornbeam.explaining.scored_pair import ScoredPair, one_pair
from hornbeam.facts.reading.readers import Input, as_facts
from hornbeam.facts.table import Facts, Targets
from hornbeam.rules.body import AnyBody, Body, Part, body_texts
from hornbeam.rules.clause import Clause
from hornbeam.rules.rule_model import RuleModel
from hornbeam.rules.rule_words import Words, rule_words
from hornbeam.rules.weighing import Counts, Weighing
from hornbeam.scoring.independent_scores import score_targets

#: Maximum number of groundings for which the smallest set that flips a decision is searched for.
EXACT_PATHS = 10_000
#: Maximum number of sets of facts to score without until one flips the decision: only for counts of
#: a model without shares and fan-out limit is the search exact.
MAX_RESCORED = 12
#: Maximum number of rules whose texts are kept from pair to pair, and of targets with their rules.
KEPT_TEXTS = 10_000
#: An empty set of fact numbers.
NO_FACTS: Ints = np.empty(0, dtype=np.int64)


@dataclass(frozen=True, eq=False)
class IndependentExplainer:
    """Explains pairs of one model over one set of facts; see `Explainer`.

    Examples
    --------
    >>> import hornbeam as hb
    >>> facts = hb.read_facts([("a", "knows", "b"), ("b", "trusts", "c")])
    >>> model = hb.Model.parse("2.0: knows(A, B) & trusts(B, C) -> trusts(A, C)")
    >>> explainer = model.explainer(facts)
    >>> explanation = explainer.explain("a", "trusts", "c")
    >>> print(explanation.reasons[0].groundings[0])
    a -knows-> b -trusts-> c
    """

    model: RuleModel
    finder: GroundingFinder
    counter: BodyCounter
    known_counts: KnownCounts

    #: Whether facts are searched for that flip a decision.
    finds_flips: ClassVar[bool] = True

    @classmethod
    def of(cls, model: RuleModel, engine: MemoryEngine) -> IndependentExplainer:
        """Prepare what all pairs share."""
        known = known_counts(model, engine.facts, engine)
        return cls(model, GroundingFinder.of(model, engine), engine, known)

    def with_facts(self, new: Input) -> IndependentExplainer:
        """The same explainer over the facts and new ones; what was prepared moves along."""
        return IndependentExplainer.of(self.model, self.finder.engine.with_facts(as_facts(new)))

    def at(self, time: int) -> Self:
        """An explainer of what was known at another time, of a model over facts with a time."""
        engine = self.finder.engine
        assert isinstance(engine, SnapshotEngine)
        moved = engine.at(time)
        return replace(self, finder=replace(self.finder, engine=moved), counter=moved)

    @property
    def _finds_flips(self) -> bool:
        """Whether facts are searched for; not where the same fact was true at many times."""
        return self.finds_flips and self.model.semantics.time is None

    def reweighted(self, model: RuleModel) -> Self:
        """An explainer by the same rules with other weights, which shares all counts."""
        return replace(self, model=model)

    @property
    def facts(self) -> Facts:
        """The evidence."""
        return self.finder.facts

    @cached_property
    def known(self) -> KnownScores:
        """Scores of known links, among which a score has its place; computed on first use."""

        def scored(target: str) -> tuple[Floats, int]:
            counted, known = self.known_counts(target)
            return counted.scores(self.model.rules), known

        return KnownScores(scored)

    @cached_property
    def _rules_of(self) -> Callable[[str], tuple[RuleModel, list[int]]]:
        """The rules of a target and their numbers in the model, kept for the next pair."""

        @lru_cache(maxsize=KEPT_TEXTS)
        def rules_of(target: str) -> tuple[RuleModel, list[int]]:
            rules = enumerate(self.model.rules)
            index = [k for k, rule in rules if rule.clause.target == target]
            return self.model.of_target(target), index

        return rules_of

    @cached_property
    def _texts(self) -> Callable[[Clause], tuple[str, list[str]]]:
        """The text of a clause and the texts of its conditions, kept for the next pair."""

        @lru_cache(maxsize=KEPT_TEXTS)
        def texts_of(clause: Clause) -> tuple[str, list[str]]:
            texts = body_texts(clause.body, self.model.identifiers)
            if len(clause.body.parts) == 1:
                texts = [" & ".join(texts)]
            return self.model.clause_text(clause), texts

        return texts_of

    def _place(self, target: str, score: float) -> ScorePlace | None:
        return None if self.model.semantics.decides else self.known.place(target, score)

    def count(self, pairs: Targets, progress: Progress = SILENT) -> Statistics:
        """Count the groundings of every condition; no pair is evidence for itself."""
        return self.counter.count(pairs, self.model.bodies, self.model.language, progress=progress)

    def scores(self, pairs: Targets, counted: Statistics) -> Floats:
        """Score pairs whose groundings have been counted."""
        return score_targets(self.model, counted, pairs)

    def explain(
        self,
        subject: str,
        target: str,
        object_: str,
        *,
        paths: int = PATHS,
        flip: bool = True,
        progress: Progress = SILENT,
    ) -> Explanation:
        """Explain the score of target(subject, object).

        At most `paths` groundings are listed per condition, in the order of their entities' names.
        With `flip`, the smallest set of facts whose removal flips the decision is searched for.
        """
        alone = self.alone(subject, target, object_)
        model, index = self._rules_of(target)
        unary = model.target_arities.get(target) == 1
        pair = one_pair(subject, target, object_, unary=unary)
        counted = self.counter.count(pair, model.bodies, model.language, progress=progress)
        scored = ScoredPair(model, pair, counted)
        reasons = [
            Reason(
                index[place],
                self._texts(rule.clause)[0],
                rule.weight,
                scored.groundings_of(rule.clause.body),
                scored.pull(place),
                tuple(self._conditions(scored, rule.clause, paths, progress)),
                words=rule_words(rule.clause),
                log_odds=scored.log_odds(place),
                is_prior=rule.clause.is_prior,
            )
            for place, rule in scored.grounded_rules.items()
            if rule.weight > 0
        ]
        return Explanation(
            subject,
            target,
            object_,
            (ExplainedScore(scored.mean, parts_of(reasons)),),
            scored.map,
            self.model.semantics.threshold,
            self._flip(scored, target, progress) if flip and self._finds_flips else None,
            self.facts.entities.missing(dict.fromkeys([subject, object_])),
            alone,
            self._place(target, scored.mean),
            self.facts.has(subject, target, object_),
            unary,
        )

    def alone(self, subject: str, target: str, object_: str) -> float | None:
        """In a model of two steps, the belief of the first step about a pair."""
        return None

    def groundings(
        self, body: AnyBody, subject: str, object_: str, limit: int, progress: Progress = SILENT
    ) -> tuple[Grounding, ...]:
        """List the first groundings of every condition of a body; a prior has none."""
        return tuple(
            grounding
            for part in body.parts
            for grounding in self._named(part, subject, object_, limit, progress)
        )

    def _named(
        self, part: Part, subject: str, object_: str, limit: int, progress: Progress
    ) -> tuple[Grounding, ...]:
        """The first groundings of a condition; none where it needs no fact."""
        body, finder = part.body, self.finder
        is_numeric = finder.is_numeric(body)
        if is_numeric and not ends_a_chain(body):
            return NumberGroundings(self.facts, body, subject, object_).named(limit)
        if not body.steps:
            return ()
        found = finder.first(body, subject, object_, limit, progress)
        named = finder.named(found)
        return finder.with_numbers(body, found, named) if is_numeric else named

    def _conditions(
        self, scored: ScoredPair, clause: Clause, limit: int, progress: Progress
    ) -> Iterator[GroundedCondition]:
        """The conditions of a rule's body, with their groundings for the pair."""
        weighing = self.model.counts_of(clause)
        shares = weighing.counts is Counts.SHARE
        for part, text in zip(clause.body.parts, self._texts(clause)[1], strict=True):
            shown = shares or (part.threshold is not None and part.threshold.share)
            yield GroundedCondition(
                text,
                part.body.kind,
                part.body.argument,
                scored.count_of(part.body),
                self._named(part, *scored.names, limit, progress),
                scored.share_of(part.body) if shown else None,
                len(part.body.steps) + (part.body.number is not None and bool(part.body.steps)),
                self._values(part.body, scored, weighing),
            )

    def _values(self, body: Body, scored: ScoredPair, weighing: Weighing) -> Words:
        """The values of a condition on numbers, and what the rule asks for."""
        if body.number is None or body.steps:
            return ()
        return NumberGroundings(self.facts, body, *scored.names).words(weighing)

    def _flip(self, scored: ScoredPair, target: str, progress: Progress) -> Flip:
        """Search for the fewest facts that flip the decision, verified by scoring without them."""
        status, sets = self._sets_that_flip(scored, progress)
        # without facts, paths may appear and shares grow, so that another set may be smaller
        uncertain = self.finder.hides_facts or scored.model.shares
        for facts in islice(sets, MAX_RESCORED):
            after = self._score_without(scored, facts)
            if scored.flips(after):
                named = tuple(self.finder.numbers.named(fact) for fact in facts.tolist())
                if len(named) == 1:  # no set is smaller
                    status = FlipStatus.EXACT
                elif uncertain:
                    status = FlipStatus.UPPER_BOUND
                return Flip(status, named, after, self._place(target, after))
        lost = uncertain or status is not FlipStatus.IMPOSSIBLE
        place = self._place(target, scored.mean)
        return Flip(FlipStatus.NOT_FOUND if lost else status, (), scored.mean, place)

    def _sets_that_flip(
        self, scored: ScoredPair, progress: Progress
    ) -> tuple[FlipStatus, Iterator[Ints]]:
        """Sets of facts to remove; the status is that of the first.

        They consist of facts of all groundings, or, if these are too many, cut off whole rules.
        """
        if not scored.grounded_bodies:  # priors alone need no fact
            return FlipStatus.IMPOSSIBLE, iter(())
        if scored.monotone and not scored.flips(scored.without_bodies(scored.deciding_bodies)):
            return FlipStatus.IMPOSSIBLE, iter(())
        if sum(map(scored.count_of, scored.grounded_bodies)) > EXACT_PATHS:
            return FlipStatus.UPPER_BOUND, self._cuts(scored)
        removals, numbers = self._removals(scored, progress)
        status, chosen = smallest_flip(removals)
        if not chosen:
            return status, iter(())
        larger = (facts for facts, _ in growing_sets(removals, chosen))
        return status, (numbers[list(facts)] for facts in chain([chosen], larger))

    def _removals(self, scored: ScoredPair, progress: Progress) -> tuple[Removals, Ints]:
        """All groundings of the pair as arrays, and the numbers of their facts."""
        bodies, truths, paths, facts = list[Ints](), list[Ints](), list[Ints](), list[Ints]()
        n = 0
        for k, body in enumerate(scored.grounded_bodies):
            listed = self.finder.first(body, *scored.names, scored.count_of(body), progress)
            bodies.append(np.full(len(listed), k))
            truths.append(listed.truth.astype(np.int64))
            paths.append(np.repeat(n + np.arange(len(listed)), listed.facts.shape[1]))
            facts.append(listed.facts.reshape(-1))
            n += len(listed)
        numbers, fact = np.unique(np.concatenate(facts), return_inverse=True)
        # a fact that a path uses twice is listed once
        uses = np.unique(np.stack([fact, np.concatenate(paths)]), axis=1)
        removals = Removals(
            scored, np.concatenate(bodies), np.concatenate(truths), uses[0], uses[1], len(numbers)
        )
        return removals, numbers

    def _cuts(self, scored: ScoredPair) -> Iterator[Ints]:
        """Yield the facts that cut off the strongest conditions, once these may flip the decision.

        All paths are cut at the subject or at the object, whichever takes fewer facts; a condition
        that needs no fact cannot be cut.
        """
        bodies = sorted(
            (body for body in scored.deciding_bodies if body.steps),
            key=lambda body: -abs(scored.mean - scored.without_bodies([body])),
        )
        cuts = [NO_FACTS]
        for k, body in enumerate(bodies):
            cuts.append(self.finder.cut(body, *scored.names))
            if scored.flips(scored.without_bodies(bodies[: k + 1])):
                yield np.unique(np.concatenate(cuts))

    def _score_without(self, scored: ScoredPair, facts: Ints) -> float:
        """Score the pair in a world that lacks some facts."""
        reduced = self.finder.engine.over(self.finder.numbers.without(facts))
        counted = reduced.count(scored.pair, scored.model.bodies, scored.model.language)
        return float(score_targets(scored.model, counted, scored.pair)[0])
