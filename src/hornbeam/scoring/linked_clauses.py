"""Ground clauses that link pairs: those of a collective model with unknown atoms in their bodies.

The pairs to score are variables, and edges of one graph with the facts. Every ground clause with a
variable in its body is found by a walk: from the ends of its head, where that is a variable, or,
where the head is a known fact that a negated clause denies, from the ends of its first variable.
A clause whose head is neither a pair nor a fact is not grounded: heads range over listed atoms.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import NamedTuple

import numpy as np

from hornbeam.base.arrays import Bools, Floats, Ids, Ints
from hornbeam.base.choices import CollectiveMethod
from hornbeam.base.compiled import announced
from hornbeam.base.progress import SILENT, Progress
from hornbeam.counting.collective.clause_kernels import (
    STEPS,
    ClauseWalks,
    ground_walks,
    literals,
)
from hornbeam.counting.collective.collective_statistics import closing_walk
from hornbeam.counting.memory.memory_engine import MemoryEngine
from hornbeam.counting.memory.parallel import even_blocks, run_blocks
from hornbeam.errors import InputError
from hornbeam.facts.known import among_facts, rows_of_targets, with_targets, without_targets
from hornbeam.facts.table import ONE, Facts, Targets
from hornbeam.graph.adjacency import Graph
from hornbeam.hlmrf.potentials import PotentialKind, Potentials
from hornbeam.rules.body import MAX_LENGTH, Step
from hornbeam.rules.codes import step_code
from hornbeam.rules.rule_model import Rule, RuleModel
from hornbeam.scoring.model_checks import collective_path

assert STEPS == MAX_LENGTH, "the kernel has a place for every step of a body"

#: Maximum number of rows of ground clauses; a million take about 0.1 GB with what inference adds.
MAX_ROWS = 20_000_000
#: Fixed number of parts, so that sums do not depend on the number of threads.
BLOCKS = 32
#: Variables in the sample of a forecast, and the minimum rows to report it.
SAMPLE, MIN_REPORTED_ROWS = 64, 2_000_000


class ClauseWalk(NamedTuple):
    """One of `ClauseWalks`."""

    rule: int
    steps: list[tuple[int, bool]]  #: the code of each, and whether it is observed
    predicate: int  #: that of the variable where it starts
    from_head: bool


@dataclass(frozen=True, eq=False)
class CollectivePairGraph:
    """The variables of a collective prediction, and the graph of facts and variables.

    `atoms` are the distinct pairs, `place` is the number of every pair among them, `stated` which
    of them are facts, and `known` counts over the facts without them.
    """

    atoms: Targets
    place: Ints
    stated: Bools
    known: MemoryEngine
    united: Facts

    @classmethod
    def of(cls, engine: MemoryEngine, pairs: Targets) -> CollectivePairGraph:
        """Take the pairs out of the facts and put them back as variables."""
        columns = np.stack([pairs.predicate, pairs.subject, pairs.object])
        _, first, place = np.unique(columns, axis=1, return_index=True, return_inverse=True)
        atoms = pairs.select(first)
        known = without_targets(engine.facts, atoms)
        stated, united = among_facts(engine.facts, atoms), _with_variables(known, atoms)
        return cls(atoms, place.reshape(-1), stated, engine.over(known), united)

    @cached_property
    def _graph(self) -> Graph:
        """The graph of facts and variables."""
        return Graph.of(self.united)

    def ground(
        self,
        model: RuleModel,
        kind: PotentialKind = PotentialKind.LINEAR,
        progress: Progress = SILENT,
    ) -> Potentials:
        """Potentials of the ground clauses that have variables in their bodies.

        Ground clauses over the same variables are one row, all rules together, so that rows have
        no rule: -1.
        """
        walks = self._walks([rule for rule in model.rules if rule.weight > 0.0])
        return self._ground(model, walks, kind, False, progress)

    def count_by_rule(self, model: RuleModel, progress: Progress = SILENT) -> Potentials:
        """Ground clauses of every rule, one row per rule and variables.

        The weight of a row is the number of its ground clauses, whatever the rule's own weight; see
        `weighted`. The MAP state is not inferred from these rows: where there are several MAP
        states, the one that is found depends on how rows are merged. Where rules move only their
        heads, a row is about its head, negated or not.
        """
        heads_only = model.semantics.collective is CollectiveMethod.MAP_HEADS
        walks = self._walks([replace(rule, weight=1.0) for rule in model.rules], heads_only)
        return self._ground(model, walks, PotentialKind.LINEAR, True, progress)

    def _ground(
        self,
        model: RuleModel,
        walks: ClauseWalks,
        kind: PotentialKind,
        by_rule: bool,
        progress: Progress,
    ) -> Potentials:
        """Rows of the ground clauses that the walks close."""
        graph, distinct = self._graph.forward, model.semantics.distinct_variables
        to_node = self.atoms.entities.translate(self.united.entities)
        columns = (
            np.arange(len(self.atoms)),
            self.atoms.predicate.astype(np.int64),
            to_node[self.atoms.subject].astype(np.int64),
            to_node[self.atoms.object].astype(np.int64),
        )

        def some(chosen: slice, limit: int) -> tuple[Ids, Floats]:
            part = (np.ascontiguousarray(column[chosen]) for column in columns)
            key, weight = ground_walks.compiled(graph, walks, by_rule, distinct, *part, limit)
            return key, weight

        every = max(1, len(self.atoms) // SAMPLE)
        with announced(progress):
            expected = len(some(slice(0, None, every), MAX_ROWS)[1]) * every
        _refuse_too_many(expected)
        if expected > MIN_REPORTED_ROWS:
            progress.message(f"About {expected:,} ground clauses link the pairs.")
        blocks = run_blocks(
            lambda low, high: some(slice(low, high), 4 * MAX_ROWS // BLOCKS),
            even_blocks(len(self.atoms), BLOCKS),
            self.known.threads,
            progress,
        )
        _refuse_too_many(sum(len(weight) for _, weight in blocks))
        none = np.empty((0, STEPS + 3), dtype=np.int32)
        key = np.concatenate([none, *(key for key, _ in blocks)])
        weight = np.concatenate([np.empty(0), *(weight for _, weight in blocks)])
        indptr, variable, coefficient, constant = literals.compiled(key)
        figures = (weight, np.full(len(weight), kind, dtype=np.uint8), key[:, 0].copy())
        return Potentials(len(self.atoms), indptr, variable, coefficient, constant, *figures)

    def at_values(self, value: Floats) -> Facts:
        """Facts and pairs as one table, the pairs with their values, those of 0 left out."""
        table = self.united.binary
        if table.millionths is None:
            return self.united
        millionths = np.append(ONE, np.rint(value * ONE)).astype(np.int32)[table.millionths]
        edges = replace(table, millionths=millionths).select(millionths > 0)
        return replace(self.united, atoms={2: edges} if len(edges) else {})

    def _walks(self, rules: Sequence[Rule], heads_only: bool = False) -> ClauseWalks:
        """Walks that close the ground clauses of the rules."""
        walks = [walk for walk in self._each_walk(rules) if walk.from_head or not heads_only]
        code = np.zeros((len(walks), STEPS), dtype=np.int64)
        observed = np.zeros((len(walks), STEPS), dtype=np.bool_)
        for w, walk in enumerate(walks):
            n = len(walk.steps)
            code[w, :n], observed[w, :n] = zip(*walk.steps, strict=True)
        number = np.array([walk.rule for walk in walks], dtype=np.int64)
        return ClauseWalks(
            code,
            observed,
            np.count_nonzero(code, axis=1),
            np.array([walk.predicate for walk in walks], dtype=np.int64),
            np.array([walk.from_head for walk in walks], dtype=np.bool_),
            # a positive head has its own column in a row
            np.array([r.clause.negated and not heads_only for r in rules], np.bool_)[number],
            np.array([r.weight for r in rules], dtype=np.float64)[number],
            number,
        )

    def _each_walk(self, rules: Sequence[Rule]) -> Iterator[ClauseWalk]:
        ids = {name: p for p, name in enumerate(self.united.predicates)}
        number = {name: p for p, name in enumerate(self.atoms.predicates)}
        for r, rule in enumerate(rules):
            clause, body = rule.clause, collective_path(rule.clause)
            places = [k for k, step in enumerate(body.steps) if step.predicate in number]
            if not places or any(step.predicate not in ids for step in body.steps):
                continue
            if body.target in number:
                codes = [step_code(ids[step.predicate], step.inverse) for step in body.steps]
                steps = [(code, False) for code in codes]
                yield ClauseWalk(r, steps, number[body.target], from_head=True)
            if clause.negated and body.target in ids:
                for k in places:
                    # each ground clause once: from the first of its variables
                    steps = [
                        (step_code(ids[step.predicate], step.inverse), at < k or at == len(body))
                        for step, at in closing_walk(body, k, Step(body.target))
                    ]
                    start = number[body.steps[k].predicate]
                    yield ClauseWalk(r, steps, start, from_head=False)


def weighted(counts: Potentials, model: RuleModel) -> Potentials:
    """Rows of `count_by_rule` as potentials under the weights of a model with the same clauses."""
    weights = np.array([rule.weight for rule in model.rules])
    return replace(counts, weight=counts.weight * weights[counts.rule])


def _with_variables(known: Facts, atoms: Targets) -> Facts:
    """Facts and pairs as one table; the value of a pair is its number counted from 1, else 0."""
    united = with_targets(known, atoms)
    value = np.zeros(len(united.binary), dtype=np.int32)
    value[rows_of_targets(united, atoms)] = np.arange(1, len(atoms) + 1)
    edges = replace(united.binary, millionths=value)
    return Facts(united.entities, united.predicates, {2: edges} if len(edges) else {})


def _refuse_too_many(rows: int) -> None:
    if rows > MAX_ROWS:
        raise InputError(
            f"more than {MAX_ROWS:,} ground clauses would link the pairs to each other: score "
            "fewer pairs at a time, or learn with `top`, a higher `min_coverage` or a smaller "
            "`max_length`"
        )
