"""Values of functional predicates, computed before grounding, once per needed tuple of constants.

As in PSL, an atom of a functional predicate limits no variable. So the other atoms of a rule are
joined first, and every combination of constants that a ground rule needs is handed to the function.
The answers become observed atoms, which are grounded like any others.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from numbers import Real

import numpy as np

from hornbeam.base.arrays import Floats, Ids
from hornbeam.base.progress import Progress
from hornbeam.errors import InputError
from hornbeam.facts.names import Names
from hornbeam.language.arithmetic_rules import ArithmeticRule, PslRule, atoms_of
from hornbeam.language.syntax import Atom, Constant
from hornbeam.programs.grounding.forecasts import GroundingLimit
from hornbeam.programs.grounding.ground_queries import AtomTables, Joins, grounding_query
from hornbeam.programs.grounding.ground_sums import has_sums, sum_joins
from hornbeam.programs.program_data import AtomTable, ProgramData
from hornbeam.programs.similarities import AtomFunction

#: Number of calls between two reports of progress.
BATCH = 10_000


def call_functions(
    rules: Sequence[PslRule],
    tables: AtomTables,
    functions: Mapping[str, AtomFunction],
    missing_is_false: bool,
    limit: GroundingLimit,
) -> ProgramData:
    """The atoms of a program with the values of its functional predicates among the observations.

    `functions` are by the names of their predicates, as declared.
    """
    data = tables.data
    selects = _needed(rules, tables, functions, missing_is_false, limit)
    predicates = dict(data.predicates)
    for name, function in functions.items():
        if selects[name]:
            query = f"{' UNION '.join(selects[name])} ORDER BY ALL"
            answer = tables.connection.execute(query).fetchnumpy()
            columns = tuple(ids.astype(np.int32) for ids in answer.values())
            values = _values(name, function, columns, data.names, limit.progress)
            predicates[name] = replace(predicates[name], observed=AtomTable(columns, values))
    return replace(data, predicates=predicates)


def _needed(
    rules: Sequence[PslRule],
    tables: AtomTables,
    functions: Mapping[str, AtomFunction],
    missing_is_false: bool,
    limit: GroundingLimit,
) -> dict[str, list[str]]:
    """SQL queries of the tuples that every function is needed for, one per atom in a rule."""
    selects: dict[str, list[str]] = {name: [] for name in functions}
    for rule in rules:
        called = [atom for atom in atoms_of(rule) if atom.predicate in functions]
        joins = _joins(rule, tables, functions, missing_is_false) if called else None
        if joins is None:
            continue
        limit.check(rule, joins)
        for atom in called:
            terms = enumerate(map(joins.column, atom.arguments))
            columns = ", ".join(f"{column} AS a{k}" for k, column in terms)
            selects[atom.predicate].append(f"SELECT DISTINCT {columns} {joins.text()}")
    return selects


def _joins(
    rule: PslRule, tables: AtomTables, functions: Mapping[str, AtomFunction], missing_is_false: bool
) -> Joins | None:
    """Joins of a rule's atoms that have no function; None if the rule has no ground rule."""
    if isinstance(rule, ArithmeticRule) and has_sums(rule):
        return sum_joins(rule, tables, without=functions)
    query = grounding_query(rule, tables, missing_is_false, without=functions)
    return None if query is None else query.joins


def _values(
    name: str,
    function: AtomFunction,
    columns: tuple[Ids, ...],
    names: Names,
    progress: Progress,
) -> Floats:
    """The checked value of every tuple."""
    values = np.empty(len(columns[0]))
    for start in range(0, len(values), BATCH):
        progress.advance(f"calling {name}", start, len(values))
        batch = (names.take(ids[start : start + BATCH]) for ids in columns)
        for i, arguments in enumerate(zip(*batch, strict=True), start):
            values[i] = _checked(name, function, arguments)
    progress.advance(f"calling {name}", len(values), len(values))
    return values


def _checked(name: str, function: AtomFunction, arguments: tuple[str, ...]) -> float:
    """The value of one tuple; an error if the function fails, or gives no number from 0 to 1."""
    try:
        value = function(*arguments)
    except Exception as error:
        problem = f"the function of {name} failed at {_atom_text(name, arguments)}"
        raise InputError(f"{problem}: {type(error).__name__}: {error}") from error
    if not (isinstance(value, Real | np.bool_) and 0.0 <= value <= 1.0):
        problem = f"the function of {name} gave {value!r} for {_atom_text(name, arguments)}"
        raise InputError(f"{problem}; expected a number from 0 to 1")
    return float(value)


def _atom_text(name: str, arguments: tuple[str, ...]) -> str:
    return str(Atom(name, tuple(map(Constant, arguments))))
