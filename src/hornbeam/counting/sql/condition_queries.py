"""Conditions on one argument as SQL; `search_queries` has the paths.

Every target is in `arguments` twice, once for its subject and once for its object. Their nodes,
each once, are joined with the steps that leave them (`touching`, the one scan of the facts); from
there the cells (target, condition, value, groundings) follow:

    open       the number of steps of each code from the node, less those hidden from the target
    anchored   each of these steps with its destination, and the node itself (code 0)
    unary      the unary facts of the node, but not that of its own target
    chains     see `chain_queries`

A kind of condition is a function that selects its cells, and a line in `CELLS`.
Open conditions are counted by node, not by target: a hub with many targets is looked at once.
Hidden from a target is its own edge (two where it is a loop); with distinct variables also the
steps to one of its two nodes, except for constants, which are not variables.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from hornbeam.base.arrays import Array, Ids
from hornbeam.base.progress import Progress
from hornbeam.counting.sql.chain_queries import CHAIN_TABLES, CODES, ChainSearch
from hornbeam.counting.sql.database import Database, join_hint, walked_steps
from hornbeam.counting.sql.search_queries import CountTable, Search
from hornbeam.counting.sql.search_tables import FoundBodies
from hornbeam.facts.names import Names
from hornbeam.facts.table import HALF, ONE
from hornbeam.rules.body import MAX_LENGTH, Body, Kind
from hornbeam.rules.codes import KINDS, condition_numbers, from_subject, step_code_sql

#: Columns that identify a condition.
CONDITION_KEY = ("kind", "argument", *CODES, "fact", "constant")
#: Tables that the search leaves behind.
CONDITION_TABLES = ("known_conditions", "nodes", "touching", "anchors", *CHAIN_TABLES, "cells")
#: Numbers of kinds in the column `kind`.
_OPEN, _UNARY, _ANCHORED = map(KINDS.index, (Kind.OPEN, Kind.UNARY, Kind.ANCHORED))
#: An argument with the steps or facts of its node.
_SAME_NODE = "a.node = s.node AND a.argument = s.argument AND a.predicate = s.predicate"

#: Every node once per predicate and argument, with its number of targets there.
_NODES = (
    "SELECT predicate, argument, node, count(*) AS n_targets FROM arguments "
    "GROUP BY predicate, argument, node"
)
#: Condition that a step to the other node is the target's own edge.
_OWN = "(s.code = a.forth OR (a.node = a.other AND s.code = a.back))"


@dataclass(frozen=True)
class ConditionSearch:
    """The selects of one search for conditions, in the order in which they run.

    Tables they expect: `targets` as for `search_queries.Search`, `leaving` (origin, code,
    destination, value), the steps that may be walked, and `unary_facts` (entity, predicate, value);
    `known_conditions` (predicate and the columns of `CONDITION_KEY`) where `paths` is `frozen`.
    """

    paths: Search  #: the search for paths of the same targets
    kinds: Collection[Kind]
    max_atoms: int  #: of a chain

    @property
    def table(self) -> CountTable:
        """The table `cells` that the search creates."""
        columns, grouped, sure = f"{ONE} - c.value AS deficit, c.paths", "", None
        if self.paths.soft:
            columns = f"{ONE} - c.value AS deficit, CAST(sum(c.paths) AS BIGINT) AS paths"
            grouped = " WHERE c.value > 0 GROUP BY k.path, c.target, c.value"
            sure = "doubtful = 0"
        known, broadcast = "known_conditions", self.paths.broadcast
        return CountTable("cells", known, CONDITION_KEY, columns, sure, broadcast, grouped)

    @property
    def chains(self) -> ChainSearch:
        """The search for chains."""
        return ChainSearch(self.paths, self.max_atoms)

    def run(self, database: Database, progress: Progress) -> None:
        """Join the nodes of the targets with their facts, up to the table `cells`."""
        database.view("arguments", self.arguments())
        database.create("nodes", _NODES)
        database.view("leaving", walked_steps(self.paths.limited))
        if Kind.OPEN in self.kinds or Kind.ANCHORED in self.kinds:
            database.create("touching", self.touching())
        if Kind.CHAIN in self.kinds:
            self.chains.run(database, progress)
        if self.prunes_anchors:
            database.create("anchors", self.anchors())
        progress.advance("Joining facts of arguments", 1, 2)
        database.create("cells", self.cells())
        progress.advance("Joining facts of arguments", 2, 2)

    @property
    def prunes_anchors(self) -> bool:
        """Whether rare anchored conditions are dropped before they are counted."""
        return Kind.ANCHORED in self.kinds and self.paths.min_coverage > 1

    def arguments(self) -> str:
        """Both arguments of every target: node, other node, codes of the own edge from the node."""
        source, sink = (1, 0) if self.paths.flipped else (0, 1)
        return (
            f"SELECT target, predicate, own, {source} AS argument, source AS node, sink AS other, "
            "forth, back FROM targets "
            f"UNION ALL SELECT target, predicate, own, {sink} AS argument, sink AS node, "
            "source AS other, back AS forth, forth AS back FROM targets"
        )

    def touching(self) -> str:
        """The steps that leave a node."""
        known = self._known(
            "n", f"k.kind IN ({_OPEN}, {_ANCHORED}) AND k.code_1 = s.code AND (k.constant = -1 OR "
            "k.constant = s.destination)",
        )  # fmt: skip
        return (
            f"SELECT {join_hint(self.paths.broadcast, 'n')}n.predicate, n.argument, n.node, "
            "n.n_targets, s.code, s.destination, s.value "
            f"FROM leaving AS s JOIN nodes AS n ON s.origin = n.node WHERE 1 = 1{known}"
        )

    def _known(self, alias: str, same: str) -> str:
        """Condition that a known condition on that predicate and argument agrees."""
        if not self.paths.frozen:
            return ""
        return (
            " AND EXISTS (SELECT 1 FROM known_conditions AS k WHERE "
            f"k.predicate = {alias}.predicate AND k.argument = {alias}.argument AND {same})"
        )

    def _two_arguments(self) -> str:
        """Condition that subject and object differ, where variables are distinct."""
        return " AND a.node <> a.other" if self.paths.distinct else ""

    def anchors(self) -> str:
        """Codes and constants of enough targets: other conditions cannot be kept."""
        return (
            "SELECT predicate, argument, code, destination AS constant FROM touching "
            "GROUP BY predicate, argument, code, destination "
            f"HAVING sum(n_targets) >= {int(self.paths.min_coverage)}"
        )

    def cells(self) -> str:
        """Groundings (target, condition, value, paths) of all conditions."""
        return " UNION ALL ".join(CELLS[kind](self) for kind in CELLS if kind in self.kinds)

    def _open(self) -> str:
        apart = " WHERE destination <> node" if self.paths.distinct else ""
        by_node = (
            "SELECT predicate, argument, node, code, value, count(*) AS edges "
            f"FROM touching{apart} GROUP BY predicate, argument, node, code, value"
        )
        rows = (
            "SELECT a.target, a.argument, s.code, s.value, s.edges "
            f"FROM arguments AS a JOIN ({by_node}) AS s ON {_SAME_NODE} "
            f"WHERE 1 = 1{self._two_arguments()}"
        )
        if self.paths.owned or self.paths.distinct:
            # steps that are excluded for a target are subtracted
            excluded = "s.destination <> s.node" if self.paths.distinct else _OWN
            rows = (
                "SELECT target, argument, code, value, sum(edges) AS edges "
                f"FROM ({rows} UNION ALL SELECT a.target, a.argument, s.code, s.value, -1 AS edges "
                f"FROM touching AS s JOIN arguments AS a ON {_SAME_NODE} "
                f"AND s.destination = a.other WHERE {excluded}) AS e "
                "GROUP BY target, argument, code, value HAVING sum(edges) > 0"
            )
        return (
            f"SELECT target, {_OPEN} AS kind, argument, {_codes('code')}, -1 AS constant, value, "
            f"{_doubtful('value')}, CAST(edges AS BIGINT) AS paths FROM ({rows}) AS o"
        )

    def _anchored(self) -> str:
        return f"{self._linked()} UNION ALL {self._equal()}"

    def _linked(self) -> str:
        seen = f" AND NOT (s.destination = a.other AND {_OWN})" if self.paths.owned else ""
        frequent = (
            " AND EXISTS (SELECT 1 FROM anchors AS k WHERE k.predicate = s.predicate AND "
            "k.argument = s.argument AND k.code = s.code AND k.constant = s.destination)"
            if self.prunes_anchors
            else ""
        )
        known = self._known("s", f"k.kind = {_ANCHORED} AND k.constant = s.destination")
        return (
            f"SELECT a.target, {_ANCHORED} AS kind, a.argument, {_codes('s.code')}, "
            f"s.destination AS constant, s.value, {_doubtful('s.value')}, count(*) AS paths "
            f"FROM touching AS s JOIN arguments AS a ON {_SAME_NODE} "
            f"WHERE 1 = 1{self._two_arguments()}{seen}{frequent}{known} "
            "GROUP BY a.target, a.argument, s.code, s.destination, s.value"
        )

    def _equal(self) -> str:
        known = self._known("a", "k.code_1 = 0 AND k.constant = a.node")
        return (
            f"SELECT a.target, {_ANCHORED} AS kind, a.argument, {_codes('0')}, a.node AS constant, "
            f"{ONE} AS value, 0 AS doubtful, CAST(1 AS BIGINT) AS paths "
            "FROM arguments AS a JOIN nodes AS s "
            f"ON {_SAME_NODE} WHERE s.n_targets >= {int(self.paths.min_coverage)}{known}"
        )

    def _unary(self) -> str:
        code = step_code_sql("u.predicate", False)
        known = self._known("a", f"k.kind = {_UNARY} AND k.fact = {code}")
        return (
            f"SELECT {join_hint(self.paths.broadcast, 'a')}a.target, {_UNARY} AS kind, a.argument, "
            f"{_codes('0', code)}, -1 AS constant, u.value, {_doubtful('u.value')}, "
            "CAST(1 AS BIGINT) AS paths "
            "FROM unary_facts AS u JOIN arguments AS a ON u.entity = a.node "
            f"WHERE u.predicate <> a.own{self._two_arguments()}{known}"
        )


def _codes(code: str, fact: str = "0") -> str:
    """Columns of the codes of a condition of at most one step."""
    first, *others = CODES
    return ", ".join(
        [f"{code} AS {first}", *(f"0 AS {name}" for name in others), f"{fact} AS fact"]
    )


def _doubtful(value: str) -> str:
    """Column that tells whether a value rounds to false."""
    return f"CASE WHEN {value} < {HALF} THEN 1 ELSE 0 END AS doubtful"


#: The select of the cells of each kind of condition.
CELLS: Mapping[Kind, Callable[[ConditionSearch], str]] = {
    Kind.OPEN: ConditionSearch._open,
    Kind.UNARY: ConditionSearch._unary,
    Kind.ANCHORED: ConditionSearch._anchored,
    Kind.CHAIN: lambda search: search.chains.cells(),
}


def conditions_found(
    database: Database,
    search: ConditionSearch,
    named: Callable[[Ids], tuple[Names, Ids]],
) -> FoundBodies:
    """Every condition of enough coverage; `named` gives the names of constants."""
    columns = database.fetch(search.table.figures(search.paths.min_coverage))
    kind, argument, *codes, constant = (columns[name].astype(np.int32) for name in CONDITION_KEY)
    # the fact at the end of a condition follows its steps
    steps = from_subject(np.stack(codes, axis=1), flipped=False).astype(np.uint32)
    steps = np.pad(steps, [(0, 0), (0, MAX_LENGTH)])[:, : search.paths.max_length]
    constants, places = named(constant)
    conditions = np.stack([kind, argument, places], axis=1)
    return FoundBodies(search.table, columns, steps, conditions, constants)


def known_conditions(
    bodies: Sequence[Body], heads: Ids, predicates: Names, locate: Callable[[Names], Ids]
) -> dict[str, Array]:
    """The table `known_conditions`: those of the bodies that the facts can ground."""
    constants = Names.of(body.constant for body in bodies if body.constant is not None)
    ids = dict(zip(constants, locate(constants).tolist(), strict=True)) if len(constants) else {}
    wanted = [(i, body) for i, body in enumerate(bodies) if not body.is_path and heads[i] >= 0]
    known = condition_numbers(wanted, predicates, ids.__getitem__)
    keys = known.kind, known.argument, *known.walk.T, known.fact, known.constant
    columns = np.stack([known.number, heads[known.number], *keys]).astype(np.int32)
    return dict(zip(("path", "predicate", *CONDITION_KEY), columns, strict=True))
