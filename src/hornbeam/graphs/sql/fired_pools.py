"""From rules that fired in a database to pools of candidates with features."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from hornbeam.base.arrays import Array, Ids, Ints, Singles
from hornbeam.counting.sql.database import Database
from hornbeam.facts.atom_keys import pair_keys
from hornbeam.graphs.evidence_kernels import gather_fired
from hornbeam.graphs.graph_evidence import CandidateArrays
from hornbeam.graphs.grouped_queries import QueriesByStep
from hornbeam.graphs.linked_graph import WORTH_COMPILING
from hornbeam.graphs.pools import FurtherCandidates, Pool
from hornbeam.rules.rule_model import SMOOTHING

#: Maximum number of rows of fired rules and candidates that are fetched at a time.
ROWS = 1_000_000
_NONE = np.empty(0, dtype=np.int32)


class _Gathered(NamedTuple):
    """Candidates of some queries of one step, and their number per query."""

    sizes: Ints
    entity: Ids
    feature: Singles
    further_sizes: Ints
    further: Ids


@dataclass(frozen=True, eq=False)
class FiredPools:
    """Pools of the queries of a batch, whose `firing` and `candidates` are in a database.

    `totals` has the number of links along every step.
    """

    database: Database
    queries: QueriesByStep
    totals: Ints
    limit: int
    fold: int
    further: bool = False

    def pools(self) -> list[Pool]:
        """One pool per step."""
        found = dict[int, list[_Gathered]]()
        for start, stop in self._chunks():
            for step, some in self._gathered(start, stop):
                found.setdefault(step, []).append(some)
        return [self._pool(step, parts) for step, parts in found.items()]

    def _chunks(self) -> Iterator[tuple[int, int]]:
        """Ranges of queries that are fetched together; a query of more than ROWS rows alone."""
        n_queries = sum(len(some.sources) for some in self.queries.values())
        rows = np.zeros(n_queries, dtype=np.int64)
        for table in ("firing", "candidates"):
            sizes = self.database.fetch(
                f"SELECT query, count(*) AS size FROM {table} GROUP BY query"  # noqa: S608
            )
            rows[sizes["query"]] += sizes["size"]
        start, held = 0, 0
        for query, size in enumerate(rows.tolist()):
            if held and held + size > ROWS:
                yield start, query
                start, held = query, 0
            held += size
        yield start, n_queries

    def _gathered(self, start: int, stop: int) -> list[tuple[int, _Gathered]]:
        """Sizes, entities and features of the candidates of some queries, by step."""
        where = f"WHERE query >= {start} AND query < {stop}"
        there = self.database.fetch(
            "SELECT query, entity, answers, degree, along, against, reverse, together "  # noqa: S608
            f"FROM candidates {where} ORDER BY query, entity"
        )
        fired = self.database.fetch(
            "SELECT query, entity, kind, hits, predicted FROM firing "  # noqa: S608
            f"{where} ORDER BY query, entity, kind, order_1, order_2, order_3"
        )
        firing, listed = (pair_keys(rows["query"], rows["entity"]) for rows in (fired, there))
        rows = np.searchsorted(firing, listed)
        rows = np.append(rows, len(fired["query"])).astype(np.int64)
        counted = ("along", "against", "reverse", "together")
        linked = np.stack([there[name] for name in counted], axis=1)
        confidence = fired["hits"] / (fired["predicted"] + SMOOTHING)
        loss = -np.log1p(-confidence)
        found, first = [], 0
        for step, some in self.queries.items():
            low, high = max(first, start), min(first + len(some.sources), stop)
            if low < high:
                sources = some.sources[low - first : high - first]
                offsets = np.searchsorted(there["query"], np.arange(low, high + 1))
                part = slice(int(offsets[0]), int(offsets[-1]))
                run = gather_fired.for_size(len(confidence), WORTH_COMPILING)
                n = part.stop - part.start
                all_listed = CandidateArrays(
                    np.zeros((n, 3, 5)), _NONE, np.ones(n, dtype=np.bool_), _NONE.astype(np.int64)
                )
                count, chosen, feature, further_count, further = run(
                    fired["kind"], confidence, loss, rows[part.start : part.stop + 1],
                    (offsets - offsets[0]).astype(np.int64), _itself(there, sources, offsets),
                    self._prior(step, there["answers"][part]), there["degree"][part], linked[part],
                    self.limit, max(n, self.limit) if self.further else self.limit, all_listed,
                )  # fmt: skip
                entity = there["entity"][part]
                some_found = _Gathered(
                    count, entity[chosen], feature, further_count, entity[further]
                )
                found.append((step, some_found))
            first += len(some.sources)
        return found

    def _prior(self, step: int, answers: Ints) -> Array:
        """Log frequencies of the candidates, and of an entity that is never an answer."""
        total = self.totals[step] + 1.0
        return np.append(np.log((answers + 0.5) / total), np.log(0.5 / total))

    def _pool(self, step: int, parts: Sequence[_Gathered]) -> Pool:
        sizes, entity, feature, *further = (
            np.concatenate(column) for column in zip(*parts, strict=True)
        )
        beyond = FurtherCandidates(*further)
        return Pool.of(step, self.queries[step], sizes, entity, feature, self.fold, beyond)


def _itself(there: Mapping[str, Array], sources: Array, offsets: Array) -> Ints:
    """The row of every source among its own candidates, counted from the first source's; or -1."""
    found = np.full(len(sources), -1, dtype=np.int64)
    for i, source in enumerate(sources.tolist()):
        own = there["entity"][offsets[i] : offsets[i + 1]]
        at = int(np.searchsorted(own, source))
        if at < len(own) and own[at] == source:
            found[i] = offsets[i] - offsets[0] + at
    return found
