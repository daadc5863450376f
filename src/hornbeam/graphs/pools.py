"""Pools: the candidates of queries with their features, and which candidates are true."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, fields, replace
from functools import cached_property
from typing import Any, NamedTuple

import numpy as np

from hornbeam.base.arrays import Bools, Floats, Ids, Ints, Singles, part_numbers, pointers, ranges
from hornbeam.facts.atom_keys import pair_keys
from hornbeam.graph.link_hashes import LinkHash
from hornbeam.graphs.evidence_kernels import fired_paths, gather
from hornbeam.graphs.features import COLUMN
from hornbeam.graphs.graph_evidence import GraphEvidence
from hornbeam.graphs.grouped_queries import GroupedQueries
from hornbeam.graphs.link_arrays import WORTH_COMPILING
from hornbeam.graphs.linked_graph import LinkedGraph
from hornbeam.graphs.path_rules import PathRules, TrieWalk
from hornbeam.graphs.ridge import PROPOSED, Ridge
from hornbeam.graphs.softmax import Firings, standard_deviations
from hornbeam.rules.codes import is_inverse, predicate_of

#: Fraction of informative sources above which the pool is used as it is instead of being copied.
INFORMATIVE_SHARE = 0.9
#: Number of sources whose candidates are gathered at a time.
BLOCK = 64


class FurtherCandidates(NamedTuple):
    """Candidates beyond the limit of a pool, `sizes[i]` of source i."""

    sizes: Ints
    entity: Ids


@dataclass(frozen=True, eq=False)
class Pool:
    """Candidates of sources along steps: source i has the candidates offsets[i] to offsets[i + 1].

    `missed` counts the true answers of every source that are not among its candidates. `fold` is
    the number of the hidden fold that a source's queries come from. `further` are the next
    candidates of every source, without features, in the order in which they would be added.
    """

    step: Ids
    source: Ids
    offsets: Ints
    entity: Ids
    feature: Singles
    truth: Bools
    missed: Ints
    fold: Ids
    further: FurtherCandidates | None = None

    @property
    def n_queries(self) -> int:
        """Number of true answers, pooled or missed."""
        return int(self.truth.sum() + self.missed.sum())

    @cached_property
    def scale(self) -> Floats:
        """Standard deviations of the features, 1 for constant features."""
        return standard_deviations(self.feature)

    @classmethod
    def of(
        cls,
        step: int,
        queries: GroupedQueries,
        sizes: Ints,
        entity: Ids,
        feature: Singles,
        fold: int,
        further: FurtherCandidates | None = None,
    ) -> Pool:
        """Candidates of the sources of queries along a step, `sizes[i]` of source i."""
        n, offsets, of_row = len(queries.sources), pointers(sizes), part_numbers(pointers(sizes))
        wanted = pair_keys(part_numbers(queries.offsets), queries.answers)
        truth = np.isin(pair_keys(of_row, entity), wanted)
        missed = np.diff(queries.offsets) - np.bincount(of_row[truth], minlength=n)
        steps, folds = (np.full(n, number, dtype=np.int32) for number in (step, fold))
        return cls(steps, queries.sources, offsets, entity, feature, truth, missed, folds, further)

    @classmethod
    def concatenated(cls, pools: Sequence[Pool]) -> Pool:
        """Pools one after the other, without further candidates."""
        sizes = np.concatenate([np.diff(pool.offsets) for pool in pools])
        names = [field.name for field in fields(cls) if field.name not in ("offsets", "further")]
        parts: dict[str, Any] = {
            name: np.concatenate([getattr(pool, name) for pool in pools]) for name in names
        }
        return cls(offsets=pointers(sizes), **parts)

    def select(self, sources: Ints | Bools) -> Pool:
        """Keep the given sources, without further candidates."""
        chosen = np.arange(len(self.source))[sources]
        rows = ranges(self.offsets[chosen], self.offsets[chosen + 1])
        return Pool(
            self.step[chosen],
            self.source[chosen],
            pointers(np.diff(self.offsets)[chosen]),
            self.entity[rows],
            self.feature[rows],
            self.truth[rows],
            self.missed[chosen],
            self.fold[chosen],
        )

    def informative(self) -> Pool:
        """The sources with both true and false candidates: only such sources move weights."""
        of = part_numbers(self.offsets)
        true = np.bincount(of[self.truth], minlength=len(self.source))
        chosen = (true > 0) & (true < np.diff(self.offsets))
        return self if chosen.mean() > INFORMATIVE_SHARE else self.select(chosen)

    def where(self, kept: Bools) -> Pool:
        """Keep the candidates where `kept` is true."""
        return self._keeping(kept, self.truth, self.missed)

    def unlinked(self) -> Pool:
        """Leave out candidates, right ones too, that a further link connects with their source."""
        counts = self.feature[:, COLUMN.linked_along : COLUMN.linked_together]
        linked: Bools = np.asarray(counts.any(axis=1))
        return self.without_candidates(linked)

    def without_candidates(self, out: Bools) -> Pool:
        """Leave out the candidates where `out` is true; right ones among them count as missed."""
        of_true = part_numbers(self.offsets)[out & self.truth]
        missed = self.missed + np.bincount(of_true, minlength=len(self.source))
        return self._keeping(~out, self.truth, missed)

    def without(self, step: Ids, source: Ids, answer: Ids) -> Pool:
        """Leave out the given answers, which are true by other links, unless they are asked for."""
        sources, place = np.unique(pair_keys(self.step, self.source), return_inverse=True)
        wanted = pair_keys(step, source)
        at = np.minimum(np.searchsorted(sources, wanted), len(sources) - 1)
        found = sources[at] == wanted
        of = part_numbers(self.offsets)
        right = np.isin(pair_keys(place[of], self.entity), pair_keys(at[found], answer[found]))
        return self._keeping(self.truth | ~right, self.truth, self.missed)

    def asking(self, asked: Bools, known: Bools, missed: Ints) -> Pool:
        """The same sources with other queries; a source without queries has no candidates.

        Parameters
        ----------
        asked
            Candidates that are the true answers; all others count as wrong.
        known
            Candidates that are left out.
        missed
            Number of true answers of every source that are not among its candidates.
        """
        of = part_numbers(self.offsets)
        is_asked = np.bincount(of[asked], minlength=len(self.source)) + missed > 0
        return self._keeping(is_asked[of] & ~known, asked, missed)

    def _keeping(self, kept: Bools, truth: Bools, missed: Ints) -> Pool:
        """Keep some candidates; the new `truth` and `missed` are of all candidates and sources."""
        sizes = np.bincount(part_numbers(self.offsets)[kept], minlength=len(self.source))
        return replace(
            self,
            offsets=pointers(sizes),
            entity=self.entity[kept],
            feature=self.feature[kept],
            truth=truth[kept],
            missed=missed,
        )

    def in_first_half(self, seed: int, purpose: int) -> Bools:
        """For every true candidate, whether its link is in a random half of all links.

        A link is in the same half in both directions.
        """
        of = part_numbers(self.offsets)[self.truth]
        step, source, answer = self.step[of], self.source[of], self.entity[self.truth]
        inverse, of_link = is_inverse(step), predicate_of(step)
        subject, object_ = np.where(inverse, answer, source), np.where(inverse, source, answer)
        half = np.empty(len(of), dtype=np.bool_)
        for predicate in np.unique(of_link).tolist():
            rows = np.flatnonzero(of_link == predicate)
            hashes = LinkHash.of(seed, purpose, predicate).of_links(subject[rows], object_[rows])
            half[rows] = hashes % 2 == 0
        return half


def pool_of(
    evidence: GraphEvidence,
    rules: PathRules,
    queries: GroupedQueries,
    limit: int,
    fold: int = 0,
    leave_out_linked: bool = False,
    further: bool = False,
) -> Pool:
    """Gather at most `limit` candidates of every source along the rules' step.

    With `further`, all other candidates are added without features.
    """
    graph, tables = evidence.graph, evidence.tables(rules, queries.sources)
    run = gather.for_size(len(graph), WORTH_COMPILING)
    most = max(limit, graph.n_entities) if further else limit
    parts = []
    with evidence.scratch() as scratch:
        for start in range(0, len(queries.sources), BLOCK):
            sources = queries.sources[start : start + BLOCK]
            ridge = _ridge_rows(evidence.ridge, rules.step, sources)
            gathered = run(
                graph.links, tables, sources, ridge, limit, most, leave_out_linked, scratch
            )
            parts.append([column.copy() for column in gathered])  # parts of larger arrays
    sizes, entity, feature, *beyond = map(np.concatenate, zip(*parts, strict=True))
    return Pool.of(rules.step, queries, sizes, entity, feature, fold, FurtherCandidates(*beyond))


def firings_of(graph: LinkedGraph, rules: PathRules, pool: Pool) -> Firings:
    """Which path rules fire for which candidates of a pool of the rules' step."""
    run = fired_paths.for_size(len(graph), WORTH_COMPILING)
    walk = TrieWalk.of(graph.n_entities, rules.paths.shape[1])
    row, rule = run(graph.links, rules.trie, pool.source, pool.offsets, pool.entity, walk)
    order = np.argsort(row, kind="stable")
    sizes = np.bincount(row, minlength=len(pool.entity))
    return Firings(pointers(sizes), rule[order])


class RidgeRows(NamedTuple):
    """The ridge's scores of all entities, one row per source, and the candidates it proposes.

    Without a ridge there are no rows.
    """

    forward: Singles
    backward: Singles
    proposed: Ints


def _ridge_rows(ridge: Ridge | None, step: int, sources: Ids) -> RidgeRows:
    if ridge is None:
        empty = np.empty((0, 0), dtype=np.float32)
        return RidgeRows(empty, empty, np.empty((0, 0), dtype=np.int64))
    forward, backward = ridge.scores(step, sources)
    both = np.maximum(forward, 0) + np.maximum(backward, 0)
    n = both.shape[1]
    best = np.argpartition(-both, min(2 * PROPOSED, n - 1), axis=1)[:, : 2 * PROPOSED]
    return RidgeRows(forward, backward, np.sort(best, axis=1))
