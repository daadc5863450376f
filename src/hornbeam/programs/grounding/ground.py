"""Grounding: from rules and atoms to potentials and constraints.

Each rule is one query (`ground_queries`, `ground_sums`). A rule with too many groundings is refused
before it fills the memory (`forecasts`). Functions are called first (`function_atoms`).
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from hornbeam.base.arrays import Ints
from hornbeam.base.progress import SILENT, Progress
from hornbeam.errors import InputError
from hornbeam.hlmrf.potentials import PotentialKind, Potentials
from hornbeam.language.arithmetic_rules import ArithmeticRule, PslRule, Relation
from hornbeam.language.syntax import LogicalRule
from hornbeam.programs.grounding.forecasts import GroundingLimit
from hornbeam.programs.grounding.function_atoms import call_functions
from hornbeam.programs.grounding.ground_queries import (
    MISSING,
    AtomTables,
    GroundingQuery,
    atom_tables,
    grounding_query,
)
from hornbeam.programs.grounding.ground_sums import ground_sums, has_sums, sum_joins
from hornbeam.programs.program_data import ProgramData
from hornbeam.programs.similarities import AtomFunction

#: A form that stays below this for all states counts as never violated.
NEGLIGIBLE = 1e-9


@dataclass(frozen=True, eq=False)
class GroundProgram:
    """Potentials and constraints, with the rules and atoms that they were made from.

    `counts` has the number of ground rules of every rule as PSL counts them: before equal ground
    rules are merged, and ground rules that no state can violate are dropped.
    """

    potentials: Potentials
    rules: Sequence[PslRule]
    counts: Ints
    data: ProgramData

    def atom_text(self, variable: int) -> str:
        """A random variable as an atom: `knows('ann', 'bob')`."""
        predicate, ids = self.data.target(variable)
        return f"{predicate}({', '.join(map(repr, self.data.names.take(ids)))})"

    def row_text(self, row: int) -> str:
        """A row as text: its rule, and the open atoms of the ground rule."""
        bounds = self.potentials.indptr[row : row + 2]
        atoms = map(self.atom_text, self.potentials.variable[slice(*bounds)].tolist())
        return f"{self.rules[self.potentials.rule[row]]}  with {', '.join(atoms) or 'no open atom'}"


def ground(
    rules: Sequence[PslRule],
    data: ProgramData,
    closed: Collection[str],
    *,
    functions: Mapping[str, AtomFunction] | None = None,
    missing_is_false: bool = False,
    limit: int | None = None,
    threads: int | None = None,
    progress: Progress = SILENT,
) -> GroundProgram:
    """Ground every rule of a program; its rules have been checked (see `program_rules`).

    Absent atoms of `closed` predicates are false. A ground rule may need an atom of an open
    predicate that is neither observed nor a target. This is an error, as in PSL, or the atom is
    false with `missing_is_false`. `limit` is the maximum number of ground rules, by default as many
    as fit into memory. `functions` give the values of their predicates, by the names of these.
    """
    at_most = GroundingLimit.of(limit, progress)
    if functions:
        with atom_tables(data, closed, threads) as tables:
            data = call_functions(rules, tables, functions, missing_is_false, at_most)
    grounding = _Grounder(missing_is_false, at_most)
    with atom_tables(data, closed, threads) as tables:
        parts: list[Potentials] = []
        counts = np.zeros(len(rules), dtype=np.int64)
        for i, rule in enumerate(rules):
            progress.advance("grounding", i, len(rules))
            rows = grounding.rows(rule, tables, int(counts.sum()))
            if rows is not None:
                signed = _signed(rule, rows)
                counts[i] = len(signed) * int(rows.weight.sum())
                parts += [part.of_rule(i, kind, rule.weight or 0.0) for kind, part in signed]
        progress.advance("grounding", len(rules), len(rules))
        return GroundProgram(Potentials.joined(tables.n_variables, parts), rules, counts, data)


def _signed(rule: PslRule, rows: Potentials) -> list[tuple[PotentialKind, Potentials]]:
    """Rows of left minus right (or of a logical rule) that a state can violate, with their kind."""
    kind, signs = kind_and_signs(rule)
    if kind is PotentialKind.EQUAL:
        return [(kind, rows)]
    return [(kind, _violable(rows if sign > 0.0 else rows.negated())) for sign in signs]


def kind_and_signs(rule: PslRule) -> tuple[PotentialKind, tuple[float, ...]]:
    """The kind of a rule's rows, and the signs with which its form makes rows: l, -l or both."""
    relation = rule.relation if isinstance(rule, ArithmeticRule) else Relation.AT_MOST
    if rule.weight is None:
        kind = PotentialKind.EQUAL if relation is Relation.EQUAL else PotentialKind.AT_MOST
    else:
        kind = PotentialKind.SQUARED if rule.squared else PotentialKind.LINEAR
    if relation is Relation.EQUAL:
        return kind, (1.0,) if rule.weight is None else (1.0, -1.0)
    return kind, (-1.0,) if relation is Relation.AT_LEAST else (1.0,)


def _violable(rows: Potentials) -> Potentials:
    """Rows of l <= 0 or max(0, l) that some state of the variables can violate."""
    largest = np.bincount(rows.row, np.maximum(rows.coefficient, 0.0), len(rows)) + rows.constant
    return rows.select(largest > NEGLIGIBLE)


@dataclass(frozen=True)
class _Grounder:
    """Settings of `ground`, and the grounding of one rule."""

    missing_is_false: bool
    limit: GroundingLimit

    def rows(self, rule: PslRule, tables: AtomTables, so_far: int) -> Potentials | None:
        """Rows of a rule's form, weighted by numbers of ground rules; None if no atom is open."""
        if isinstance(rule, ArithmeticRule) and has_sums(rule):
            self.limit.check(rule, sum_joins(rule, tables), so_far)
            return ground_sums(rule, tables)
        query = grounding_query(rule, tables, self.missing_is_false)
        if query is None:
            return None
        self.limit.check(rule, query.joins, so_far)
        answer = tables.connection.execute(query.merged).fetchnumpy()
        n, width = len(answer["n"]), len(query.coefficients)
        variable = np.concatenate([answer[f"v{i}"] for i in range(width)])
        if (variable == MISSING).any():
            assert isinstance(rule, LogicalRule)
            raise _missing(rule, query, tables)
        row, coefficient = np.tile(np.arange(n), width), np.repeat(query.coefficients, n)
        rows = Potentials.of(
            tables.n_variables, row, variable, coefficient, answer["c"], answer["n"]
        )
        if isinstance(rule, LogicalRule):
            # an atom on both sides has cancelled out: the ground rule is a tautology
            sizes = np.bincount(rows.row, np.abs(rows.coefficient), n)
            rows = rows.select(sizes == np.bincount(row[variable >= 0], minlength=n))
        return rows


def _missing(rule: LogicalRule, query: GroundingQuery, tables: AtomTables) -> InputError:
    """The error about an atom that a ground rule needs but is neither observed nor a target."""
    names = tables.data.names
    for atom, column in query.lookups:
        arguments = ", ".join(query.joins.column(term) for term in atom.arguments)
        row = tables.connection.execute(
            f"SELECT {arguments} {query.joins.text(f'{column} = {MISSING}')} ORDER BY ALL LIMIT 1"
        ).fetchone()
        if row is not None:
            shown = ", ".join(repr(names[i]) if i >= 0 else "?" for i in row)
            return InputError(
                f"{atom.predicate}({shown}) is needed by {rule} but is neither observed nor among "
                f"the targets of {atom.predicate}; add it to one of them, or set the option "
                "pam.throw to false to take such atoms for false"
            )
    raise AssertionError("no atom is missing")
