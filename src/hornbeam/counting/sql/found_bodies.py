"""Results of searches in a database as candidates."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from hornbeam.base.arrays import Ints, Unsigned
from hornbeam.counting.sql.condition_queries import ConditionSearch
from hornbeam.counting.sql.database import Database, TableColumns
from hornbeam.counting.sql.search_queries import Search
from hornbeam.facts.names import Names
from hornbeam.facts.table import Targets
from hornbeam.rules.candidates import Candidates, Conditions, RuleLimits


@dataclass(frozen=True, eq=False)
class FoundBodies:
    """Results of one search: candidates, and the columns of their `key` in the database.

    `known` is the table from which that search reads the numbers of the kept candidates.
    """

    search: Search | ConditionSearch
    known: str
    key: Sequence[str]
    columns: TableColumns
    candidates: Candidates


def candidates_of(
    predicates: Names,
    targets: Targets,
    steps: Unsigned,
    figures: TableColumns,
    language: RuleLimits,
    conditions: Conditions | None = None,
) -> Candidates:
    """Candidates over the facts' predicates with their figures."""
    return Candidates(
        tuple(predicates),
        tuple(targets.predicates),
        steps,
        figures["predicate"].astype(np.int32),
        coverage=figures["coverage"],
        coverage_true=figures["coverage_true"],
        paths=figures["paths"],
        distinct=language.distinct_variables,
        conditions=conditions,
    )


def united(parts: Sequence[Candidates]) -> Candidates:
    """Candidates of all parts (paths, conditions) in one table."""
    if len(parts) == 1:
        return parts[0]
    paths, others = parts
    assert others.conditions is not None
    return paths.beside_conditions(others.conditions.constants).followed_by(others)


def upload_kept(database: Database, parts: Sequence[FoundBodies], rows: Ints) -> None:
    """Upload the kept candidates; `rows` count on from part to part."""
    start = 0
    for part in parts:
        kept = np.flatnonzero((rows >= start) & (rows < start + len(part.candidates)))
        names = ("predicate", *part.key)
        columns = {name: part.columns[name][rows[kept] - start] for name in names}
        database.upload(part.known, {"path": kept.astype(np.int32), **columns})
        start += len(part.candidates)
