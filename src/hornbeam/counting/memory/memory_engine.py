"""The default engine: the graph in memory, the search in compiled kernels on every core."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property

import numpy as np

from hornbeam.arrays import Bools, Ids, Integers, Ints, Keys
from hornbeam.compiled import announced
from hornbeam.counting.engine import Discovery
from hornbeam.counting.memory.graph import Graph
from hornbeam.counting.memory.parallel import (
    Found,
    Rows,
    WorkerPool,
    balanced_blocks,
    concatenated,
    run_blocks,
)
from hornbeam.counting.memory.search import NO_KEYS, Plan, search_block, two_step_cost
from hornbeam.counting.statistics import ROW_BYTES, Statistics
from hornbeam.errors import InputError
from hornbeam.facts.atom_keys import contained, pair_keys
from hornbeam.facts.names import Names
from hornbeam.facts.table import Facts, Targets
from hornbeam.machine import physical_memory, worker_threads
from hornbeam.progress import SILENT, Progress
from hornbeam.rules.body import MAX_LENGTH, Body
from hornbeam.rules.candidates import Candidates, Language
from hornbeam.rules.codes import (
    codes_of_keys,
    from_subject,
    key_bits,
    path_codes,
    predicate_of,
    sequence_key,
    step_code,
    turned,
    turned_sequence,
)

assert MAX_LENGTH == 4, "the kernel joins heads and tails of up to two steps each"

#: Blocks of work per thread, so that the last one to finish is not waited for long.
BLOCKS_PER_THREAD = 32
#: Edges to look at above which a search is long enough for a forecast.
LONG_SEARCH = 100_000_000
#: Targets in the sample behind a forecast.
SAMPLE = 256

#: Edges to look at (see `Work.cost`), and with paths of four steps how many times that, above
#: which compiling the search pays. As it is, it takes some 15 microseconds per edge.
WORTH_COMPILING = 100_000
LONG_PATHS_COST = 5
#: Nodes to look at for an estimate of cost above which compiling pays.
WORTH_COMPILING_ESTIMATE = 500_000


@dataclass(frozen=True, eq=False)
class Work:
    """Targets of one predicate as node pairs, sorted by the node where the search starts.

    The search starts at the subjects, or, `flipped`, at the objects; `row` says which target a
    pair is, `own` which pairs stand among the facts, as steps of `own_code`.
    """

    graph: Graph
    source: Ids
    sink: Ids
    positive: Ints
    own: Bools
    row: Ints
    own_code: int
    flipped: bool

    def __len__(self) -> int:
        return len(self.source)

    @cached_property
    def cost(self) -> Ints:
        """Estimate of the work of every target: what its source shares out, and its own edges."""
        distinct, place, size = np.unique(self.source, return_inverse=True, return_counts=True)
        offsets = self.graph.forward.offsets
        neighbours = int((offsets[distinct + 1] - offsets[distinct]).sum())
        estimate_from = two_step_cost.choose(neighbours, WORTH_COMPILING_ESTIMATE)
        shared = estimate_from(self.graph.forward, distinct) // size
        offsets = self.graph.backward.offsets
        estimate: Ints = shared[place] + np.diff(offsets)[self.sink] + 1
        return estimate

    def take(self, rows: Integers) -> Work:
        """The targets at `rows`, in that order.

        By number, not by slice: the kernel is compiled for contiguous arrays only.
        """
        names = ("source", "sink", "positive", "own", "row")
        return replace(self, **{name: getattr(self, name)[rows] for name in names})


@dataclass(frozen=True, eq=False)
class MemoryEngine:
    """Path search over facts held in memory.

    Parameters
    ----------
    facts
        The evidence; only binary atoms are walked.
    threads
        Worker threads, all cores by default. Their number does not change any result.
    """

    facts: Facts
    threads: int = field(default_factory=worker_threads)

    @cached_property
    def graph(self) -> Graph:
        """The whole graph, built once."""
        return Graph.of(self.facts)

    @cached_property
    def _limited(self) -> dict[int | None, Graph]:
        """The graph by fan-out limit, each limit that was asked for."""
        return {None: self.graph}

    @cached_property
    def _edges(self) -> dict[int, Ints]:
        """Sorted edges by predicate, each target predicate that was asked for."""
        return {}

    @property
    def predicates(self) -> Names:
        """Names of the facts' predicates."""
        return self.facts.predicates

    def locate(self, names: Names) -> Ids:
        """Ids of entities by name, -1 where no fact has them."""
        return names.translate(self.facts.entities)

    def discover(
        self,
        targets: Targets,
        language: Language,
        *,
        statistics: bool = True,
        progress: Progress = SILENT,
    ) -> Discovery:
        """Find every sequence that connects targets; see `Engine.discover`."""
        plan = self._plan(language, keep_entries=statistics)
        with announced(progress):
            works = self._works(targets, language)
            if sum(int(work.cost.sum()) for work in works) > LONG_SEARCH:
                self._forecast(works, plan, progress)
            found = [self._search(work, plan, NO_KEYS, progress) for work in works]
        everything = self._candidates(targets, works, found, language)
        rows = everything.pruned(language)
        kept = everything.take(rows)
        return Discovery(
            kept,
            _table(kept, rows, found, len(targets)) if statistics else None,
            found=int(np.count_nonzero(everything.coverage)),
            own_edges=sum(int(work.own.sum()) for work in works),
            unseen=len(targets) - sum(len(work) for work in works),
        )

    def count(
        self,
        targets: Targets,
        bodies: Sequence[Body],
        language: Language,
        *,
        progress: Progress = SILENT,
    ) -> Statistics:
        """Count the given sequences for the targets; see `Engine.count`."""
        longest = max((len(body) for body in bodies), default=1)
        language = replace(language, max_length=longest)
        parts: list[Rows] = []
        with announced(progress):
            works = self._works(targets, language)
            for work, name in zip(works, targets.predicates, strict=True):
                known = {
                    i: codes
                    for i, body in enumerate(bodies)
                    if body.target == name and (codes := path_codes(body, self.predicates))
                }
                if known:
                    parts.append(self._count_known(work, known, language, progress))
        return Statistics.of(bodies, len(targets), *concatenated(parts))

    def _count_known(
        self, work: Work, known: dict[int, list[int]], language: Language, progress: Progress
    ) -> Rows:
        """Rows (path, target, body, count) of the known sequences; `known` maps path to codes."""
        bits = key_bits(language.max_length)
        walked = {
            i: turned_sequence(codes) if work.flipped else codes for i, codes in known.items()
        }
        keys = np.array([sequence_key(codes, bits) for codes in walked.values()], dtype=np.uint64)
        distinct, place = np.unique(keys, return_inverse=True)
        plan = self._plan(language, keep_entries=True)._replace(
            frozen=True,
            first=_sorted_keys(codes[0] for codes in walked.values()),
            pair=_sorted_keys(sequence_key(codes[:2], bits) for codes in walked.values()),
            last=_sorted_keys(codes[-1] for codes in walked.values()),
        )
        found = self._search(work, plan, distinct, progress)
        # a model may hold the same sequence more than once, so rows are handed out by path
        order = np.argsort(found.path, kind="stable")
        starts = np.searchsorted(found.path[order], np.arange(len(distinct) + 1))
        mine = [order[starts[row] : starts[row + 1]] for row in place.tolist()]
        path = np.repeat(np.array(list(walked)), [len(rows) for rows in mine])
        rows = np.concatenate(mine)
        return path, found.target[rows], found.body[rows], found.count[rows]

    def _plan(self, language: Language, keep_entries: bool) -> Plan:
        bits = key_bits(language.max_length)
        if self.graph.n_codes >= 1 << bits:
            most = predicate_of(1 << bits) - 1
            raise InputError(
                f"bodies of {language.max_length} atoms take at most {most:,} "
                f"predicates; the facts have {len(self.facts.predicates):,}: try `max_length=3`"
            )
        return Plan(language.max_length, language.distinct_variables, bits, keep_entries)

    def _works(self, targets: Targets, language: Language) -> list[Work]:
        """The searchable targets, one `Work` per target predicate."""
        limit, limited = language.max_fanout, self._limited
        if limit is not None and limit not in limited:
            limited[limit] = self.graph.limited(limit)
        graph = limited[limit]
        to_node = targets.entities.translate(self.facts.entities)
        return [self._work(graph, targets, to_node, p) for p in range(len(targets.predicates))]

    def _work(self, graph: Graph, targets: Targets, to_node: Ids, predicate: int) -> Work:
        """Targets of one predicate, searched from the end that is cheaper to start at."""
        rows = np.flatnonzero(targets.predicate == predicate)
        subject, object_ = to_node[targets.subject[rows]], to_node[targets.object[rows]]
        seen = (subject >= 0) & (object_ >= 0)
        rows, subject, object_ = rows[seen], subject[seen], object_[seen]
        own_predicate = self.facts.predicates.index(targets.predicates[predicate])
        own = self._own(own_predicate, subject, object_)
        code = step_code(own_predicate)
        positive = targets.positive[rows].astype(np.int64)
        forth = Work(graph, subject, object_, positive, own, rows, code, flipped=False)
        back = Work(
            graph.reversed, object_, subject, positive, own, rows, turned(code), flipped=True
        )
        chosen = back if back.cost.sum() < forth.cost.sum() else forth
        return chosen.take(np.argsort(chosen.source, kind="stable"))

    def _own(self, predicate: int, subject: Ids, object_: Ids) -> Bools:
        """Which pairs stand among the facts of their own predicate."""
        atoms = self.facts.binary
        n = len(self.facts.entities)
        if predicate not in self._edges:
            mine = atoms.predicate == predicate
            edges = pair_keys(atoms.arguments[0][mine], atoms.arguments[1][mine], n)
            self._edges[predicate] = np.unique(edges)
        return contained(pair_keys(subject, object_, n), self._edges[predicate])

    def _forecast(self, works: list[Work], plan: Plan, progress: Progress) -> None:
        """Count a sample of the targets; say how many paths to expect, refuse too many rows."""
        paths = rows = 0.0
        total = sum(len(work) for work in works)
        counting_only = plan._replace(keep_entries=False)
        for work in works:
            sample = work.take(np.arange(0, len(work), max(1, total // SAMPLE)))
            if len(sample):
                found = self._search(sample, counting_only, NO_KEYS, SILENT)
                scale = len(work) / len(sample)
                paths += scale * float(found.figures[2].sum())
                rows += scale * float(found.figures[0].sum())
        progress.message(f"About {paths:,.0f} paths to count for {total:,} targets.")
        needed = rows * ROW_BYTES if plan.keep_entries else 0.0
        memory = physical_memory()
        if needed > memory:
            raise InputError(
                f"the table of counts would take about {needed / 1e9:.0f} GB of memory and this "
                f"machine has {memory / 1e9:.0f}: use fewer targets, a smaller `max_length`, or "
                "`max_fanout`"
            )

    def _search(self, work: Work, plan: Plan, known: Keys, progress: Progress) -> Found:
        """Run the blocks of one work on the threads and merge what they found."""
        plan = plan._replace(own_code=work.own_code)
        steeper = LONG_PATHS_COST if plan.max_length > 3 else 1
        run = search_block.choose(int(work.cost.sum()) * steeper, WORTH_COMPILING)
        # what is interpreted holds the interpreter's lock
        threads = 1 if run == search_block.interpreted else self.threads
        pool = WorkerPool(threads, work.graph.n_entities, known)

        def search(low: int, high: int) -> tuple[int, Rows]:
            part = slice(low, high)
            with pool.lent() as worker:
                worker.counters, worker.size, *rows = run(
                    work.graph.forward, work.graph.backward, work.graph.n_codes, plan,
                    work.source[part], work.sink[part], work.positive[part], work.own[part], low,
                    worker.near_slot, worker.far_slot, worker.counters, worker.size,
                )  # fmt: skip
                return worker.number, tuple(rows)

        bounds = balanced_blocks(work.source, work.cost, threads * BLOCKS_PER_THREAD)
        return pool.merged(run_blocks(search, bounds, threads, progress), work.row)

    def _candidates(
        self, targets: Targets, works: list[Work], found: list[Found], language: Language
    ) -> Candidates:
        """Everything found, as one table over the facts' predicates.

        In soft graphs a sequence may have paths of positive truth none of which rounds to true;
        such a sequence is no candidate: its coverage is 0.
        """
        bits = key_bits(language.max_length)
        steps = [
            from_subject(codes_of_keys(part.key, bits, language.max_length), work.flipped)
            for part, work in zip(found, works, strict=True)
        ]
        figures = np.concatenate([part.figures for part in found], axis=1)
        sizes = [len(part.key) for part in found]
        return Candidates(
            tuple(self.facts.predicates),
            tuple(targets.predicates),
            np.concatenate(steps),
            np.repeat(np.arange(len(found), dtype=np.int32), sizes),
            coverage=figures[0],
            coverage_true=figures[1],
            paths=figures[2],
            distinct=language.distinct_variables,
        )


def _table(kept: Candidates, rows: Ints, found: list[Found], n_targets: int) -> Statistics:
    """The sparse table of the kept candidates, from the rows of the same search."""
    place = np.full(sum(len(part.key) for part in found), -1, dtype=np.int64)
    place[rows] = np.arange(len(rows))
    starts = np.cumsum([0, *(len(part.key) for part in found)])
    path = np.concatenate(
        [place[part.path + start] for part, start in zip(found, starts, strict=False)]
    )
    keep = path >= 0
    target, body, count = (
        np.concatenate([getattr(part, name) for part in found])[keep]
        for name in ("target", "body", "count")
    )
    bodies = [kept.body(row) for row in range(len(kept))]
    return Statistics.of(bodies, n_targets, path[keep], target, body, count)


def _sorted_keys(keys: Iterable[int]) -> Keys:
    return np.array(sorted(set(keys)), dtype=np.uint64)
