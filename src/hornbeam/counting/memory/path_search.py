"""The search for paths of all targets: from the cheaper side, in blocks, on threads."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np

from hornbeam.base.arrays import Bools, Ids, Integers, Ints, Keys, pointers, ranges
from hornbeam.base.machine import physical_memory
from hornbeam.base.progress import SILENT, Progress
from hornbeam.counting.memory.parallel import (
    MergedCounts,
    Rows,
    SpareWorkers,
    WorkerPool,
    balanced_blocks,
    run_blocks,
)
from hornbeam.counting.memory.search import NO_KEYS, SearchPlan, search_block
from hornbeam.counting.statistics import ROW_BYTES
from hornbeam.errors import InputError
from hornbeam.facts.names import Names
from hornbeam.graph.adjacency import Adjacency, Graph
from hornbeam.rules.body import MAX_LENGTH
from hornbeam.rules.candidates import Candidates, RuleLimits
from hornbeam.rules.codes import (
    codes_of_keys,
    from_subject,
    inverse_code,
    key_bits,
    predicate_of,
    reversed_sequence,
    sequence_key,
)

assert MAX_LENGTH == 4, "the kernel joins prefixes and suffixes of up to two steps each"

#: Blocks of work per thread, so that the last one to finish does not take long.
BLOCKS_PER_THREAD = 32
#: Edges to look at above which a search is long enough for a forecast.
LONG_SEARCH = 100_000_000
#: Targets in the sample of a forecast, and edges to look at for all of them together.
SAMPLE = 256
SAMPLED_EDGES = 20_000_000

#: Edges to visit (see `SearchTargets.cost`) above which compiling the search pays, and how many
#: times that with paths of four steps. Interpreted, it takes some 15 microseconds per edge.
WORTH_COMPILING = 100_000
LONG_PATHS_COST = 5
#: Nodes whose neighbours are looked at together for an estimate of cost.
NODES = 100_000


@dataclass(frozen=True, eq=False)
class LocatedPairs:
    """Targets of one predicate whose entities have facts, as nodes.

    `row` is the target of every pair, `own` whether it is among the facts, as a step of `own_code`
    from the subject.
    """

    row: Ints
    subject: Ids
    object: Ids
    positive: Ints  #: 1 where the target is true, else 0
    own: Bools
    own_code: int

    def __len__(self) -> int:
        return len(self.row)

    @property
    def reversed(self) -> LocatedPairs:
        """The pairs with subjects and objects exchanged."""
        own_code = inverse_code(self.own_code)
        return replace(self, subject=self.object, object=self.subject, own_code=own_code)

    def take(self, rows: Integers) -> LocatedPairs:
        """The pairs at `rows`, in that order.

        Indices, not a slice: the kernel is compiled for contiguous arrays only.
        """
        names = ("row", "subject", "object", "positive", "own")
        return replace(self, **{name: getattr(self, name)[rows] for name in names})


@dataclass(frozen=True, eq=False)
class SearchTargets:
    """Targets of one predicate, sorted by the node where the search starts: their subjects.

    In a `flipped` search the graph and the pairs are reversed, so that it starts at objects.
    """

    graph: Graph
    pairs: LocatedPairs
    flipped: bool

    def __len__(self) -> int:
        return len(self.pairs)

    @cached_property
    def cost(self) -> Ints:
        """Estimated cost of every target: its part of the source's cost, plus the sink's edges."""
        source, sink = self.pairs.subject, self.pairs.object
        distinct, place, size = np.unique(source, return_inverse=True, return_counts=True)
        shared = _two_step_cost(self.graph.forward, distinct) // size
        estimate: Ints = shared[place] + self.graph.backward.degree(sink) + 1
        return estimate

    def take(self, rows: Integers) -> SearchTargets:
        """The targets at `rows`, in that order."""
        return replace(self, pairs=self.pairs.take(rows))


@dataclass(frozen=True, eq=False)
class PathSearch:
    """The search over a graph for the paths of a language."""

    graph: Graph  #: the graph under the language's fan-out limit
    predicates: Names  #: of the graph's steps
    language: RuleLimits
    threads: int
    spare: SpareWorkers

    def discover(
        self, groups: Sequence[SearchTargets], keep_entries: bool, progress: Progress
    ) -> list[MergedCounts]:
        """Find every sequence that has paths, and with `keep_entries` count them per target."""
        if not groups:
            return []
        plan = self._plan(keep_entries)
        if sum(int(group.cost.sum()) for group in groups) > LONG_SEARCH:
            self._forecast(groups, plan, progress)
        return [self._run(group, plan, NO_KEYS, progress) for group in groups]

    def group_of(self, pairs: LocatedPairs) -> SearchTargets:
        """Targets of one predicate, searched from the cheaper side."""
        forth = SearchTargets(self.graph, pairs, flipped=False)
        back = SearchTargets(self.graph.reversed, pairs.reversed, flipped=True)
        chosen = back if back.cost.sum() < forth.cost.sum() else forth
        if len(pairs) == 1:  # keeps its computed cost
            return chosen
        return chosen.take(np.argsort(chosen.pairs.subject, kind="stable"))

    def count(self, group: SearchTargets, known: dict[int, list[int]], progress: Progress) -> Rows:
        """Rows (body, target, truth, count) of the known sequences; `known` maps body to codes."""
        bits = key_bits(self.language.max_length)
        walked = {
            i: reversed_sequence(codes) if group.flipped else codes for i, codes in known.items()
        }
        keys = np.array([sequence_key(codes, bits) for codes in walked.values()], dtype=np.uint64)
        distinct, place = np.unique(keys, return_inverse=True)
        plan = self._plan(keep_entries=True)._replace(
            frozen=True,
            first=_sorted_keys(codes[0] for codes in walked.values()),
            pair=_sorted_keys(sequence_key(codes[:2], bits) for codes in walked.values()),
            last=_sorted_keys(codes[-1] for codes in walked.values()),
        )
        body, *columns = self._run(group, plan, distinct, progress).rows
        # a model may hold the same sequence more than once: each gets all rows of its key
        order = np.argsort(body, kind="stable")
        starts = np.searchsorted(body[order], np.arange(len(distinct) + 1))
        low, high = starts[place], starts[place + 1]
        rows = order[ranges(low, high)]
        return np.repeat(np.array(list(walked)), high - low), *(column[rows] for column in columns)

    def candidates(
        self,
        groups: Sequence[SearchTargets],
        found: Sequence[MergedCounts],
        targets: tuple[str, ...],
    ) -> Candidates:
        """Everything found, as one table over the facts' predicates.

        In soft graphs a sequence may have paths of positive truth none of which rounds to true;
        such a sequence is not a candidate: its coverage is 0.
        """
        language = self.language
        bits = key_bits(language.max_length)
        steps = [
            np.empty((0, language.max_length), dtype=np.uint32),
            *(
                from_subject(codes_of_keys(part.key, bits, language.max_length), group.flipped)
                for part, group in zip(found, groups, strict=True)
            ),
        ]
        none = np.empty((3, 0), dtype=np.int64)
        figures = np.concatenate([none, *(part.figures for part in found)], axis=1)
        sizes = [len(part.key) for part in found]
        return Candidates(
            tuple(self.predicates),
            targets,
            np.concatenate(steps),
            np.repeat(np.arange(len(found), dtype=np.int32), sizes),
            coverage=figures[0],
            coverage_true=figures[1],
            paths=figures[2],
            distinct=language.distinct_variables,
        )

    def _plan(self, keep_entries: bool) -> SearchPlan:
        language = self.language
        bits = key_bits(language.max_length)
        if self.graph.n_codes >= 1 << bits:
            most = predicate_of(1 << bits) - 1
            raise InputError(
                f"bodies of {language.max_length} atoms take at most {most:,} "
                f"predicates; the facts have {len(self.predicates):,}: try `max_length=3`"
            )
        return SearchPlan(language.max_length, language.distinct_variables, bits, keep_entries)

    def _forecast(
        self, groups: Sequence[SearchTargets], plan: SearchPlan, progress: Progress
    ) -> None:
        """Count a sample of the targets; report the paths to expect, refuse too many rows."""
        progress.message("Sampling targets to tell how long the search will take ...")
        paths = rows = 0.0
        total = sum(len(group) for group in groups)
        counting_only = plan._replace(keep_entries=False)
        for group in groups:
            sample = _sample(group, total, plan.max_length)
            if len(sample):
                found = self._run(sample, counting_only, NO_KEYS, SILENT)
                scale = len(group) / len(sample)
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

    def _run(
        self, group: SearchTargets, plan: SearchPlan, known: Keys, progress: Progress
    ) -> MergedCounts:
        """Run the blocks of one group on the threads and merge what they found.

        A small search is one block, run without a thread, which takes longer to start than the few
        paths of one pair take to count.
        """
        graph, pairs, plan = group.graph, group.pairs, plan._replace(own_code=group.pairs.own_code)
        work = int(group.cost.sum()) * (LONG_PATHS_COST if plan.max_length > 3 else 1)
        run, is_small = search_block.choose(work, WORTH_COMPILING), work <= WORTH_COMPILING
        # interpreted code holds the interpreter's lock
        threads = 1 if is_small or run == search_block.interpreted else self.threads
        pool = WorkerPool(threads, self.spare, known)

        def search(low: int, high: int) -> tuple[int, Rows]:
            part = slice(low, high)
            with pool.borrowed() as (number, worker):
                return number, worker.search(
                    run, graph.forward, graph.backward, graph.n_codes, plan, pairs.subject[part],
                    pairs.object[part], pairs.positive[part], pairs.own[part], low,
                )  # fmt: skip

        if is_small and len(pairs):
            block = search(0, len(pairs))
            progress.advance("Counting paths", len(pairs), len(pairs))
            return pool.merged([block], pairs.row)
        bounds = balanced_blocks(pairs.subject, group.cost, threads * BLOCKS_PER_THREAD)
        return pool.merged(run_blocks(search, bounds, threads, progress), pairs.row)


def path_rows(found: Sequence[MergedCounts]) -> Iterator[Rows]:
    """Rows (body, target, truth, count) of all parts; bodies are numbered on from part to part."""
    start = 0
    for part in found:
        body, *columns = part.rows
        yield body + start, *columns
        start += len(part.key)


def _sample(group: SearchTargets, total: int, max_length: int) -> SearchTargets:
    """An evenly spaced sample of the targets; fewer where each takes much work."""
    sample = group.take(np.arange(0, len(group), max(1, total // SAMPLE)))
    if max_length <= 3 or not len(sample):
        return sample
    # the last two of four steps are walked once per target
    edges = (
        int(_two_step_cost(group.graph.backward, sample.pairs.object).sum()) * total // len(group)
    )
    return sample.take(np.arange(0, len(sample), 1 + edges // SAMPLED_EDGES))


def _two_step_cost(adjacency: Adjacency, nodes: Ids) -> Ints:
    """Edges within two steps of each node."""
    offsets, costs = adjacency.offsets, [np.empty(0, dtype=np.int64)]
    for start in range(0, len(nodes), NODES):
        block = nodes[start : start + NODES]
        degree = adjacency.degree(block)
        ends = adjacency.neighbour[ranges(offsets[block], offsets[block + 1])]
        further = pointers(adjacency.degree(ends))
        costs.append(degree + np.diff(further[pointers(degree)]))
    return np.concatenate(costs)


def _sorted_keys(keys: Iterable[int]) -> Keys:
    return np.array(sorted(set(keys)), dtype=np.uint64)
