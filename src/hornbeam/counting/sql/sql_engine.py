"""The engine that searches by SQL.

The facts stay in the database; only targets, candidates and counts pass through Python.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace

import numpy as np

from hornbeam.base.arrays import Array, Ids
from hornbeam.base.machine import physical_memory
from hornbeam.base.progress import SILENT, Progress
from hornbeam.counting.engine import Discovery, LastLookup
from hornbeam.counting.number_counts import are_numeric, count_with_numbers
from hornbeam.counting.sql.condition_queries import (
    CONDITION_TABLES,
    ConditionSearch,
    conditions_found,
    known_conditions,
)
from hornbeam.counting.sql.database import (
    CODE_DEGREES,
    DEGREES,
    WEIGHED_FACTS,
    Database,
    wide_nodes,
)
from hornbeam.counting.sql.search_queries import PATH_TABLES, CountTable, Search
from hornbeam.counting.sql.search_tables import (
    FoundBodies,
    LocatedTargets,
    column,
    known_paths,
    locate_targets,
    paths_found,
    united,
    upload_kept,
)
from hornbeam.counting.statistics import ROW_BYTES, Histograms, Statistics
from hornbeam.errors import InputError
from hornbeam.facts.names import Names
from hornbeam.facts.numbers import Numbers, no_numbers
from hornbeam.facts.table import ONE, Atoms, Facts, Targets
from hornbeam.graph.adjacency import with_projections
from hornbeam.rules.body import Body, Kind
from hornbeam.rules.candidates import RuleLimits, unary_predicates
from hornbeam.rules.codes import code_limit, path_codes, report_limits

#: Tables that a search leaves behind.
TABLES = ("targets", *PATH_TABLES, *CONDITION_TABLES)


@dataclass(frozen=True, eq=False)
class SqlEngine:
    """Search for paths and conditions over facts in a database.

    The database has the tables `facts` (subject, predicate, object, value in millionths), `degrees`
    (node, degree) and `unary_facts` (entity, predicate, value), and `entity_ids` (name, id) where
    `entities` is None.
    """

    database: Database
    predicates: Names  #: names of the relations in `facts`; their ids are the ranks
    soft: bool  #: whether some value is below 1
    entities: Names | None = None  #: names of the entities where they are in memory
    #: Arity of the predicates that are not binary.
    not_binary: Mapping[str, int] = field(default_factory=dict)
    #: Largest table of counts (rows) that is fetched; of a larger one only histograms are.
    max_rows: int = field(default_factory=lambda: physical_memory() // 4 // ROW_BYTES)
    broadcast_rows: int = 0  #: largest table (rows) that every worker of a cluster can hold
    facts: Facts | None = None  #: the facts where they are in memory, too
    numbers: Numbers = field(default_factory=no_numbers)  #: by the ids of the entities
    #: Opens such an engine over facts in memory; None where the facts were read by the database.
    opener: Callable[[Facts], SqlEngine] | None = None
    #: Tables of weights and of fan-out limits that there are.
    _made: set[str] = field(default_factory=set, init=False, repr=False)
    _last: LastLookup[Names, Ids] = field(default_factory=LastLookup, init=False, repr=False)

    @classmethod
    def of(
        cls,
        database: Database,
        facts: Facts,
        broadcast_rows: int = 0,
        opener: Callable[[Facts], SqlEngine] | None = None,
    ) -> SqlEngine:
        """An engine over facts in memory, which are uploaded."""
        edges = with_projections(facts)
        database.upload("facts", fact_columns(edges, 2))
        database.upload("unary_facts", fact_columns(edges, 1))
        database.create("degrees", DEGREES)
        return cls(
            database, edges.predicates, edges.soft, facts.entities, facts.not_binary,
            broadcast_rows=broadcast_rows, facts=facts, numbers=facts.numbers, opener=opener,
        )  # fmt: skip

    def over(self, facts: Facts) -> SqlEngine:
        """An engine on another such database over other facts; see `Engine.over`."""
        if facts is self.facts:
            return self
        if self.opener is None:
            raise InputError(
                "this engine reads its facts in the database and cannot be opened over others: "
                "read them into memory with `read_facts`"
            )
        return self.opener(facts)

    def discover(
        self,
        targets: Targets,
        language: RuleLimits,
        *,
        statistics: bool = True,
        progress: Progress = SILENT,
    ) -> Discovery:
        """Find every body that has groundings for targets; see `Engine.discover`."""
        database, shares = self.database, language.shares and language.searches_paths
        located, search = self._search(targets, language, language.max_length, shares)
        parts = list[FoundBodies]()
        if len(located):
            if language.searches_paths:
                search.run(database, progress)
                parts.append(paths_found(database, search))
            if language.conditions:
                conditions = ConditionSearch(search, language.conditions, language.chain_atoms)
                conditions.run(database, progress)
                parts.append(conditions_found(database, conditions, self.named))
                if Kind.CHAIN in language.conditions:
                    chains = conditions.chains
                    report_limits(chains.n_hubs(database), chains.n_left(database), progress)
        unary_facts = unary_predicates(self.not_binary)
        everything = united(parts, self.predicates, targets, unary_facts, language)
        rows = everything.pruned(language)
        kept = everything.take(rows)
        table, histograms = None, None
        if statistics:
            upload_kept(database, parts, rows)
            bodies, tables = kept.bodies, [part.table for part in parts]
            if int(kept.coverage.sum()) <= self.max_rows:
                table = self._table(bodies, tables, len(targets), language.shares)
            else:
                histograms = self._histograms(bodies, tables)
        database.drop(*TABLES)
        return Discovery(
            targets,
            kept,
            table,
            found=len(everything) if language.min_coverage == 1 or not parts else None,
            own_edges=located.owned,
            unseen=len(targets) - len(located),
            histograms=histograms,
        )

    def count(
        self,
        targets: Targets,
        bodies: Sequence[Body],
        language: RuleLimits,
        *,
        progress: Progress = SILENT,
    ) -> Statistics:
        """Count the given bodies for the targets; see `Engine.count`."""
        if (numeric := are_numeric(bodies, self.numbers, self.predicates)).any():
            return count_with_numbers(self, numeric, targets, bodies, language, progress)
        heads = targets.predicates.find(body.target for body in bodies)
        paths = {
            i: codes
            for i, body in enumerate(bodies)
            if body.is_path
            and heads[i] >= 0
            and (codes := path_codes(body, self.predicates)) is not None
        }
        conditions = known_conditions(bodies, heads, self.predicates, self._look_up)
        shares = language.shares and bool(paths)
        longest = max((len(bodies[i]) for i in paths), default=1)
        located, search = self._search(targets, language, longest, shares)
        search = replace(search, frozen=True, min_coverage=1)
        kinds = {body.kind for body in bodies if not body.is_path}
        longest_chain = max((len(body) for body in bodies if not body.is_path), default=1)
        tables = list[CountTable]()
        for searched, known in (
            (search, known_paths(paths, heads, search)),
            (ConditionSearch(search, kinds, longest_chain), conditions),
        ):
            if len(located) and len(known["path"]):
                self.database.upload(searched.table.known, known)
                searched.run(self.database, progress)
                tables.append(searched.table)
        table = self._table(bodies, tables, len(targets), language.shares)
        self.database.drop(*TABLES)
        return table

    def locate(self, names: Names) -> Ids:
        """Ids of names of entities, -1 where no fact has them."""
        return self._last.found(names, self._look_up)

    def _look_up(self, names: Names) -> Ids:
        if self.entities is not None:
            return names.translate(self.entities)
        ids = np.full(len(names), -1, dtype=np.int32)
        place, found = self._joined("name", np.array(list(names), dtype=object), "id")
        ids[place] = found
        return ids

    def named(self, ids: Ids) -> tuple[Names, Ids]:
        """Names of some entities, and for every id its index among them; -1 stays -1."""
        if self.entities is not None:
            return self.entities, ids
        wanted = np.unique(ids[ids >= 0])
        place, found = self._joined("id", wanted, "name")
        names = Names.of(found.tolist())
        index = np.full(len(wanted) + 1, -1, dtype=np.int32)  # index -1: no name
        index[place] = names.find(found.tolist())
        return names, index[np.where(ids >= 0, np.searchsorted(wanted, ids), -1)]

    def _joined(self, key: str, wanted: Array, column: str) -> tuple[Ids, Array]:
        """Places of the wanted keys (names or ids) that entities have, and their other column."""
        places = np.arange(len(wanted), dtype=np.int32)
        self.database.upload("wanted_entities", {"place": places, key: wanted})
        found = self.database.fetch(
            f"SELECT w.place, e.{column} FROM entity_ids AS e "
            f"JOIN wanted_entities AS w ON w.{key} = e.{key}"
        )
        self.database.drop("wanted_entities")
        return found["place"], found[column]

    def _search(
        self, targets: Targets, language: RuleLimits, max_length: int, shares: bool
    ) -> tuple[LocatedTargets, Search]:
        """Upload the targets whose entities have facts, and prepare a search for their bodies."""
        if shares or Kind.CHAIN in language.conditions:
            self._create_once("code_degrees", CODE_DEGREES)
        if shares:
            self._create_once("weighed_facts", WEIGHED_FACTS)
        node = self.locate(targets.entities)
        located = locate_targets(self.database, self.predicates, targets, node, shares)
        self.database.upload("targets", located.columns)
        if language.max_fanout is not None:
            # all facts are grouped once per limit
            limit = int(language.max_fanout)
            self._create_once(f"wide_{limit}", wide_nodes(limit))
            self.database.view("wide", f"SELECT origin, code FROM wide_{limit}")
        search = Search(
            base=code_limit(len(self.predicates)),
            max_length=max_length,
            min_coverage=language.min_coverage,
            soft=self.soft,
            owned=located.owned > 0,
            distinct=language.distinct_variables,
            limited=language.max_fanout is not None,
            flipped=located.flipped,
            frozen=False,
            broadcast=located.longest <= self.broadcast_rows,
            shares=shares,
        )
        return located, search

    def _create_once(self, table: str, select: str) -> None:
        if table not in self._made:
            self.database.create(table, select)
            self._made.add(table)

    def _table(
        self,
        bodies: Sequence[Body],
        tables: Sequence[CountTable],
        n_targets: int,
        shares: bool,
    ) -> Statistics:
        """Fetch the counts of the known bodies."""
        parts = [self.database.fetch(table.rows()) for table in tables]
        share = [part.get("share", np.zeros(len(part["path"]))) for part in parts]
        return Statistics.of(
            bodies,
            n_targets,
            column(parts, "path", np.int32),
            column(parts, "target", np.int32),
            ONE - column(parts, "deficit", np.int32),
            column(parts, "paths", np.int64),
            np.concatenate([np.empty(0), *share]) if shares else None,
        )

    def _histograms(self, bodies: Sequence[Body], tables: Sequence[CountTable]) -> Histograms:
        """Fetch the numbers of targets per count and label of the known bodies."""
        if self.soft:
            raise InputError(
                "the table of counts is too long to hold, and facts with truth values between 0 "
                "and 1 cannot be learned from histograms: use a larger `min_coverage`, `top`, "
                "fewer labels, or facts rounded to 0 and 1"
            )
        parts = [self.database.fetch(table.histogram()) for table in tables]
        names = ("path", "paths", "label", "size")
        columns = (column(parts, name, np.int64) for name in names)
        return Histograms.of(bodies, self.max_rows, *columns)


def fact_columns(facts: Facts, arity: int) -> dict[str, Array]:
    """Columns of `facts` (arity 2) or `unary_facts` (1) for facts in memory."""
    none = np.empty(0, dtype=np.int32)
    atoms = facts.atoms.get(arity) or Atoms(none, (none,) * arity)
    names = ("entity",) if arity == 1 else ("subject", "object")
    return {
        **dict(zip(names, atoms.arguments, strict=True)),
        "predicate": atoms.predicate.astype(np.int32),
        "value": atoms.all_millionths,
    }
