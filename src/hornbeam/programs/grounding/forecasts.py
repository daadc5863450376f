"""Forecasts of grounding: how many ground rules a rule will have, before they fill the memory.

Where an upper bound on the rows of a rule's join is large, their number is forecast from a sample
of its first table.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import duckdb
import numpy as np

from hornbeam.base.arrays import Floats
from hornbeam.base.machine import physical_memory
from hornbeam.base.progress import Progress
from hornbeam.errors import InputError
from hornbeam.language.arithmetic_rules import PslRule
from hornbeam.language.syntax import Atom, Constant
from hornbeam.programs.grounding.ground_queries import AtomTables, Joins

#: Rules whose join has at most this many rows are grounded without a forecast, unless that is more
#: than the limit: samples of every rule took a third of the time of grounding.
UNFORECAST = 100_000_000
#: Number of ground rules from which on a forecast is reported.
SMALL = 1_000_000
#: Factor by which each further sample of the first table is larger, and about how many rows of a
#: thinned table are left.
GROWTH, THINNED = 16, 32
#: Number of ground rules from which on a sample is large enough, and at which its count is cut off.
ENOUGH, CUT_OFF = 10_000, 2_000_000
#: Bytes of memory that a ground rule takes at most while a program is grounded and solved.
BYTES = 120


@dataclass(frozen=True)
class GroundingLimit:
    """The maximum number of ground rules, and whether the memory sets it."""

    most: int
    is_memory: bool
    progress: Progress

    @classmethod
    def of(cls, limit: int | None, progress: Progress) -> GroundingLimit:
        """The limit that the user sets, or else as many ground rules as fit into memory."""
        return cls(limit or physical_memory() // BYTES, limit is None, progress)

    def check(self, rule: PslRule, joins: Joins, so_far: int = 0) -> None:
        """Refuse a rule that would have more ground rules than the limit allows."""
        tables = joins.tables
        most = most_rows(joins.joined, tables)
        if most <= min(UNFORECAST, self.most - so_far):
            return
        expected = min(_expected(joins, tables), most)
        if expected > SMALL:
            size = f"{expected * BYTES / 1e9:,.1f} GB" if expected * BYTES >= 1e8 else "100 MB"
            self.progress.message(f"About {expected:,.0f} ground rules, at most {size}, of {rule}")
        if so_far + expected > self.most:
            why = "the memory of this machine allows" if self.is_memory else "the limit is"
            raise InputError(
                f"grounding would explode: about {expected:,.0f} ground rules of {rule}; "
                f"{why} {self.most:,}. Add a body atom that lists the pairs worth a look "
                "(blocking), or raise `max_ground_rules`"
            )


def most_rows(atoms: Sequence[Atom], tables: AtomTables) -> float:
    """An upper bound on the number of rows of the join of atoms.

    Every atom is joined on only one of the variables that earlier atoms bind: ignoring the other
    conditions can only add rows. The joins are then a tree, whose rows are counted from its leaves.
    Let ways(V = c) be the number of ways to complete all atoms that are joined on V, if V is c. An
    atom that is joined on V and binds X, Y, ... makes

        ways(V = c)  <-  ways(V = c)  *  sum over its rows with V = c of ways(X) ways(Y) ...

    An atom that binds no variable has at most one row, so it is left out.
    """
    ways: dict[str, Floats] = {}
    total = 1.0
    for at, atom in reversed(list(enumerate(atoms))):
        before = (term for other in atoms[:at] for term in other.arguments)
        bound = {term.name for term in before if not isinstance(term, Constant)}
        new = {
            term.name: k
            for k, term in reversed(list(enumerate(atom.arguments)))
            if not isinstance(term, Constant) and term.name not in bound
        }
        if not new:
            continue
        columns = tables.predicate(atom.predicate).arguments
        rows = np.ones(len(columns[0]))
        for name, k in new.items():
            if name in ways:
                rows *= ways.pop(name)[columns[k]]
        tied = [
            (term, column)
            for term, column in zip(atom.arguments, columns, strict=True)
            if isinstance(term, Constant) or term.name in bound
        ]
        if not tied:
            total *= rows.sum()
            continue
        term, column = tied[0]
        if isinstance(term, Constant):
            total *= rows[column == tables.constant(term.value)].sum()
        else:
            completed = np.bincount(column, rows, len(tables.data.names)).astype(np.float64)
            ways[term.name] = completed * ways.get(term.name, 1.0)
    return float(total)


def _expected(joins: Joins, tables: AtomTables) -> float:
    """Estimate the number of ground rules from a sample.

    The sample is one row of the first table, then more rows until it has enough ground rules. Where
    a single row has too many ground rules to count, the other tables are thinned as well.
    """
    connection = tables.connection
    sizes = [max(tables.predicate(atom.predicate).rows, 1) for atom in joins.joined]
    strides = [sizes[0], *(1 for _ in sizes[1:])]
    found = _counted(joins, strides, connection)
    for i in range(1, len(sizes)):
        if found < CUT_OFF:
            break
        strides[i] = max(1, sizes[i] // THINNED)
        found = _counted(joins, strides, connection)
    while found < ENOUGH and strides[0] > 1 and max(strides[1:], default=1) == 1:
        strides[0] = strides[0] // GROWTH or 1
        found = _counted(joins, strides, connection)
    shares = [
        size / len(range(0, size, stride)) for size, stride in zip(sizes, strides, strict=True)
    ]
    return found * math.prod(shares)


def _counted(joins: Joins, strides: Sequence[int], connection: duckdb.DuckDBPyConnection) -> int:
    """Count the ground rules of a sample, one row in `strides[i]` of table i; at most `CUT_OFF`."""
    sampled = [f"d{i}.rowid % {stride} = 0" for i, stride in enumerate(strides) if stride > 1]
    [(found,)] = connection.execute(
        f"SELECT count(*) FROM (SELECT 1 {joins.text(*sampled)} LIMIT {CUT_OFF})"
    ).fetchall()
    return int(found)
