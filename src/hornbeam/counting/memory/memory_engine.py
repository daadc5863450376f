"""The default engine: the graph in memory, the search in compiled kernels on every core."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property

import numpy as np

from hornbeam.arrays import Bools, Ids, Integers, Ints, Keys, ranges
from hornbeam.compiled import announced
from hornbeam.counting.engine import Discovery
from hornbeam.counting.memory.conditions import (
    Cells,
    ConditionCounter,
    LocatedPairs,
    conditions_found,
    wanted_keys,
)
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
from hornbeam.counting.memory.shares import ShareCounter
from hornbeam.counting.projections import walked
from hornbeam.counting.statistics import ROW_BYTES, Statistics
from hornbeam.errors import InputError
from hornbeam.facts.atom_keys import contained, pair_keys
from hornbeam.facts.names import Names
from hornbeam.facts.table import Facts, Targets
from hornbeam.machine import physical_memory, worker_threads
from hornbeam.progress import SILENT, Progress
from hornbeam.rules.body import MAX_LENGTH, Body, Kind
from hornbeam.rules.candidates import Candidates, Conditions, Language
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
        The evidence. Binary atoms are walked, those of more arguments between two of their places.
    threads
        Worker threads, all cores by default. Their number does not change any result.
    """

    facts: Facts
    threads: int = field(default_factory=worker_threads)

    @cached_property
    def walked(self) -> Facts:
        """The facts that the graph is made of, projections among them."""
        return walked(self.facts)

    @cached_property
    def graph(self) -> Graph:
        """The whole graph, built once."""
        return Graph.of(self.walked)

    @cached_property
    def _limited(self) -> dict[int | None, Graph]:
        """The graph by fan-out limit, each limit that was asked for."""
        return {None: self.graph}

    @cached_property
    def _share_counters(self) -> dict[int | None, ShareCounter]:
        """What adds up shares by fan-out limit, each limit that was asked for."""
        return {}

    @cached_property
    def _edges(self) -> dict[int, Ints]:
        """Sorted edges by predicate, each target predicate that was asked for."""
        return {}

    @property
    def predicates(self) -> Names:
        """Names of the facts' predicates, and of what is walked of those of more arguments."""
        return self.walked.predicates

    @property
    def not_binary(self) -> Mapping[str, int]:
        """Arity of the predicates that are no relations between two entities."""
        return self.facts.not_binary

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
        """Find every body that has groundings for targets; see `Engine.discover`."""
        kinds = language.bodies or (Kind.PATH,)
        located = self._located(targets)
        found = list[Found]()
        works = [self._work(pairs, language) for pairs in located] if Kind.PATH in kinds else []
        if works:
            plan = self._plan(language, keep_entries=statistics)
            with announced(progress):
                if sum(int(work.cost.sum()) for work in works) > LONG_SEARCH:
                    self._forecast(works, plan, progress)
                found = [self._search(work, plan, NO_KEYS, progress) for work in works]
        everything = self._candidates(targets, works, found, language)
        parts = list[Rows](_path_rows(found))
        if set(kinds) - {Kind.PATH}:
            everything, cells = self._with_conditions(everything, targets, located, kinds, language)
            parts += cells
        rows = everything.pruned(language)
        kept = everything.take(rows)
        # rare anchored conditions are not even looked at
        whole = Kind.ANCHORED not in kinds or language.min_coverage == 1
        return Discovery(
            kept,
            self._table(kept, rows, parts, targets, language, progress) if statistics else None,
            found=int(np.count_nonzero(everything.coverage)) if whole else None,
            own_edges=sum(int(pairs.own.sum()) for pairs in located),
            unseen=len(targets) - sum(len(pairs) for pairs in located),
        )

    def _with_conditions(
        self,
        paths: Candidates,
        targets: Targets,
        located: list[LocatedPairs],
        kinds: Collection[Kind],
        language: Language,
    ) -> tuple[Candidates, list[Rows]]:
        """Candidates of all kinds, and the rows of those that are no paths."""
        counter, n_codes = self._condition_counter(language), self.graph.n_codes
        entities, parts = self.facts.entities, list[Rows]()
        everything = replace(paths, conditions=Conditions.of_paths(len(paths), entities))
        for head, pairs in enumerate(located):
            cells = counter.cells(pairs, kinds, None, language.min_coverage)
            more, condition = conditions_found(
                cells, pairs, head, paths.predicates, paths.targets, entities, n_codes, language
            )
            parts.append(_cell_rows(cells, pairs, condition + len(everything)))
            everything = everything.followed_by(more)
        return everything, parts

    def _condition_counter(self, language: Language) -> ConditionCounter:
        graph = self._graph(language)
        return ConditionCounter(
            self.walked, graph.forward, graph.n_codes, language.distinct_variables
        )

    def _table(
        self,
        kept: Candidates,
        rows: Ints,
        parts: list[Rows],
        targets: Targets,
        language: Language,
        progress: Progress,
    ) -> Statistics:
        """The sparse table of the kept candidates, from the rows of the same search."""
        path, target, body, count = concatenated(parts)
        place = np.full(max(int(path.max(initial=-1)), int(rows.max(initial=-1))) + 1, -1)
        place[rows] = np.arange(len(rows))
        path = place[path]
        keep = path >= 0
        bodies = kept.bodies
        table = Statistics.of(
            bodies, len(targets), path[keep], target[keep], body[keep], count[keep]
        )
        return self._with_shares(table, targets, language, progress) if language.shares else table

    def count(
        self,
        targets: Targets,
        bodies: Sequence[Body],
        language: Language,
        *,
        progress: Progress = SILENT,
    ) -> Statistics:
        """Count the given bodies for the targets; see `Engine.count`."""
        paths = [body for body in bodies if body.kind is Kind.PATH]
        longest = max((len(body) for body in paths), default=1)
        language = replace(language, max_length=longest)
        parts: list[Rows] = []
        with announced(progress):
            for pairs, name in zip(self._located(targets), targets.predicates, strict=True):
                mine = [(i, body) for i, body in enumerate(bodies) if body.target == name]
                known = {
                    i: codes
                    for i, body in mine
                    if body.kind is Kind.PATH and (codes := path_codes(body, self.predicates))
                }
                if known:
                    work = self._work(pairs, language)
                    parts.append(self._count_known(work, known, language, progress))
                others = [(i, body) for i, body in mine if body.kind is not Kind.PATH]
                if others:
                    parts.append(self._count_conditions(pairs, others, language))
        table = Statistics.of(bodies, len(targets), *concatenated(parts))
        return self._with_shares(table, targets, language, progress) if language.shares else table

    def _count_conditions(
        self, pairs: LocatedPairs, bodies: Sequence[tuple[int, Body]], language: Language
    ) -> Rows:
        """Rows (path, target, body, count) of known conditions."""
        counter, entities = self._condition_counter(language), self.facts.entities
        keys, numbers = wanted_keys(bodies, self.predicates, entities, counter.n_codes)
        kinds = {body.kind for _, body in bodies}
        cells = counter.cells(pairs, kinds, np.unique(keys), least=1)
        # a model may hold the same condition more than once: its cells are handed out to each
        order = np.argsort(keys, kind="stable")
        found = cells.keys(counter.n_codes, len(entities))
        low, high = (np.searchsorted(keys[order], found, side=side) for side in ("left", "right"))
        cell = np.repeat(np.arange(len(cells)), high - low)
        return _cell_rows(cells.take(cell), pairs, numbers[order[ranges(low, high)]])

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

    def _with_shares(
        self, table: Statistics, targets: Targets, language: Language, progress: Progress
    ) -> Statistics:
        """The table with the shares of its paths."""
        share = np.zeros(len(table.count))
        counter = self._share_counter(language)
        for pairs, name in zip(self._located(targets), targets.predicates, strict=True):
            mine = {
                i: codes
                for i, body in enumerate(table.bodies)
                if body.target == name
                and body.kind is Kind.PATH
                and (codes := path_codes(body, self.predicates))
            }
            if mine:
                counter.add(share, table, mine, pairs, language.distinct_variables)
        return replace(table, share=share)

    def _share_counter(self, language: Language) -> ShareCounter:
        """What adds up shares under a fan-out limit; the degrees at every edge are kept."""
        limit, counters = language.max_fanout, self._share_counters
        if limit not in counters:
            counters[limit] = ShareCounter(self._graph(language), self.graph)
        return counters[limit]

    def _plan(self, language: Language, keep_entries: bool) -> Plan:
        bits = key_bits(language.max_length)
        if self.graph.n_codes >= 1 << bits:
            most = predicate_of(1 << bits) - 1
            raise InputError(
                f"bodies of {language.max_length} atoms take at most {most:,} "
                f"predicates; the facts have {len(self.predicates):,}: try `max_length=3`"
            )
        return Plan(language.max_length, language.distinct_variables, bits, keep_entries)

    def _graph(self, language: Language) -> Graph:
        """The graph under a fan-out limit."""
        limit, limited = language.max_fanout, self._limited
        if limit is not None and limit not in limited:
            limited[limit] = self.graph.limited(limit)
        return limited[limit]

    def _located(self, targets: Targets) -> list[LocatedPairs]:
        """The targets whose entities have facts, by predicate."""
        to_node = targets.entities.translate(self.facts.entities)
        return [self._pairs(targets, to_node, p) for p in range(len(targets.predicates))]

    def _pairs(self, targets: Targets, to_node: Ids, predicate: int) -> LocatedPairs:
        rows = np.flatnonzero(targets.predicate == predicate)
        subject, object_ = to_node[targets.subject[rows]], to_node[targets.object[rows]]
        seen = (subject >= 0) & (object_ >= 0)
        rows, subject, object_ = rows[seen], subject[seen], object_[seen]
        own_predicate = self.predicates.index(targets.predicates[predicate])
        own = self._own(own_predicate, subject, object_)
        return LocatedPairs(
            rows, subject, object_, targets.positive[rows], own, step_code(own_predicate)
        )

    def _work(self, pairs: LocatedPairs, language: Language) -> Work:
        """Targets of one predicate, searched from the end that is cheaper to start at."""
        graph, positive = self._graph(language), pairs.positive.astype(np.int64)
        own, row, code = pairs.own, pairs.row, pairs.own_code
        forth = Work(graph, pairs.subject, pairs.object, positive, own, row, code, flipped=False)
        back = Work(
            graph.reversed, pairs.object, pairs.subject, positive, own, row, turned(code),
            flipped=True,
        )  # fmt: skip
        chosen = back if back.cost.sum() < forth.cost.sum() else forth
        return chosen.take(np.argsort(chosen.source, kind="stable"))

    def _own(self, predicate: int, subject: Ids, object_: Ids) -> Bools:
        """Which pairs stand among the facts of their own predicate."""
        atoms = self.walked.binary
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
            np.empty((0, language.max_length), dtype=np.uint32),
            *(
                from_subject(codes_of_keys(part.key, bits, language.max_length), work.flipped)
                for part, work in zip(found, works, strict=True)
            ),
        ]
        none = np.empty((3, 0), dtype=np.int64)
        figures = np.concatenate([none, *(part.figures for part in found)], axis=1)
        sizes = [len(part.key) for part in found]
        return Candidates(
            tuple(self.predicates),
            tuple(targets.predicates),
            np.concatenate(steps),
            np.repeat(np.arange(len(found), dtype=np.int32), sizes),
            coverage=figures[0],
            coverage_true=figures[1],
            paths=figures[2],
            distinct=language.distinct_variables,
        )


def _path_rows(found: Sequence[Found]) -> Iterator[Rows]:
    """Rows (path, target, body, count) of what was found, numbered on from part to part."""
    start = 0
    for part in found:
        yield part.path + start, part.target, part.body, part.count
        start += len(part.key)


def _cell_rows(cells: Cells, pairs: LocatedPairs, condition: Ints) -> Rows:
    """Rows (path, target, body, count) of conditions."""
    target = pairs.row[cells.pair].astype(np.int32)
    return condition, target, cells.truth.astype(np.int32), cells.count


def _sorted_keys(keys: Iterable[int]) -> Keys:
    return np.array(sorted(set(keys)), dtype=np.uint64)
