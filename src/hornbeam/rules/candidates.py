"""Candidate clauses: every body that has groundings for labelled targets, with its figures.

Millions of bodies may be found before pruning, so `Candidates` is a table of arrays; bodies and
texts are made only for the rows that are used.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field, fields, replace
from functools import cached_property
from typing import Any

import numpy as np

from hornbeam.base.arrays import Array, Bools, Ids, Integers, Ints, Unsigned
from hornbeam.base.machine import MAX_COUNT
from hornbeam.base.result_table import SHOWN, ResultTable
from hornbeam.errors import InputError
from hornbeam.facts.names import Names
from hornbeam.language.rule_texts import identifiers
from hornbeam.rules.body import MAX_LENGTH, Body, Kind, Step
from hornbeam.rules.clause import Clause
from hornbeam.rules.codes import code_limit, path_codes, step_code


@dataclass(frozen=True)
class RuleLimits:
    """Which clauses are candidates.

    Parameters
    ----------
    max_length
        Longest body, 1 to `hornbeam.rules.body.MAX_LENGTH` atoms.
    min_coverage
        Fewest labelled targets that a body must have groundings for.
    top
        Keep the first N bodies in the order of coverage, length, text; None keeps all.
    distinct_variables
        No two variables on one entity; by default variables may coincide, as PSL grounds.
    max_fanout
        Approximation for hubs: a step u -> v of relation r is not walked when u has more than
        this many edges of r in that direction. None walks everything.
    bodies
        Kinds of bodies; None leaves the choice to the learner, and is paths where there is none.
    exclude
        Predicates that no body may have.
    shares
        Add up the shares of paths too, not only count them.
    """

    max_length: int = 3
    min_coverage: int = 10
    top: int | None = None
    distinct_variables: bool = False
    max_fanout: int | None = None
    bodies: tuple[Kind, ...] | None = None
    exclude: tuple[str, ...] = ()
    shares: bool = False

    def __post_init__(self) -> None:
        if not 1 <= self.max_length <= MAX_LENGTH:
            raise InputError(f"`max_length` is {self.max_length}; expected 1 to {MAX_LENGTH}")
        for name in ("min_coverage", "top", "max_fanout"):
            value = getattr(self, name)
            if value is not None and not 1 <= value <= MAX_COUNT:
                most = "at least 1" if value < 1 else f"at most {MAX_COUNT}"
                raise InputError(f"`{name}` is {value}; expected {most}")

    @property
    def searches_paths(self) -> bool:
        """Whether paths are among the bodies."""
        return self.bodies is None or Kind.PATH in self.bodies

    @property
    def conditions(self) -> frozenset[Kind]:
        """The kinds of bodies that are conditions, not paths."""
        return frozenset(self.bodies or ()) - {Kind.PATH}


@dataclass(frozen=True)
class Candidate:
    """One row of `Candidates`."""

    body: Body
    text: str
    coverage: int
    coverage_true: int
    coverage_false: int
    paths: int


#: Kinds of bodies by their number in `Candidates.conditions`.
KINDS = tuple(Kind)
#: Kind, argument and constant of a path among conditions.
PATH_ROW = (KINDS.index(Kind.PATH), 0, -1)


def condition_numbers(
    numbered: Iterable[tuple[int, Body]], predicates: Names, locate: Callable[[str], int]
) -> Ints:
    """Number, kind, argument, code and constant of the conditions that the facts can ground.

    The result has one row for each of these five, and a column per condition. `locate` gives the
    id of a constant, -1 where no fact has it.
    """
    conditions = []
    for number, body in numbered:
        codes = path_codes(body, predicates)
        constant = -1 if body.constant is None else locate(body.constant)
        if codes is not None and (body.constant is None or constant >= 0):
            code = codes[0] if codes else 0
            conditions.append((number, KINDS.index(body.kind), body.argument, code, constant))
    return np.array(conditions, dtype=np.int64).reshape(-1, 5).T


@dataclass(frozen=True, eq=False)
class Candidates:
    """Bodies with how many targets they have groundings for, and how many groundings.

    `steps` has one row per body: codes of steps over `predicates` (see `hornbeam.rules.codes`),
    padded with 0; `target` is the head's index in `targets`. Coverage counts labelled targets,
    `coverage_true` those labelled true; `paths` is the total of ground clauses.

    All rows are paths where `conditions` is None. Else it has three columns: the kind's index in
    `KINDS`, the argument (0 for the subject, 1 for the object), and the constant's index in
    `constants`, -1 without one.
    """

    predicates: tuple[str, ...]
    targets: tuple[str, ...]
    steps: Unsigned
    target: Ids
    coverage: Ints
    coverage_true: Ints
    paths: Ints
    distinct: bool = False
    conditions: Ids | None = None
    constants: Names = field(default_factory=lambda: Names.of(()))

    def __len__(self) -> int:
        return len(self.steps)

    @cached_property
    def identifiers(self) -> dict[str, str]:
        """PSL identifier of every predicate and target."""
        names = (Step.along(relation).predicate for relation in self.predicates)
        return dict(identifiers([*names, *self.targets]))

    @property
    def lengths(self) -> Ints:
        """Number of atoms of every body."""
        return np.asarray(np.maximum(np.count_nonzero(self.steps, axis=1), 1))

    @cached_property
    def _step_of_code(self) -> tuple[Step | None, ...]:
        """The step that every code stands for, None where there is none."""
        steps: list[Step | None] = [None] * code_limit(len(self.predicates))
        for p, name in enumerate(self.predicates):
            for inverse in (False, True):
                steps[step_code(p, inverse)] = Step.along(name, inverse)
        return tuple(steps)

    def body(self, row: int) -> Body:
        """The body of a row."""
        codes, target = self.steps[row].tolist(), self.targets[int(self.target[row])]
        if self.conditions is None:
            return Body(self._path(codes), target)
        return self._any_body(codes, target, *self.conditions[row].tolist())

    @property
    def bodies(self) -> list[Body]:
        """The bodies of all rows; faster than one by one."""
        # by columns: one list per row would slow down the garbage collector
        codes = zip(*self.steps.T.tolist(), strict=True)
        targets = map(self.targets.__getitem__, self.target.tolist())
        if self.conditions is None:
            return list(map(Body, map(self._path, codes), targets))
        return list(map(self._any_body, codes, targets, *self.conditions.T.tolist()))

    def _path(self, codes: Iterable[int]) -> tuple[Step, ...]:
        return tuple(filter(None, map(self._step_of_code.__getitem__, codes)))

    def _any_body(
        self, codes: Iterable[int], target: str, kind: int, argument: int, constant: int
    ) -> Body:
        """A body by the numbers that it has in the table."""
        steps = self._path(codes)
        if KINDS[kind] is Kind.PATH:
            return Body(steps, target)
        if KINDS[kind] is Kind.UNARY:
            steps = (replace(steps[0], arity=1),)
        anchor = None if constant < 0 else self.constants[constant]
        return Body(steps, target, KINDS[kind], argument, anchor)

    def text(self, row: int) -> str:
        """PSL text of a row's clause."""
        return Clause(self.body(row)).text(self.identifiers, distinct=self.distinct)

    def __getitem__(self, row: int) -> Candidate:
        true = int(self.coverage_true[row])
        coverage = int(self.coverage[row])
        body, text = self.body(row), self.text(row)
        return Candidate(body, text, coverage, true, coverage - true, int(self.paths[row]))

    def __iter__(self) -> Iterator[Candidate]:
        return (self[row] for row in range(len(self)))

    @property
    def _arrays(self) -> dict[str, Array]:
        """The columns of the table by the names of their fields."""
        columns = {column.name: getattr(self, column.name) for column in fields(self)}
        return {name: column for name, column in columns.items() if isinstance(column, np.ndarray)}

    def take(self, rows: Integers) -> Candidates:
        """The candidates at `rows`, in that order."""
        columns: dict[str, Any] = {name: column[rows] for name, column in self._arrays.items()}
        return replace(self, **columns)

    def beside_conditions(self, constants: Names) -> Candidates:
        """The same paths, which conditions with these constants may follow."""
        conditions = np.tile(np.array(PATH_ROW, dtype=np.int32), (len(self), 1))
        return replace(self, conditions=conditions, constants=constants)

    def followed_by(self, other: Candidates) -> Candidates:
        """The rows of both, over the same predicates, targets and constants."""
        columns: dict[str, Any] = {
            name: np.concatenate([column, getattr(other, name)])
            for name, column in self._arrays.items()
        }
        return replace(self, **columns)

    def pruned(self, language: RuleLimits) -> Ints:
        """Rows that pass the language's limits, ordered by coverage, length, text."""
        kept = np.flatnonzero(
            (self.coverage >= language.min_coverage)
            & ~self._having(language.exclude)
            & ~self._is_duplicate_open()
        )
        atoms = self._text_ranks()[self.steps[kept]]
        heads = np.argsort(np.argsort([self.identifiers[name] for name in self.targets]))
        single = self._ranks_of_single_atoms(kept)
        lengths, coverage = self.lengths[kept], self.coverage[kept]
        keys = (heads[self.target[kept]], *atoms.T[::-1], single, lengths, -coverage)
        order = np.lexsort(keys)
        return kept[order[: language.top]]

    def _having(self, predicates: tuple[str, ...]) -> Bools:
        """Which rows have an atom of some predicates."""
        having = np.zeros(code_limit(len(self.predicates)), dtype=np.bool_)
        for p, name in enumerate(self.predicates):
            if Step.along(name).predicate in predicates:
                having[[step_code(p), step_code(p, inverse=True)]] = True
        return np.asarray(having[self.steps].any(axis=1))

    def _is_duplicate_open(self) -> Bools:
        """Which open conditions repeat another: p(A, X, Y) counts the same led to X or to Y."""
        if self.conditions is None:
            return np.zeros(len(self), dtype=np.bool_)
        first = [step is None or step.is_open for step in self._step_of_code]
        is_open = self.conditions[:, 0] == KINDS.index(Kind.OPEN)
        return np.asarray(is_open & ~np.array(first)[self.steps[:, 0]])

    def _ranks_of_single_atoms(self, rows: Ints) -> Ints:
        """Rank of a row among the texts of one atom where some are not paths; else 0.

        These are few; the others need not be written out, see `_text_ranks`.
        """
        ranks = np.zeros(len(rows), dtype=np.int64)
        if self.conditions is not None:
            single = np.flatnonzero(self.lengths[rows] == 1)
            texts = [self.text(row) for row in rows[single].tolist()]
            ranks[single[np.argsort(np.array(texts, dtype=object), kind="stable")]] = np.arange(
                len(single)
            )
        return ranks

    def _text_ranks(self) -> Ints:
        """Rank of every code's atom in the order of texts.

        Texts of one length differ first in some atom, whose predicate is followed by "(", and
        p(A, B) precedes its inverse p(B, A): so ranks order clauses as their texts would,
        without writing out the texts.
        """
        order = sorted(
            range(len(self.predicates)), key=lambda p: self._relation_text(self.predicates[p])
        )
        ranks = np.zeros(code_limit(len(self.predicates)), dtype=np.int64)
        for rank, p in enumerate(order):
            ranks[step_code(p)] = 2 * rank + 1
            ranks[step_code(p, inverse=True)] = 2 * rank + 2
        return ranks

    def _relation_text(self, relation: str) -> str:
        """How an atom of a relation begins; projections of one predicate in a fixed order."""
        step = Step.along(relation)
        return f"{self.identifiers[step.predicate]}({step.arity}{step.places}"

    def __repr__(self) -> str:
        return f"Candidates({len(self):,} bodies for {', '.join(self.targets)})"

    def to_table(self) -> ResultTable:
        """The rows by clause, coverage (of true pairs, of false ones), paths, length and kind."""
        kinds = [PATH_ROW[0]] * len(self) if self.conditions is None else self.conditions[:, 0]
        return ResultTable(
            {
                "clause": [self.text(row) for row in range(len(self))],
                "coverage": self.coverage,
                "coverage_true": self.coverage_true,
                "coverage_false": self.coverage - self.coverage_true,
                "paths": self.paths,
                "length": self.lengths,
                "kind": [KINDS[kind].value for kind in kinds],
            }
        )

    def _repr_html_(self) -> str:
        title = f"{len(self):,} candidates" if len(self) > SHOWN else ""
        return self.take(np.arange(min(len(self), SHOWN))).to_table().html(title)
