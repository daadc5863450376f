"""Chains from one argument as SQL; the same walks as in `hornbeam.counting.memory.chain_walks`.

Walks start at every node of an argument once. Walks that are not the same for all targets of a node
start at the target: those of a target that is a fact, by chains with its predicate, and with
distinct variables all. A row of `chain_steps_1`, `_2`, `_3` is the end of all walks from one start
by the same steps. It is `apart` where its node may be a variable; a constant may be any node.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from hornbeam.base.progress import Progress
from hornbeam.counting.sql.database import Database, join_hint
from hornbeam.counting.sql.search_queries import Search
from hornbeam.facts.table import HALF, ONE
from hornbeam.rules.body import MAX_CHAIN, Kind
from hornbeam.rules.codes import (
    HUB_WALKS,
    KINDS,
    MAX_WALKS,
    WALKING,
    inverse_code_sql,
    step_code_sql,
)

#: Columns of the codes of the steps of a condition, 0 where it has fewer.
CODES = tuple(f"code_{k}" for k in range(1, MAX_CHAIN + 1))
#: Tables that the search leaves behind.
CHAIN_TABLES = (
    "chain_starts",
    "chain_anchors",
    "chain_degrees",
    *(
        f"chain_{what}_{k}"
        for what in ("steps", "totals", "walked")
        for k in range(1, MAX_CHAIN + 1)
    ),
)
#: What tells starts apart, and what is known of a start.
_START = ("target", "predicate", "argument", "start", "other", "forth", "back", "n_targets")


@dataclass(frozen=True)
class ChainSearch:
    """The selects of one search for chains, over the tables of `ConditionSearch`."""

    paths: Search
    max_atoms: int

    @property
    def levels(self) -> range:
        """Numbers of steps."""
        return range(1, min(MAX_CHAIN, self.max_atoms) + 1)

    def run(self, database: Database, progress: Progress) -> None:
        """Walk level by level; chains that cover too few targets are walked no further."""
        database.create("chain_starts", self.starts())
        if not self.paths.frozen:
            database.create(
                "chain_degrees", "SELECT origin, count(*) AS degree FROM leaving GROUP BY origin"
            )
        for level in self.levels:
            database.create(f"chain_steps_{level}", self.steps(level))
            if not self.paths.frozen:
                database.create(f"chain_totals_{level}", self.totals(level))
                if level < self.levels[-1]:
                    database.create(f"chain_walked_{level}", self.walked(level))
            progress.advance(WALKING, level, len(self.levels))
        if self.prunes_anchors:
            database.create("chain_anchors", self.anchors())

    @property
    def prunes_anchors(self) -> bool:
        """Whether rare constants are dropped before their chains are counted."""
        return not self.paths.frozen and len(self.levels) > 1

    def n_hubs(self, database: Database) -> int:
        """Number of chains that lead through hubs."""
        selects = [
            f"SELECT covered FROM chain_totals_{level} AS k WHERE NOT {_few()} "
            f"AND covered >= {int(self.paths.min_coverage)}"
            for level in self.levels
        ]
        return len(database.fetch(" UNION ALL ".join(selects))["covered"])

    def n_left(self, database: Database) -> int:
        """Number of chains that were not made longer, for their walks would be too many."""
        selects = [
            f"SELECT ahead FROM chain_walked_{level} WHERE ahead > {MAX_WALKS}"
            for level in self.levels[:-1]
        ]
        return len(database.fetch(" UNION ALL ".join(selects))["ahead"]) if selects else 0

    def starts(self) -> str:
        """Nodes, each once, and targets whose walks are their own."""
        rest = ", ".join(f"0 AS {name}" for name in (*CODES, "deficit", "doubtful"))
        rest += ", 1 AS apart, CAST(1 AS BIGINT) AS walks"
        of_targets = (
            "SELECT target, predicate, argument, node AS start, other, forth, back, "
            f"{int(self.paths.distinct)} AS n_targets, node, {rest} FROM arguments "
            f"WHERE {'node <> other' if self.paths.distinct else 'forth > 0'}"
        )
        if self.paths.distinct:
            return of_targets
        of_nodes = (
            "SELECT -1 AS target, predicate, argument, node AS start, -1 AS other, 0 AS forth, "
            f"0 AS back, CAST(n_targets AS INTEGER) AS n_targets, node, {rest} FROM nodes"
        )
        return f"{of_nodes} UNION ALL {of_targets}" if self.paths.owned else of_nodes

    def steps(self, level: int) -> str:
        """The ends of walks of so many steps."""
        before = "chain_starts" if level == 1 else f"chain_steps_{level - 1}"
        met = [f"met_{k}" for k in range(1, level)] if self.paths.distinct else []
        codes = [f"w.{name}" for name in CODES]
        codes[level - 1] = "s.code"
        columns = [f"w.{name}" for name in (*_START, *met[:-1])]
        columns += [f"w.node AS {name}" for name in met[-1:]]
        columns += [f"{code} AS {name}" for code, name in zip(codes, CODES, strict=True)]
        columns += ["s.destination AS node", *self._softness(), self._apart(met)]
        names = [column.split(" AS ")[-1].removeprefix("w.") for column in columns]
        return (
            f"SELECT {', '.join(names)}, CAST(sum(walks) AS BIGINT) AS walks FROM ("
            f"SELECT {join_hint(self.paths.broadcast, 'w')}{', '.join(columns)}, w.walks "
            f"FROM leaving AS s JOIN {before} AS w ON s.origin = w.node "
            f"WHERE w.apart = 1{self._not_own()}{self._walked_on(level)}) AS e "
            f"GROUP BY {', '.join(names)}"
        )

    def _softness(self, value: str = "s.value") -> list[str]:
        """Deficit of a walk with one fact more, and whether some fact is doubtful."""
        if not self.paths.soft:
            return ["w.deficit AS deficit", "w.doubtful AS doubtful"]
        return [
            f"LEAST(w.deficit + {ONE} - {value}, {ONE}) AS deficit",
            f"CASE WHEN {value} < {HALF} THEN 1 ELSE w.doubtful END AS doubtful",
        ]

    def _apart(self, met: list[str]) -> str:
        """Whether the destination of a step (s) may be a variable of the walk (w)."""
        if not self.paths.distinct:
            return "1 AS apart"
        columns = ["w.start", "w.other", *(f"w.{name}" for name in met[:-1]), "w.node"]
        return f"CASE WHEN s.destination IN ({', '.join(columns)}) THEN 0 ELSE 1 END AS apart"

    def _not_own(self) -> str:
        """Condition that a step (s) is not the own fact of the target that its walk (w) is of."""
        if not self.paths.owned:
            return ""
        return "".join(
            f" AND NOT (s.code = w.{own} AND s.origin = w.{here} AND s.destination = w.{there})"
            for own, here, there in (("forth", "start", "other"), ("back", "other", "start"))
        )

    def _walked_on(self, level: int) -> str:
        """Condition that walks (w) go on by a step (s)."""
        if self.paths.frozen:
            same = [f"k.{name} = w.{name}" for name in (*CODES[: level - 1], *_GROUP)]
            known = " AND ".join([*same, f"k.{CODES[level - 1]} = s.code", f"k.kind = {_CHAIN}"])
            return f" AND EXISTS (SELECT 1 FROM known_conditions AS k WHERE {known})"
        if level == 1:
            return ""
        return self._exists(f"chain_walked_{level - 1}", f"k.ahead <= {MAX_WALKS}")

    def _exists(self, table: str, condition: str = "1 = 1", *columns: str) -> str:
        """Condition that a table has a row of the same chain as a walk (w)."""
        same = " AND ".join(f"k.{name} = w.{name}" for name in (*_GROUP, *CODES, *columns))
        return f" AND EXISTS (SELECT 1 FROM {table} AS k WHERE {same} AND {condition})"

    def totals(self, level: int) -> str:
        """Targets that the walks of a level may cover, and numbers of walks, by their steps."""
        keys = ", ".join((*_GROUP, *CODES))
        return (
            f"SELECT {keys}, max(covered) AS covered, max(walks) AS walks, max(starts) AS starts, "
            "max(ends) AS ends FROM ("
            f"SELECT {keys}, sum(sure * n_targets) AS covered, sum(walks) AS walks, "
            "count(*) AS starts, 0 AS ends FROM ("
            f"SELECT {keys}, target, start, n_targets, max(1 - doubtful) AS sure, "
            f"sum(walks) AS walks FROM chain_steps_{level} WHERE apart = 1 AND n_targets > 0 "
            f"GROUP BY {keys}, target, start, n_targets) AS e GROUP BY {keys} "
            f"UNION ALL SELECT {keys}, 0 AS covered, 0 AS walks, 0 AS starts, "
            f"count(DISTINCT node) AS ends FROM chain_steps_{level} "
            f"WHERE apart = 1 AND n_targets > 0 GROUP BY {keys}) AS f GROUP BY {keys}"
        )

    def walked(self, level: int) -> str:
        """The chains of a level that may be made longer.

        `ahead` is how many walks those have then that have the fewest, up to this chain. The walks
        from one start to one node count as one.
        """
        keys = ", ".join((*_GROUP, *CODES))
        ends = (
            f"SELECT DISTINCT {keys}, target, start, node FROM chain_steps_{level} "
            "WHERE apart = 1 AND n_targets > 0"
        )
        forecast = (
            f"SELECT {keys}, sum(COALESCE(d.degree, 0)) AS further FROM ({ends}) AS w "
            f"LEFT JOIN chain_degrees AS d ON d.origin = w.node GROUP BY {keys}"
        )
        chain = ", ".join(f"w.{name}" for name in (*_GROUP, *CODES))
        covers = f"k.covered >= {int(self.paths.min_coverage)} AND {_few()}"
        return (
            f"SELECT {chain}, sum(w.further) OVER (PARTITION BY w.predicate, w.argument "
            f"ORDER BY w.further) AS ahead FROM ({forecast}) AS w "
            f"WHERE 1 = 1{self._exists(f'chain_totals_{level}', covers)}"
        )

    def anchors(self) -> str:
        """Constants at the ends of chains of enough nodes and not too many walks.

        A constant that one fact leads to repeats the chain to the fact's other node.
        """
        keys = ", ".join(f"w.{name}" for name in (*_GROUP, *CODES))
        selects = []
        for level in self.levels[1:]:
            many = self._exists(f"chain_totals_{level}", f"NOT {_few()}")
            code = inverse_code_sql(f"w.{CODES[level - 1]}")
            selects.append(
                f"SELECT {keys}, w.node FROM chain_steps_{level} AS w JOIN code_degrees AS d "
                f"ON d.node = w.node AND d.code = {code} "
                f"WHERE d.degree > 1 AND w.n_targets > 0 AND w.doubtful = 0"
                f"{many.replace(' AND EXISTS', ' AND NOT EXISTS')} GROUP BY {keys}, w.node "
                f"HAVING count(DISTINCT w.start) >= {int(self.paths.min_coverage)}"
            )
        return " UNION ALL ".join(selects)

    def cells(self) -> str:
        """Groundings (target, condition, value, doubtful, paths) of all chains."""
        keys = "argument", *CODES, "fact", "constant"
        ends = " UNION ALL ".join(self._ends())
        grouped = ", ".join((*_START, *keys[1:], "deficit", "doubtful"))
        rows = (
            f"SELECT {grouped}, CAST(sum(walks) AS BIGINT) AS paths FROM ({ends}) AS e "
            f"GROUP BY {grouped}"
        )
        columns = f"{_CHAIN} AS kind, {', '.join(f'r.{name}' for name in keys)}, "
        columns += f"{ONE} - r.deficit AS value, r.doubtful, r.paths"
        of_targets = f"SELECT r.target, {columns} FROM ({rows}) AS r WHERE r.target >= 0"
        if self.paths.distinct:
            return of_targets
        of_nodes = (
            f"SELECT a.target, {columns} FROM ({rows}) AS r JOIN arguments AS a "
            "ON a.node = r.start AND a.argument = r.argument AND a.predicate = r.predicate "
            "WHERE r.target = -1"
        )
        if not self.paths.owned:
            return of_nodes
        return (
            f"{of_nodes} AND NOT (a.forth > 0 AND {_has_own('a')}) "
            f"UNION ALL {of_targets} AND {_has_own('r')}"
        )

    def _ends(self) -> Iterator[str]:
        """The ends of walks: any entity, unary facts, constants."""
        start = ", ".join(f"w.{name}" for name in (*_START, *CODES))
        fact = step_code_sql("u.predicate", False)
        for level in self.levels:
            walks = f"chain_steps_{level} AS w"
            if level > 1:
                yield (
                    f"SELECT {start}, 0 AS fact, -1 AS constant, w.deficit, w.doubtful, w.walks "
                    f"FROM {walks} WHERE w.apart = 1"
                )
                anchored = self._exists("chain_anchors", "1 = 1", "node")
                yield (
                    f"SELECT {start}, 0 AS fact, w.node AS constant, w.deficit, w.doubtful, "
                    f"w.walks FROM {walks} WHERE 1 = 1{anchored if self.prunes_anchors else ''}"
                )
            if level < self.max_atoms:
                own = f"u.entity = w.start AND w.start = w.other AND {fact} = w.forth"
                yield (
                    f"SELECT {start}, {fact} AS fact, -1 AS constant, "
                    f"{', '.join(self._softness('u.value'))}, w.walks FROM {walks} "
                    f"JOIN unary_facts AS u ON u.entity = w.node WHERE w.apart = 1 AND NOT ({own})"
                )


#: Number of chains among the kinds of conditions, and columns of the condition's target.
_CHAIN = KINDS.index(Kind.CHAIN)
_GROUP = ("predicate", "argument")


def _few() -> str:
    """Condition that a chain (k) does not lead through hubs, see `HUB_WALKS`."""
    few = f"k.walks <= {HUB_WALKS} * k.starts OR k.walks <= 2 * k.ends"
    return f"({few} OR k.ends <= {HUB_WALKS})"


def _has_own(of: str) -> str:
    """Condition that a chain (r) has the predicate of a target's own fact."""
    steps = " OR ".join(f"r.{name} IN ({of}.forth, {of}.back)" for name in CODES)
    return f"({steps} OR r.fact = {of}.forth)"
