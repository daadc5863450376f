"""The stages of learning a graph: rules found and counted, queries to learn from gathered."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from hornbeam.arrays import Ids, Ints
from hornbeam.facts.table import Facts
from hornbeam.graphs.discovery import discover_paths, turned_paths
from hornbeam.graphs.graph_evidence import Classes, GraphEvidence
from hornbeam.graphs.graph_settings import Extent, GraphSettings
from hornbeam.graphs.hidden_folds import hidden_folds
from hornbeam.graphs.linked_graph import LinkedGraph
from hornbeam.graphs.path_rules import (
    Asked,
    PathRules,
    asked_along,
    best_rules,
    by_source,
    counted,
)
from hornbeam.graphs.pools import Pool, pool_of
from hornbeam.graphs.ridge import MOST_ENTITIES, Ridge
from hornbeam.graphs.rule_files import GivenRules
from hornbeam.graphs.stage_shares import StageShares
from hornbeam.graphs.workload import Workload
from hornbeam.rules.codes import predicate_of, step_code

#: Draws of random numbers, by purpose: each has its own, whatever else is drawn.
DISCOVERING, JUDGING, COUNTING, ASKING = range(1, 5)


@dataclass(frozen=True, eq=False)
class GraphLearning:
    """What all stages of learning share.

    `steps` are the relations and directions to learn, `sizes` how long each takes, relatively.
    """

    graph: LinkedGraph
    steps: list[int]
    sizes: list[float]
    length: int
    extent: Extent
    settings: GraphSettings
    seed: int
    work: Workload
    shares: StageShares

    def rng(self, purpose: int, step: int) -> np.random.Generator:
        """Random numbers of a purpose and a step."""
        return np.random.default_rng([self.seed, purpose, step])

    @property
    def has_ridge(self) -> bool:
        """Whether the ridge class takes part."""
        return self.settings.ridge and self.graph.n_entities <= MOST_ENTITIES

    def ridge(self, graph: LinkedGraph) -> Ridge | None:
        """The ridge of a graph, where it takes part."""
        if not self.has_ridge:
            return None
        ridge = Ridge.fit(graph, self.settings.ridge_penalty)
        assert len(ridge.rest)  # before threads ask for it
        self.work.advance(self.shares.ridge)
        return ridge

    def evidence(self, graph: LinkedGraph) -> GraphEvidence:
        """A graph to answer queries from."""
        classes = Classes(self.settings.constants, self.settings.backward)
        return GraphEvidence(graph, self.ridge(graph), classes)


# --- rules ----------------------------------------------------------------------------------------


def find_rules(learning: GraphLearning) -> dict[int, PathRules]:
    """Discover paths of every relation, judge them, and count those that are kept."""
    graph, extent, work = learning.graph, learning.extent, learning.work
    shares = learning.shares
    assert len(graph.links.end)  # built before threads ask for it
    forward = learning.steps[::2]

    def discover(step: int) -> Ids:
        rng = learning.rng(DISCOVERING, step)
        return discover_paths(graph, step, learning.length, rng, extent.found, extent.sampled)

    found = work.each(discover, forward, learning.sizes[::2], shares.discovering, until=0.2)
    nothing = np.empty((0, learning.length), dtype=np.int32)
    paths = {}
    for step, some in zip(forward, found, strict=True):
        paths[step] = nothing if some is None else some
        paths[step ^ 1] = turned_paths(paths[step])

    def judge(step: int) -> Ids:
        asked = asked_along(graph, step, extent.judged, learning.rng(JUDGING, step))
        rules = counted(graph, step, paths[step], asked)
        base = 1 / max(len(graph.holders(step ^ 1)), 1)
        kept: Ids = rules.paths[best_rules(rules, base, extent.kept)]
        return kept

    kept = work.each(judge, learning.steps, learning.sizes, shares.judging, until=0.4)
    chosen = {
        step: nothing if some is None else some
        for step, some in zip(learning.steps, kept, strict=True)
    }
    return count_rules(learning, graph, chosen, shares.counting, 0.5)


def count_given(learning: GraphLearning, facts: Facts, given: GivenRules) -> dict[int, PathRules]:
    """Count paths that were given, and say which rules were none."""
    told = {
        "with constants": given.with_constants,
        "that are no paths of the allowed length": given.no_paths,
        "with relations that no fact has": given.unknown,
    }
    left_out = ", ".join(f"{n:,} {what}" for what, n in told.items() if n)
    learning.work.progress.message(
        f"{len(given):,} path rules read" + (f"; not: {left_out}" if left_out else "")
    )
    paths = {}
    for step in learning.steps[::2]:
        some = given.paths.get(facts.predicates[predicate_of(step)], ())
        rows = np.zeros((len(some), learning.length), dtype=np.int32)
        for row, path in enumerate(some):
            codes = [step_code(facts.predicates.index(s.predicate), s.inverse) for s in path]
            rows[row, : len(codes)] = codes
        paths[step], paths[step ^ 1] = rows, turned_paths(rows)
    return count_rules(learning, learning.graph, paths, learning.shares.counting, 0.5)


def count_rules(
    learning: GraphLearning, graph: LinkedGraph, paths: dict[int, Ids], share: float, until: float
) -> dict[int, PathRules]:
    """Confidences of paths on a graph; rules that there is no time to count fall out."""
    most = learning.extent.counted
    assert len(graph.links.end)

    def count(step: int) -> PathRules:
        asked = asked_along(graph, step, most, learning.rng(COUNTING, step))
        return counted(graph, step, paths[step], asked)

    rules = learning.work.each(count, learning.steps, learning.sizes, share, until)
    return {
        step: PathRules.none(step, learning.length) if some is None else some
        for step, some in zip(learning.steps, rules, strict=True)
    }


# --- queries to learn from ------------------------------------------------------------------------


def training_pool(
    learning: GraphLearning, rules: dict[int, PathRules]
) -> tuple[Pool | None, list[LinkedGraph]]:
    """Training queries of all hidden folds, and the graphs without them."""
    pools: list[Pool] = []
    graphs: list[LinkedGraph] = []
    extent, work = learning.extent, learning.work
    paths = {step: some.paths for step, some in rules.items()}
    share = learning.shares.fold
    for number, (rest, hidden) in enumerate(hidden_folds(learning.graph, extent, learning.seed)):
        if pools and work.expired(0.6):
            break
        seen = rules
        if learning.settings.hidden_confidences:
            seen = count_rules(learning, rest, paths, share / 2, 0.8)
        sizes = np.bincount(hidden.predicate, minlength=hidden.n_predicates)
        of_steps = np.array([sizes[predicate_of(step)] for step in learning.steps])
        most = fair_share(of_steps, extent.queries)
        asked = {
            step: asked_along(hidden, step, most, learning.rng(ASKING, step))
            for step in learning.steps
        }
        evidence = learning.evidence(rest)
        pools += _pools(learning, evidence, seen, asked, number, share / 2, 0.8)
        graphs.append(rest)
        del evidence  # its ridge is large
    return (Pool.together(pools) if pools else None), graphs


def fair_share(sizes: Ints, total: int) -> int:
    """The largest number m such that min(size, m) adds up to at most `total`, at least 1.

    Examples
    --------
    >>> fair_share(np.array([2, 10, 30]), 20)
    9
    """
    left = total
    ordered: list[int] = np.sort(sizes).tolist()
    for place, size in enumerate(ordered):
        share = left // (len(ordered) - place)
        if size > share:
            return max(share, 1)
        left -= size
    return max(ordered[-1], 1)


def _pools(
    learning: GraphLearning,
    evidence: GraphEvidence,
    rules: dict[int, PathRules],
    asked: dict[int, Asked],
    fold: int,
    share: float,
    until: float,
) -> list[Pool]:
    steps = [step for step in learning.steps if len(asked[step].sources)]
    sizes = [len(asked[step].sources) + 10.0 for step in steps]

    def one(step: int) -> Pool:
        return pool_of(evidence, rules[step], asked[step], learning.extent.pool, fold)

    found = learning.work.each(one, steps, sizes, share, until)
    return [pool for pool in found if pool is not None]


def held_triples(facts: Facts, valid: Facts) -> tuple[Ids, Ids, Ids]:
    """Subject, predicate and object of held-out facts in the ids of train; others left out."""
    atoms = valid.binary
    subject, object_ = atoms.arguments
    predicate = atoms.predicate.astype(np.int32)
    entity = np.append(valid.entities.translate(facts.entities), -1)
    relation = np.append(valid.predicates.translate(facts.predicates), -1)
    triples = entity[subject], relation[predicate], entity[object_]
    known = np.all([part >= 0 for part in triples], axis=0)
    s, p, o = (part[known].astype(np.int32) for part in triples)
    return s, p, o


def held_pool(
    learning: GraphLearning, rules: dict[int, PathRules], subject: Ids, predicate: Ids, object_: Ids
) -> Pool | None:
    """Held-out facts as queries to all of train."""
    asked = {}
    for step in learning.steps:
        rows = np.flatnonzero(predicate == predicate_of(step))
        known, answer = subject[rows], object_[rows]
        asked[step] = by_source(answer, known) if step % 2 else by_source(known, answer)
    evidence = learning.evidence(learning.graph)
    pools = _pools(learning, evidence, rules, asked, 0, learning.shares.held, 0.9)
    return Pool.together(pools) if pools else None
