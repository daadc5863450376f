"""Bodies: conditions on the two arguments of a clause's head.

A `Body` is one condition on a pair (A, B), the key of a column of counts. A `Conjunction` is up to
three of them; their groundings multiply (over soft facts see `hornbeam.counting.columns`).

| kind | example | its count |
|---|---|---|
| path | `p(A, X) & q(X, B)` | paths from A to B |
| open | `p(A, X)`, `p(X, B)` | edges of an argument, for any X |
| unary | `student(A)` | 1 where it is a fact |
| anchored | `p(A, 'c')`, `p('c', B)`, `(A == 'c')` | 1 where it is a fact |
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from enum import StrEnum
from itertools import combinations, count
from string import ascii_uppercase
from typing import Self

from hornbeam.language.syntax import Atom, Comparison, Constant, Operator, Term, Variable
from hornbeam.rules.weighing import Threshold

#: Maximum number of atoms of a path. The searches are written for up to four, and check it.
MAX_LENGTH = 4
#: Maximum number of atoms of a path in a model of a whole graph.
MAX_PATH = 5
#: Maximum number of bodies of a conjunction.
MAX_CONDITIONS = 3
#: Separates a predicate of three or more arguments from the places that a step walks between.
#: No name of the data has it.
_PLACES = "\t"


class Kind(StrEnum):
    """What a body is, by the names of `bodies`."""

    PATH = "paths"
    OPEN = "open"
    UNARY = "unary"
    ANCHORED = "anchored"


@dataclass(frozen=True, order=True)
class Step:
    """One atom of a body: a predicate walked forwards, or backwards as its inverse.

    An atom of three or more arguments is walked between two of its `places`, the lesser first, the
    others free; `arity` is the number of all. A unary body has one step of arity 1.
    """

    predicate: str
    inverse: bool = False
    places: tuple[int, int] = (0, 1)
    arity: int = 2

    @classmethod
    def between(cls, predicate: str, start: int, end: int, arity: int) -> Step:
        """The step from one argument of an atom to another.

        Examples
        --------
        >>> Step.between("ta", 2, 0, 3)
        Step(predicate='ta', inverse=True, places=(0, 2), arity=3)
        """
        return cls(predicate, end < start, (min(start, end), max(start, end)), arity)

    @classmethod
    def leaving(cls, predicate: str, start: int, arity: int) -> Step:
        """The step of an open body, from one argument of an atom whose others are free.

        It leads to the first of them; the groundings are the same for any.
        """
        return cls.between(predicate, start, 0 if start else 1, arity)

    def reversed(self) -> Step:
        """The same atom walked the other way."""
        return Step(self.predicate, not self.inverse, self.places, self.arity)

    @property
    def relation(self) -> str:
        """Name of the binary relation that is walked: the predicate, or a projection of it.

        Examples
        --------
        >>> step = Step("ta", places=(0, 2), arity=3)
        >>> Step.along(step.relation) == step
        True
        """
        if self.arity <= 2:
            return self.predicate
        return _PLACES.join([self.predicate, *map(str, (*self.places, self.arity))])

    @classmethod
    def along(cls, relation: str, inverse: bool = False) -> Step:
        """A step along a relation by its name."""
        name, *numbers = relation.split(_PLACES)
        if not numbers:
            return cls(name, inverse)
        first, second, arity = map(int, numbers)
        return cls(name, inverse, (first, second), arity)

    @property
    def is_open(self) -> bool:
        """Whether open bodies with this atom and argument have this step (see `leaving`)."""
        return self == Step.leaving(self.predicate, self.places[self.inverse], self.arity)

    def atom(self, here: Term, there: Term | None, free: Iterator[Variable]) -> Atom:
        """The atom between two terms; what is left out gets a free variable."""
        if self.arity == 1:
            return Atom(self.predicate, (here,))
        arguments: list[Term | None] = [None] * self.arity
        start, end = reversed(self.places) if self.inverse else self.places
        arguments[start], arguments[end] = here, there
        return Atom(self.predicate, tuple(next(free) if a is None else a for a in arguments))


@dataclass(frozen=True)
class Part:
    """One body of a conjunction, with a threshold on its groundings or without."""

    body: Body
    threshold: Threshold | None = None


@dataclass(frozen=True)
class Body:
    """One condition on the arguments of a target predicate, or nothing at all.

    It is the key of a column of counts: how many groundings it has for each target. The empty
    body has one grounding for every target.
    """

    #: The steps of a path from subject to object; of other kinds one, from the argument.
    steps: tuple[Step, ...]
    target: str  #: predicate of the head
    kind: Kind = Kind.PATH
    argument: int = 0  #: of a body that is not a path: 0 for the subject, 1 for the object
    #: Of an anchored body: the entity that its step leads to, or that the argument is where it has
    #: no step.
    constant: str | None = None

    def __len__(self) -> int:
        return max(len(self.steps), self.constant is not None)

    @property
    def is_path(self) -> bool:
        """Whether it leads from subject to object; all other kinds are about one argument."""
        return self.kind is Kind.PATH

    @property
    def is_fixed(self) -> bool:
        """Whether it names all entities: then facts of two arguments ground it once at most."""
        return self.kind in (Kind.UNARY, Kind.ANCHORED)

    @property
    def parts(self) -> tuple[Part, ...]:
        """Itself as the only body of a conjunction; none where it is empty."""
        return (Part(self),) if len(self) else ()

    @property
    def predicates(self) -> set[str]:
        """The predicates of its atoms."""
        return {step.predicate for step in self.steps}

    def with_target(self, target: str) -> Body:
        """The same condition on the arguments of another predicate."""
        return replace(self, target=target)

    @property
    def mirror(self) -> Body:
        """The same condition with subject and object exchanged."""
        if self.is_path:
            steps = tuple(step.reversed() for step in reversed(self.steps))
            return Body(steps, self.target)
        return Body(self.steps, self.target, self.kind, 1 - self.argument, self.constant)

    def literals(
        self, ends: tuple[Term, Term], free: Iterator[Variable]
    ) -> list[Atom | Comparison]:
        """Its atoms over the terms of subject and object, other variables taken from `free`."""
        here = ends[self.argument]
        anchor = None if self.constant is None else Constant(self.constant)
        if self.kind is Kind.ANCHORED and anchor is not None and not self.steps:
            return [Comparison(here, Operator.EQUAL, anchor)]
        if not self.is_path:
            return [self.steps[0].atom(here, anchor, free)]
        between = [next(free) for _ in self.steps[1:]]
        nodes: list[Term] = [ends[0], *between, ends[1]]
        return [step.atom(nodes[i], nodes[i + 1], free) for i, step in enumerate(self.steps)]


@dataclass(frozen=True)
class Conjunction:
    """Up to three bodies of one target, all of which must hold; their groundings multiply.

    Examples
    --------
    >>> shared = Body((Step("cites"), Step("cites", inverse=True)), "alike")
    >>> known = Body((Step("cites"),), "alike", Kind.OPEN)
    >>> both = Conjunction((Part(shared, Threshold(3)), Part(known)))
    >>> both.target, len(both)
    ('alike', 3)
    """

    parts: tuple[Part, ...]

    @property
    def target(self) -> str:
        """Predicate of the head."""
        return self.parts[0].body.target

    def __len__(self) -> int:
        return sum(len(part.body) for part in self.parts)

    @property
    def predicates(self) -> set[str]:
        """The predicates of its atoms."""
        return set[str]().union(*(part.body.predicates for part in self.parts))

    def with_target(self, target: str) -> Self:
        """The same conditions on the arguments of another predicate."""
        parts = (Part(part.body.with_target(target), part.threshold) for part in self.parts)
        return type(self)(tuple(parts))

    @property
    def mirror(self) -> Self:
        """The same conditions with subject and object exchanged; itself if these are its own."""
        parts = tuple(Part(part.body.mirror, part.threshold) for part in self.parts)
        return self if Counter(parts) == Counter(self.parts) else type(self)(parts)


#: What a clause may have for a body.
AnyBody = Body | Conjunction


def simplest(parts: Sequence[Part]) -> AnyBody:
    """A single body without a threshold as itself, all else as a conjunction."""
    if len(parts) == 1 and parts[0].threshold is None:
        return parts[0].body
    return Conjunction(tuple(parts))


def free_argument(body: AnyBody) -> int | None:
    """The argument that a body has no condition on; None where it has conditions on both.

    Examples
    --------
    >>> free_argument(Body((Step("cites"),), "alike", Kind.OPEN, argument=0))
    1
    """
    bodies = [part.body for part in body.parts]
    if any(one.is_path for one in bodies) or len({one.argument for one in bodies}) != 1:
        return None
    return 1 - bodies[0].argument


def variables() -> Iterator[Variable]:
    """A, B, ..., Z, A1, B1, ... without end."""
    for turn in count():
        for letter in ascii_uppercase:
            yield Variable(f"{letter}{turn or ''}")


def body_ends(body: AnyBody) -> tuple[Variable, Variable]:
    """Variables of subject and object: A, and the one after the nodes of a lone path."""
    names = variables()
    nodes = [next(names) for _ in range(MAX_PATH + 1)]
    parts = body.parts
    alone = len(parts) == 1 and parts[0].body.is_path
    return nodes[0], nodes[len(parts[0].body.steps) if alone else 1]


def body_texts(
    body: AnyBody, identifiers: Mapping[str, str], *, distinct: bool = False
) -> list[str]:
    """PSL text of every condition; names without an identifier stay as they are.

    With `distinct`, the variables that a condition walks over and both arguments must be different
    entities; other arguments of an atom of three or more may be any. Variables of two conditions
    may coincide: their groundings are counted apart and multiply.
    """
    ends = body_ends(body)
    alone = len(body.parts) == 1
    # the nodes of a lone path are named in their order, A, B, C, from subject to object
    free = (name for name in variables() if name not in ends)
    texts, different = [], set[tuple[str, str]]()
    for part in body.parts:
        literals = part.body.literals(ends, free)
        atoms = [spelt(literal, identifiers) for literal in literals]
        text = " & ".join(atoms)
        if part.threshold is not None:
            text = f"({text}) {part.threshold}" if len(atoms) > 1 else f"{text} {part.threshold}"
        texts += [text] if part.threshold is not None or not alone else atoms
        if part.body.steps:
            nodes = {end.name for end in ends} | _walked_over(part.body, literals)
            different |= set(combinations(sorted(nodes), 2))
    if distinct:
        texts += [f"({one} != {other})" for one, other in sorted(different)]
    return texts


def _walked_over(body: Body, literals: Sequence[Atom | Comparison]) -> set[str]:
    """Variables at the places that the steps of a body lead between."""
    return {
        term.name
        for step, atom in zip(body.steps, literals, strict=True)
        if isinstance(atom, Atom)
        for term in (atom.arguments[place] for place in step.places[: step.arity])
        if isinstance(term, Variable)
    }


def spelt(literal: Atom | Comparison, identifiers: Mapping[str, str]) -> str:
    """Text of a literal; a predicate without an identifier stays as it is."""
    if isinstance(literal, Comparison):
        return str(literal)
    terms = ", ".join([str(term) for term in literal.arguments])
    return f"{identifiers.get(literal.predicate, literal.predicate)}({terms})"
