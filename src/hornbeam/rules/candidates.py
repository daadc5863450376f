"""Candidate clauses: every relation sequence that connects labelled targets, with its figures.

Millions of sequences may be found before pruning, so a `Candidates` is a table of arrays; paths
and texts are made for the rows that are looked at.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, fields, replace
from functools import cached_property

import numpy as np

from hornbeam.arrays import Ids, Integers, Ints, Unsigned
from hornbeam.errors import InputError
from hornbeam.language.naming import identifiers
from hornbeam.rules.body import MAX_LENGTH, Body, Step
from hornbeam.rules.clause import Clause
from hornbeam.rules.codes import code_limit, step_code


@dataclass(frozen=True)
class Language:
    """Which clauses are candidates.

    Parameters
    ----------
    max_length
        Longest body, 1 to `hornbeam.rules.body.MAX_LENGTH` atoms.
    min_coverage
        Fewest labelled targets that a sequence must connect.
    top
        Keep the first N sequences in the order of coverage, length, text; None keeps all.
    distinct_variables
        No two variables on one entity; by default variables may coincide, as PSL grounds.
    max_fanout
        Approximation for hubs: a step u -> v of relation r is not walked when u has more than
        this many edges of r in that direction. None walks everything.
    """

    max_length: int = 3
    min_coverage: int = 10
    top: int | None = None
    distinct_variables: bool = False
    max_fanout: int | None = None

    def __post_init__(self) -> None:
        if not 1 <= self.max_length <= MAX_LENGTH:
            raise InputError(f"the longest body is 1 to {MAX_LENGTH} atoms, not {self.max_length}")
        for name in ("min_coverage", "top", "max_fanout"):
            value = getattr(self, name)
            if value is not None and value < 1:
                raise InputError(f"{name.replace('_', ' ')} must be at least 1, not {value}")


@dataclass(frozen=True)
class Candidate:
    """One row of `Candidates`."""

    body: Body
    text: str
    coverage: int
    coverage_true: int
    coverage_false: int
    paths: int


@dataclass(frozen=True, eq=False)
class Candidates:
    """Relation sequences with how many targets they connect, and by how many paths.

    `steps` has one row per sequence: codes of steps over `predicates` (see `hornbeam.rules.codes`),
    padded with 0; `target` is the head's index in `targets`. Coverage counts labelled targets,
    `coverage_true` those labelled true; `paths` is the total of ground clauses.
    """

    predicates: tuple[str, ...]
    targets: tuple[str, ...]
    steps: Unsigned
    target: Ids
    coverage: Ints
    coverage_true: Ints
    paths: Ints
    distinct: bool = False

    def __len__(self) -> int:
        return len(self.steps)

    @cached_property
    def identifiers(self) -> dict[str, str]:
        """PSL identifier of every predicate and target."""
        return dict(identifiers([*self.predicates, *self.targets]))

    @property
    def lengths(self) -> Ints:
        """Number of body atoms of every sequence."""
        return np.asarray(np.count_nonzero(self.steps, axis=1))

    @cached_property
    def _step_of_code(self) -> tuple[Step | None, ...]:
        """The step that every code stands for, None where there is none."""
        steps: list[Step | None] = [None] * code_limit(len(self.predicates))
        for p, name in enumerate(self.predicates):
            for inverse in (False, True):
                steps[step_code(p, inverse)] = Step(name, inverse)
        return tuple(steps)

    def body(self, row: int) -> Body:
        """The sequence of a row."""
        steps = map(self._step_of_code.__getitem__, self.steps[row].tolist())
        return Body(tuple(filter(None, steps)), self.targets[int(self.target[row])])

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

    def take(self, rows: Integers) -> Candidates:
        """The candidates at `rows`, in that order."""
        columns = {
            field.name: getattr(self, field.name)[rows]
            for field in fields(self)
            if isinstance(getattr(self, field.name), np.ndarray)
        }
        return replace(self, **columns)

    def pruned(self, language: Language) -> Ints:
        """Rows that pass the language's limits, ordered by coverage, length, text."""
        kept = np.flatnonzero(self.coverage >= language.min_coverage)
        atoms = self._text_ranks()[self.steps[kept]]
        heads = np.argsort(np.argsort([self.identifiers[name] for name in self.targets]))
        keys = (heads[self.target[kept]], *atoms.T[::-1], self.lengths[kept], -self.coverage[kept])
        order = np.lexsort(keys)
        return kept[order[: language.top]]

    def _text_ranks(self) -> Ints:
        """Rank of every code's atom in the order of texts.

        Texts of one length differ first in some atom, whose predicate is followed by "(", and
        p(A, B) precedes its inverse p(B, A): so ranks order clauses as their texts would,
        without writing out the texts.
        """
        order = sorted(
            range(len(self.predicates)), key=lambda p: f"{self.identifiers[self.predicates[p]]}("
        )
        ranks = np.zeros(code_limit(len(self.predicates)), dtype=np.int64)
        for rank, p in enumerate(order):
            ranks[step_code(p)] = 2 * rank + 1
            ranks[step_code(p, inverse=True)] = 2 * rank + 2
        return ranks

    def __repr__(self) -> str:
        return f"Candidates({len(self):,} relation sequences for {', '.join(self.targets)})"

    def _repr_html_(self) -> str:
        from html import escape

        rows = "".join(
            f"<tr><td>{escape(c.text)}</td><td>{c.coverage:,}</td><td>{c.paths:,}</td></tr>"
            for c in (self[row] for row in range(min(len(self), 20)))
        )
        more = f"<caption>first 20 of {len(self):,}</caption>" if len(self) > 20 else ""
        head = "<tr><th>clause</th><th>coverage</th><th>paths</th></tr>"
        return f"<table>{more}{head}{rows}</table>"
