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
relation and direction of the own edge gains sqrt(d / (d - 1)) (`_gains`). Suffixes belong to one
target and include the gains; prefixes are those of all targets of a source, and gain at the join.

Nothing here comes from the data but integers: names stay in tables.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from hornbeam.base.arrays import Ints
from hornbeam.base.progress import Progress
from hornbeam.counting.sql.database import Database, join_hint, walked_steps
from hornbeam.facts.table import HALF, ONE
from hornbeam.rules.body import MAX_LENGTH
from hornbeam.rules.codes import inverse_code_sql

assert MAX_LENGTH == 4, "paths are split into prefixes and suffixes of up to two steps each"

#: Tables that the search leaves behind.
PATH_TABLES = ("known", "prefixes", "suffixes", "longer_suffixes", "wanted", "sides", "counts")
#: Sources, where prefixes start without a deficit, and the number of their targets.
_SOURCES = (
    "SELECT source, count(*) AS n_targets, 0 AS deficit, 0 AS doubtful FROM targets GROUP BY source"
)
#: Origin, destination and code of a step of the facts.
_STEP = ("p.origin", "p.destination", "p.code")


def packed(first: Ints, second: Ints, base: int) -> Ints:
    """Pack the two codes of each half into one number; 0 stands for a missing step."""
    return np.where(second > 0, first * base + second, first)


def unpacked(half: Ints, base: int) -> tuple[Ints, Ints]:
    """First and second code of every half; 0 stands for a missing step."""
    long = half >= base
    return np.where(long, half // base, half), np.where(long, half % base, 0)


@dataclass(frozen=True)
class CountTable:
    """Counts of bodies for targets in a table of the database, and the selects that fetch them."""

    name: str
    known: str  #: table of the bodies whose counts are fetched, numbered as `path`
    key: tuple[str, ...]  #: columns that identify a body
    columns: str  #: what is fetched of a row (c): deficit, paths and, with shares, share
    sure: str | None  #: for soft values the condition that a row rounds to true
    broadcast: bool  #: see `Search`
    grouped: str = ""  #: which rows are added up

    def figures(self, min_coverage: int) -> str:
        """Select every body of enough coverage: targets, true targets, groundings."""
        keys, rows = ", ".join(self.key), self.name
        if self.sure is not None:
            rows = (
                f"(SELECT target, {keys}, sum(paths) AS paths FROM {self.name} WHERE {self.sure} "
                f"GROUP BY target, {keys})"
            )
        return (
            f"SELECT {join_hint(self.broadcast, 't')}t.predicate, {keys}, count(*) AS coverage, "
            "CAST(sum(t.positive) AS BIGINT) AS coverage_true, "
            "CAST(sum(c.paths) AS BIGINT) AS paths "
            f"FROM {rows} AS c JOIN targets AS t ON t.target = c.target "
            f"GROUP BY t.predicate, {keys} HAVING count(*) >= {int(min_coverage)}"
        )

    def rows(self) -> str:
        """Select rows (path, target, deficit, paths) of the known bodies; with shares, `share`."""
        return f"SELECT k.path, c.target, {self.columns} {self._of_known()}{self.grouped}"

    def histogram(self) -> str:
        """Select how many targets have each (path, count, label), for 0/1 facts."""
        return (
            f"SELECT k.path, c.paths, t.label, count(*) AS size {self._of_known()} "
            "GROUP BY k.path, c.paths, t.label"
        )

    def _of_known(self) -> str:
        """FROM clause: the counts (c) of the known bodies (k)."""
        same = " AND ".join(f"k.{name} = c.{name}" for name in self.key)
        return (
            f"FROM {self.name} AS c JOIN targets AS t ON t.target = c.target "
            f"JOIN {self.known} AS k ON k.predicate = t.predicate AND {same}"
        )


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
    min_coverage: int  #: fewest targets of a body that is kept
    soft: bool  #: whether some fact has a value below 1
    owned: bool  #: whether some target is a fact
    distinct: bool  #: whether no two nodes of a path may be the same
    limited: bool  #: whether the steps of `wide` are not walked
    #: Whether sources are the objects of the targets: steps are then walked the other way.
    flipped: bool
    frozen: bool  #: whether only the sequences of `known` are searched for
    broadcast: bool  #: whether frontiers are small enough to be sent to every worker
    shares: bool = False  #: whether the weights of paths are added up too

    @property
    def table(self) -> CountTable:
        """The table `counts` that the search creates."""
        columns, grouped, sure = f"0 AS deficit, c.paths{', c.share' * self.shares}", "", None
        if self.soft:
            share = ", sum(c.share) AS share" * self.shares
            columns = f"c.deficit, CAST(sum(c.paths) AS BIGINT) AS paths{share}"
            grouped = f" WHERE c.deficit < {ONE} GROUP BY k.path, c.target, c.deficit"
            sure = "doubtful = 0"
        key = ("prefix", "suffix")
        return CountTable("counts", "known", key, columns, sure, self.broadcast, grouped)

    def run(self, database: Database, progress: Progress) -> None:
        """Join level by level, up to the table `counts`; rare first and last steps are dropped."""
        database.view("steps", self.steps())
        database.view("sources", _SOURCES)
        levels = {"prefixes": self.prefixes(), "suffixes": self.suffixes()}
        if self.max_length > 3:
            levels["longer_suffixes"] = self.longer_suffixes()
        if self.max_length > 2:
            levels |= {"wanted": self.wanted(), "sides": self.sides()}
        levels["counts"] = self.counts()
        frequent = self.frequent() if self.min_coverage > 1 else {}
        for done, (table, select) in enumerate(levels.items(), start=1):
            database.create(table, select)
            if table in frequent:
                database.create(table, frequent[table])
            progress.advance("Joining facts", done, len(levels))

    def _hint(self, *tables: str) -> str:
        return join_hint(self.broadcast, *tables)

    def _of_target(self, alias: str) -> str:
        """Columns of its target that a suffix carries."""
        columns = ["sink", "forth", "back"] if self.owned or self.distinct else []
        columns += ["source_gain", "sink_gain"] if self.shares and self.owned else []
        return "".join(f", {alias}.{name}" for name in columns)

    def _weight(self, *factors: str) -> str:
        """A column of weights, where shares are added up."""
        return f", {' * '.join(factors)} AS weight" if self.shares else ""

    def _gains(self, of: str, *steps: tuple[str, str, str]) -> list[str]:
        """Factors of steps for a target that is a fact: its own edge counts in no degree."""
        if not self.owned:
            return []
        return [
            f"CASE WHEN {node} = {of}.source AND {code} = {of}.{at_source} THEN {of}.source_gain "
            f"WHEN {node} = {of}.sink AND {code} = {of}.{at_sink} THEN {of}.sink_gain ELSE 1 END"
            for origin, destination, code in steps
            for node, at_source, at_sink in (
                (origin, "forth", "back"),
                (destination, "back", "forth"),
            )
        ]

    def _not_own(self, of: str, *steps: tuple[str, str, str]) -> list[str]:
        """Conditions that no step is the target's own edge."""
        if not self.owned:
            return []
        return [
            f"NOT ({origin} = {of}.{start} AND {destination} = {of}.{end} AND {code} = {of}.{own})"
            for origin, destination, code in steps
            for start, end, own in (("source", "sink", "forth"), ("sink", "source", "back"))
        ]

    def _known(self, **columns: str) -> str:
        """Condition that some known sequence agrees with the given columns."""
        if not self.frozen:
            return ""
        same = " AND ".join(f"k.{name} = {column}" for name, column in columns.items())
        return f" AND EXISTS (SELECT 1 FROM known AS k WHERE {same})"

    def steps(self) -> str:
        """Every step that may be walked, in the direction of the search."""
        allowed = walked_steps(self.limited, self.shares)
        if not (self.limited and self.flipped):
            return allowed
        return (
            f"SELECT destination AS origin, {inverse_code_sql('code')} AS code, "
            f"origin AS destination, value{', weight' if self.shares else ''} "
            f"FROM ({allowed}) AS t"
        )

    def prefixes(self) -> str:
        """Prefixes of one step."""
        apart = "p.destination <> p.origin" if self.distinct else "1 = 1"
        return (
            f"SELECT {self._hint('q')}q.source, CAST(p.code AS BIGINT) AS prefix, "
            f"p.destination AS node{self._joined_softness('q')}{self._weight('p.weight')} "
            "FROM steps AS p JOIN sources AS q ON p.origin = q.source "
            f"WHERE {apart}{self._known(first='p.code')}"
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
        none = ", 0 AS deficit, 0 AS doubtful" if self.soft else ""
        none += self._weight("CAST(1 AS DOUBLE)")
        apart = "t.source <> t.sink" if self.distinct else "1 = 1"
        at_sink = (
            "SELECT t.target, t.source, t.sink AS node, CAST(0 AS BIGINT) AS suffix, "
            f"-1 AS inner_node{self._of_target('t')}{none} FROM targets AS t WHERE {apart}"
        )
        if self.max_length < 2:
            return at_sink
        known = self._known(last="p.code")
        one_step = self._longer(f"({at_sink})", "CAST(p.code AS BIGINT)", known, self._hint("e"))
        return f"{at_sink} UNION ALL {one_step}"

    def longer_suffixes(self) -> str:
        """Suffixes of two steps."""
        suffix = f"p.code * CAST({self.base} AS BIGINT) + e.suffix"
        one_step = "(SELECT * FROM suffixes WHERE suffix > 0)"
        return self._longer(one_step, suffix, self._known(suffix=suffix))

    def _longer(self, suffixes: str, suffix: str, known: str, hint: str = "") -> str:
        """Suffixes (e) with one more step in front; `suffix` is their number."""
        conditions = ["1 = 1", *self._not_own("e", _STEP)]
        if self.distinct:
            conditions.append(
                "p.origin <> e.source AND p.origin <> e.sink AND p.origin <> p.destination"
            )
        return (
            f"SELECT {hint}e.target, e.source, p.origin AS node, {suffix} AS suffix, "
            f"e.node AS inner_node{self._of_target('e')}{self._joined_softness('e')}"
            f"{self._weight('p.weight', 'e.weight', *self._gains('e', _STEP))} "
            f"FROM steps AS p JOIN {suffixes} AS e ON p.destination = e.node "
            f"WHERE {' AND '.join(conditions)}{known}"
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

        tables = {"h": ("prefixes", "h.node = p.origin"), "w": ("wanted", "w.node = p.destination")}

        def from_side(first: str, second: str, near: int) -> str:
            (one, of_one), (other, of_other) = tables[first], tables[second]
            side = f"AS x JOIN sides AS s ON s.source = x.source WHERE s.near = {near}"
            return (
                f"SELECT {self._hint(first, second)}{columns} FROM steps AS p "
                f"JOIN (SELECT x.* FROM {one} {side}) AS {first} ON {of_one} "
                f"JOIN (SELECT x.* FROM {other} {side}) AS {second} "
                f"ON h.source = w.source AND {of_other} "
                f"WHERE 1 = 1{apart}{self._known(prefix=prefix)}"
            )

        return f"{from_side('h', 'w', near=1)} UNION ALL {from_side('w', 'h', near=0)}"

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
        columns = f"target, prefix, suffix{', deficit, doubtful' if self.soft else ''}"
        share = ", sum(weight) AS share" if self.shares else ""

        def meet(prefixes: str, suffixes: str, *steps: tuple[str, str, str]) -> str:
            conditions = ["1 = 1", *self._not_own("e", *steps)]
            if self.distinct and len(steps) > 1:
                conditions.append("h.inner_node <> e.sink AND h.inner_node <> e.inner_node")
            known = self._known(prefix="h.prefix", suffix="e.suffix")
            weight = self._weight("h.weight", "e.weight", *self._gains("e", *steps))
            return (
                f"SELECT {columns}, count(*) AS paths{share} FROM (SELECT /*+ SHUFFLE_HASH(e) */ "
                f"e.source, e.target, h.prefix, e.suffix{softness}{weight} "
                f"FROM (SELECT /*+ REPARTITION(source) */ * FROM {prefixes} AS x) AS h "
                f"JOIN (SELECT /*+ REPARTITION(source) */ * FROM {suffixes} AS y) AS e "
                "ON h.source = e.source AND h.node = e.node "
                f"WHERE {' AND '.join(conditions)}{known}) AS p{useful} "
                f"GROUP BY source, {columns}"
            )

        near = meet("prefixes", "suffixes", ("h.source", "h.node", "h.prefix"))
        if self.max_length < 3:
            return near
        suffixes = "SELECT * FROM suffixes WHERE suffix > 0"
        suffixes += " UNION ALL SELECT * FROM longer_suffixes" if self.max_length > 3 else ""
        # prefixes of one and of two steps make different sequences: no group has paths of both
        first, second = ("h.source", "h.inner_node", "h.h1"), ("h.inner_node", "h.node", "h.h2")
        far = meet(f"({self.longer_prefixes()})", f"({suffixes})", first, second)
        return f"{near} UNION ALL {far}"

    def frequent(self) -> dict[str, str]:
        """Select the rows of prefixes and suffixes whose first or last code has enough targets.

        Sequences with other codes cannot be kept. Suffixes of no step have the code 0.
        """
        # coverage counts paths whose values all round to true
        true_only = " WHERE doubtful = 0" if self.soft else ""
        firsts = (
            f"SELECT h.prefix FROM (SELECT DISTINCT source, prefix FROM prefixes{true_only}) AS h "
            "JOIN sources AS q ON q.source = h.source GROUP BY h.prefix "
            f"HAVING sum(q.n_targets) >= {int(self.min_coverage)}"
        )
        lasts = (
            f"SELECT suffix FROM (SELECT DISTINCT target, suffix FROM suffixes{true_only}) AS e "
            f"GROUP BY suffix HAVING count(*) >= {int(self.min_coverage)} OR suffix = 0"
        )
        return {
            f"{code}es": f"SELECT x.* FROM {code}es AS x WHERE EXISTS "
            f"(SELECT 1 FROM ({frequent}) AS f WHERE f.{code} = x.{code})"
            for code, frequent in (("prefix", firsts), ("suffix", lasts))
        }
