"""Meanings of the columns of a table: given by the user, by names in its header, or by order."""

from __future__ import annotations

import re
import shlex
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field

from hornbeam.base.texts import did_you_mean, quote, shown_list
from hornbeam.errors import DataError, InputError, warn
from hornbeam.facts.reading.sources import NUMBER_WORDS, Role, argument_columns, for_role

#: Column names that are understood, with the column that each stands for.
HEADER_WORDS = {
    "subject": "a1", "head": "a1", "source": "a1", "from": "a1",
    "predicate": "predicate", "relation": "predicate", "property": "predicate",
    "object": "a2", "tail": "a2", "target": "a2", "to": "a2",
    "value": "value", "truth": "value", "label": "value", "truth value": "value",
    "truth_value": "value",
}  # fmt: skip
#: Further names of columns of numbers.
NUMBER_HEADER = {"entity": "a1", "attribute": "predicate", "number": "value", "date": "value"}
#: Names that may mean something else: understood where none of the above has the same meaning.
FURTHER_WORDS = {
    "subj": "a1", "src": "a1", "start": "a1", "entity1": "a1", "node1": "a1", "entity": "a1",
    "pred": "predicate", "rel": "predicate", "type": "predicate", "relationship": "predicate",
    "edge": "predicate",
    "obj": "a2", "dst": "a2", "end": "a2", "entity2": "a2", "node2": "a2",
}  # fmt: skip
#: Single letters may as well be names of entities: accepted in CSV and in tables; in TSV only where
#: the user says that there is a header.
LETTERS = {"s": "a1", "p": "predicate", "o": "a2", "h": "a1", "r": "predicate", "t": "a2"}
#: Columns of Neo4j's files: `:START_ID`, `gene:START_ID(Gene){id-type:long}`, and APOC's `_start`.
NEO4J = re.compile(r".*:(START_ID|TYPE|END_ID)(?:\(.*\))?(?:\{.*\})?|_(start|type|end)", re.DOTALL)
#: `subject_id` is as good as `subject`.
ID_SUFFIX = re.compile(r"[ _]?ids?$")

#: Names that libraries give to columns without a name: 0, column_1, c2, f3.
AUTOMATIC = re.compile(r"(?:c|f|v|col|column|field)?[ _]?[0-9]+", re.IGNORECASE | re.ASCII)
#: Names of columns in advice, where a file's own cannot be written without quotes.
EXAMPLE = ("gene", "relation", "disease")

#: Columns of tables without a column of predicates, where the predicate is known.
WITHOUT_PREDICATE = {Role.PAIRS: ("a1", "a2"), Role.LABELS: ("a1", "a2", "value")}
#: The same columns of targets on one entity.
OF_ONE_ENTITY = {Role.PAIRS: ("a1",), Role.LABELS: ("a1", "value")}
#: Columns that a table needs.
TRIPLE = ("a1", "predicate", "a2")
#: What users call the columns of `TableLayout`.
PLACES = {"subject": "a1", "predicate": "predicate", "object": "a2", "value": "value"}
PLACE_OF = {column: place for place, column in PLACES.items()}
EXPECTED_PLACES = "expected `columns` for subject, predicate and object, and value if there is one"


@dataclass(frozen=True)
class TableLayout:
    """What tables are read as, and what a user states about them: columns, and a header of text.

    `header` is None where the first line of a text decides. `columns` are names by what they stand
    for, "a1", "predicate", "a2" and "value". They are for tables that have them; one that has none
    of them is read as if they had not been given. `target` is the predicate of pairs and labels in
    frames and tuples that name none. `arguments_of` is the predicate of a table that has one column
    per argument, whatever its columns are called. `time` is the name of the column of times, or its
    number, from 1 on.
    """

    columns: Mapping[str, str] = field(default_factory=dict)
    header: bool | None = None
    target: str | None = None
    arguments_of: str | None = None
    role: Role = Role.FACTS
    time: str | None = None

    @classmethod
    def of(
        cls,
        columns: Mapping[str, str] | None,
        header: bool | None = None,
        target: str | None = None,
        role: Role = Role.FACTS,
        time: str | int | None = None,
    ) -> TableLayout:
        """Check what was given to a reader.

        Examples
        --------
        >>> named = {"subject": "gene", "predicate": "relation", "object": "disease"}
        >>> TableLayout.of(named).columns
        {'a1': 'gene', 'predicate': 'relation', 'a2': 'disease'}
        """
        place = time_column(time)
        if columns is None:
            return cls(header=header, target=target, role=role, time=place)
        unknown = sorted(set(columns) - set(PLACES))
        if unknown:
            raise InputError(f"unknown place {unknown[0]!r} of a column; {EXPECTED_PLACES}")
        if len(set(columns.values())) < len(columns):
            raise InputError(f"one column for two places; {EXPECTED_PLACES}")
        if header is False:
            raise InputError("`columns` names columns of a header: leave out `header=False`")
        named = {PLACES[place]: name for place, name in columns.items()}
        return cls(named, header, target, role=role, time=place)


def time_column(time: object) -> str | None:
    """The column of times as a user gives it: a name, or a number from 1 on."""
    if time is None or (isinstance(time, str) and time):
        return time
    if isinstance(time, int) and not isinstance(time, bool):
        return str(time)
    raise InputError(f"`time` is {time!r}; expected the name or the number of a column")


#: Default layout of facts: headers are recognised by their names.
BY_ITSELF = TableLayout()


@dataclass(frozen=True)
class Header:
    """The names of a table's columns, which are understood by a layout, by words, or by order.

    Errors name the table, and the line of the header in text. `letters` says whether single letters
    are names of columns too.
    """

    name: str
    fields: Sequence[str]
    layout: TableLayout = BY_ITSELF
    line: int | None = None
    letters: bool = True

    @property
    def role(self) -> Role:
        """What the table is read as."""
        return self.layout.role

    @property
    def is_named(self) -> bool:
        """Whether some of the fields are columns that the user named."""
        return not set(self.layout.columns.values()).isdisjoint(self.fields)

    def _named_columns(self) -> tuple[str, ...] | None:
        """Meanings of the columns by the names that the user gave; None where it has none."""
        fields, given = self.fields, self.layout.columns
        if not self.is_named:
            return None
        for place, column in PLACES.items():
            if column in TRIPLE[:2] and column not in given:
                raise InputError(f"no column for the {place}; {EXPECTED_PLACES}")
        for wanted in given.values():
            if wanted not in fields:
                listed = f"found {self._shown()}.{did_you_mean(wanted, fields)}"
                raise self.error(f"no column {wanted!r}; {listed}")
            if fields.count(wanted) > 1:
                raise self.error(f"two columns are called {wanted!r}; expected one")
        meaning = {wanted: column for column, wanted in given.items()}
        if self.role is Role.LABELS and "value" not in given:  # labels are nothing without them
            labels = [name for name in fields if header_word(name) == "value"]
            meaning = {labels[0]: "value", **meaning} if len(labels) == 1 else meaning
        return self._for_role(meaning.get(field, "") for field in fields)

    def columns(self, required: Collection[str] = TRIPLE) -> tuple[str, ...] | None:
        """Meanings of the columns, or None where the fields are not a header."""
        named = self._named_columns()
        if named is not None or not self.is_understood(required):
            return named
        words, facts = self._words(), self.role is not Role.PAIRS
        exported = [name for name in self.fields if NEO4J.fullmatch(name.strip())]
        for i, (field_, word) in enumerate(zip(self.fields, words, strict=True)):
            if word and word in words[:i]:
                same = f"columns {self.fields[words.index(word)]!r} and {field_!r} mean the same"
                raise self.error(f"{same}; expected {self.role.expected}")
            # A misspelt column of values must not turn every fact into a certain one.
            if not word and facts and len(exported) < len(required):
                expected = f"expected {self.role.expected}, or names by `columns`"
                raise self.error(f"unknown column {field_!r}; {expected}")
        left_out = [field for field, word in zip(self.fields, words, strict=True) if not word]
        if left_out and facts:
            shown = shown_list(map(quote, left_out), 5)
            warn(f"{self.name}: properties in Neo4j's export are left out: {shown}")
        return self._for_role(words)

    def is_understood(self, required: Collection[str] = TRIPLE) -> bool:
        """Whether the fields are understood as names of all columns that a table needs."""
        words = set(self._words())
        required = self.role.positions if self.role.is_numeric else required
        unary = not self.role.is_numeric and words - {"value"} == {"a1", "predicate"}
        return unary or set(required) <= words

    def table_columns(self, *, is_frame: bool = False) -> tuple[str, ...]:
        """Meanings of the columns of a table: by their names, else by their positions."""
        if self.layout.arguments_of is not None:
            return argument_columns(self.name, len(self.fields))
        without = self._without_predicate() if is_frame and not self.is_named else None
        return without or self.columns() or self._by_position()

    def _by_position(self) -> tuple[str, ...]:
        """Columns with other names: three or four in the usual order, or two of unary facts."""
        words = map(self._word, self.fields)
        positions = self.role.positions_of(len(self.fields))
        # A known name in an unexpected place means that the order is not the usual one.
        agree = all(word in ("", at) for word, at in zip(words, positions, strict=False))
        if len(self.fields) not in self.role.widths or not agree:
            raise self.error(f"expected columns {self.role.expected}, found {self._shown()}")
        if not all(AUTOMATIC.fullmatch(field) for field in self.fields):  # names that say nothing
            listed = ", ".join(map(quote, self.fields))
            place_of = NUMBER_WORDS if self.role.is_numeric else PLACE_OF
            read = f"{self.name}: the columns {listed} are read by their order, as "
            read += ", ".join(place_of[column] for column in positions)
            say = "name them so" if self.role.is_numeric else "say which column is which: "
            say += "" if self.role.is_numeric else self.advice
            warn(f"{read}. If they are not that, {say}")
        return self._for_role(positions)

    def _without_predicate(self) -> tuple[str, ...] | None:
        """Meanings of columns without a predicate, where none is needed."""
        if self.role not in WITHOUT_PREDICATE:
            return None
        words = [header_word(field) for field in self.fields]
        columns = self.columns(required=("a1", "a2")) if "predicate" not in words else None
        target = self.layout.target
        if columns is None:
            usual = columns_without_predicate(self.role, len(self.fields))
            agree = all(word in ("", at) for word, at in zip(words, usual or (), strict=False))
            return usual if target is not None and agree else None
        if target is None:
            problem = f"expected columns {self.role.expected}, found {', '.join(self.fields)}"
            raise self.error(f"{problem} (or name the predicate of all: `target`)")
        return columns

    @property
    def advice(self) -> str:
        """The `columns` that a user may want to give, with the names of the table if possible."""
        plain = not any(set(field) & set(",='\"") for field in self.fields)
        named = self.fields[:3] if plain and len(self.fields) >= 2 else EXAMPLE
        places = [PLACE_OF[column] for column in self.role.positions_of(len(self.fields))]
        return "`columns` " + shlex.quote(",".join(map("=".join, zip(places, named, strict=False))))

    def error(self, problem: str) -> DataError:
        """Make an error at the header."""
        return DataError(self.name, problem, line=self.line)

    def _shown(self) -> str:
        return shown_list(self.fields, 8)

    def _for_role(self, columns: Iterable[str]) -> tuple[str, ...]:
        return for_role(self.name, tuple(columns), self.role, self.line)

    def _words(self) -> list[str]:
        """Meaning of each name; an ambiguous name only where no other has the same meaning."""
        words = [self._word(name) for name in self.fields]
        for i, name in enumerate(self.fields):
            further = further_word(name.strip(), self.letters)
            if not words[i] and further and further not in words:
                words[i] = further
        return words

    def _word(self, name: str) -> str:
        """The column that a name stands for in this role, "" where it is not understood."""
        further = NUMBER_HEADER if self.role.is_numeric else {}
        return further.get(name.strip().casefold(), "") or header_word(name)


def columns_without_predicate(role: Role, width: int) -> tuple[str, ...] | None:
    """Columns of a table of that width whose rows name no predicate; None where they must."""
    usual = (WITHOUT_PREDICATE.get(role), OF_ONE_ENTITY.get(role))
    return next((columns for columns in usual if columns and len(columns) == width), None)


def header_word(name: str) -> str:
    """The column that a name stands for, "" where it is not understood."""
    return HEADER_WORDS.get(name.strip().casefold(), "")


def further_word(name: str, letters: bool) -> str:
    """The column that a name may stand for where no other does, "" where it is not understood."""
    exported = NEO4J.fullmatch(name)
    name = name.casefold()
    if exported:
        return FURTHER_WORDS[(exported[1] or exported[2]).removesuffix("_ID").casefold()]
    if letters and name in LETTERS:
        return LETTERS[name]
    without = ID_SUFFIX.sub("", name)
    return FURTHER_WORDS.get(name) or FURTHER_WORDS.get(without) or HEADER_WORDS.get(without, "")
