"""Projections: atoms of three or more arguments become edges between any two arguments.

An atom `ta(a, b, c)` is an edge a -> b of the relation of places 0 and 1, a -> c of 0 and 2, and
b -> c of 1 and 2 (`hornbeam.rules.body.Step.relation` names them). Atoms that differ in
the other arguments only are parallel edges: each is a grounding of its own.
"""

from __future__ import annotations

from collections.abc import Mapping
from itertools import combinations

import numpy as np

from hornbeam.facts.atom_keys import united_edges
from hornbeam.facts.names import Names
from hornbeam.facts.table import Atoms, Facts, narrow_type
from hornbeam.rules.body import Step


def projections(predicate: str, arity: int) -> dict[tuple[int, int], str]:
    """Names of the projections of a predicate by argument places; empty for binary predicates.

    Examples
    --------
    >>> list(projections("ta", 3))
    [(0, 1), (0, 2), (1, 2)]
    >>> projections("cites", 2)
    {}
    """
    if arity < 3:
        return {}
    places = combinations(range(arity), 2)
    return {two: Step(predicate, places=two, arity=arity).relation for two in places}


def walked_predicates(predicates: Names, not_binary: Mapping[str, int]) -> Names:
    """The predicates and all projections of those of three or more arguments."""
    more = [
        name
        for predicate, arity in not_binary.items()
        for name in projections(predicate, arity).values()
    ]
    return Names.of([*predicates, *more]) if more else predicates


def with_projections(facts: Facts) -> Facts:
    """The unary facts and all edges, wider atoms projected; the facts themselves if none are wider.

    Examples
    --------
    >>> from hornbeam.facts.table import Atoms, Facts
    >>> from hornbeam.facts.names import Names
    >>> columns = [np.array([i], dtype=np.int32) for i in range(4)]
    >>> table = Atoms(columns[0], tuple(columns[1:]))
    >>> with_projections(Facts(Names.of("abcd"), Names.of(["ta"]), {3: table}))
    Facts(3 facts, 4 entities, 4 predicates)
    """
    wider = {arity: table for arity, table in facts.atoms.items() if arity > 2}
    if not wider:
        return facts
    predicates = walked_predicates(facts.predicates, facts.not_binary)
    renamed = facts.predicates.translate(predicates)
    kind = narrow_type(len(predicates))
    kept = {
        arity: Atoms(renamed[table.predicate].astype(kind), table.arguments, table.millionths)
        for arity, table in facts.atoms.items()
        if arity < 3
    }
    parts = [kept[2]] if 2 in kept else []
    for arity, table in wider.items():
        for first, second in combinations(range(arity), 2):
            relation = np.zeros(len(facts.predicates), dtype=kind)
            for p in np.unique(table.predicate).tolist():
                step = Step(facts.predicates[p], places=(first, second), arity=arity)
                relation[p] = predicates.index(step.relation)
            ends = table.arguments[first], table.arguments[second]
            parts.append(Atoms(relation[table.predicate], ends, table.millionths))
    return Facts(facts.entities, predicates, {**kept, 2: united_edges(parts)})
