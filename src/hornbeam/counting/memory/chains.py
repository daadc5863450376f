"""Chains of pairs: walks are counted by entity (`chain_walks`), and repeated for its pairs."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import NamedTuple

import numpy as np

from hornbeam.base.arrays import Ints
from hornbeam.base.progress import SILENT, PartOfWork, Progress
from hornbeam.counting.memory.chain_tables import (
    ChainCounts,
    ChainStarts,
    Sequences,
    WalkedChains,
    n_ends,
)
from hornbeam.counting.memory.chain_walks import ChainWalks
from hornbeam.counting.memory.condition_rows import ConditionCounts, FoundConditions, rows_of_pairs
from hornbeam.counting.memory.path_search import LocatedPairs
from hornbeam.facts.atom_keys import pair_keys
from hornbeam.facts.table import ONE
from hornbeam.graph.adjacency import Adjacency, Graph
from hornbeam.rules.body import MAX_CHAIN, Kind
from hornbeam.rules.codes import KINDS, ConditionNumbers, inverse_code


class FoundChains(NamedTuple):
    """Chains, how many of them lead through hubs, and how many were not made longer."""

    conditions: FoundConditions
    n_hubs: int
    n_left: int


@dataclass(frozen=True, eq=False)
class ChainCounter:
    """Counts chains over the steps of a graph that may be walked."""

    whole: Graph
    forward: Adjacency
    unary: Adjacency
    distinct: bool

    def found(
        self, pairs: LocatedPairs, max_length: int, min_pairs: int, progress: PartOfWork
    ) -> FoundChains:
        """Count all chains that may cover `min_pairs`."""
        parts, n_hubs, n_left = list[FoundConditions](), 0, 0
        for argument in (0, 1):
            starts = _PairStarts(pairs, argument, self.distinct)
            part = progress.part(argument, argument + 1, 2)
            walked = self._walked(starts, max_length, min_pairs, progress=part)
            parts.append(self._described(walked, argument))
            n_hubs, n_left = n_hubs + walked.n_hubs, n_left + walked.n_left
            part.finish()
        return FoundChains(FoundConditions.united(parts), n_hubs, n_left)

    def counted(self, wanted: ConditionNumbers, pairs: LocatedPairs) -> ConditionCounts:
        """Count the given chains."""
        parts = list[ConditionCounts]()
        for argument in np.unique(wanted.argument).tolist():
            chains = wanted.take(wanted.argument == argument)
            n_codes = self.whole.n_codes
            known, sequence = Sequences.of(chains.walk, n_codes)
            end = np.where(chains.constant < 0, chains.fact, n_codes + chains.constant)
            keys = pair_keys(sequence, end, n_ends(self.whole))
            starts = _PairStarts(pairs, argument, self.distinct)
            walked = self._walked(starts, known=known, wanted=np.unique(keys))
            parts.append(_by_truth(walked.counts).numbered(keys, chains.number))
        return ConditionCounts.united(parts).true()

    def _walked(
        self,
        starts: _PairStarts,
        max_atoms: int = MAX_CHAIN + 1,
        min_pairs: int = 1,
        known: Sequences | None = None,
        wanted: Ints | None = None,
        progress: Progress = SILENT,
    ) -> WalkedChains:
        """Count chains by pair."""
        walks = ChainWalks(
            self.whole, self.forward, self.unary, starts.all, max_atoms, min_pairs, known, wanted
        )
        walked = walks.counted(progress)
        counts = starts.repeated(walked.counts)
        has_own = (
            walked.mention(starts.own_code)[counts.condition // walks.n_ends]
            | (counts.condition % walks.n_ends == starts.own_code)
        ) & starts.pairs.own[counts.row]
        if not self.distinct and has_own.any():
            apart = replace(
                walks,
                starts=starts.owned,
                min_pairs=1,
                known=walked.sequences,
                wanted=np.unique(counts.condition[has_own]),
            )
            own = apart.counted().counts
            own = replace(own, row=np.flatnonzero(starts.pairs.own)[own.row])
            counts = ChainCounts.united([counts.take(~has_own), own])
        return replace(walked, counts=counts)

    def _described(self, walked: WalkedChains, argument: int) -> FoundConditions:
        """Chains by the numbers of candidates."""
        distinct, condition = np.unique(walked.counts.condition, return_inverse=True)
        sequence, end = np.divmod(distinct, n_ends(self.whole))
        walk = walked.sequences.codes[sequence]
        steps = np.concatenate([walk, np.zeros((len(walk), 1), dtype=np.int64)], axis=1)
        n_codes = self.whole.n_codes
        is_constant = end >= n_codes
        steps[np.arange(len(steps)), np.count_nonzero(walk, axis=1)] = np.where(is_constant, 0, end)
        constant = np.where(is_constant, end - n_codes, -1)
        kind = np.full(len(end), KINDS.index(Kind.CHAIN))
        conditions = np.stack([kind, np.full(len(end), argument), constant], axis=1)
        counts = replace(_by_truth(walked.counts), condition=condition)
        return FoundConditions(steps, conditions, counts, walked.counts.doubtful == 0)


@dataclass(frozen=True, eq=False)
class _PairStarts:
    """Where the walks of pairs start, at one of their arguments."""

    pairs: LocatedPairs
    argument: int
    distinct: bool

    @property
    def own_code(self) -> int:
        """Code of a pair's own fact from this argument."""
        code = self.pairs.own_code
        return inverse_code(code) if self.argument else code

    @property
    def _ends(self) -> tuple[Ints, Ints]:
        ends = self.pairs.subject.astype(np.int64), self.pairs.object.astype(np.int64)
        return (ends[1], ends[0]) if self.argument else ends

    @property
    def _apart(self) -> Ints:
        """Pairs of two entities."""
        node, other = self._ends
        return np.flatnonzero(node != other)

    @property
    def all(self) -> ChainStarts:
        """Every entity once or, with distinct variables, every pair."""
        if self.distinct:
            return self._at(self._apart)
        nodes, size = np.unique(self._ends[0], return_counts=True)
        return ChainStarts(nodes, size)

    @property
    def owned(self) -> ChainStarts:
        """The pairs that are facts."""
        return self._at(np.flatnonzero(self.pairs.own))

    def _at(self, rows: Ints) -> ChainStarts:
        node, other = self._ends
        one = np.ones(len(rows), dtype=np.int64)
        return ChainStarts(node[rows], one, other[rows], self.own_code, self.distinct)

    def repeated(self, counts: ChainCounts) -> ChainCounts:
        """Counts by start as counts by pair."""
        if self.distinct:
            return replace(counts, row=self._apart[counts.row])
        _, place = np.unique(self._ends[0], return_inverse=True)
        counts = counts.take(np.argsort(counts.row, kind="stable"))
        rows, pair = rows_of_pairs(counts.row, place)
        return replace(counts.take(rows), row=pair)


def _by_truth(counts: ChainCounts) -> ConditionCounts:
    return ConditionCounts(counts.condition, counts.row, ONE - counts.deficit, counts.count)
