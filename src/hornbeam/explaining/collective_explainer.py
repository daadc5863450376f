"""Explanations of collective models, in which pairs are evidence for each other.

In a recursive model all pairs are inferred together first. Then a pair is explained with the others
held at their MAP values: every ground clause that has the pair in it is a hinge in its truth value,
and a rule's pull is the score less the score without that rule's hinges. Other pairs are part of
paths like facts, with their MAP values as truth values.

In a model of two steps, evidence from other pairs is among the groundings, as atoms
`believed_t(a, b)` whose truth values are the beliefs of the first step.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import cache, cached_property
from typing import ClassVar

import numpy as np

from hornbeam.base.arrays import Bools, Floats, Ints, Positions
from hornbeam.base.choices import Score
from hornbeam.base.progress import SILENT, Progress
from hornbeam.counting.collective.believed_pairs import BelievedPairs
from hornbeam.counting.memory.memory_engine import MemoryEngine
from hornbeam.counting.statistics import Statistics
from hornbeam.errors import InputError
from hornbeam.explaining.explanation import PATHS, ExplainedScore, Explanation
from hornbeam.explaining.grounding_finder import FoundGroundings, GroundingFinder
from hornbeam.explaining.independent_explainer import IndependentExplainer
from hornbeam.explaining.known_scores import KnownScores, compared_links, known_counts
from hornbeam.explaining.reason import Fact, GroundedCondition, Grounding, Reason, parts_of
from hornbeam.explaining.scored_pair import one_pair
from hornbeam.facts.known import joined
from hornbeam.facts.reading.readers import Input, as_facts
from hornbeam.facts.table import ONE, Facts, Targets
from hornbeam.hlmrf.potentials import ConditionalHinges, Potentials
from hornbeam.rules.body import AnyBody, Body, Kind, body_texts
from hornbeam.rules.clause import Clause
from hornbeam.rules.rule_model import RuleModel
from hornbeam.rules.rule_words import rule_words
from hornbeam.scoring.collective_scorer import (
    CollectiveState,
    as_variables,
    conditional_means,
    infer_linked,
)
from hornbeam.scoring.linked_clauses import CollectivePairGraph, weighted
from hornbeam.scoring.model_checks import collective_path
from hornbeam.scoring.scored_links import first_step_beliefs, warn_of_other_pairs

#: Truth values below half a millionth count as 0.
MIN_TRUTH = 0.5 / ONE


@dataclass(frozen=True, eq=False)
class CollectiveExplainer:
    """Explains pairs of a collective model that are scored together; see `Explainer`."""

    model: RuleModel
    facts: Facts
    linked: CollectivePairGraph
    #: The ground clauses with several pairs, per rule; their weights are not used.
    clause_counts: Callable[[], Potentials]

    @classmethod
    def of(cls, model: RuleModel, engine: MemoryEngine, pairs: Targets) -> CollectiveExplainer:
        """Prepare to explain pairs that are inferred together."""
        linked = as_variables(model, engine, pairs)
        return cls(model, engine.facts, linked, cache(lambda: linked.count_by_rule(model)))

    def with_facts(self, new: Input) -> CollectiveExplainer:
        """The same explainer of the same pairs over the facts and new ones."""
        engine = self.linked.known.over(self.facts + as_facts(new))
        return CollectiveExplainer.of(self.model, engine, self.linked.atoms)

    def reweighted(self, model: RuleModel) -> CollectiveExplainer:
        """The same pairs under other weights of the same rules."""
        return replace(self, model=model)

    @cached_property
    def state(self) -> CollectiveState:
        """The MAP values of all pairs, as in predictions."""
        return infer_linked(self.model, self.linked)

    @cached_property
    def _links(self) -> Potentials:
        return weighted(self.clause_counts(), self.model)

    @cached_property
    def _conditional(self) -> ConditionalHinges:
        return replace(self.state, potentials=self._links).conditional_hinges()

    @cached_property
    def _map(self) -> Floats:
        return self.state.scores(Score.MAP)

    @cached_property
    def path_explainer(self) -> IndependentExplainer:
        """Explainer over the facts and the pairs, whose truth values are their MAP values."""
        evidence = self.linked.at_values(self.state.state)
        return IndependentExplainer.of(self.model, self.linked.known.over(evidence))

    @cached_property
    def known(self) -> KnownScores:
        """Scores of known links, each as if it were one more pair.

        To other pairs a link among the facts is true in any case, so their states stay.
        """

        def scored(target: str) -> tuple[Floats, int]:
            linked = self.linked
            links, total = compared_links(self.facts, target)
            pairs = joined([linked.atoms, links])
            variables = as_variables(self.model, linked.known.over(self.facts), pairs)
            return infer_linked(self.model, variables).scores()[len(linked.atoms) :], total

        return KnownScores(scored)

    @property
    def pair_scores(self) -> Floats:
        """Scores of all pairs, in their order."""
        return self.state.scores()

    def count(self, pairs: Targets, progress: Progress = SILENT) -> Statistics:
        """Count the paths of every rule over facts and pairs; none is evidence for itself."""
        return self.path_explainer.count(pairs, progress)

    def scores(self, pairs: Targets, counted: Statistics) -> Floats:
        """Score the pairs, which must be those that are inferred together."""
        return self.state.scores()

    def groundings(
        self, body: AnyBody, subject: str, object_: str, limit: int, progress: Progress = SILENT
    ) -> tuple[Grounding, ...]:
        """List the first paths of a body over facts and other pairs."""
        return self.path_explainer.groundings(body, subject, object_, limit, progress)

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
        """Explain the score of target(subject, object), the other pairs held at their MAP values.

        `flip` is ignored: removing a fact would change the scores of all pairs.
        """
        variable = self.linked.atoms.row_of(subject, target, object_)
        if variable is None:
            raise _not_among_pairs(subject, target, object_)
        literals = self._literals(variable)
        pair = one_pair(subject, target, object_)
        of_rule, clauses, hinges = self._hinges(literals, pair)
        rules = np.unique(of_rule)
        # the score by all rules, then without each of them
        kept = np.vstack([np.ones((1, len(of_rule)), np.bool_), of_rule != rules[:, np.newaxis]])
        whole, *without = self._means(hinges, kept)
        reasons = []
        for k, score in zip(rules.tolist(), without, strict=True):
            rule, count = self.model.rules[k], int(clauses[of_rule == k].sum())
            reasons.append(
                Reason(
                    k,
                    self.model.clause_text(rule.clause),
                    rule.weight,
                    count,
                    whole - score,
                    self._conditions(rule.clause, count, pair, paths, progress),
                    self._linked_pairs(k, variable, literals, paths),
                    rule_words(rule.clause),
                    is_prior=rule.clause.is_prior,
                )
            )
        at = int(np.flatnonzero(self.linked.place == variable)[0])
        return Explanation(
            subject,
            target,
            object_,
            (ExplainedScore(whole, parts_of(reasons)),),
            float(self._map[at]),
            self.model.semantics.threshold,
            unseen=self.path_explainer.facts.entities.missing([subject, object_]),
            place=None if self.model.semantics.decides else self.known.place(target, whole),
            is_fact=self.facts.has(subject, target, object_),
        )

    def _conditions(
        self,
        clause: Clause,
        count: int,
        pair: Targets,
        paths: int,
        progress: Progress,
    ) -> tuple[GroundedCondition, ...]:
        """The path of a rule, with its first groundings; empty for a prior.

        A rule for another target may count too, if this pair is in its body.
        """
        if clause.is_prior:
            return ()
        named: tuple[Grounding, ...] = ()
        subject, target, object_ = pair.names_at(0)
        if clause.target == target:
            named = self.groundings(clause.body, subject, object_, paths, progress)
        text = " & ".join(body_texts(clause.body, self.model.identifiers))
        return (GroundedCondition(text, Kind.PATH, 0, count, named, steps=len(clause.body)),)

    def _hinges(self, literals: Positions, pair: Targets) -> tuple[Ints, Ints, ConditionalHinges]:
        """Hinges of all ground clauses with the pair: over facts alone, or with other pairs.

        Before them the rule of each, and its number of ground clauses.
        """
        model, rows, every = self.model, self._links, self._conditional
        counted = self.linked.known.count(pair, model.bodies, model.language)
        count = _unlinked_counts(model, counted, pair.predicates[0])
        weight = np.array([rule.weight for rule in model.rules])
        negated = np.array([rule.clause.negated for rule in model.rules])
        unlinked, row = np.flatnonzero((count > 0) & (weight > 0)), rows.row[literals]
        hinges = ConditionalHinges(
            np.zeros(len(unlinked) + len(row), dtype=np.int32),
            np.concatenate([np.ones(len(unlinked)), every.height[literals]]),
            np.concatenate([negated[unlinked], every.down[literals]]),
            np.concatenate([weight[unlinked] * count[unlinked], every.strength[literals]]),
        )
        clauses = np.concatenate(
            [count[unlinked], self.clause_counts().weight[row].astype(np.int64)]
        )
        return np.concatenate([unlinked, rows.rule[row]]), clauses, hinges

    def _literals(self, variable: int) -> Positions:
        """Literals of a pair in ground clauses with other pairs whose hinges are not empty."""
        every = self._conditional
        of_pair = np.flatnonzero(self._links.variable == variable)
        return of_pair[(every.height[of_pair] > MIN_TRUTH) & (every.strength[of_pair] > 0)]

    def _means(self, hinges: ConditionalHinges, kept: Bools) -> list[float]:
        """E[y] of one pair by some of its hinges, per row of `kept`; 0.5 by none."""
        row, at = np.nonzero(kept)
        _, height, down, strength = hinges
        chosen = ConditionalHinges(row.astype(np.int32), height[at], down[at], strength[at])
        means = conditional_means(chosen, len(kept), self.model.semantics.relaxation)
        return [float(mean) for mean in means]

    def _linked_pairs(
        self, rule: int, variable: int, literals: Positions, limit: int
    ) -> tuple[Fact, ...]:
        """Other pairs, by name, of the ground clauses of a rule that lower this pair's score."""
        rows, atoms = self._links, self.linked.atoms
        row = rows.row[literals[rows.coefficient[literals] > 0]]
        clauses = [
            rows.variable[rows.indptr[r] : rows.indptr[r + 1]] for r in row if rows.rule[r] == rule
        ]
        others = np.unique(np.concatenate([np.empty(0, dtype=np.int32), *clauses]))
        others = others[others != variable]
        order = np.lexsort((atoms.object[others], atoms.subject[others]))
        return tuple(
            Fact(*atoms.names_at(v), float(self.state.state[v]))
            for v in others[order][:limit].tolist()
        )


def _unlinked_counts(model: RuleModel, counted: Statistics, target: str) -> Ints:
    """Number of ground clauses per rule over facts alone whose head is the pair."""
    by_body = {
        body: int(counted.count[counted.column(k)].sum()) for k, body in enumerate(counted.bodies)
    }
    paths = [collective_path(rule.clause) for rule in model.rules]
    return np.array(
        [by_body.get(path, int(path.target == target)) for path in paths], dtype=np.int64
    )


# --- models of two steps --------------------------------------------------------------------------


@dataclass(frozen=True, eq=False)
class TwoStepExplainer(IndependentExplainer):
    """Explains pairs as an independent explainer does, over facts and beliefs in other pairs.

    No facts are searched for that flip a decision: without a fact, other beliefs change.
    """

    finds_flips: ClassVar[bool] = False

    beliefs: BelievedPairs
    #: Counts of the rules' bodies for all pairs, which do not depend on weights.
    pair_counts: Callable[[], Statistics]

    @classmethod
    def of_pairs(cls, model: RuleModel, engine: MemoryEngine, pairs: Targets) -> TwoStepExplainer:
        """Prepare to explain pairs that are scored together."""
        warn_of_other_pairs(model, pairs)
        beliefs, semantics = first_step_beliefs(model, engine, pairs), model.semantics
        finder = BeliefFinder(
            beliefs.over_beliefs, semantics.max_fanout, semantics.distinct_variables, beliefs
        )
        known = known_counts(model, engine.facts, beliefs)
        counted = cache(lambda: beliefs.count(pairs, model.bodies, model.language))
        return cls(model, finder, beliefs, known, beliefs, counted)

    def with_facts(self, new: Input) -> TwoStepExplainer:
        """The same explainer of the same pairs over the facts and new ones."""
        engine = self.beliefs.engine.with_facts(as_facts(new))
        return TwoStepExplainer.of_pairs(self.model, engine, self.beliefs.pairs)

    @property
    def facts(self) -> Facts:
        """The evidence, without beliefs."""
        return self.beliefs.facts

    @property
    def pair_scores(self) -> Floats:
        """Scores of all pairs, in their order."""
        return self.scores(self.beliefs.pairs, self.pair_counts())

    def alone(self, subject: str, target: str, object_: str) -> float:
        """The belief of the first step about a pair."""
        belief = self.beliefs.belief_of(subject, target, object_)
        if belief is None:
            raise _not_among_pairs(subject, target, object_)
        return belief


@dataclass(frozen=True, eq=False)
class BeliefFinder(GroundingFinder):
    """Finds groundings over facts and beliefs, those of a pair without its own atom."""

    beliefs: BelievedPairs

    def first(
        self, body: Body, subject: str, object_: str, limit: int, progress: Progress = SILENT
    ) -> FoundGroundings:
        """The first groundings of a body; see `GroundingFinder.first`."""
        unary = body.head_arity == 1
        pair = one_pair(subject, body.target, object_, unary=unary)
        pair = self.beliefs.in_scored_direction(pair)
        subject, target, object_ = pair.names_at(0)
        own = self.beliefs.own_predicate(subject, target, object_)
        return super().first(body.with_target(own), subject, object_, limit, progress)


def _not_among_pairs(subject: str, target: str, object_: str) -> InputError:
    """The error for a pair that is not among those of a collective model."""
    ends = ", ".join(map(repr, dict.fromkeys([subject, object_])))
    return InputError(
        f"{target}({ends}) is not among the pairs; a collective model "
        "scores the pairs that it is given together: add it to them"
    )
