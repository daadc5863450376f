"""Candidate clauses: every body that has groundings for labelled targets, with its figures.

Millions of bodies may be found before pruning, so `Candidates` is a table of arrays; bodies and
texts are made only for the rows that are used.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, fields, replace
from functools import cached_property
from typing import Any

import numpy as np

from hornbeam.base.arrays import Array, Bools, Ids, Integers, Ints, Unsigned
from hornbeam.base.machine import MAX_COUNT
from hornbeam.base.result_table import SHOWN, ResultTable
from hornbeam.errors import InputError
from hornbeam.facts.atom_keys import pair_keys
from hornbeam.facts.names import Names
from hornbeam.language.rule_texts import identifiers
from hornbeam.rules.body import MAX_LENGTH, Body, Kind, Step
from hornbeam.rules.clause import Clause
from hornbeam.rules.codes import KINDS, PATH_ROW, code_limit, from_subject, step_code

#: Default kinds of bodies for targets on one entity, whatever the learner: there are few paths. By
#: default their chains have up to two atoms: longer ones are too many to look for unasked.
ONE_ENTITY_BODIES = (Kind.PATH, Kind.OPEN, Kind.UNARY, Kind.ANCHORED, Kind.CHAIN)
ONE_ENTITY_CHAIN = 2


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
        Kinds of bodies; None leaves the choice to the learner, and is paths where there is none,
        with comparisons of numbers where the facts have some.
        For targets on one entity it is `ONE_ENTITY_BODIES`, with chains of up to two atoms.
    exclude
        Predicates that no body may have.
    shares
        Add up the shares of paths too, not only count them.
    max_chain
        Longest chain, at most `max_length` atoms, which is the default.
    """

    max_length: int = 3
    min_coverage: int = 10
    top: int | None = None
    distinct_variables: bool = False
    max_fanout: int | None = None
    bodies: tuple[Kind, ...] | None = None
    exclude: tuple[str, ...] = ()
    shares: bool = False
    max_chain: int | None = None

    def __post_init__(self) -> None:
        if not 1 <= self.max_length <= MAX_LENGTH:
            raise InputError(f"`max_length` is {self.max_length}; expected 1 to {MAX_LENGTH}")
        for name in ("min_coverage", "top", "max_fanout", "max_chain"):
            value = getattr(self, name)
            if value is not None and not 1 <= value <= MAX_COUNT:
                most = "at least 1" if value < 1 else f"at most {MAX_COUNT}"
                raise InputError(f"`{name}` is {value}; expected {most}")

    def without(self, predicate: str) -> RuleLimits:
        """The limits with one more predicate that no body may have."""
        return replace(self, exclude=tuple(dict.fromkeys([*self.exclude, predicate])))

    @property
    def chain_atoms(self) -> int:
        """Maximum number of atoms of a chain."""
        return min(self.max_length, self.max_chain or self.max_length)

    def for_one_entity(self) -> RuleLimits:
        """The limits with the default bodies of targets on one entity."""
        return replace(self, bodies=ONE_ENTITY_BODIES, max_chain=ONE_ENTITY_CHAIN)

    @property
    def searches_paths(self) -> bool:
        """Whether paths are among the bodies."""
        return self.bodies is None or Kind.PATH in self.bodies

    @property
    def conditions(self) -> frozenset[Kind]:
        """The kinds of bodies that are conditions which facts ground, not paths, not numbers.

        A chain has two atoms or more.
        """
        too_long = {Kind.CHAIN} if self.max_length == 1 else set()
        return frozenset(self.bodies or ()) - {Kind.PATH, Kind.NUMBERS} - too_long

    @property
    def compares_numbers(self) -> bool:
        """Whether comparisons of numbers are among the bodies."""
        return Kind.NUMBERS in (self.bodies or ())


@dataclass(frozen=True)
class Candidate:
    """One row of `Candidates`."""

    body: Body
    text: str
    coverage: int
    coverage_true: int
    coverage_false: int
    paths: int


def unary_predicates(not_binary: Mapping[str, int]) -> frozenset[str]:
    """The predicates of one argument, given the arities of those that are not binary."""
    return frozenset(name for name, arity in not_binary.items() if arity == 1)


@dataclass(frozen=True, eq=False)
class Candidates:
    """Bodies with how many targets they have groundings for, and how many groundings.

    `steps` has one row per body: codes of steps over `predicates` (see `hornbeam.rules.codes`),
    padded with 0; `target` is the head's index in `targets`. Coverage counts labelled targets,
    `coverage_true` those labelled true; `paths` is the total of ground clauses.

    All rows are paths where `conditions` is None. Else it has three columns: the kind's index in
    `KINDS`, the argument (0 for the subject, 1 for the object), and the constant's index in
    `constants`, -1 without one. Of a condition on numbers it is its index in `numbers`.
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
    numbers: tuple[Body, ...] = ()
    unary: frozenset[str] = frozenset()  #: the targets on one entity
    unary_facts: frozenset[str] = frozenset()  #: predicates of unary facts, which end a body

    def __len__(self) -> int:
        return len(self.steps)

    @cached_property
    def identifiers(self) -> dict[str, str]:
        """PSL identifier of every predicate and target."""
        names = (Step.along(relation).predicate for relation in self.predicates)
        others = (name for body in self.numbers for name in body.attributes | body.predicates)
        return dict(identifiers([*names, *self.targets, *others]))

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
                is_fact = name in self.unary_facts and not inverse
                step = Step.along(name, inverse)
                step = replace(step, arity=1) if is_fact else step
                steps[step_code(p, inverse)] = step
        return tuple(steps)

    def body(self, row: int) -> Body:
        """The body of a row."""
        codes, target = self.steps[row].tolist(), self.targets[int(self.target[row])]
        row_of_path = PATH_ROW if self.conditions is None else self.conditions[row].tolist()
        return self._any_body(codes, target, *row_of_path)

    @property
    def bodies(self) -> list[Body]:
        """The bodies of all rows; faster than one by one."""
        # by columns: one list per row would slow down the garbage collector
        codes = zip(*self.steps.T.tolist(), strict=True)
        targets = map(self.targets.__getitem__, self.target.tolist())
        if self.conditions is not None:
            return list(map(self._any_body, codes, targets, *self.conditions.T.tolist()))
        if self.unary:
            return [self._any_body(*path, *PATH_ROW) for path in zip(codes, targets, strict=True)]
        return list(map(Body, map(self._path, codes), targets))

    def _path(self, codes: Iterable[int]) -> tuple[Step, ...]:
        return tuple(filter(None, map(self._step_of_code.__getitem__, codes)))

    def _any_body(
        self, codes: Iterable[int], target: str, kind: int, argument: int, constant: int
    ) -> Body:
        """A body by the numbers that it has in the table."""
        steps, head_arity = self._path(codes), 1 if target in self.unary else 2
        if KINDS[kind] is Kind.PATH:
            return Body(steps, target, head_arity=head_arity)
        if KINDS[kind] is Kind.NUMBERS:
            return self.numbers[constant]
        anchor = None if constant < 0 else self.constants[constant]
        return Body(steps, target, KINDS[kind], argument, anchor, head_arity=head_arity)

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

    def beside_conditions(self, constants: Names, unary_facts: frozenset[str]) -> Candidates:
        """The same paths, which conditions that end in these constants and facts may follow."""
        conditions = np.tile(np.array(PATH_ROW, dtype=np.int32), (len(self), 1))
        return replace(self, conditions=conditions, constants=constants, unary_facts=unary_facts)

    def with_numbers(self, bodies: Sequence[Body], figures: Ints) -> Candidates:
        """The same rows, then conditions on numbers with their coverage, true coverage, paths."""
        n, steps = len(bodies), self.steps.shape[1]
        before = (
            self
            if self.conditions is not None
            else self.beside_conditions(self.constants, self.unary_facts)
        )
        place = np.arange(len(self.numbers), len(self.numbers) + n)
        kind = np.full(n, KINDS.index(Kind.NUMBERS))
        argument = np.array([body.argument for body in bodies], dtype=np.int64)
        target = [self.targets.index(body.target) for body in bodies]
        more = replace(
            before,
            steps=np.zeros((n, steps), dtype=np.uint32),
            target=np.array(target, dtype=np.int32),
            conditions=np.stack([kind, argument, place], axis=1).astype(np.int32),
        )
        both = before.followed_by(more.with_figures(figures))
        return replace(both, numbers=(*self.numbers, *bodies))

    def with_figures(self, figures: Ints) -> Candidates:
        """The same bodies with these rows of coverage, true coverage and paths."""
        coverage, coverage_true, paths = figures
        return replace(self, coverage=coverage, coverage_true=coverage_true, paths=paths)

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
            & ~self._repeats_on_one_entity()
        )
        atoms = self._text_ranks()[self.steps[kept]]
        heads = np.argsort(np.argsort([self.identifiers[name] for name in self.targets]))
        texts = self._ranks_of_texts(kept)
        lengths, coverage = self.lengths[kept], self.coverage[kept]
        keys = (heads[self.target[kept]], *atoms.T[::-1], texts, lengths, -coverage)
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
        first = [step is None or step.arity == 1 or step.is_open for step in self._step_of_code]
        kind, _, constant = self.conditions.T
        is_open = (kind != PATH_ROW[0]) & (constant < 0)
        last = self.steps[np.arange(len(self)), self.lengths - 1]
        return np.asarray(is_open & ~np.array(first)[last])

    def _repeats_on_one_entity(self) -> Bools:
        """Which bodies of targets on one entity repeat another: A and B are the same there.

        Such are conditions on B, and of the two directions of a cycle the second (see `cycle`). A
        step to a neighbour and back is a cycle that repeats the open condition.
        """
        on_one = self._on_one_entity()
        if not on_one.any():
            return on_one
        back = from_subject(self.steps, flipped=True)
        difference = self.steps.astype(np.int64) - back
        at = np.argmax(difference != 0, axis=1)
        first = np.take_along_axis(difference, at[:, None], axis=1)[:, 0]
        repeats: Bools = (first > 0) | ((first == 0) & (self.lengths == 2))
        if self.conditions is not None:
            kind, argument = self.conditions[:, 0], self.conditions[:, 1]
            repeats = np.where(kind == PATH_ROW[0], repeats, argument == 1)
        return on_one & repeats

    def _on_one_entity(self) -> Bools:
        """Which rows are of targets on one entity."""
        unary = np.array([name in self.unary for name in self.targets], dtype=np.bool_)
        return np.asarray(unary[self.target])

    def _ranks_of_texts(self, rows: Ints) -> Ints:
        """Rank of a row's text where some row of its coverage and length is a condition; else 0.

        The others need not be written out, see `_text_ranks`; cycles must, too.
        """
        ranks = np.zeros(len(rows), dtype=np.int64)
        if self.conditions is not None or self.unary:
            _, group = np.unique(
                pair_keys(self.coverage[rows], self.lengths[rows]), return_inverse=True
            )
            is_condition = self._on_one_entity()[rows]
            if self.conditions is not None:
                is_condition |= self.conditions[rows, 0] != PATH_ROW[0]
            written = (np.bincount(group, is_condition) > 0) & (np.bincount(group) > 1)
            places = np.flatnonzero(written[group])
            texts = [self.text(row) for row in rows[places].tolist()]
            order = np.argsort(np.array(texts, dtype=object), kind="stable")
            ranks[places[order]] = np.arange(len(places))
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
