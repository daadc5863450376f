"""Explains independent pairs: scores without each rule, names paths, looks for what would flip.

Counts come from the engine that scores, paths from a walk over the same graph, and every set of
facts that is said to flip a decision has been taken away and the pair scored again.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from hornbeam.arrays import Floats, Ints
from hornbeam.counting.engine import PathCounter
from hornbeam.counting.memory.graph import Graph
from hornbeam.counting.memory.memory_engine import MemoryEngine
from hornbeam.counting.statistics import Statistics
from hornbeam.explaining.counterfactual import Removals
from hornbeam.explaining.explanation import PATHS, Explanation, Fact, Flip, Grounding, Reason
from hornbeam.explaining.flips import FlipStatus, smallest_flip
from hornbeam.explaining.groundings import PathEnds, Paths, cut, first_paths
from hornbeam.explaining.scored_pair import ScoredPair, one_pair
from hornbeam.facts.folds import without_targets
from hornbeam.facts.table import ONE, Facts, Targets
from hornbeam.progress import SILENT, Progress
from hornbeam.rules.body import Body
from hornbeam.rules.codes import step_code
from hornbeam.rules.rule_model import RuleModel
from hornbeam.scoring.independent_scorer import score_targets

#: Paths up to which the smallest set of facts that flips a decision is looked for.
EXACT_PATHS = 10_000
#: Facts as rows (predicate, subject, object) of ids.
NO_EDGES: Ints = np.empty((0, 3), dtype=np.int64)


@dataclass(frozen=True, eq=False)
class IndependentExplainer:
    """Explains pairs of one model over one set of facts; see `Explainer`.

    Parameters
    ----------
    model
        The rules.
    facts
        The evidence: what the rules walk.
    counter
        Counts paths over the facts.
    graph
        What may be walked, under the model's fan-out limit.
    texts
        Text of every rule.
    threads
        Worker threads of the counting; they change no result.

    Examples
    --------
    >>> import hornbeam as hb
    >>> facts = hb.read_facts([("a", "knows", "b"), ("b", "trusts", "c")])
    >>> model = hb.Model.parse("2.0: knows(A, B) & trusts(B, C) -> trusts(A, C)")
    >>> explainer = IndependentExplainer.of(model, facts)
    >>> explanation = explainer.explain("a", "trusts", "c")
    >>> print(explanation.reasons[0].groundings[0])
    a -knows-> b -trusts-> c
    """

    model: RuleModel
    facts: Facts
    counter: PathCounter
    graph: Graph
    texts: Sequence[str]
    threads: int = 1

    @classmethod
    def of(cls, model: RuleModel, facts: Facts, threads: int = 1) -> IndependentExplainer:
        """Prepare what all pairs share."""
        engine, limit = MemoryEngine(facts, threads), model.semantics.max_fanout
        graph = engine.graph if limit is None else engine.graph.limited(limit)
        return cls(model, facts, engine, graph, model.clause_texts, threads)

    def count(self, pairs: Targets, progress: Progress = SILENT) -> Statistics:
        """Count the paths of every rule."""
        return self.counter.count(pairs, self.model.bodies, self.model.language, progress=progress)

    def scores(self, pairs: Targets, counted: Statistics) -> Floats:
        """Score pairs whose paths have been counted."""
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
        """Explain the score of target(subject, object); see `Explainer.explain`."""
        index = [k for k, rule in enumerate(self.model.rules) if rule.clause.target == target]
        mine, pair = self.model.of_target(target), one_pair(subject, target, object_)
        counted = self.counter.count(pair, mine.bodies, mine.language, progress=progress)
        scored = ScoredPair(mine, pair, counted)
        reasons = [
            Reason(
                index[place],
                self.texts[index[place]],
                rule.weight,
                scored.groundings_of(rule.clause.body),
                scored.pull(place),
                self.groundings(rule.clause.body, subject, object_, paths, progress),
            )
            for place, rule in scored.grounded_rules.items()
            if rule.weight > 0
        ]
        known = self.facts.entities
        return Explanation(
            subject,
            target,
            object_,
            scored.mean,
            scored.map,
            self.model.semantics.threshold,
            tuple(sorted(reasons, key=lambda reason: (-abs(reason.pull), reason.index))),
            self._flip(scored, progress) if flip else None,
            tuple(name for name in dict.fromkeys([subject, object_]) if known.index(name) < 0),
        )

    def groundings(
        self, body: Body, subject: str, object_: str, limit: int, progress: Progress = SILENT
    ) -> tuple[Grounding, ...]:
        """Name the first paths of a body; both entities must be known. A prior's has none."""
        if not body.steps:
            return ()
        found = self.paths(body, subject, object_, limit, progress)
        edges = [found.edges(k) for k in range(len(found.steps))]
        return tuple(
            Grounding(
                tuple(self.facts.entities.take(found.nodes[row])),
                tuple(self.fact(*edge[row].tolist()) for edge in edges),
                int(found.body[row]) / ONE,
            )
            for row in range(len(found))
        )

    def paths(
        self, body: Body, subject: str, object_: str, limit: int, progress: Progress = SILENT
    ) -> Paths:
        """Find the first paths of a body, as ids."""
        steps, pair = self._codes(body), self._nodes(body.target, subject, object_)
        distinct = self.model.semantics.distinct_variables
        return first_paths(self.graph, steps, pair, distinct, limit, progress)

    def fact(self, predicate: int, subject: int, object_: int) -> Fact:
        """Name a fact by its ids."""
        facts = self.facts
        names = facts.entities[subject], facts.predicates[predicate], facts.entities[object_]
        atoms = facts.binary
        if atoms.millionths is None:
            return Fact(*names)
        first, last = np.searchsorted(atoms.arguments[0], [subject, subject + 1]).tolist()
        same = atoms.predicate[first:last] == predicate
        row = first + np.flatnonzero(same & (atoms.arguments[1][first:last] == object_))[0]
        return Fact(*names, int(atoms.millionths[row]) / ONE)

    def _codes(self, body: Body) -> list[int]:
        predicates = self.facts.predicates
        return [step_code(predicates.index(s.predicate), s.inverse) for s in body.steps]

    def _nodes(self, target: str, subject: str, object_: str) -> PathEnds:
        names = self.facts.entities
        own = step_code(self.facts.predicates.index(target))
        return PathEnds(names.index(subject), names.index(object_), own)

    def _flip(self, scored: ScoredPair, progress: Progress) -> Flip:
        """Look for the fewest facts, take them away, and score again."""
        status, facts = self._facts_that_flip(scored, progress)
        if self._hides_facts():
            # paths may appear where facts go, and another set may be smaller
            status = FlipStatus.UPPER_BOUND if len(facts) else FlipStatus.NOT_FOUND
        if not len(facts):
            return Flip(status, (), scored.mean)
        after = self._score_without(scored, facts)
        if not scored.flips(after):
            return Flip(FlipStatus.NOT_FOUND, (), scored.mean)
        return Flip(status, tuple(self.fact(*row) for row in facts.tolist()), after)

    def _facts_that_flip(self, scored: ScoredPair, progress: Progress) -> tuple[FlipStatus, Ints]:
        """Search among the facts of all paths, or, where these are too many, cut whole rules."""
        if scored.monotone and not scored.flips(scored.without_bodies(scored.deciding_bodies)):
            return FlipStatus.IMPOSSIBLE, NO_EDGES
        if sum(map(scored.groundings_of, scored.grounded_bodies)) > EXACT_PATHS:
            return self._cut_rules(scored)
        removals, edges = self._removals(scored, progress)
        status, chosen = smallest_flip(removals)
        return status, edges[list(chosen)]

    def _hides_facts(self) -> bool:
        """Whether the fan-out limit keeps some facts from being walked in either direction."""
        return len(self.graph.forward.code) < 2 * len(self.facts.binary)

    def _removals(self, scored: ScoredPair, progress: Progress) -> tuple[Removals, Ints]:
        """Lay out all paths of the pair, and the facts that carry them in the order of names."""
        sequence, body, path, rows = list[Ints](), list[Ints](), list[Ints](), list[Ints]()
        n = 0
        for k, steps in enumerate(scored.grounded_bodies):
            found = self.paths(steps, *scored.names, scored.groundings_of(steps), progress)
            sequence.append(np.full(len(found), k))
            body.append(found.body.astype(np.int64))
            for at in range(len(steps)):
                path.append(n + np.arange(len(found)))
                rows.append(found.edges(at))
            n += len(found)
        edges, fact = np.unique(np.concatenate(rows)[:, [1, 0, 2]], axis=0, return_inverse=True)
        # a fact that a path uses twice carries it once
        uses = np.unique(np.stack([fact.reshape(-1), np.concatenate(path)]), axis=1)
        removals = Removals(
            scored, np.concatenate(sequence), np.concatenate(body), uses[0], uses[1], len(edges)
        )
        return removals, edges[:, [1, 0, 2]]

    def _cut_rules(self, scored: ScoredPair) -> tuple[FlipStatus, Ints]:
        """Cut off one rule after the other, the strongest first, until the decision flips.

        All paths of a rule are cut at the subject or at the object, where fewer facts do it.
        """
        bodies = sorted(
            scored.deciding_bodies,
            key=lambda body: -abs(scored.mean - scored.without_bodies([body])),
        )
        ends = self._nodes(scored.pair.predicates[0], *scored.names)
        cuts = [NO_EDGES]
        for k, body in enumerate(bodies):
            cuts.append(cut(self.graph, self._codes(body), ends))
            if scored.flips(scored.without_bodies(bodies[: k + 1])):
                facts = np.unique(np.concatenate(cuts), axis=0)
                if scored.flips(self._score_without(scored, facts)):
                    return FlipStatus.UPPER_BOUND, facts
        return FlipStatus.NOT_FOUND, NO_EDGES

    def _score_without(self, scored: ScoredPair, edges: Ints) -> float:
        """Score the pair in a world that lacks some facts."""
        facts = self.facts
        predicate, subject, object_ = edges.T.astype(np.int32)
        gone = Targets(facts.entities, facts.predicates, predicate, subject, object_)
        poorer = MemoryEngine(without_targets(facts, gone), self.threads)
        counted = poorer.count(scored.pair, scored.model.bodies, scored.model.language)
        return float(score_targets(scored.model, counted, scored.pair)[0])
