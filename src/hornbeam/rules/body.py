"""Bodies: conditions on the two arguments of a clause's head.

A `Body` is one condition on a pair (A, B), the key of a column of counts. A `Conjunction` is up to
three of them; their groundings multiply (over soft facts see `hornbeam.counting.columns`).
A target on one entity is the pair (A, A): its paths are cycles from A to A, its other conditions
are those on the subject.

| kind | example | its count |
|---|---|---|
| path | `p(A, X) & q(X, B)` | paths from A to B |
| open | `p(A, X)`, `p(X, B)` | edges of an argument, for any X |
| unary | `student(A)` | 1 where it is a fact |
| anchored | `p(A, 'c')`, `p('c', B)`, `(A == 'c')` | 1 where it is a fact |
| numbers | `(year(A) >= 1990)`, `(year(A) - year(B) < 3)` | values that meet it |
| chain | `p(A, X) & q(X, 'c')`, `p(A, X) & q(X, Y) & student(Y)` | walks from an argument |

A chain walks up to three steps from one argument. It ends in a constant, in a unary fact about the
last entity, or in any entity. Open, anchored and unary bodies are the shortest chains; they have
names of their own.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from enum import StrEnum
from functools import cached_property
from itertools import combinations, count
from string import ascii_uppercase
from typing import Self

from hornbeam.language.syntax import (
    Atom,
    Comparison,
    Constant,
    NumberTest,
    Operator,
    Term,
    Variable,
)
from hornbeam.language.time_brackets import EVER, NO_TIME, TimeCondition, time_text
from hornbeam.rules.number_conditions import NumberCondition
from hornbeam.rules.weighing import Threshold

#: Maximum number of atoms of a path. The searches are written for up to four, and check it.
MAX_LENGTH = 4
#: Maximum number of atoms of a path in a model of a whole graph.
MAX_PATH = 5
#: Maximum number of steps of a chain; a unary fact about its last entity is not a step.
MAX_CHAIN = 3
#: Maximum number of bodies of a conjunction; `(A == 'c')`, which fills an argument, is not counted.
MAX_CONDITIONS = 3
#: Separates a predicate of three or more arguments from the places that a step walks between.
#: No name of the data has it.
_PLACES = "\t"
#: Separates a predicate from when it was true, in the name of a relation.
_WHEN = "\n"
#: How the name of a relation, behind when it was true, says `Step.after`.
_ORDERS = {"": 0, "<": -1, ">": 1}
_SIGN = {after: sign for sign, after in _ORDERS.items()}


class Kind(StrEnum):
    """What a body is, by the names of `bodies`."""

    PATH = "paths"
    OPEN = "open"
    UNARY = "unary"
    ANCHORED = "anchored"
    NUMBERS = "numbers"
    CHAIN = "chains"


@dataclass(frozen=True, order=True)
class Step:
    """One atom of a body: a predicate walked forwards, or backwards as its inverse.

    An atom of three or more arguments is walked between two of its `places`, the lesser first, the
    others free; `arity` is the number of all. A unary fact is a step of arity 1 that leads nowhere.
    In rules over facts with a time, `when` says when the atom was true, and `after` that it was
    true later than its neighbour on the path: the step before it (-1), or the next one (1).
    """

    predicate: str
    inverse: bool = False
    places: tuple[int, int] = (0, 1)
    arity: int = 2
    when: TimeCondition = NO_TIME
    after: int = 0

    @classmethod
    def between(cls, predicate: str, start: int, end: int, arity: int) -> Step:
        """The step from one argument of an atom to another.

        Examples
        --------
        >>> step = Step.between("ta", 2, 0, 3)
        >>> step.predicate, step.inverse, step.places, step.arity
        ('ta', True, (0, 2), 3)
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
        return replace(self, inverse=not self.inverse, after=-self.after)

    @property
    def relation(self) -> str:
        """Name of the relation that is walked: the predicate, a projection, or what time tells.

        Examples
        --------
        >>> step = Step("ta", places=(0, 2), arity=3)
        >>> Step.along(step.relation) == step
        True
        """
        if self.arity <= 2:
            if not self.after:
                return self.stated
            return _WHEN.join([self.predicate, str(self.when), _SIGN[self.after]])
        return _PLACES.join([self.predicate, *map(str, (*self.places, self.arity))])

    @property
    def stated(self) -> str:
        """Name of the predicate of its facts, which are those of a time where it has one."""
        return self.predicate + (_WHEN + str(self.when) if self.when.kind else "")

    @classmethod
    def along(cls, relation: str, inverse: bool = False) -> Step:
        """A step along a relation by its name."""
        name, *numbers = relation.split(_PLACES)
        if not numbers:
            name, when, order = [*relation.split(_WHEN), "", ""][:3]
            condition = TimeCondition.of_text(when) if when else NO_TIME
            return cls(name, inverse, when=condition, after=_ORDERS[order])
        first, second, arity = map(int, numbers)
        return cls(name, inverse, (first, second), arity)

    @property
    def is_open(self) -> bool:
        """Whether open bodies with this atom and argument have this step (see `leaving`)."""
        leaving = Step.leaving(self.predicate, self.places[self.inverse], self.arity)
        return self == replace(leaving, when=self.when)

    def atom(self, here: Term, there: Term | None, free: Iterator[Variable]) -> Atom:
        """The atom between two terms; what is left out gets a free variable."""
        if self.arity == 1:
            return Atom(self.predicate, (here,), when=self.when)
        arguments: list[Term | None] = [None] * self.arity
        start, end = reversed(self.places) if self.inverse else self.places
        arguments[start], arguments[end] = here, there
        terms = tuple(next(free) if a is None else a for a in arguments)
        return Atom(self.predicate, terms, when=self.when)


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

    #: The steps of a path from subject to object; of other kinds those from the argument, the last
    #: of which may be a unary fact.
    steps: tuple[Step, ...]
    target: str  #: predicate of the head
    kind: Kind = Kind.PATH
    argument: int = 0  #: of a body that is not a path: 0 for the subject, 1 for the object
    #: The entity that the steps of an anchored body or chain lead to, or that the argument is where
    #: an anchored body has no step.
    constant: str | None = None
    #: What a body of numbers asks of them, or a chain of the numbers of its last entity.
    number: NumberCondition | None = None
    head_arity: int = 2  #: number of arguments of the head: 1 for a target on one entity

    def __len__(self) -> int:
        return max(len(self.steps), self.constant is not None or self.number is not None)

    @property
    def is_path(self) -> bool:
        """Whether it leads from subject to object; all other kinds are about one argument."""
        return self.kind is Kind.PATH

    @property
    def is_fixed(self) -> bool:
        """Whether it names all entities: then facts of two arguments ground it once at most.

        So do numbers, where an entity has one value of an attribute.
        """
        return self.kind in (Kind.UNARY, Kind.ANCHORED, Kind.NUMBERS)

    @property
    def is_equality(self) -> bool:
        """Whether it says which entity its argument is, `(A == 'c')`."""
        return not self.steps and self.constant is not None

    @property
    def is_value(self) -> bool:
        """Whether it is a number that is compared with nothing; a rule with `[z]` has one."""
        return self.number is not None and self.number.is_value

    @property
    def only_argument(self) -> int | None:
        """The argument that it is about; None where it is about both."""
        both = self.is_path or (self.number is not None and self.number.minus is not None)
        return None if both else self.argument

    @property
    def walk(self) -> tuple[Step, ...]:
        """Its steps without the unary fact that it may end in."""
        ends_in_fact = bool(self.steps) and self.steps[-1].arity == 1
        return self.steps[:-1] if ends_in_fact else self.steps

    @cached_property
    def decays(self) -> bool:
        """Whether its groundings weigh the less, the longer they are ago."""
        return any(step.when.is_decay for step in self.steps)

    @property
    def is_ordered(self) -> bool:
        """Whether some atom was true later than its neighbour."""
        return any(step.after for step in self.steps)

    @property
    def has_share(self) -> bool:
        """Whether groundings have shares: those of paths have, but not where time orders them."""
        return self.is_path and not self.is_ordered

    def unordered(self) -> Body:
        """The same condition with its atoms true in any order."""
        return replace(self, steps=tuple(replace(step, after=0) for step in self.steps))

    def over_time(self) -> Body:
        """The same condition over facts with a time; atoms that say nothing were true ever."""
        steps = tuple(s if s.when.kind else replace(s, when=EVER) for s in self.steps)
        return replace(self, steps=steps)

    @property
    def parts(self) -> tuple[Part, ...]:
        """Itself as the only body of a conjunction; none where it is empty."""
        return (Part(self),) if len(self) else ()

    @property
    def predicates(self) -> set[str]:
        """The predicates of its atoms."""
        return {step.predicate for step in self.steps}

    @property
    def attributes(self) -> set[str]:
        """The attributes that it compares."""
        return set() if self.number is None else self.number.attributes

    def with_target(self, target: str) -> Body:
        """The same condition on the arguments of another predicate."""
        return replace(self, target=target)

    @property
    def mirror(self) -> Body:
        """The same condition with subject and object exchanged."""
        if self.head_arity == 1:
            return self
        if self.is_path:
            return Body(reversed_steps(self.steps), self.target)
        if self.number is not None and self.number.absolute:
            return replace(self, number=self.number.swapped)
        return replace(self, argument=1 - self.argument)

    def literals(
        self, ends: tuple[Term, Term], free: Iterator[Variable]
    ) -> list[Atom | Comparison]:
        """Its atoms over the terms of subject and object, other variables taken from `free`."""
        here = ends[self.argument]
        if self.number is not None and not self.steps:
            return [self.number.test(here, ends[1 - self.argument])]
        anchor = None if self.constant is None else Constant(self.constant)
        if not self.steps and anchor is not None:
            return [Comparison(here, Operator.EQUAL, anchor)]
        walk = self.walk
        nodes: list[Term] = [ends[0] if self.is_path else here, *(next(free) for _ in walk[1:])]
        if walk:
            nodes.append(ends[1] if self.is_path else anchor or next(free))
        atoms = [
            replace(atom, after=walk[i + step.after].predicate) if step.after else atom
            for i, step in enumerate(walk)
            for atom in [step.atom(nodes[i], nodes[i + 1], free)]
        ]
        last = [step.atom(nodes[-1], None, free) for step in self.steps[len(walk) :]]
        tests = [] if self.number is None else [self.number.test(nodes[-1], here)]
        return [*atoms, *last, *tests]


def kind_about(steps: Sequence[Step], constant: str | None) -> Kind:
    """The kind of a condition on one argument, by its steps and its end.

    Examples
    --------
    >>> [kind_about([Step("p")] * n, constant=None).value for n in (1, 2)]
    ['open', 'chains']
    """
    if len(steps) > 1:
        return Kind.CHAIN
    if constant is not None:
        return Kind.ANCHORED
    return Kind.UNARY if steps[0].arity == 1 else Kind.OPEN


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

    @property
    def head_arity(self) -> int:
        """Number of arguments of the head."""
        return self.parts[0].body.head_arity

    def __len__(self) -> int:
        return sum(len(part.body) for part in self.parts)

    @property
    def is_fixed(self) -> bool:
        """Whether all of its bodies name all entities."""
        return all(part.body.is_fixed for part in self.parts)

    @property
    def is_value(self) -> bool:
        """Whether it begins with a number that is compared with nothing."""
        return self.parts[0].body.is_value

    @property
    def predicates(self) -> set[str]:
        """The predicates of its atoms."""
        return set[str]().union(*(part.body.predicates for part in self.parts))

    @property
    def attributes(self) -> set[str]:
        """The attributes that its conditions compare."""
        return set[str]().union(*(part.body.attributes for part in self.parts))

    @property
    def decays(self) -> bool:
        """Whether groundings of some condition weigh the less, the longer they are ago."""
        return any(part.body.decays for part in self.parts)

    def over_time(self) -> Self:
        """The same conditions over facts with a time."""
        parts = (Part(part.body.over_time(), part.threshold) for part in self.parts)
        return type(self)(tuple(parts))

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
    """A single body without a threshold as itself, all else as a conjunction.

    A comparison of a number that another one implies is left out: `(year(A) >= 3)` beside
    `(year(A) >= 5)`.
    """
    parts = without_implied(parts)
    if len(parts) == 1 and parts[0].threshold is None:
        return parts[0].body
    return Conjunction(tuple(parts))


def without_implied(parts: Sequence[Part]) -> list[Part]:
    """The conditions without comparisons of numbers that another one of them implies."""
    kept = list[Part]()
    for part in parts:
        if any(_implies(other, part) for other in kept):
            continue
        kept = [other for other in kept if not _implies(part, other)] + [part]
    return kept


def _implies(part: Part, other: Part) -> bool:
    """Whether one comparison of a number implies another on the same value."""
    one, two = part.body.number, other.body.number
    if one is None or two is None or part.threshold != other.threshold:
        return False
    same = replace(part.body, number=two) == other.body
    return same and one.implies(two)


def reversed_steps(steps: Sequence[Step]) -> tuple[Step, ...]:
    """The same path walked from its end to its start."""
    return tuple(step.reversed() for step in reversed(steps))


def cycle(steps: Sequence[Step]) -> tuple[Step, ...]:
    """The steps of a cycle in the one of its two directions that bodies are written in.

    It is the direction whose relations come first by name, as ids of relations do.
    """
    forth, back = tuple(steps), reversed_steps(steps)
    return min(forth, back, key=lambda path: [(step.relation, step.inverse) for step in path])


def free_argument(body: AnyBody) -> int | None:
    """The argument that a body has no condition on; None where it has conditions on both.

    A target on one entity has no other argument.

    Examples
    --------
    >>> free_argument(Body((Step("cites"),), "alike", Kind.OPEN, argument=0))
    1
    """
    if body.head_arity == 1:
        return None
    arguments = {part.body.only_argument for part in body.parts}
    [argument, *others] = arguments or {None}
    return None if argument is None or others else 1 - argument


def variables() -> Iterator[Variable]:
    """A, B, ..., Z, A1, B1, ... without end."""
    for turn in count():
        for letter in ascii_uppercase:
            yield Variable(f"{letter}{turn or ''}")


def body_ends(body: AnyBody) -> tuple[Variable, Variable]:
    """Variables of subject and object: A, and the one after the nodes of a lone path.

    Both are A in a body of a target on one entity.
    """
    names = variables()
    nodes = [next(names) for _ in range(MAX_PATH + 1)]
    parts = body.parts
    if body.head_arity == 1:
        return nodes[0], nodes[0]
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
            nodes = {end.name for end in ends} | walked_over(part.body, literals)
            different |= set(combinations(sorted(nodes), 2))
    if distinct:
        texts += [f"({left} != {right})" for left, right in sorted(different)]
    return texts


def walked_over(body: Body, literals: Sequence[Atom | Comparison]) -> set[str]:
    """Variables at the places that the steps of a body lead between."""
    return {
        term.name
        for step, atom in zip(body.steps, literals, strict=False)
        if isinstance(atom, Atom)
        for term in (atom.arguments[place] for place in step.places[: step.arity])
        if isinstance(term, Variable)
    }


def spelt(literal: Atom | Comparison, identifiers: Mapping[str, str]) -> str:
    """Text of a literal; a predicate without an identifier stays as it is."""
    if isinstance(literal, NumberTest):
        names = (literal.attribute, literal.minus or "")
        attribute, minus = (identifiers.get(name, name) for name in names)
        return str(replace(literal, attribute=attribute, minus=minus or None))
    if isinstance(literal, Comparison):
        return str(literal)
    terms = ", ".join([str(term) for term in literal.arguments])
    after = identifiers.get(literal.after, literal.after)
    name = identifiers.get(literal.predicate, literal.predicate)
    return f"{name}({terms}){time_text(literal.when, after)}"
