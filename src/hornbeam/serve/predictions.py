"""New links of one entity: what the rules reach from it, and how the links score.

Counts do not depend on weights. So what an entity reaches is counted once and kept, and an edit of
the rules only scores again.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np
import numpy.typing as npt

from hornbeam.clauses.clause import Path, Prior
from hornbeam.clauses.rules import Rule
from hornbeam.facts.names import Names
from hornbeam.facts.table import ONE, Facts, Targets
from hornbeam.inference.closed import Floats, rule_paths, score_targets
from hornbeam.model import Model
from hornbeam.serve.walk import Ends, Nodes, neighbours, walk_all
from hornbeam.statistics.graph import Graph
from hornbeam.statistics.memory import MemoryEngine
from hornbeam.statistics.table import Statistics

#: Where paths have to be counted one by one, only the pairs that most paths connect are scored.
MOST_COUNTED = 2000


@dataclass(frozen=True, eq=False)
class Reach:
    """New pairs of an entity that a rule for the target connects, and their counts.

    `left_out` is the number of further pairs that were not counted.
    """

    pairs: Targets
    statistics: Statistics
    left_out: int

    @property
    def size(self) -> int:
        """How much a cache holds of it: rows."""
        return len(self.pairs) + len(self.statistics.count) + 100


@dataclass(frozen=True, eq=False)
class Plan:
    """The rules of one target, laid out for walking: looking up paths by name costs time.

    `members` are the numbers of its rules; `column` says which path each of them has, -1 for a
    prior; `pulls_up` which of them connect pairs that they speak for. `known` are the paths whose
    predicates the facts have, `forth` and `back` their codes from either end.
    """

    members: Sequence[int]
    paths: Sequence[Path]
    column: npt.NDArray[np.int64]
    pulls_up: npt.NDArray[np.bool_]
    known: npt.NDArray[np.int64]
    forth: Sequence[Sequence[int]]
    back: Sequence[Sequence[int]]

    @cached_property
    def speaks(self) -> npt.NDArray[np.bool_]:
        """Which paths some rule speaks for, whatever its weight."""
        speaks = np.zeros(len(self.paths), dtype=np.bool_)
        speaks[self.column[self.pulls_up]] = True
        return speaks


@dataclass(frozen=True, eq=False)
class Reacher:
    """Follows the rules of one model from single entities."""

    facts: Facts
    engine: MemoryEngine
    model: Model

    @cached_property
    def graph(self) -> Graph:
        """What the model's rules walk."""
        limit = self.model.semantics.max_fanout
        return self.engine.graph if limit is None else self.engine.graph.limited(limit)

    @cached_property
    def plans(self) -> dict[str, Plan]:
        """A plan for every target."""
        return {target: self._plan(target) for target in self.model.targets}

    def _plan(self, target: str) -> Plan:
        rules = self.model.rules
        members = [i for i, rule in enumerate(rules) if rule.clause.target == target]
        paths = rule_paths([rules[i] for i in members])
        column = {path: j for j, path in enumerate(paths)}
        clauses = [rules[i].clause for i in members]
        walks = [(j, codes) for j, path in enumerate(paths) if (codes := self.codes(path))]
        return Plan(
            members,
            paths,
            np.array([-1 if isinstance(c, Prior) else column[c.path] for c in clauses]),
            np.array([not isinstance(c, Prior) and not c.negated for c in clauses]),
            np.array([j for j, _ in walks], dtype=np.int64),
            [codes for _, codes in walks],
            [[code ^ 1 for code in reversed(codes)] for _, codes in walks],
        )

    def codes(self, path: Path) -> list[int] | None:
        """Steps of a path, None where the facts lack one of its predicates."""
        ids = self.facts.predicates.find(step.predicate for step in path.steps)
        if (ids < 0).any():
            return None
        return [2 * (int(p) + 1) + step.inverse for p, step in zip(ids, path.steps, strict=True)]

    def reach(self, target: str, entity: int, forward: bool) -> Reach:
        """Follow every rule of a target from its subject, or backwards from its object."""
        plan = self.plans[target]
        graph = self.graph if forward else self.graph.reversed
        ends = walk_all(graph.forward, entity, plan.forth if forward else plan.back)
        ends = ends._replace(walk=plan.known[ends.walk])
        reached = np.unique(ends.node[plan.speaks[ends.walk]])
        new = np.setdiff1d(reached, self._known(target, entity, forward), assume_unique=True)
        place, known = _places(ends.node, new)
        ends = Ends(ends.walk[known], place[known].astype(np.int32), ends.paths[known])
        if self.facts.soft or self.model.language.distinct_variables:
            return self._counted(target, entity, forward, plan.paths, ends, new)
        body = np.full(len(ends.node), ONE, dtype=np.int32)
        counted = Statistics.of(plan.paths, len(new), ends.walk, ends.node, body, ends.paths)
        return Reach(_pairs(self.facts, target, entity, new, forward), counted, 0)

    def best(self, reach: Reach, rules: Sequence[Rule], top: int) -> tuple[Targets, Floats, int]:
        """The best new pairs under the rules as they are weighted now, scores, and how many.

        Only pairs that a positive rule of positive weight connects count; ties go by name.
        """
        plan = self.plans[reach.pairs.predicates[0]]
        mine = [rules[i] for i in plan.members]
        weighty = np.array([rule.weight > 0 for rule in mine])
        spoken_for = np.zeros(len(reach.pairs), dtype=np.bool_)
        for j in np.unique(plan.column[plan.pulls_up & weighty]).tolist():
            spoken_for[reach.statistics.target[reach.statistics.column(j)]] = True
        reached = np.flatnonzero(spoken_for)
        scores = score_targets(mine, self.model.semantics, reach.statistics, reach.pairs)[reached]
        pairs = reach.pairs.select(reached)
        best = np.lexsort((pairs.object, pairs.subject, -scores))[:top]
        return pairs.select(best), scores[best], len(reached)

    def _counted(
        self, target: str, entity: int, forward: bool, paths: Sequence[Path], ends: Ends, new: Nodes
    ) -> Reach:
        """Count path by path what the walk has reached; where that is much, the best connected."""
        walked = np.bincount(ends.node, ends.paths, len(new))
        kept = np.sort(new[np.argsort(-walked, kind="stable")[:MOST_COUNTED]])
        pairs = _pairs(self.facts, target, entity, kept, forward)
        # with names of its own: a table of all entities would be translated as a whole
        used, ids = np.unique(np.append(kept, entity), return_inverse=True)
        own = Names.from_sorted_chunks([self.facts.entities.take(used)])
        others = ids[:-1].astype(np.int32)
        here = np.full(len(kept), ids[-1], dtype=np.int32)
        sides = (here, others) if forward else (others, here)
        small = Targets(own, pairs.predicates, pairs.predicate, *sides)
        counted = self.engine.count(small, paths, self.model.language)
        return Reach(pairs, counted, len(new) - len(kept))

    def _known(self, target: str, entity: int, forward: bool) -> Nodes:
        predicate = self.facts.predicates.index(target)
        code = 2 * (predicate + 1) + (not forward)
        return neighbours(self.engine.graph.forward, entity, code)


def _places(nodes: Nodes, among: Nodes) -> tuple[npt.NDArray[np.intp], npt.NDArray[np.bool_]]:
    """Where every node stands among sorted others, and whether it does."""
    place = np.searchsorted(among, nodes)
    known = place < len(among)
    known[known] = among[place[known]] == nodes[known]
    return place, known


def _pairs(facts: Facts, target: str, entity: int, others: Nodes, forward: bool) -> Targets:
    here = np.full(len(others), entity, dtype=np.int32)
    subject, object_ = (here, others) if forward else (others, here)
    predicate = np.zeros(len(others), dtype=np.int32)
    return Targets(facts.entities, Names.of([target]), predicate, subject, object_)
