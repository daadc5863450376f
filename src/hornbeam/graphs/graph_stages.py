"""The stages of learning a graph: rules found and counted, queries to learn from gathered."""

from __future__ import annotations

import warnings
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from hornbeam.arrays import Ids, Ints, part_numbers
from hornbeam.errors import HornbeamWarning
from hornbeam.facts.table import Facts
from hornbeam.graphs.discovery import PathTable, path_table, reversed_paths
from hornbeam.graphs.graph_counter import GraphCounter, Portion
from hornbeam.graphs.graph_settings import Extent, GraphSettings
from hornbeam.graphs.grouped_queries import queries_of_links
from hornbeam.graphs.link_hashes import ASKING, COUNTING, JUDGING
from hornbeam.graphs.path_rules import PathRules, best_rules
from hornbeam.graphs.pools import Pool
from hornbeam.graphs.rule_files import ImportedRules
from hornbeam.graphs.stage_shares import StageShares
from hornbeam.graphs.workload import Workload
from hornbeam.rules.codes import inverse_code, predicate_of, step_code

#: Share of the time that is left which a stage may take that begins after its time.
LATE = 0.2


class StageTime(NamedTuple):
    """A stage's share of the work, and the share of the time limit by which it begins."""

    share: float
    until: float


class FindingTimes(NamedTuple):
    """When the rules of a graph are found, judged and counted."""

    discovering: StageTime
    judging: StageTime
    counting: StageTime


@dataclass(frozen=True, eq=False)
class GraphLearning:
    """What all stages of learning share; `steps` are the relations and directions to learn."""

    graph: GraphCounter
    steps: list[int]
    length: int
    extent: Extent
    settings: GraphSettings
    seed: int
    work: Workload
    shares: StageShares

    def portion(self, share: float, until: float, ahead: float = 0.0) -> Portion:
        """A share of the work, begun before a share of the time limit has passed.

        A stage that begins late has still its part of the time that is left.
        """
        passed = self.work.passed
        return Portion(self.work, share, max(until, passed + LATE * (1.0 - passed)), ahead)


# --- rules ----------------------------------------------------------------------------------------


def find_rules(learning: GraphLearning) -> dict[int, PathRules]:
    """Discover paths of every relation, judge them, and count those that are kept."""
    shares = learning.shares
    times = FindingTimes(
        StageTime(shares.discovering, 0.2),
        StageTime(shares.judging, 0.4),
        StageTime(shares.counting, 0.5),
    )
    return _found_rules(learning, learning.graph, times)


def _found_rules(
    learning: GraphLearning, graph: GraphCounter, times: FindingTimes
) -> dict[int, PathRules]:
    """Find the rules of a graph."""
    extent, forward, holders = learning.extent, learning.steps[::2], graph.holders_by_step
    portion = learning.portion(*times.discovering)
    found = graph.discover(forward, learning.length, extent, learning.seed, portion)
    paths = {}
    for step in forward:
        paths[step] = found.get(step, path_table([], learning.length))
        paths[inverse_code(step)] = reversed_paths(paths[step])
    asked = graph.drawn(learning.steps, extent.judged, learning.seed, JUDGING)
    judged = graph.count(paths, asked, learning.portion(*times.judging))
    links, same = graph.links_by_predicate, min(extent.judged, extent.counted)
    chosen, left = dict[int, PathRules](), dict[int, PathTable]()
    for step in learning.steps:
        rules = judged.get(step, PathRules.none(step, learning.length))
        base = 1 / max(int(holders[inverse_code(step)]), 1)
        chosen[step] = rules.select(best_rules(rules, base, extent.kept))
        if links[predicate_of(step)] > same:  # otherwise all were asked, and would be again
            left[step] = chosen[step].paths
    return chosen | count_rules(learning, graph, left, learning.portion(*times.counting))


def count_given(learning: GraphLearning, given: ImportedRules) -> dict[int, PathRules]:
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
    predicates, paths = learning.graph.predicates, {}
    for step in learning.steps[::2]:
        some = given.paths.get(predicates[predicate_of(step)], ())
        codes = [[step_code(predicates.index(s.predicate), s.inverse) for s in p] for p in some]
        paths[step] = path_table(codes, learning.length)
        paths[inverse_code(step)] = reversed_paths(paths[step])
    portion = learning.portion(learning.shares.counting, 0.5)
    return count_rules(learning, learning.graph, paths, portion)


def count_rules(
    learning: GraphLearning,
    graph: GraphCounter,
    paths: dict[int, PathTable],
    portion: Portion,
) -> dict[int, PathRules]:
    """Confidences of paths on a graph; rules that there is no time to count fall out."""
    asked = graph.drawn(list(paths), learning.extent.counted, learning.seed, COUNTING)
    counted = graph.count(paths, asked, portion)
    return {step: counted.get(step, PathRules.none(step, learning.length)) for step in paths}


# --- queries to learn from ------------------------------------------------------------------------


def training_pool(
    learning: GraphLearning, rules: dict[int, PathRules], anew: bool
) -> tuple[Pool | None, list[GraphCounter]]:
    """Training queries of all hidden folds; for weights of rules the graphs without them, too.

    With `anew` the rules that a fold's queries see are found without it. In a small graph those of
    the whole are kept because of the very links that a fold hides, and would be believed too much.
    """
    pools: list[Pool] = []
    graphs: list[GraphCounter] = []
    extent, work = learning.extent, learning.work
    folds = learning.graph.hidden_folds(extent, learning.seed)
    for number in range(extent.hidden):
        if work.expired(0.6 if pools else 0.9):
            break
        rest, hidden = next(folds)
        of_steps = hidden.links_by_predicate[predicate_of(np.array(learning.steps))]
        most = fair_share(of_steps, extent.queries)
        drawn = hidden.drawn(learning.steps, most, learning.seed, ASKING)
        asked = {step: some for step, some in drawn.items() if len(some.sources)}
        if anew:
            third = StageTime(learning.shares.recounting / 3, 0.7)
            found = _found_rules(learning, rest, FindingTimes(third, third, third))
            seen = {step: found[step] for step in asked}
        else:
            paths = {step: rules[step].paths for step in asked}
            portion = learning.portion(learning.shares.recounting, 0.7)
            seen = count_rules(learning, rest, paths, portion)
        portion = learning.portion(learning.shares.gathering, 0.8, learning.shares.ridge)
        pools += rest.pools(seen, asked, extent.pool, number, portion)
        if learning.shares.weighting:
            graphs.append(rest)
    return (Pool.concatenated(pools) if pools else None), graphs


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


def held_triples(graph: GraphCounter, valid: Facts) -> tuple[Ids, Ids, Ids] | None:
    """Subject, predicate and object of held-out facts in the ids of train, or none.

    Left out are those with names that train does not have, and, with a warning, those that stand
    in train: they are no candidates.
    """
    atoms = valid.binary
    subject, object_ = atoms.arguments
    predicate = atoms.predicate.astype(np.int32)
    entity = np.append(graph.located(valid.entities), -1)
    relation = np.append(valid.predicates.translate(graph.predicates), -1)
    triples = entity[subject], relation[predicate], entity[object_]
    known = np.all([part >= 0 for part in triples], axis=0)
    s, p, o = (part[known].astype(np.int32) for part in triples)
    stated = graph.holds(s, p, o)
    if stated.any():
        warnings.warn(
            f"{np.count_nonzero(stated):,} of {len(atoms):,} facts of `valid` stand among the "
            "facts too: they are not held out, and are left out",
            HornbeamWarning,
            stacklevel=2,
        )
    return (s[~stated], p[~stated], o[~stated]) if not stated.all() else None


def held_pool(
    learning: GraphLearning, rules: dict[int, PathRules], subject: Ids, predicate: Ids, object_: Ids
) -> Pool | None:
    """Held-out facts as queries to all of train."""
    asked = {}
    for step in learning.steps:
        rows = np.flatnonzero(predicate == predicate_of(step))
        asked[step] = queries_of_links(step, subject[rows], object_[rows])
    portion = learning.portion(learning.shares.held, 0.9, learning.shares.ridge)
    pools = learning.graph.pools(rules, asked, learning.extent.pool, 0, portion)
    return Pool.concatenated(pools) if pools else None


def with_held(train: Pool, held: Pool) -> Pool:
    """All queries together; what is held out is no wrong answer of training queries any more."""
    of = part_numbers(held.offsets)[held.truth]
    known = train.without(held.step[of], held.source[of], held.entity[held.truth])
    return Pool.concatenated([known, held])
