"""The path search as SQL: the one text that DuckDB and Spark both run.

A step (origin, code, destination) is a fact walked forwards or backwards; codes are those of
`hornbeam.rules.codes`. Paths a -> u -> v -> w -> b are counted where their halves meet:

    prefixes    a -> u, a -> u -> v
    suffixes    b itself, v -> b, v -> w -> b

The codes of a half are the digits of one number (`packed`), 0 for a suffix of no step. A prefix of
one step meets suffixes of up to one, a prefix of two steps suffixes of one or two, so that every
sequence has one split and one key (prefix, suffix). Each level is one join of a frontier of
(source, half, node) with the steps; paths are merged and counted once, at the end. Two things keep
the volume near the number of paths that count:

* The middle step u -> v is searched from the prefixes or from the suffixes of a source, whichever
  touch fewer edges (`sides`): a hub on one side costs nothing while the other side is small.
* A prefix of two steps is kept only where a suffix of its own source starts (`wanted`).

Prefixes of two steps are neither stored nor merged: on random graphs five in six are distinct, and
merging them took longer than everything else. Only they are sent between the workers of a cluster:
the hints send them to the worker of their source, which has the suffixes of that source too and
counts its paths without others. DuckDB reads hints as comments.

Soft facts add two columns: `deficit`, the sum of 1 - x in millionths, cut at one million, where the
body's truth is 0; and `doubtful`, whether some value rounds to false. Paths with both are dropped.

Shares add a column `weight`, the product over the steps of 1 / sqrt(out-degree x in-degree), which
is the same in both directions and is stored with every fact (`WEIGHED_FACTS`). A target that is a
fact sees one edge less at its source and at its sink: a step from or to one of them along the
relation and direction of the own edge gains sqrt(d / (d - 1)) (`_gain`). Suffixes belong to one
target and include the gains; prefixes are those of all targets of a source, and gain at the join.

Nothing here comes from the data but integers: names stay in tables.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from hornbeam.base.arrays import Ints
from hornbeam.counting.sql.step_queries import (
    allowed_steps,
    coverage_figures,
    histogram,
    join_hint,
    of_known,
)
from hornbeam.facts.table import HALF, ONE
from hornbeam.rules.body import MAX_LENGTH
from hornbeam.rules.codes import inverse_code_sql

assert MAX_LENGTH == 4, "paths are split into prefixes and suffixes of up to two steps each"

#: Columns that identify a sequence.
KEY = ("prefix", "suffix")
KEYS = ", ".join(KEY)
#: Counts of the sequences that are numbered in `known`.
_COUNTS_OF_KNOWN = of_known("counts", "known", KEY)


def packed(first: Ints, second: Ints, base: int) -> Ints:
    """Pack the two codes of each half into one number; 0 stands for a missing step."""
    return np.where(second > 0, first * base + second, first)


def unpacked(half: Ints, base: int) -> tuple[Ints, Ints]:
    """First and second code of every half; 0 stands for a missing step."""
    long = half >= base
    return np.where(long, half // base, half), np.where(long, half % base, 0)


@dataclass(frozen=True)
class Search:
    """The selects of one search, in the order in which they run.

    Tables they expect: `facts`, `degrees`; `targets` (target, predicate, source, sink, positive,
    label, forth, back) with the codes of the target's own edge from source and from sink, 0 where
    it is not a fact; `wide` where `limited`; `known` (first, last, prefix, suffix) where `frozen`.
    For shares `weighed_facts`, and in `targets` source_gain and sink_gain where `owned`.
    """

    base: int  #: a number above every code
    max_length: int
    soft: bool  #: whether some fact has a value below 1
    owned: bool  #: whether some target is a fact
    distinct: bool  #: whether no two nodes of a path may be the same
    limited: bool  #: whether the steps of `wide` are not walked
    #: Whether sources are the objects of the targets: steps are then walked the other way.
    flipped: bool
    frozen: bool  #: whether only the sequences of `known` are searched for
    broadcast: bool  #: whether frontiers are small enough to be sent to every worker
    shares: bool = False  #: whether the weights of paths are added up too

    known = "known"
    key = KEY

    @property
    def needs_nodes(self) -> bool:
        """Whether all nodes of a path must be compared, not only its source and sink."""
        return self.owned or self.distinct

    def _hint(self, *tables: str) -> str:
        return join_hint(self.broadcast, *tables)

    def _of_target(self, alias: str) -> str:
        """Columns of its target that a suffix carries."""
        columns = ["sink", "forth", "back"] if self.needs_nodes else []
        columns += ["source_gain", "sink_gain"] if self.shares and self.owned else []
        return "".join(f", {alias}.{name}" for name in columns)

    def _weight(self, *factors: str) -> str:
        """A column of weights, where shares are added up."""
        return f", {' * '.join(factors)} AS weight" if self.shares else ""

    def _gain(self, origin: str, destination: str, code: str, of: str) -> list[str]:
        """Factors of a step for a target that is a fact: its own edge counts in no degree."""
        if not self.owned:
            return []
        return [
            f"CASE WHEN {node} = {of}.source AND {code} = {of}.{at_source} THEN {of}.source_gain "
            f"WHEN {node} = {of}.sink AND {code} = {of}.{at_sink} THEN {of}.sink_gain ELSE 1 END"
            for node, at_source, at_sink in (
                (origin, "forth", "back"),
                (destination, "back", "forth"),
            )
        ]

    def _known(self, **columns: str) -> str:
        """Condition that some known sequence agrees with the given columns."""
        if not self.frozen:
            return ""
        same = " AND ".join(f"k.{name} = {column}" for name, column in columns.items())
        return f" AND EXISTS (SELECT 1 FROM known AS k WHERE {same})"

    def steps(self) -> str:
        """Every step that may be walked, in the direction of the search."""
        allowed = allowed_steps(self.limited, self.shares)
        if not (self.limited and self.flipped):
            return allowed
        return (
            f"SELECT destination AS origin, {inverse_code_sql('code')} AS code, "
            f"origin AS destination, value{', weight' if self.shares else ''} "
            f"FROM ({allowed}) AS t"
        )

    def sources(self) -> str:
        """Sources, where prefixes start, and the number of their targets."""
        return "SELECT source, count(*) AS n_targets FROM targets GROUP BY source"

    def prefixes(self) -> str:
        """Prefixes of one step."""
        apart = "p.destination <> p.origin" if self.distinct else "1 = 1"
        return (
            f"SELECT {self._hint('q')}q.source, CAST(p.code AS BIGINT) AS prefix, "
            "p.destination AS node"
            f"{self._step_softness()}{self._weight('p.weight')} "
            "FROM steps AS p JOIN sources AS q ON p.origin = q.source "
            f"WHERE {apart}{self._known(first='p.code')}"
        )

    def _step_softness(self) -> str:
        """Deficit of a single step."""
        if not self.soft:
            return ""
        return (
            f", {ONE} - p.value AS deficit, CASE WHEN p.value < {HALF} THEN 1 ELSE 0 END AS "
            "doubtful"
        )

    def _joined_softness(self, other: str) -> str:
        """Deficit of a step added to that of another table."""
        if not self.soft:
            return ""
        return (
            f", LEAST({other}.deficit + {ONE} - p.value, {ONE}) AS deficit, "
            f"CASE WHEN p.value < {HALF} THEN 1 ELSE {other}.doubtful END AS doubtful"
        )

    def suffixes(self) -> str:
        """Suffixes of no step and, for paths of two or more, of one step."""
        more = self._of_target("t")
        none = ", 0 AS deficit, 0 AS doubtful" if self.soft else ""
        none += self._weight("CAST(1 AS DOUBLE)")
        weight = self._weight("p.weight", *self._gain("p.origin", "t.sink", "p.code", "t"))
        apart = "t.source <> t.sink" if self.distinct else "1 = 1"
        at_sink = (
            "SELECT t.target, t.source, t.sink AS node, CAST(0 AS BIGINT) AS suffix, "
            f"-1 AS inner_node{more}{none} FROM targets AS t WHERE {apart}"
        )
        if self.max_length < 2:
            return at_sink
        conditions = [apart]
        if self.owned:
            conditions.append(
                "NOT (p.origin = t.source AND p.code = t.forth) AND "
                "NOT (p.origin = t.sink AND t.source = t.sink AND p.code = t.back)"
            )
        if self.distinct:
            conditions.append("p.origin <> t.source AND p.origin <> t.sink")
        return (
            f"{at_sink} UNION ALL SELECT {self._hint('t')}t.target, t.source, p.origin AS node, "
            f"CAST(p.code AS BIGINT) AS suffix, -1 AS inner_node{more}"
            f"{self._step_softness()}{weight} "
            "FROM steps AS p JOIN targets AS t ON p.destination = t.sink "
            f"WHERE {' AND '.join(conditions)}{self._known(last='p.code')}"
        )

    def longer_suffixes(self) -> str:
        """Suffixes of two steps."""
        more = self._of_target("e")
        gain = self._gain("p.origin", "e.node", "p.code", "e")
        weight = self._weight("p.weight", "e.weight", *gain)
        suffix = f"p.code * CAST({self.base} AS BIGINT) + e.suffix"
        conditions = ["e.suffix > 0"]
        if self.owned:
            conditions.append(
                "NOT (p.origin = e.source AND e.node = e.sink AND p.code = e.forth) AND "
                "NOT (p.origin = e.sink AND e.node = e.source AND p.code = e.back)"
            )
        if self.distinct:
            conditions.append(
                "p.origin <> e.source AND p.origin <> e.sink AND p.origin <> p.destination"
            )
        return (
            f"SELECT e.target, e.source, p.origin AS node, {suffix} AS suffix, e.node AS inner_node"
            f"{more}{self._joined_softness('e')}{weight} "
            "FROM steps AS p JOIN suffixes AS e ON p.destination = e.node "
            f"WHERE {' AND '.join(conditions)}{self._known(suffix=suffix)}"
        )

    def wanted(self) -> str:
        """Nodes of every source that prefixes of two steps may end in."""
        nodes = "SELECT source, node FROM suffixes WHERE suffix > 0"
        if self.max_length > 3:
            nodes += " UNION ALL SELECT source, node FROM longer_suffixes"
        return f"SELECT DISTINCT source, node FROM ({nodes}) AS e"

    def sides(self) -> str:
        """Whether middle steps of a source are found from its prefixes (1) or suffixes (0)."""

        def cost(table: str) -> str:
            return (
                f"SELECT x.source, sum(d.degree) AS cost FROM {table} AS x "
                "JOIN degrees AS d ON d.node = x.node GROUP BY x.source"
            )

        return (
            "SELECT a.source, CASE WHEN a.cost <= b.cost THEN 1 ELSE 0 END AS near "
            f"FROM ({cost('prefixes')}) AS a JOIN ({cost('wanted')}) AS b ON a.source = b.source"
        )

    def longer_prefixes(self) -> str:
        """Prefixes of two steps a -> u -> v at wanted nodes, with u as `inner_node`."""
        apart = ""
        if self.distinct:
            apart = " AND p.destination <> h.source AND p.destination <> h.node"
        prefix = f"h.prefix * {self.base} + p.code"
        columns = (
            f"h.source, {prefix} AS prefix, h.prefix AS h1, p.code AS h2, p.destination AS node, "
            f"h.node AS inner_node{self._joined_softness('h')}"
            f"{self._weight('h.weight', 'p.weight')}"
        )

        def of_side(table: str, near: int) -> str:
            return (
                f"(SELECT x.* FROM {table} AS x JOIN sides AS s ON s.source = x.source "
                f"WHERE s.near = {near})"
            )

        known = self._known(prefix=prefix)
        near = (
            f"SELECT {self._hint('h', 'w')}{columns} "
            f"FROM steps AS p JOIN {of_side('prefixes', 1)} AS h "
            f"ON p.origin = h.node JOIN {of_side('wanted', 1)} AS w "
            f"ON w.source = h.source AND w.node = p.destination WHERE 1 = 1{apart}{known}"
        )
        far = (
            f"SELECT {self._hint('w', 'h')}{columns} "
            f"FROM steps AS p JOIN {of_side('wanted', 0)} AS w "
            f"ON p.destination = w.node JOIN {of_side('prefixes', 0)} AS h "
            f"ON h.source = w.source AND h.node = p.origin WHERE 1 = 1{apart}{known}"
        )
        return f"{near} UNION ALL {far}"

    def counts(self) -> str:
        """Paths of every (target, sequence): prefixes and suffixes that share a source and a node.

        A target has one source: grouping by it too changes no group, and lets Spark see that
        rows that are partitioned by source need not be shuffled again.
        """
        softness, useful = "", ""
        if self.soft:
            softness = (
                f", LEAST(h.deficit + e.deficit, {ONE}) AS deficit, "
                "GREATEST(h.doubtful, e.doubtful) AS doubtful"
            )
            useful = f" WHERE doubtful = 0 OR deficit < {ONE}"
        columns = f"target, {KEYS}{', deficit, doubtful' if self.soft else ''}"
        share = ", sum(weight) AS share" if self.shares else ""

        def meet(prefixes: str, suffixes: str, conditions: list[str], gain: list[str]) -> str:
            known = self._known(prefix="h.prefix", suffix="e.suffix")
            weight = self._weight("h.weight", "e.weight", *gain)
            return (
                f"SELECT {columns}, count(*) AS paths{share} FROM (SELECT /*+ SHUFFLE_HASH(e) */ "
                f"e.source, e.target, h.prefix, e.suffix{softness}{weight} "
                f"FROM (SELECT /*+ REPARTITION(source) */ * FROM {prefixes} AS x) AS h "
                f"JOIN (SELECT /*+ REPARTITION(source) */ * FROM {suffixes} AS y) AS e "
                "ON h.source = e.source AND h.node = e.node "
                f"WHERE {' AND '.join(['1 = 1', *conditions])}{known}) AS p{useful} "
                f"GROUP BY source, {columns}"
            )

        near_gain = self._gain("h.source", "h.node", "h.prefix", "e")
        near = meet("prefixes", "suffixes", self._exclude_own_edge(), near_gain)
        if self.max_length < 3:
            return near
        suffixes = "SELECT * FROM suffixes WHERE suffix > 0"
        suffixes += " UNION ALL SELECT * FROM longer_suffixes" if self.max_length > 3 else ""
        # prefixes of one and of two steps make different sequences: no group has paths of both
        far_gain = self._gain("h.source", "h.inner_node", "h.h1", "e")
        far_gain += self._gain("h.inner_node", "h.node", "h.h2", "e")
        far = meet(
            f"({self.longer_prefixes()})",
            f"({suffixes})",
            self._exclude_own_and_repeats(),
            far_gain,
        )
        return f"{near} UNION ALL {far}"

    def _exclude_own_edge(self) -> list[str]:
        """Conditions that exclude paths whose first step is the target's own edge."""
        if not self.owned:
            return []
        return [
            "NOT (h.node = e.sink AND h.prefix = e.forth)",
            "NOT (h.node = e.source AND e.source = e.sink AND h.prefix = e.back)",
        ]

    def _exclude_own_and_repeats(self) -> list[str]:
        """Conditions that exclude paths of two-step prefixes with the own edge or a node twice."""
        conditions = []
        if self.owned:
            conditions += [
                "NOT (h.inner_node = e.sink AND h.h1 = e.forth)",
                "NOT (h.inner_node = e.source AND e.source = e.sink AND h.h1 = e.back)",
                "NOT (h.inner_node = e.source AND h.node = e.sink AND h.h2 = e.forth)",
                "NOT (h.inner_node = e.sink AND h.node = e.source AND h.h2 = e.back)",
            ]
        if self.distinct:
            conditions.append("h.inner_node <> e.sink AND h.inner_node <> e.inner_node")
        return conditions

    def frequent_firsts(self, min_coverage: int) -> str:
        """First codes of enough targets: sequences that start with others cannot be kept."""
        return (
            "SELECT h.prefix "
            f"FROM (SELECT DISTINCT source, prefix FROM prefixes{self._true_only()}) AS h "
            "JOIN sources AS q ON q.source = h.source GROUP BY h.prefix "
            f"HAVING sum(q.n_targets) >= {int(min_coverage)}"
        )

    def frequent_lasts(self, min_coverage: int) -> str:
        """Last codes of enough targets, and 0 for sequences that have no suffix."""
        return (
            "SELECT suffix "
            f"FROM (SELECT DISTINCT target, suffix FROM suffixes{self._true_only()}) AS e "
            f"GROUP BY suffix HAVING count(*) >= {int(min_coverage)} OR suffix = 0"
        )

    def _true_only(self) -> str:
        """Coverage counts paths whose values all round to true."""
        return " WHERE doubtful = 0" if self.soft else ""

    def figures(self, min_coverage: int) -> str:
        """Every sequence of enough coverage: targets, true targets, paths."""
        sure = "doubtful = 0" if self.soft else None
        return coverage_figures("counts", KEYS, sure, self._hint("t"), min_coverage)

    def rows(self) -> str:
        """Rows (path, target, deficit, paths) of the sequences of `known`; with shares, `share`."""
        if not self.soft:
            share = ", c.share" if self.shares else ""
            return f"SELECT k.path, c.target, 0 AS deficit, c.paths{share} {_COUNTS_OF_KNOWN}"
        share = ", sum(c.share) AS share" if self.shares else ""
        return (
            f"SELECT k.path, c.target, c.deficit, CAST(sum(c.paths) AS BIGINT) AS paths{share} "
            f"{_COUNTS_OF_KNOWN} WHERE c.deficit < {ONE} GROUP BY k.path, c.target, c.deficit"
        )

    def histogram(self) -> str:
        """How many targets have each (path, count, label), for 0/1 facts."""
        return histogram(_COUNTS_OF_KNOWN)


def kept(table: str, column: str) -> str:
    """Rows of a table whose code is in the table `frequent`."""
    return (
        f"SELECT x.* FROM {table} AS x "
        f"WHERE EXISTS (SELECT 1 FROM frequent AS f WHERE f.{column} = x.{column})"
    )
