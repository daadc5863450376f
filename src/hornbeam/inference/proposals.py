"""New links: follow the rules forward from subjects instead of scoring every pair.

A pair that no positive rule reaches scores as its prior, so the best new links are among the
pairs that positive rules reach. They are found by sparse products of the relations along each rule,
a block of subjects at a time, and then scored exactly like any other pair.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import numpy as np
import numpy.typing as npt
from scipy import sparse

from hornbeam.clauses.clause import Path, Prior
from hornbeam.clauses.rules import Rule
from hornbeam.facts.names import Names
from hornbeam.facts.table import Facts, Targets

#: Subjects followed at once.
BLOCK = 256

Ids = npt.NDArray[np.int32]


def reached_pairs(
    facts: Facts, rules: Sequence[Rule], target: str, subjects: Ids
) -> Iterator[Targets]:
    """Blocks of new pairs target(subject, object) that some positive rule reaches.

    Pairs that stand among the facts already are left out.
    """
    paths = [
        rule.clause.path
        for rule in rules
        if not isinstance(rule.clause, Prior)
        and not rule.clause.negated
        and rule.weight > 0
        and rule.clause.path.target == target
    ]
    relations = _relations(facts, paths)
    known = _relation(facts, target)
    n = len(facts.entities)
    names = Names.of([target])
    for start in range(0, len(subjects), BLOCK):
        block = subjects[start : start + BLOCK]
        chooser = sparse.csr_array(
            (np.ones(len(block), dtype=np.int8), (np.arange(len(block)), block)),
            shape=(len(block), n),
        )
        reached = sparse.csr_array((len(block), n), dtype=np.bool_)
        for path in paths:
            reached = reached + _walk(chooser, path, relations)
        reached = reached.astype(np.int8) - reached.multiply((chooser @ known) > 0).astype(np.int8)
        row, object_ = reached.nonzero()
        if len(row):
            predicate = np.zeros(len(row), dtype=np.int32)
            yield Targets(
                facts.entities, names, predicate, block[row], object_.astype(np.int32)
            )


def subjects_of(facts: Facts, target: str) -> Ids:
    """Entities to propose links for: the target's known subjects, else everyone."""
    p = facts.predicates.index(target)
    known = np.unique(facts.binary.arguments[0][facts.binary.predicate == p])
    return known.astype(np.int32) if len(known) else np.arange(len(facts.entities), dtype=np.int32)


def _walk(
    chooser: sparse.csr_array, path: Path, relations: dict[str, sparse.csr_array]
) -> sparse.csr_array:
    """Which entities each chosen subject reaches along the path."""
    frontier = chooser
    for step in path.steps:
        relation = relations[step.predicate]
        frontier = (frontier @ (relation.T if step.inverse else relation)) > 0
        frontier = frontier.astype(np.int8)
    return frontier.astype(np.bool_)


def _relations(facts: Facts, paths: Sequence[Path]) -> dict[str, sparse.csr_array]:
    names = {step.predicate for path in paths for step in path.steps}
    return {name: _relation(facts, name) for name in names}


def _relation(facts: Facts, name: str) -> sparse.csr_array:
    """A predicate as a 0/1 matrix; empty where the facts do not have it."""
    p = facts.predicates.index(name)
    mine = facts.binary.predicate == p
    subject, object_ = (column[mine] for column in facts.binary.arguments)
    n = len(facts.entities)
    ones = np.ones(len(subject), dtype=np.int32)
    return sparse.csr_array((ones, (subject, object_)), shape=(n, n))
