"""Meanings of the columns of a table: given by the user, or by the names in its header."""

from __future__ import annotations

import re
import shlex
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field

from hornbeam.base.texts import did_you_mean, quote
from hornbeam.errors import DataError, InputError, warn
from hornbeam.facts.reading.sources import POSITIONS, Role, argument_columns, for_role

#: Column names that are understood, with the column that each stands for.
HEADER_WORDS = {
    "subject": "a1", "head": "a1", "source": "a1", "from": "a1",
    "predicate": "predicate", "relation": "predicate", "property": "predicate",
    "object": "a2", "tail": "a2", "target": "a2", "to": "a2",
    "value": "value", "truth": "value", "label": "value", "truth value": "value",
    "truth_value": "value",
}  # fmt: skip
#: Names that may mean something else: understood where none of the above has the same meaning.
FURTHER_WORDS = {
    "subj": "a1", "src": "a1", "start": "a1", "entity1": "a1", "node1": "a1",
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
#: What users call the columns of `TableLayout`.
PLACES = {"subject": "a1", "predicate": "predicate", "object": "a2", "value": "value"}


@dataclass(frozen=True)
class TableLayout:
    """What a user states about tables: which column is which, and whether text has a header.

    `header` is None where the first line of a text decides. `columns` are names by what they stand
    for, "a1", "predicate", "a2" and "value". They are for tables that have them; one that has none
    of them is read as if they had not been given. `target` is the predicate of pairs and labels in
    frames and tuples that name none. `arguments_of` is the predicate of a table that has one column
    per argument, whatever its columns are called.
    """

    columns: Mapping[str, str] = field(default_factory=dict)
    header: bool | None = None
    target: str | None = None
    arguments_of: str | None = None

    @classmethod
    def of(
        cls,
        columns: Mapping[str, str] | None,
        header: bool | None = None,
        target: str | None = None,
    ) -> TableLayout:
        """Check what was given to a reader.

        Examples
        --------
        >>> named = {"subject": "gene", "predicate": "relation", "object": "disease"}
        >>> TableLayout.of(named).columns
        {'a1': 'gene', 'predicate': 'relation', 'a2': 'disease'}
        """
        if columns is None:
            return cls(header=header, target=target)
        expected = "expected `columns` for subject, predicate and object, and value if there is one"
        unknown = sorted(set(columns) - set(PLACES))
        if unknown:
            raise InputError(f"unknown place {unknown[0]!r} of a column; {expected}")
        if not {"subject", "predicate"} <= set(columns):
            missing = "subject" if "subject" not in columns else "predicate"
            raise InputError(f"no column for the {missing}; {expected}")
        if len(set(columns.values())) < len(columns):
            raise InputError(f"one column for two places; {expected}")
        if header is False:
            raise InputError("`columns` names columns of a header: leave out `header=False`")
        return cls({PLACES[place]: name for place, name in columns.items()}, header, target)

    def names_some(self, fields: Sequence[str]) -> bool:
        """Whether some of the fields are columns that the user named."""
        return not set(self.columns.values()).isdisjoint(fields)

    def meaning(
        self, name: str, fields: Sequence[str], role: Role, line: int | None = None
    ) -> tuple[str, ...] | None:
        """What the columns of a table are by the names given for them; None where it has none."""
        if not self.names_some(fields):
            return None
        for wanted in self.columns.values():
            if wanted not in fields:
                found = ", ".join(fields[:8]) + (", ..." if len(fields) > 8 else "")
                problem = f"no column {wanted!r}; found {found}.{did_you_mean(wanted, fields)}"
                raise DataError(name, problem, line=line)
            if fields.count(wanted) > 1:
                raise DataError(name, f"two columns are called {wanted!r}; expected one", line=line)
        if "a2" not in self.columns and role is not Role.FACTS:
            raise DataError(name, f"no column for objects; expected {role.expected}", line=line)
        place = {wanted: column for column, wanted in self.columns.items()}
        return for_role(name, tuple(place.get(field, "") for field in fields), role, line)


#: Default layout: headers are recognised by their names.
BY_ITSELF = TableLayout()


def header_columns(
    name: str,
    fields: Sequence[str],
    role: Role,
    line: int | None = None,
    layout: TableLayout = BY_ITSELF,
    *,
    letters: bool = True,
    required: Collection[str] = ("a1", "predicate", "a2"),
) -> tuple[str, ...] | None:
    """Meanings of the columns of a header, or None where `fields` are not a header."""
    said = layout.meaning(name, fields, role, line)
    if said is not None:
        return said
    if not names_columns(fields, role, letters=letters, required=required):
        return None
    words = _words(fields, letters)
    exported = [name for name in fields if NEO4J.fullmatch(name.strip())]
    for i, (field_, word) in enumerate(zip(fields, words, strict=True)):
        if word and word in words[:i]:
            first = fields[words.index(word)]
            problem = f"columns {first!r} and {field_!r} mean the same; expected {role.expected}"
            raise DataError(name, problem, line=line)
        # A misspelt column of values must not turn every fact into a certain one.
        if not word and role is not Role.PAIRS and len(exported) < len(required):
            problem = f"unknown column {field_!r}; expected {role.expected}, or names by `columns`"
            raise DataError(name, problem, line=line)
    left_out = [field for field, word in zip(fields, words, strict=True) if not word]
    if left_out and role is not Role.PAIRS:
        shown = ", ".join(map(quote, left_out[:5])) + ", ..." * (len(left_out) > 5)
        warn(f"{name}: properties in Neo4j's export are left out: {shown}")
    return for_role(name, tuple(words), role, line)


def names_columns(
    fields: Sequence[str],
    role: Role,
    *,
    letters: bool = True,
    required: Collection[str] = ("a1", "predicate", "a2"),
) -> bool:
    """Whether the fields are understood as names of all columns that a table needs."""
    words = set(_words(fields, letters))
    unary = role is Role.FACTS and words - {"value"} == {"a1", "predicate"}
    return unary or set(required) <= words


def warn_of_order(name: str, fields: Sequence[str]) -> None:
    """Warn that columns are read by their order, unless their names say nothing at all."""
    if all(AUTOMATIC.fullmatch(field) for field in fields):
        return
    listed = ", ".join(map(quote, fields))
    places = ", ".join(list(PLACES)[: len(fields)])
    warn(
        f"{name}: the columns {listed} are read by their order, as {places}. If they are not that, "
        f"say which column is which: {advice(fields)}"
    )


def advice(fields: Sequence[str]) -> str:
    """The `columns` that a user may want to give, with the names of a table where possible."""
    plain = len(fields) >= 2 and not any(set(field) & set(",='\"") for field in fields)
    named = fields[:3] if plain else EXAMPLE
    return "`columns` " + shlex.quote(",".join(map("=".join, zip(PLACES, named, strict=False))))


def header_word(name: str) -> str:
    """The column that a name stands for, "" where it is not understood."""
    return HEADER_WORDS.get(name.strip().casefold(), "")


def _words(fields: Sequence[str], letters: bool) -> list[str]:
    """Meaning of each name; an ambiguous name only where no other has the same meaning."""
    words = [header_word(name) for name in fields]
    for i, name in enumerate(fields):
        further = _further_word(name.strip(), letters)
        if not words[i] and further and further not in words:
            words[i] = further
    return words


def _further_word(name: str, letters: bool) -> str:
    exported = NEO4J.fullmatch(name)
    name = name.casefold()
    if exported:
        return FURTHER_WORDS[(exported[1] or exported[2]).removesuffix("_ID").casefold()]
    if letters and name in LETTERS:
        return LETTERS[name]
    without = ID_SUFFIX.sub("", name)
    return FURTHER_WORDS.get(name) or FURTHER_WORDS.get(without) or HEADER_WORDS.get(without, "")


def columns_by_name(
    name: str, fields: Sequence[str], role: Role, layout: TableLayout = BY_ITSELF
) -> tuple[str, ...]:
    """Meanings of the columns of a table: by their names, else by their positions."""
    if layout.arguments_of is not None:
        return argument_columns(name, len(fields))
    return header_columns(name, fields, role, layout=layout) or _by_position(name, fields, role)


def _by_position(name: str, fields: Sequence[str], role: Role) -> tuple[str, ...]:
    """Columns with other names: three or four in the usual order, or two of unary facts."""
    words = [header_word(field) for field in fields]
    positions = POSITIONS[: len(fields)]
    # A known name in an unexpected place means that the order is not the usual one.
    agree = all(word in ("", at) for word, at in zip(words, positions, strict=False))
    if len(fields) not in role.widths or not agree:
        found = ", ".join(fields[:8]) + (", ..." if len(fields) > 8 else "")
        raise DataError(name, f"expected columns {role.expected}, found {found}")
    warn_of_order(name, fields)
    return for_role(name, positions, role)


def columns_without_predicate(
    name: str, fields: Sequence[str], role: Role, target: str | None
) -> tuple[str, ...] | None:
    """Meanings of columns without a predicate, where none is needed."""
    if role not in WITHOUT_PREDICATE:
        return None
    words = [header_word(field) for field in fields]
    usual = WITHOUT_PREDICATE[role]
    columns: tuple[str, ...] | None = None
    if "predicate" not in words:
        columns = header_columns(name, fields, role, required=("a1", "a2"))
    if columns is None:
        by_place = target is not None and len(fields) == len(usual) and not any(words[:2])
        return usual if by_place else None
    if target is None:
        problem = f"expected columns {role.expected}, found {', '.join(fields)}"
        raise DataError(name, f"{problem} (or name the predicate of all: `target`)")
    return columns
