"""Tables that searches in a database share with Python.

Up go the targets with the ids of their entities, degrees and own edges, and the bodies to count.
Down come the bodies that a search found, as candidates.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

import numpy as np

from hornbeam.base.arrays import Array, Ids, Ints, Unsigned
from hornbeam.counting.sql.database import Database, TableColumns
from hornbeam.counting.sql.search_queries import CountTable, Search, packed, unpacked
from hornbeam.facts.names import Names
from hornbeam.facts.table import Targets
from hornbeam.rules.candidates import Candidates, RuleLimits
from hornbeam.rules.codes import (
    PATH_ROW,
    from_subject,
    inverse_code,
    reversed_sequence,
    step_code,
    step_code_sql,
)

#: Codes of a sequence by its length: two of the prefix, two of the suffix.
PLACES = {1: (0,), 2: (0, 2), 3: (0, 1, 2), 4: (0, 1, 2, 3)}
#: Pairs that are facts of their own predicate.
OWN_PAIRS = (
    "SELECT p.target FROM facts AS f JOIN pairs AS p "
    "ON f.subject = p.subject AND f.object = p.object AND f.predicate = p.own "
    "UNION ALL SELECT p.target FROM unary_facts AS u JOIN pairs AS p "
    "ON u.entity = p.subject AND u.predicate = p.own"
)


@dataclass(frozen=True, eq=False)
class LocatedTargets:
    """Targets whose entities have facts, to be searched from the cheaper side.

    `columns` are those of the table `targets`. Its own codes are 0 where a target is not a fact.
    With shares, its gains are the factors by which a step weighs more at a node whose degree does
    not count the target's own edge; otherwise they are 1.
    """

    columns: TableColumns
    flipped: bool  #: whether the search starts at the objects
    owned: int  #: number of targets that are facts
    longest: int  #: rows of the longest of the targets and the first frontiers

    def __len__(self) -> int:
        return len(self.columns["target"])


def locate_targets(
    database: Database, predicates: Names, targets: Targets, node: Ids, shares: bool
) -> LocatedTargets:
    """The targets whose entities have facts, and which of them are facts themselves.

    `node` has the ids of the targets' entities, -1 where no fact has them.
    """
    ends = np.stack([node[targets.subject], node[targets.object]])
    seen = np.flatnonzero((ends >= 0).all(axis=0)).astype(np.int32)
    own = predicates.find(targets.predicates)[targets.predicate[seen]].astype(np.int32)
    nodes, degrees, gains = ends[:, seen], np.zeros((2, len(seen))), np.ones((2, len(seen)))
    is_fact = np.zeros(len(seen), dtype=np.bool_)
    if len(seen):
        pairs = {"target": seen, "subject": nodes[0], "object": nodes[1], "own": own}
        database.upload("pairs", pairs)
        is_fact = np.isin(seen, database.fetch(OWN_PAIRS)["target"])
        degrees = _pair_degrees(database, "degrees")
        if shares and is_fact.any():
            degree = _pair_degrees(database, "code_degrees", along_own=True)[:, is_fact]
            # 1 / sqrt(degree) grows by it without one edge; by 1 where no edge is left, or none was
            gains[:, is_fact] = np.sqrt(np.maximum(degree, 1.0) / np.maximum(degree - 1.0, 1.0))
        database.drop("pairs")
    forwards, backwards = (_frontiers(nodes[order], degrees[order]) for order in ([0, 1], [1, 0]))
    flipped = sum(backwards) < sum(forwards)
    source, sink = (1, 0) if flipped else (0, 1)
    forth = np.where(is_fact, step_code(own, flipped), 0).astype(np.int32)
    columns = {
        "target": seen,
        "predicate": targets.predicate[seen].astype(np.int32),
        "own": own,
        "source": nodes[source],
        "sink": nodes[sink],
        "positive": targets.positive[seen].astype(np.int32),
        "label": np.zeros_like(seen) if targets.millionths is None else targets.millionths[seen],
        "forth": forth,
        "back": inverse_code(forth),
        "source_gain": gains[source],
        "sink_gain": gains[sink],
    }
    longest = max(len(seen), *(backwards if flipped else forwards))
    return LocatedTargets(columns, flipped, int(is_fact.sum()), longest)


def _frontiers(nodes: Ids, degrees: Array) -> tuple[int, int]:
    """Rows of the first frontiers: steps of each distinct source, and of each target's sink."""
    _, first = np.unique(nodes[0], return_index=True)
    return int(degrees[0, first].sum()), int(degrees[1].sum())


def _pair_degrees(database: Database, table: str, along_own: bool = False) -> Array:
    """Degrees of the subjects and the objects of `pairs`, 0 where the table has no such node.

    The table is that of all degrees, or that of degrees along the code of the pair's own edge.
    """
    forth, back = (
        f" AND {end}.code = {step_code_sql('p.own', inverse)}" if along_own else ""
        for end, inverse in (("s", False), ("o", True))
    )
    degrees = database.fetch(
        "SELECT p.target, coalesce(s.degree, 0) AS subject, coalesce(o.degree, 0) AS object "
        f"FROM pairs AS p LEFT JOIN {table} AS s ON s.node = p.subject{forth} "
        f"LEFT JOIN {table} AS o ON o.node = p.object{back}"
    )
    order = np.argsort(degrees["target"])
    return np.stack([degrees["subject"], degrees["object"]])[:, order]


@dataclass(frozen=True, eq=False)
class FoundBodies:
    """Bodies that a search found: its columns in the database, and what they stand for.

    `steps`, `conditions` and `constants` are those of `Candidates`.
    """

    table: CountTable
    columns: TableColumns
    steps: Unsigned
    conditions: Ids
    constants: Names = field(default_factory=lambda: Names.of(()))


def column(parts: Sequence[TableColumns], name: str, kind: type) -> Array:
    """A column of several tables, one after the other."""
    columns: list[Array] = [
        np.empty(0, kind),
        *(part[name].astype(kind, copy=False) for part in parts),
    ]
    return np.concatenate(columns)


def united(
    parts: Sequence[FoundBodies],
    predicates: Names,
    targets: Targets,
    unary_facts: frozenset[str],
    language: RuleLimits,
) -> Candidates:
    """The bodies of all parts (paths, then conditions) as one table of candidates."""
    found = [part.columns for part in parts]
    no_steps, no_rows = np.empty((0, language.max_length), np.uint32), np.empty((0, 3), np.int32)
    conditions = np.concatenate([no_rows, *(part.conditions for part in parts)])
    return Candidates(
        tuple(predicates),
        tuple(targets.predicates),
        np.concatenate([no_steps, *(part.steps for part in parts)]),
        column(found, "predicate", np.int32),
        coverage=column(found, "coverage", np.int64),
        coverage_true=column(found, "coverage_true", np.int64),
        paths=column(found, "paths", np.int64),
        distinct=language.distinct_variables,
        conditions=conditions if language.conditions else None,
        constants=parts[-1].constants if parts else Names.of(()),
        unary=targets.unary,
        unary_facts=unary_facts,
    )


def upload_kept(database: Database, parts: Sequence[FoundBodies], rows: Ints) -> None:
    """Upload the kept candidates; `rows` count on from part to part."""
    start = 0
    for part in parts:
        numbers = np.flatnonzero((rows >= start) & (rows < start + len(part.steps)))
        names = ("predicate", *part.table.key)
        columns = {name: part.columns[name][rows[numbers] - start] for name in names}
        database.upload(part.table.known, {"path": numbers.astype(np.int32), **columns})
        start += len(part.steps)


def paths_found(database: Database, search: Search) -> FoundBodies:
    """Every sequence of enough coverage."""
    table = search.table
    columns = database.fetch(table.figures(search.min_coverage))
    halves = (unpacked(columns[name], search.base) for name in table.key)
    codes = np.stack([code for half in halves for code in half], axis=1).astype(np.uint32)
    steps = from_subject(codes, search.flipped)[:, : search.max_length]
    no_conditions = np.tile(np.array(PATH_ROW, dtype=np.int32), (len(steps), 1))
    return FoundBodies(table, columns, steps, no_conditions)


def known_paths(paths: Mapping[int, Sequence[int]], heads: Ids, search: Search) -> dict[str, Array]:
    """The table `known` of sequences to count; `paths` has their codes by number."""
    h1, h2, t1, t2 = keys = np.zeros((4, len(paths)), dtype=np.int64)
    for column, codes in enumerate(paths.values()):
        walked = reversed_sequence(codes) if search.flipped else codes
        keys[PLACES[len(walked)], column] = walked
    numbers = np.array(list(paths), dtype=np.int32)
    return {
        "path": numbers,
        "predicate": heads[numbers],
        "first": h1,
        "last": np.where(t2 > 0, t2, t1),
        "prefix": packed(h1, h2, search.base),
        "suffix": packed(t1, t2, search.base),
    }
