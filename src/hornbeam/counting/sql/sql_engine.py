"""The engine that searches by SQL: whatever database runs it, Python sees only what is left.

The facts stay in the database. Targets go in, tables of candidates and counts come out.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Protocol

import numpy as np

from hornbeam.arrays import Array, Ids
from hornbeam.counting.engine import Discovery
from hornbeam.counting.histograms import Histograms
from hornbeam.counting.sql import queries
from hornbeam.counting.sql.queries import Search
from hornbeam.counting.statistics import ROW_BYTES, Statistics
from hornbeam.errors import InputError
from hornbeam.facts.names import Names
from hornbeam.facts.table import ONE, Facts, Targets
from hornbeam.machine import physical_memory
from hornbeam.progress import SILENT, Progress
from hornbeam.rules.body import Body
from hornbeam.rules.candidates import Candidates, Language
from hornbeam.rules.codes import (
    code_limit,
    from_subject,
    path_codes,
    step_code,
    turned_each,
    turned_sequence,
)

TableColumns = Mapping[str, Array]

#: Codes of a sequence by its length: two of the head, two of the tail.
PLACES = {1: (0,), 2: (0, 2), 3: (0, 1, 2), 4: (0, 1, 2, 3)}

#: Tables that a search leaves behind.
TABLES = ("targets", "known", "wide", "heads", "ends", "longer_ends", "wanted", "sides", "counts")


class Database(Protocol):
    """What a search needs of a database: tables from selects and from arrays, and answers."""

    def create(self, table: str, select: str) -> None:
        """Make (or replace) a table."""

    def view(self, name: str, select: str) -> None:
        """Make (or replace) a view."""

    def upload(self, table: str, columns: TableColumns) -> None:
        """Make (or replace) a table from arrays."""

    def fetch(self, select: str) -> dict[str, Array]:
        """Run a select and return its columns."""

    def drop(self, *tables: str) -> None:
        """Forget tables that are there."""

    def write_parquet(self, path: str, batches: Iterable[TableColumns]) -> None:
        """Write batches of columns, one after the other; all of them or nothing."""


@dataclass(frozen=True, eq=False)
class LocatedTargets:
    """Targets whose entities have facts: rows, predicates, nodes, own codes (0 for no fact)."""

    target: Ids
    predicate: Ids
    subject: Ids
    object: Ids
    positive: Ids
    label: Ids
    own_code: Ids
    subject_degree: Array
    object_degree: Array

    def __len__(self) -> int:
        return len(self.target)

    def frontiers(self, flipped: bool) -> tuple[int, int]:
        """Rows of the first frontiers: steps of each source once, of the sink of each target."""
        source, from_source, from_sink = (
            (self.object, self.object_degree, self.subject_degree)
            if flipped
            else (self.subject, self.subject_degree, self.object_degree)
        )
        _, first = np.unique(source, return_index=True)
        return int(from_source[first].sum()), int(from_sink.sum())


@dataclass(frozen=True, eq=False)
class SqlEngine:
    """Path search over facts in a database.

    The database has the tables `facts` (subject, predicate, object, value in millionths) and
    `degrees` (node, degree), and `entities` (name, id) where `entities` is None.

    Parameters
    ----------
    database
        Where the facts are and the work is done.
    predicates
        Names of the relations in `facts`; their ids are the ranks.
    soft
        Whether some value is below 1.
    entities
        Names of the entities where they are in memory.
    not_binary
        Arity of the predicates that are no relations between two entities.
    max_rows
        Longest table of counts that comes to Python; of a longer one only histograms do.
    broadcast_rows
        Longest table that every worker of a cluster can hold.
    """

    database: Database
    predicates: Names
    soft: bool
    entities: Names | None = None
    not_binary: Mapping[str, int] = field(default_factory=dict)
    max_rows: int = field(default_factory=lambda: physical_memory() // 4 // ROW_BYTES)
    broadcast_rows: int = 0

    def discover(
        self,
        targets: Targets,
        language: Language,
        *,
        statistics: bool = True,
        progress: Progress = SILENT,
    ) -> Discovery:
        """Find every sequence that connects targets; see `Engine.discover`."""
        located = self._located(targets)
        if not len(located):
            return self._nothing(targets, language, statistics)
        search = self._search(located, language, language.max_length)
        self._run(search, language, progress)
        found = self.database.fetch(search.figures(language.min_coverage))
        everything = self._candidates(targets, found, search, language)
        rows = everything.pruned(language)
        kept = everything.take(rows)
        table, histograms = None, None
        if statistics:
            known = {name: found[name][rows] for name in ("predicate", *queries.KEY)}
            numbers = np.arange(len(rows), dtype=np.int32)
            self.database.upload("known", {"path": numbers, **known})
            bodies = [kept.body(row) for row in range(len(kept))]
            if int(kept.coverage.sum()) <= self.max_rows:
                table = self._table(bodies, search, len(targets))
            else:
                histograms = self._histograms(bodies, search)
        self.database.drop(*TABLES)
        return Discovery(
            kept,
            table,
            found=len(everything) if language.min_coverage == 1 else None,
            own_edges=int(np.count_nonzero(located.own_code)),
            unseen=len(targets) - len(located),
            histograms=histograms,
        )

    def count(
        self,
        targets: Targets,
        bodies: Sequence[Body],
        language: Language,
        *,
        progress: Progress = SILENT,
    ) -> Statistics:
        """Count the given sequences for the targets; see `Engine.count`."""
        located = self._located(targets)
        heads = [targets.predicates.index(body.target) for body in bodies]
        known = {
            i: codes
            for i, body in enumerate(bodies)
            if heads[i] >= 0 and (codes := path_codes(body, self.predicates)) is not None
        }
        if not len(located) or not known:
            return Statistics.empty(bodies, len(targets))
        longest = max(len(bodies[i]) for i in known)
        search = replace(self._search(located, language, longest), frozen=True)
        h1, h2, t1, t2 = keys = np.zeros((4, len(known)), dtype=np.int64)
        for column, codes in enumerate(known.values()):
            walked = turned_sequence(codes) if search.flipped else codes
            keys[PLACES[len(walked)], column] = walked
        self.database.upload(
            "known",
            {
                "path": np.array(list(known), dtype=np.int32),
                "predicate": np.array([heads[i] for i in known], dtype=np.int32),
                "first": h1,
                "last": np.where(t2 > 0, t2, t1),
                "head": queries.packed(h1, h2, search.base),
                "tail": queries.packed(t1, t2, search.base),
            },
        )
        self._run(search, language, progress)
        table = self._table(bodies, search, len(targets))
        self.database.drop(*TABLES)
        return table

    def locate(self, names: Names) -> Ids:
        """Ids of names of entities, -1 where no fact has them."""
        if self.entities is not None:
            return names.translate(self.entities)
        listed = np.array(list(names), dtype=object)
        numbers = np.arange(len(listed), dtype=np.int32)
        self.database.upload("wanted_names", {"number": numbers, "name": listed})
        found = self.database.fetch(queries.LOCATED)
        self.database.drop("wanted_names")
        ids = np.full(len(listed), -1, dtype=np.int32)
        ids[found["number"]] = found["id"]
        return ids

    def _nothing(self, targets: Targets, language: Language, statistics: bool) -> Discovery:
        """What is found where no target has an entity of the facts."""
        none = np.empty(0, dtype=np.int64)
        steps = np.empty((0, language.max_length), dtype=np.uint32)
        candidates = Candidates(
            tuple(self.predicates), tuple(targets.predicates), steps, none.astype(np.int32),
            none, none, none, language.distinct_variables,
        )  # fmt: skip
        table = Statistics.empty([], len(targets)) if statistics else None
        return Discovery(candidates, table, found=0, own_edges=0, unseen=len(targets))

    def _located(self, targets: Targets) -> LocatedTargets:
        """The targets whose entities have facts, and which of them are facts themselves."""
        node = self.locate(targets.entities)
        subject, object_ = node[targets.subject], node[targets.object]
        seen = np.flatnonzero((subject >= 0) & (object_ >= 0)).astype(np.int32)
        own = self.predicates.find(targets.predicates)[targets.predicate[seen]].astype(np.int32)
        if not len(seen):
            return LocatedTargets(*(seen,) * 9)
        pairs = {"target": seen, "subject": subject[seen], "object": object_[seen], "own": own}
        self.database.upload("pairs", pairs)
        facts = self.database.fetch(queries.OWN_PAIRS)["target"]
        degrees = self.database.fetch(queries.PAIR_DEGREES)
        self.database.drop("pairs")
        order = np.argsort(degrees["target"])
        return LocatedTargets(
            seen,
            targets.predicate[seen].astype(np.int32),
            pairs["subject"],
            pairs["object"],
            targets.positive[seen].astype(np.int32),
            np.zeros_like(seen) if targets.millionths is None else targets.millionths[seen],
            np.where(np.isin(seen, facts), step_code(own), 0).astype(np.int32),
            degrees["subject_degree"][order],
            degrees["object_degree"][order],
        )

    def _search(self, located: LocatedTargets, language: Language, max_length: int) -> Search:
        """Upload the targets from the end that is cheaper to start at."""
        flipped = sum(located.frontiers(flipped=True)) < sum(located.frontiers(flipped=False))
        source, sink = (
            (located.object, located.subject) if flipped else (located.subject, located.object)
        )
        forth = turned_each(located.own_code) if flipped else located.own_code
        self.database.upload(
            "targets",
            {
                "target": located.target,
                "predicate": located.predicate,
                "source": source,
                "sink": sink,
                "positive": located.positive,
                "label": located.label,
                "forth": forth,
                "back": turned_each(forth),
            },
        )
        longest = max(len(located), *located.frontiers(flipped))
        return Search(
            base=code_limit(len(self.predicates)),
            max_length=max_length,
            soft=self.soft,
            owned=bool(located.own_code.any()),
            distinct=language.distinct_variables,
            limited=language.max_fanout is not None,
            flipped=flipped,
            frozen=False,
            broadcast=longest <= self.broadcast_rows,
        )

    def _run(self, search: Search, language: Language, progress: Progress) -> None:
        """Join level by level, until `counts` is there."""
        create = self.database.create
        if language.max_fanout is not None:
            create("wide", queries.wide_nodes(language.max_fanout))
        self.database.view("steps", search.steps())
        self.database.view("sources", search.sources())
        prune = language.min_coverage if not search.frozen else 1
        total = 3 + (search.max_length > 2) + (search.max_length > 3)
        done = 0

        def level(table: str, select: str, column: str = "", frequent: str = "") -> None:
            nonlocal done
            create(table, select)
            if prune > 1 and frequent:
                self.database.view("frequent", frequent)
                create(table, queries.kept(table, column))
            done += 1
            progress.advance("Joining facts", done, total)

        level("heads", search.heads(), "head", search.frequent_firsts(prune))
        level("ends", search.ends(), "tail", search.frequent_lasts(prune))
        if search.max_length > 3:
            level("longer_ends", search.longer_ends())
        if search.max_length > 2:
            create("wanted", search.wanted())
            level("sides", search.sides())
        level("counts", search.counts())

    def _candidates(
        self, targets: Targets, found: TableColumns, search: Search, language: Language
    ) -> Candidates:
        """Everything found, as one table over the facts' predicates."""
        halves = (queries.unpacked(found[name], search.base) for name in queries.KEY)
        codes = np.stack([code for half in halves for code in half], axis=1).astype(np.uint32)
        return Candidates(
            tuple(self.predicates),
            tuple(targets.predicates),
            from_subject(codes, search.flipped)[:, : language.max_length],
            found["predicate"].astype(np.int32),
            coverage=found["coverage"],
            coverage_true=found["coverage_true"],
            paths=found["paths"],
            distinct=language.distinct_variables,
        )

    def _table(self, bodies: Sequence[Body], search: Search, n_targets: int) -> Statistics:
        """Fetch the counts of the sequences in `known`."""
        rows = self.database.fetch(search.rows())
        return Statistics.of(
            bodies,
            n_targets,
            rows["path"],
            rows["target"].astype(np.int32),
            (ONE - rows["deficit"]).astype(np.int32),
            rows["paths"].astype(np.int64),
        )

    def _histograms(self, bodies: Sequence[Body], search: Search) -> Histograms:
        """Fetch how many targets have each count and label, of the sequences in `known`."""
        if self.soft:
            raise InputError(
                "the table of counts is too long to hold, and facts with truth values between 0 "
                "and 1 cannot be learned from histograms: use a larger `min_coverage`, `top`, "
                "fewer labels, or facts rounded to 0 and 1"
            )
        found = self.database.fetch(search.histogram())
        columns = (found[name] for name in ("path", "paths", "label", "size"))
        return Histograms.of(bodies, self.max_rows, *columns)


def fact_columns(facts: Facts) -> dict[str, Array]:
    """Facts (as they are walked) that are in memory as the columns of the table `facts`."""
    atoms = facts.binary
    crisp = np.full(len(atoms), ONE, dtype=np.int32)
    return {
        "subject": atoms.arguments[0],
        "predicate": atoms.predicate.astype(np.int32),
        "object": atoms.arguments[1],
        "value": crisp if atoms.millionths is None else atoms.millionths,
    }
