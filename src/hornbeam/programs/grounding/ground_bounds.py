"""How many rows a join has at most, without running it.

Join every atom on only one of the variables that atoms before it have bound: ignoring the other
conditions can only add rows. What is left is a tree, whose rows are counted from its leaves. With
ways(V = c), the number of ways to complete all that is joined on V where V is c, an atom that is
joined on V and binds X, Y, ... makes

    ways(V = c)  <-  ways(V = c)  *  sum over its rows with V = c of ways(X) ways(Y) ...

An atom that binds nothing has one row at most, so it is left out.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from hornbeam.base.arrays import Floats
from hornbeam.language.arithmetic_rules import SumAtom
from hornbeam.language.syntax import Atom, Constant
from hornbeam.programs.grounding.atom_tables import AtomTables


def most_rows(atoms: Sequence[Atom | SumAtom], tables: AtomTables) -> float:
    """A number of rows that the join of some atoms cannot exceed."""
    ways: dict[str, Floats] = {}
    total = 1.0
    for at, atom in reversed(list(enumerate(atoms))):
        bound = _variables(atoms[:at])
        new = {
            term.name: k
            for k, term in reversed(list(enumerate(atom.arguments)))
            if not isinstance(term, Constant) and term.name not in bound
        }
        if not new:
            continue
        columns = tables.arguments(atom.predicate)
        rows = np.ones(len(columns[0]))
        for name, k in new.items():
            if name in ways:
                rows *= ways.pop(name)[columns[k]]
        tied = [
            (term, column)
            for term, column in zip(atom.arguments, columns, strict=True)
            if isinstance(term, Constant) or term.name in bound
        ]
        if not tied:
            total *= rows.sum()
            continue
        term, column = tied[0]
        if isinstance(term, Constant):
            total *= rows[column == tables.constant(term.value)].sum()
        else:
            found = np.bincount(column, rows, len(tables.data.names)).astype(np.float64)
            ways[term.name] = found * ways[term.name] if term.name in ways else found
    return float(total)


def _variables(atoms: Sequence[Atom | SumAtom]) -> set[str]:
    """Names of the variables of atoms."""
    terms = [term for atom in atoms for term in atom.arguments]
    return {term.name for term in terms if not isinstance(term, Constant)}
