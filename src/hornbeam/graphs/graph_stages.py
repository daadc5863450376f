"""The stages of learning a graph: finding and counting rules, gathering queries to learn from."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from hornbeam.base.arrays import Ints, part_numbers
from hornbeam.errors import warn
from hornbeam.facts.table import Facts
from hornbeam.graph.link_hashes import ASKING, COUNTING, JUDGING
from hornbeam.graphs.graph_counter import GraphCounter
from hornbeam.graphs.graph_settings import GraphPlan, GraphSettings, StageShares
from hornbeam.graphs.grouped_queries import queries_of_links
from hornbeam.graphs.linked_graph import canonical_paths
from hornbeam.graphs.path_rules import PathRules, PathTable, best_rules, path_table, reversed_paths
from hornbeam.graphs.pools import Pool
from hornbeam.graphs.rule_files import ImportedRules
from hornbeam.graphs.workload import Portion, Workload
from hornbeam.ranking.queries import Triples
from hornbeam.rules.codes import inverse_code, predicate_of, step_code

#: Fraction of the remaining time that a stage gets if it starts after its own deadline.
LATE_STAGE_SHARE = 0.2


@dataclass(frozen=True, eq=False)
class GraphLearning:
    """Data that all stages of learning share; `steps` are the relations and directions to learn."""

    graph: GraphCounter
    steps: list[int]
    plan: GraphPlan
    settings: GraphSettings
    work: Workload
    shares: StageShares

    def portion(self, share: float, until: float, preparation: float = 0.0) -> Portion:
        """A stage with the fraction `share` of the work; its items start before `until`.

        `until` is a fraction of the time limit. A late stage still gets a part of the time left.
        """
        passed = self.work.passed
        late = passed + LATE_STAGE_SHARE * (1.0 - passed)
        return Portion(self.work, share, max(until, late), preparation)


# --- rules ----------------------------------------------------------------------------------------


def find_rules(
    learning: GraphLearning,
    graph: GraphCounter,
    discovering: tuple[float, float],
    judging: tuple[float, float],
    counting: tuple[float, float],
) -> dict[int, PathRules]:
    """Discover paths of every relation of a graph, judge the paths, and count the kept paths.

    Each of the three stages is given by its fraction of the work, and the fraction of the time
    limit after which it starts nothing new.
    """
    plan, forward, holders = learning.plan, learning.steps[::2], graph.holders_by_step
    extent = plan.extent
    found = graph.discover(forward, plan, learning.portion(*discovering))
    paths = {}
    for step in forward:
        paths[step] = found.get(step, path_table([], plan.length))
        paths[inverse_code(step)] = reversed_paths(paths[step])
    queries = graph.sampled(learning.steps, extent.judged, plan.seed, JUDGING)
    judged = graph.count(paths, queries, learning.portion(*judging))
    links, same = graph.links_by_predicate, min(extent.judged, extent.counted)
    chosen, left = dict[int, PathRules](), dict[int, PathTable]()
    for step in learning.steps:
        rules = judged[step]
        base = 1 / max(int(holders[inverse_code(step)]), 1)
        chosen[step] = rules.select(best_rules(rules, base, extent.kept))
        if links[predicate_of(step)] > same:  # otherwise all links were already counted
            left[step] = chosen[step].paths
    return chosen | count_rules(learning, graph, left, learning.portion(*counting))


def count_given(learning: GraphLearning, given: ImportedRules) -> dict[int, PathRules]:
    """Count given paths, and report how many rules of the file were left out."""
    left_out = ", ".join(f"{n:,} {which}" for which, n in given.left_out.items() if n)
    learning.work.progress.message(
        f"{len(given):,} path rules read" + (f"; left out: {left_out}" if left_out else "")
    )
    predicates, paths = learning.graph.predicates, {}
    for step in learning.steps[::2]:
        named = given.paths.get(predicates[predicate_of(step)], ())
        codes = [[step_code(predicates.index(s.predicate), s.inverse) for s in p] for p in named]
        table = path_table(codes, learning.plan.length)
        paths[step] = canonical_paths(table, step, learning.plan.canonical)
        paths[inverse_code(step)] = reversed_paths(paths[step])
    portion = learning.portion(learning.shares.counting, 0.5)
    return count_rules(learning, learning.graph, paths, portion)


def count_rules(
    learning: GraphLearning,
    graph: GraphCounter,
    paths: dict[int, PathTable],
    portion: Portion,
) -> dict[int, PathRules]:
    """Count paths on a graph; rules for which no time is left are dropped."""
    plan = learning.plan
    queries = graph.sampled(list(paths), plan.extent.counted, plan.seed, COUNTING)
    return graph.count(paths, queries, portion)


# --- queries to learn from ------------------------------------------------------------------------


def training_pool(
    learning: GraphLearning, rules: dict[int, PathRules], rediscover: bool, unlinked: bool = False
) -> tuple[Pool | None, list[GraphCounter]]:
    """Training queries of all hidden folds; for weights of rules also the graphs without a fold.

    With `rediscover` the rules for a fold's queries are discovered without the fold. In a small
    graph, rules of the whole graph depend on hidden links and would get too high confidences.
    With `unlinked` no candidate has a further link with its source, as in the held-out facts.
    """
    pools: list[Pool] = []
    graphs: list[GraphCounter] = []
    plan, extent, work = learning.plan, learning.plan.extent, learning.work
    folds = learning.graph.hidden_folds(plan)
    for number in range(extent.hidden):
        if work.expired(0.6 if pools else 0.9):
            break
        rest, hidden = next(folds)
        of_steps = hidden.links_by_predicate[predicate_of(np.array(learning.steps))]
        most = fair_share(of_steps, extent.queries)
        sampled = hidden.sampled(learning.steps, most, plan.seed, ASKING)
        queries = {step: asked for step, asked in sampled.items() if len(asked.sources)}
        if rediscover:
            third = learning.shares.recounting / 3, 0.7
            found = find_rules(learning, rest, third, third, third)
            seen = {step: found[step] for step in queries}
        else:
            paths = {step: rules[step].paths for step in queries}
            portion = learning.portion(learning.shares.recounting, 0.7)
            seen = count_rules(learning, rest, paths, portion)
        portion = learning.portion(learning.shares.gathering, 0.8, learning.shares.ridge)
        gathered = rest.pools(seen, queries, extent.pool, number, portion)
        pools += [pool.unlinked() if unlinked else pool for pool in gathered]
        if learning.shares.weighting:
            graphs.append(rest)
    return (Pool.concatenated(pools) if pools else None), graphs


def fair_share(sizes: Ints, total: int) -> int:
    """The largest m, at least 1, such that the sum of min(size, m) is at most `total`.

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


def held_triples(graph: GraphCounter, valid: Facts) -> Triples | None:
    """Held-out facts in the ids of the training graph; None if no held-out fact is left.

    Facts with names that the graph does not have are left out. So are, with a warning, facts of the
    graph itself, which are never candidates.
    """
    atoms = valid.binary
    entity, relation = graph.located(valid.entities), valid.predicates.translate(graph.predicates)
    subject, object_ = (entity[ids] for ids in atoms.arguments)
    triples = Triples(relation[atoms.predicate.astype(np.int32)], subject, object_)
    triples = triples.select((triples.relation >= 0) & (subject >= 0) & (object_ >= 0))
    stated = graph.holds(triples)
    if stated.any():
        warn(
            f"{np.count_nonzero(stated):,} of {len(atoms):,} facts of `valid` are among the facts "
            "too, so they are not held out; they are left out"
        )
    return triples.select(~stated) if not stated.all() else None


def held_pool(learning: GraphLearning, rules: dict[int, PathRules], held: Triples) -> Pool | None:
    """Candidates of the held-out facts' queries, answered from the whole training graph."""
    queries = {}
    for step in learning.steps:
        links = held.select(held.relation == predicate_of(step))
        queries[step] = queries_of_links(step, links.subject, links.object)
    portion = learning.portion(learning.shares.held, 0.9, learning.shares.ridge)
    pools = learning.graph.pools(rules, queries, learning.plan.extent.pool, 0, portion)
    return Pool.concatenated(pools) if pools else None


def with_held(train: Pool, held: Pool) -> Pool:
    """Training and held-out queries as one pool, where held-out answers never count as wrong."""
    of = part_numbers(held.offsets)[held.truth]
    known = train.without(held.step[of], held.source[of], held.entity[held.truth])
    return Pool.concatenated([known, held])
