"""Property graphs: nodes and links with attributes, from NetworkX, GraphML and Neo4j's exports.

Their readers yield items, which go to one table of the workspace, and from there to sources.

| in the graph | among the facts |
|---|---|
| a link | a fact; of an undirected link both directions |
| a class (Neo4j's label, the attribute `type`) | a unary fact, and the type of the node |
| an attribute with a number, or a date | a number of the node |
| with True | a unary fact called like the attribute; nothing is read of False |
| with text | a fact `attribute(node, text)`; the attribute `name` is `rdfs:label` |
| a list | what each of its items is |

Attributes of links are left out, but for those that say which predicate and which truth value a
link has. So are texts over several lines, which no name can be.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from datetime import date
from enum import StrEnum
from functools import partial
from typing import NamedTuple

from hornbeam.base.texts import number_in, quote, shown_list, whole_number_in
from hornbeam.errors import DataError, HornbeamNote, warn
from hornbeam.facts.entity_names import LABELS
from hornbeam.facts.reading.headers import HEADER_WORDS, TableLayout, further_word
from hornbeam.facts.reading.sources import (
    FORBIDDEN,
    NUMBER_POSITIONS,
    Role,
    Row,
    RowShape,
    Source,
    ValueKind,
    name_problem,
)
from hornbeam.facts.reading.times import check_has_times
from hornbeam.facts.reading.workspace import Workspace

WHOLE_TYPES = ("int", "long", "short", "byte", "integer")
NUMBER_TYPES = (*WHOLE_TYPES, "float", "double")
TEXT_TYPES = ("string", "char")
DATE_TYPES = ("date", "datetime", "localdatetime")
#: What a value of another type is.
UNREAD = object()
BOOLEANS = {"true": True, "false": False, "1": True, "0": False}


def typed_text(text: str, kind: str) -> object:
    """The value of a text by its type; None of an empty text, a ValueError of a wrong one.

    Dates are those of the day. Types that are neither numbers nor dates, Booleans or texts, such as
    points and durations, have the value `UNREAD`.

    Examples
    --------
    >>> typed_text("7", "int"), typed_text("true", "boolean"), typed_text("x", "string")
    (7, True, 'x')
    >>> typed_text("1931-05-04T10:00", "datetime")
    datetime.date(1931, 5, 4)
    """
    kind = kind.casefold()
    if kind in TEXT_TYPES or text == "":
        return text or None
    text = text.strip()
    try:
        if kind in NUMBER_TYPES:
            if text in ("NaN", "nan"):
                return None
            return whole_number_in(text) if kind in WHOLE_TYPES else number_in(text)
        if kind in DATE_TYPES:
            return date.fromisoformat(text[:10])
        return BOOLEANS[text.casefold()] if kind == "boolean" else UNREAD
    except (ValueError, KeyError):
        raise ValueError(f"expected a value of type {kind}, found {quote(text)}") from None


#: Predicate of links that have none.
LINKED = "linked"
#: Attributes with these names have the class and the name of a node.
CLASS_ATTRIBUTE, NAME_ATTRIBUTE = "type", "name"
#: An attribute that is the predicate of a link where no clearer one is.
LINK_LABEL = "label"


class ItemKind(StrEnum):
    """What an item of a graph says."""

    LINK = "link"
    TEXT = "text"
    FLAG = "flag"
    CLASS = "class"
    NUMBER = "number"
    DATE = "date"


class GraphItem(NamedTuple):
    """One thing that a graph says, as text: `name` is the predicate or the attribute."""

    kind: ItemKind
    at: str
    node: str
    name: str
    other: str | None = None
    value: str | None = None


@dataclass
class GraphReader:
    """Turns nodes and links into items; says at the end what was left out."""

    place: str  #: what messages call the graph
    layout: TableLayout
    unit: str = "line"
    left_out: dict[str, None] = field(default_factory=dict)
    unnamed: bool = False  #: whether some link has no predicate

    def error(self, problem: str, at: int | None = None) -> DataError:
        """Make an error at a line or item of the graph."""
        return DataError(self.place, problem, **{self.unit: at})

    def name(self, word: str, text: str, at: int) -> str:
        """A name, or an error."""
        problem = name_problem(word, text)
        if problem is not None:
            raise self.error(problem, at)
        return text

    def classes(self, at: int, node: str, classes: list[str]) -> Iterator[GraphItem]:
        """The classes of a node."""
        for name in classes:
            yield GraphItem(ItemKind.CLASS, str(at), node, self.name("class", name, at))

    def attributes(self, at: int, node: str, given: Mapping[str, object]) -> Iterator[GraphItem]:
        """What the attributes of a node say of it."""
        for attribute, value in given.items():
            values = value if isinstance(value, list | tuple | set | frozenset) else [value]
            for item in values:
                yield from self._attribute(at, node, self.name("attribute", attribute, at), item)

    def _attribute(self, at: int, node: str, attribute: str, value: object) -> Iterator[GraphItem]:
        value = value.item() if hasattr(value, "item") else value  # a scalar of NumPy
        item = partial(GraphItem, at=str(at), node=node, name=attribute)
        match value:
            case None | "":
                return
            case bool():
                if value:
                    yield item(ItemKind.FLAG)
            case int() | float():
                if math.isinf(value):
                    raise self.error(f"{quote(attribute)} is {value}; expected a finite number", at)
                if value == value:
                    yield item(ItemKind.NUMBER, other=repr(value))
            case date():
                yield item(ItemKind.DATE, other=str(value)[:10])
            case str() if FORBIDDEN.keys().isdisjoint(value):
                if attribute == CLASS_ATTRIBUTE:
                    yield from self.classes(at, node, [value])
                else:
                    called = LABELS[1] if attribute == NAME_ATTRIBUTE else attribute
                    yield item(ItemKind.TEXT, name=called, other=self.name("text", value, at))
            case _:
                self.left_out[attribute] = None

    def links(
        self,
        at: int,
        ends: tuple[str, str],
        given: Mapping[str, object],
        predicate: str | None = None,
        *,
        directed: bool = True,
    ) -> Iterator[GraphItem]:
        """A link, and its opposite where it is undirected, by the attributes that name it."""
        stated = self.layout.columns
        chosen = stated.get("predicate")
        if chosen is not None:
            if given.get(chosen) in (None, ""):
                raise self.error(f"a link has no {quote(chosen)}; expected its predicate", at)
            predicate = str(given[chosen])
        elif predicate is None:
            chosen = next(filter(given.get, sorted(given, key=_rank_as_predicate)), None)
            chosen = chosen if chosen is not None and _rank_as_predicate(chosen) < 2 else None
            predicate = LINKED if chosen is None else str(given[chosen])
            self.unnamed |= chosen is None
        value = None
        if "value" in stated:
            value = given.get(stated["value"])
            problem = ValueKind.TRUTH.problem(value)
            if problem is not None:
                raise self.error(f"{quote(stated['value'])}: {problem}", at)
            value = float(str(value)) if not isinstance(value, bool) else float(value)
        self.left_out |= dict.fromkeys(n for n in given if n not in (chosen, stated.get("value")))
        link = partial(
            GraphItem, ItemKind.LINK, str(at), name=self.name("predicate", predicate, at)
        )
        text = None if value is None else repr(value)
        yield link(node=ends[0], other=ends[1], value=text)
        if not directed and ends[0] != ends[1]:
            yield link(node=ends[1], other=ends[0], value=text)

    def report(self) -> None:
        """Say what was left out, and how links without a predicate are called."""
        if self.unnamed:
            advice = "which attribute has it: `columns` 'predicate=NAME'"
            said = f"links without a predicate are {quote(LINKED)}"
            warn(f"{self.place}: {said}; say {advice}", HornbeamNote)
        if self.left_out:
            shown = shown_list(map(quote, self.left_out), 5)
            what = "attributes of links, and what is no number, date or line of text"
            warn(f"{self.place}: {what}, are left out: {shown}")


def _rank_as_predicate(attribute: str) -> int:
    """How clearly an attribute names the predicate of a link: 0, 1, or 2 if it does not."""
    word = HEADER_WORDS.get(attribute.strip().casefold()) or further_word(attribute, letters=False)
    if word == "predicate":
        return 0
    return 1 if attribute == LINK_LABEL else 2


#: What the table of items has.
COLUMNS = ("kind", "number", "node", "name", "other", "value")


def graph_sources(
    space: Workspace, reader: GraphReader, items: Iterator[GraphItem]
) -> list[Source]:
    """Read items into a table of the workspace; returns the sources of those that a role needs."""
    check_has_times(reader.place, reader.layout.time)
    table, role = space.fresh("graph"), reader.layout.role
    space.insert(table, COLUMNS, items)
    if role is Role.FACTS:
        reader.report()
    held = space.connection.execute(f"SELECT DISTINCT kind FROM {table}").fetchall()  # noqa: S608
    links, valued = [ItemKind.LINK], ("value",) * ("value" in reader.layout.columns)
    if role is Role.LABELS and not valued:
        problem = "holds no labels; expected an attribute of links, named by `columns` 'value=NAME'"
        raise DataError(reader.place, problem)
    of_pair = ("a1", "predicate", "a2")
    wanted = [
        (links, RowShape((*of_pair, *valued))),
        ([ItemKind.TEXT], RowShape(of_pair)),
        ([ItemKind.FLAG, ItemKind.CLASS], RowShape(("a1", "predicate"))),
        ([ItemKind.CLASS], RowShape(("a1", "predicate"), value_kind=ValueKind.NONE)),
        ([ItemKind.NUMBER], RowShape(NUMBER_POSITIONS, value_kind=ValueKind.NUMBER)),
        ([ItemKind.DATE], RowShape(NUMBER_POSITIONS, value_kind=ValueKind.DATE)),
    ]
    if role is not Role.FACTS:
        wanted = wanted[4 + (role is Role.DATES) :] if role.is_numeric else wanted[:1]
    sources = [
        _source(space, reader, table, kinds, shape)
        for kinds, shape in wanted
        if not {kind for (kind,) in held}.isdisjoint(kinds)
    ]
    if not sources:
        raise DataError(reader.place, f"has none of the {role}; expected a graph that has some")
    return sources


def _source(
    space: Workspace, reader: GraphReader, table: str, kinds: list[ItemKind], shape: RowShape
) -> Source:
    """The source of the items of some kinds."""
    listed = ", ".join(f"'{kind}'" for kind in kinds)
    cells = {"a1": "node", "predicate": "name", "a2": "other"}
    cells["value"] = "other" if shape.value_kind is not ValueKind.TRUTH else "value"
    fields = [cells[column] for column in shape.columns]
    scan = f"(SELECT * FROM {table} WHERE kind IN ({listed}))"  # noqa: S608
    if shape.value_kind is ValueKind.NONE:  # of several classes the one that most nodes have
        sized = f"SELECT *, count(*) OVER (PARTITION BY name) AS size FROM {scan}"  # noqa: S608
        commonest = "arg_min(name, row(-size, name)) AS name"
        scan = f"(SELECT node, {commonest} FROM ({sized}) GROUP BY node)"  # noqa: S608

    def rows() -> Iterator[Row]:
        ordered = f"SELECT number, {', '.join(fields)} FROM {table} WHERE kind IN ({listed})"  # noqa: S608
        cursor = space.connection.execute(f"{ordered} ORDER BY rowid")
        while chunk := cursor.fetchmany(10_000):
            yield from ((int(at), row) for at, *row in chunk)

    return shape.source(reader.place, shape.select_text(scan, fields, fields), rows, reader.unit)
