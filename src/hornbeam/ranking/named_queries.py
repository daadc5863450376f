"""Reading queries: rows of subject, relation and object, where one argument is a question mark."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np

from hornbeam.base.arrays import Bools
from hornbeam.base.texts import did_you_mean
from hornbeam.errors import DataError, UnknownNameError, warn
from hornbeam.facts.entity_names import EntityNames
from hornbeam.facts.events import check_units
from hornbeam.facts.reading.headers import TableLayout
from hornbeam.facts.reading.interning import intern_targets
from hornbeam.facts.reading.readers import Input, plain_pairs, sources_of
from hornbeam.facts.reading.sources import Role, Source
from hornbeam.facts.reading.times import NoTimeColumnError
from hornbeam.facts.reading.workspace import Workspace, workspace
from hornbeam.facts.table import Facts, Targets
from hornbeam.ranking.queries import Queries

#: The mark of the missing argument.
ASKED = "?"


@dataclass(frozen=True, eq=False)
class NamedQueries:
    """Queries by the names of entities and relations, in the order they were given.

    `rows` has the queries as pairs. The question mark is the subject where `asks_subject` is true,
    else the object.
    """

    rows: Targets
    asks_subject: Bools

    def __len__(self) -> int:
        return len(self.rows)

    def names_at(self, row: int) -> tuple[str, str, str]:
        """Subject, relation and object of a query, where one argument is "?"."""
        return self.rows.names_at(row)

    def by_ids(self, names: EntityNames, facts: Facts) -> NamedQueries:
        """The queries with ids in place of names; refuses ambiguous names."""
        given = self.rows.entities
        meant = names.entities(given, lambda asked: asked.translate(facts.entities))
        meant.pop(ASKED, None)
        relations = names.relations(self.rows.predicates, set(facts.predicates))
        return replace(self, rows=self.rows.renamed(meant, relations))

    def located(self, facts: Facts) -> Queries:
        """The queries by the ids of `facts`, -1 where the facts do not have the name."""
        relation = self.rows.predicates.translate(facts.predicates)[self.rows.predicate]
        known = np.where(self.asks_subject, self.rows.object, self.rows.subject)
        entity = self.rows.entities.translate(facts.entities)[known]
        if self.rows.time is not None and facts.events is not None:
            check_units(self.rows.unit, facts.events.unit)
        return Queries(relation, entity, self.asks_subject, time=self.rows.time)

    def __repr__(self) -> str:
        return f"NamedQueries({len(self):,} queries of {', '.join(self.rows.predicates)})"


def read_queries(
    *inputs: Input,
    columns: Mapping[str, str] | None = None,
    header: bool | None = None,
    time: str | int | None = None,
) -> NamedQueries:
    """Read queries, `subject, relation, ?` or `?, relation, object`, from files, frames or tuples.

    Queries keep their order, and repeated queries stay; a fourth column is ignored. See
    `read_facts` for `columns`, `header` and `time`. Inputs of three columns have no time: they are
    asked after all facts.

    Raises
    ------
    hornbeam.errors.DataError
        Naming the file, the line and what was expected there.

    Examples
    --------
    >>> read_queries([("paris", "capital_of", "?"), ("?", "capital_of", "peru")])
    NamedQueries(2 queries of capital_of)
    """
    with workspace() as space:
        layout = TableLayout.of(columns, header, role=Role.PAIRS, time=time)
        sources = _query_sources(space, inputs, layout)
        rows = intern_targets(space.connection, sources, labelled=False)
        mark = rows.entities.index(ASKED)
        asks_subject, asks_object = rows.subject == mark, rows.object == mark
        wrong = asks_subject == asks_object
        if wrong.any() or rows.predicates.index(ASKED) >= 0:
            raise _first_wrong(sources)
    return NamedQueries(rows, asks_subject)


def _query_sources(
    space: Workspace, inputs: Sequence[Input], layout: TableLayout
) -> Sequence[Source]:
    """The sources of queries, without a time where no row has a field beyond the query."""
    try:
        return sources_of(space, inputs, layout)
    except NoTimeColumnError:
        sources = sources_of(space, inputs, replace(layout, time=None))
        if any(len(fields) > 3 for source in sources for _, fields in source.rows()):
            raise
        return sources


def as_queries(given: Input | NamedQueries) -> NamedQueries:
    """The queries themselves if they are `NamedQueries`, else read from a path, frame or tuples."""
    if isinstance(given, NamedQueries):
        return given
    return _plain_queries(given) or read_queries(given)


def _plain_queries(given: Input) -> NamedQueries | None:
    """Queries from well-formed tuples, read without a database; None for other inputs."""
    rows = plain_pairs(given)
    if rows is None or rows.predicates.index(ASKED) >= 0:
        return None
    mark = rows.entities.index(ASKED)
    asks_subject = rows.subject == mark
    return (
        NamedQueries(rows, asks_subject) if np.all(asks_subject != (rows.object == mark)) else None
    )


def check_answerable(
    named: NamedQueries, facts: Facts, relations: Collection[str], names: EntityNames
) -> None:
    """Warn of queries that get no answer: their relation has no rules, or the facts lack a name.

    Raises
    ------
    hornbeam.errors.UnknownNameError
        Where every query has a name that the facts lack.
    """
    queries = named.located(facts)
    for i, name in enumerate(named.rows.predicates):
        n = int((named.rows.predicate == i).sum())
        if n and name not in relations and facts.predicates.index(name) >= 0:
            asks = "1 query asks" if n == 1 else f"{n:,} queries ask"
            hint = did_you_mean(name, relations)
            warn(f"the model has no rules for {name!r}, of which {asks}.{hint}")
    unknown = int(np.count_nonzero(~queries.askable))
    if not unknown:
        return
    row = int(queries.askable.argmin())
    subject, name, object_ = named.names_at(row)
    known: Iterable[str] = facts.predicates
    if queries.relation[row] >= 0:
        name = object_ if named.asks_subject[row] else subject
        known = [*names.names.values(), *facts.entities]
    first = f"no fact has {name!r}, which query {row + 1:,} names"
    if queries.relation[row] < 0 and name in relations:
        first += " (the model has rules for it, but ranks its answers by known ones, too)"
    if unknown == len(queries):
        raise UnknownNameError(f"{first}: no query can be answered.{did_you_mean(name, known)}")
    others = f", nor a name of {unknown - 1:,} more" if unknown > 1 else ""
    gets = "they get" if unknown > 1 else "it gets"
    warn(f"{first}{others}; {gets} no answer.{did_you_mean(name, known)}")


def _first_wrong(sources: Sequence[Source]) -> DataError:
    """An error at the first row that does not have exactly one question mark."""
    for source in sources:
        for at, fields in source.rows():
            row = dict(zip(source.columns, map(str, fields), strict=False))
            if row["predicate"] == ASKED:
                return source.error(f"the relation is {ASKED!r}; expected its name", at)
            if "a2" not in row:
                problem = "found subject and relation alone; expected subject, relation, object"
                return source.error(f"{problem}, one of subject and object as '?'", at)
            marks = (row["a1"] == ASKED) + (row["a2"] == ASKED)
            if marks != 1:
                found = "two question marks" if marks else "no question mark"
                expected = "expected one of subject and object to be '?'"
                return source.error(f"{found}; {expected}", at)
    return DataError(sources[0].name, "expected one question mark in every query")
