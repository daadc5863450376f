"""The tables of one graph in a database, created at first use.

    triples  subject, predicate, object
    links    entity, step, other: every triple, walked forwards and backwards
    runs     entity, step, size: how many links an entity has along a step
    degrees  entity, degree: how many it has at all
    holders  step, holders: how many entities have links along a step
    walks    the links that paths take: a run that is longer than any rule may propose is one link
             to TOO_MANY (-1)
    pair_weights  step, target, weight: of the first for the second, in millionths

Names of tables differ from graph to graph by a suffix; they contain ids only.
"""

from __future__ import annotations

from dataclasses import dataclass, field

from hornbeam.counting.sql.database import Database
from hornbeam.counting.sql.step_queries import BACKWARDS, FORWARDS
from hornbeam.graphs.path_rules import MAX_PROPOSED
from hornbeam.graphs.sql.pair_weight_queries import weight_columns

#: The end of a link that replaces a run to too many entities.
TOO_MANY = -1


@dataclass(frozen=True, eq=False)
class LinkTables:
    """Tables of a graph; `suffix` distinguishes those of several graphs."""

    database: Database
    suffix: str
    n_predicates: int
    #: Steps whose links are left out.
    dropped: tuple[int, ...] = ()
    _made: set[str] = field(default_factory=set)

    @property
    def triples(self) -> str:
        """Name of the table of triples, which the caller has created."""
        return f"triples_{self.suffix}"

    @property
    def links(self) -> str:
        """Name of the table of links."""
        every = (
            f"SELECT subject AS entity, {FORWARDS} AS step, object AS other FROM {self.triples} "  # noqa: S608
            f"UNION ALL SELECT object AS entity, {BACKWARDS} AS step, subject AS other "
            f"FROM {self.triples}"
        )
        if not self.dropped:
            return self._table("links", every)
        listed = ", ".join(map(str, self.dropped))
        return self._table("links", f"SELECT * FROM ({every}) AS l WHERE step NOT IN ({listed})")  # noqa: S608

    @property
    def runs(self) -> str:
        """Name of the table of runs."""
        return self._table(
            "runs",
            f"SELECT entity, step, count(*) AS size FROM {self.links} GROUP BY entity, step",  # noqa: S608
        )

    @property
    def degrees(self) -> str:
        """Name of the table of degrees."""
        return self._table(
            "entity_degrees",
            "SELECT entity, CAST(sum(size) AS BIGINT) AS degree "  # noqa: S608
            f"FROM {self.runs} GROUP BY entity",
        )

    @property
    def holders(self) -> str:
        """Name of the table of holders."""
        return self._table(
            "step_holders",
            f"SELECT step, count(*) AS holders FROM {self.runs} GROUP BY step",  # noqa: S608
        )

    @property
    def walks(self) -> str:
        """Name of the view of the links that paths take."""
        long = self._table(
            "long_runs",
            f"SELECT entity, step FROM {self.runs} WHERE size > {MAX_PROPOSED}",  # noqa: S608
        )
        return self._table(
            "walks",
            f"SELECT l.entity, l.step, l.other FROM {self.links} AS l WHERE NOT EXISTS "  # noqa: S608
            f"(SELECT 1 FROM {long} AS x WHERE x.entity = l.entity AND x.step = l.step) "
            f"UNION ALL SELECT entity, step, {TOO_MANY} AS other FROM {long}",
            stored=False,
        )

    @property
    def pair_weights(self) -> str:
        """Name of the table of weights of a pair's links for each other."""
        name = f"pair_weights_{self.suffix}"
        if name not in self._made:
            self.database.upload(name, weight_columns(self.database, self.links, self.n_predicates))
            self._made.add(name)
        return name

    def without_steps(self, dropped: tuple[int, ...]) -> LinkTables:
        """Tables of the same graph without the links along some steps."""
        if not dropped:
            return self
        others = LinkTables(self.database, f"{self.suffix}_searched", self.n_predicates, dropped)
        self.database.view(others.triples, f"SELECT * FROM {self.triples}")  # noqa: S608
        return others

    def number(self, select: str) -> int:
        """The one number `n` that a select returns."""
        return int(self.database.fetch(select)["n"][0])

    def _table(self, what: str, select: str, stored: bool = True) -> str:
        name = f"{what}_{self.suffix}"
        if name not in self._made:
            make = self.database.create if stored else self.database.view
            make(name, select)
            self._made.add(name)
        return name
