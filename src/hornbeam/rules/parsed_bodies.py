"""Parses the atoms of a rule body into conditions, each of them one `Body`.

Atoms that share a variable other than the two arguments belong together. Such a component is a path
from the first argument to the second, or a chain from one argument to a constant, to a unary fact
or to any entity. Variables may have any names, and atoms may be in any order.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import NamedTuple

from hornbeam.language.arithmetic_rules import RefusedError, variables_of
from hornbeam.language.syntax import (
    Atom,
    Comparison,
    Constant,
    NumberTest,
    Operator,
    Place,
    Variable,
)
from hornbeam.rules.body import MAX_CHAIN, MAX_LENGTH, Body, Kind, Step, cycle, kind_about
from hornbeam.rules.number_conditions import NumberCondition

#: Characters that entity names cannot contain.
NO_NAME = re.compile(r"[\t\r\n\0\ud800-\udfff]")


@dataclass(frozen=True)
class Head:
    """Target predicate of a rule and its two variables; the same for a target on one entity."""

    target: str
    subject: str
    object: str
    #: Maximum number of atoms of a path in the body.
    max_length: int = MAX_LENGTH

    @property
    def ends(self) -> tuple[str, str]:
        """Both variables."""
        return self.subject, self.object

    @property
    def arity(self) -> int:
        """Number of arguments."""
        return 2 if self.subject != self.object else 1


class ParsedBody(NamedTuple):
    """A body, and the variables that it walks over with both arguments; none without atoms."""

    body: Body
    nodes: tuple[str, ...] = ()


@dataclass(frozen=True)
class Component:
    """Literals that belong together, with their places in the rule's body.

    They are atoms, or one `==` between an argument and a constant, or one comparison of numbers.
    """

    head: Head
    literals: Mapping[int, Atom | Comparison]

    @cached_property
    def atoms(self) -> list[Atom]:
        """Its atoms."""
        return [literal for literal in self.literals.values() if isinstance(literal, Atom)]

    @property
    def is_equality(self) -> bool:
        """Whether it is one `==`."""
        first = next(iter(self.literals.values()))
        return isinstance(first, Comparison) and first.operator is Operator.EQUAL

    @property
    def text(self) -> str:
        """Its literals, cut where they are too many for a message."""
        text = " & ".join(map(str, self.literals.values()))
        return text if len(text) <= 100 else f"{text[:100]}..."

    @property
    def place(self) -> Place | None:
        """Where it begins."""
        return next(iter(self.literals.values())).place

    @property
    def variables(self) -> set[str]:
        """The variables of its atoms."""
        return set[str]().union(*map(variables_of, self.atoms))

    def parsed(self, names: Mapping[str, str]) -> ParsedBody:
        """The body of the component; see `parsed_clause` for `names`."""
        if not self.atoms:
            [comparison] = self.literals.values()
            if isinstance(comparison, NumberTest):
                return ParsedBody(self._number(comparison, names))
            return ParsedBody(self._equality(comparison))
        for atom in self.atoms:
            if len(_variables(atom)) > len(variables_of(atom)) and not self._is_loop(atom):
                why = f"{atom} has one variable twice; expected different ones"
                raise RefusedError(why, atom.place)
        if not self.variables & {*self.head.ends}:
            subject, object_ = self.head.ends
            about = f"neither {subject} nor {object_}" if self.head.arity > 1 else f"not {subject}"
            raise RefusedError(f"{self.text} is about {about}", self.place)
        if not self._leads_to_object:
            return self._chain(names)
        for test in self._tests:
            expected = " or ".join(dict.fromkeys(self.head.ends))
            why = f"{test} compares a number on a path; expected one of {expected}"
            raise RefusedError(why, test.place)
        return self._path(names)

    @property
    def _tests(self) -> list[NumberTest]:
        """Its comparisons of numbers."""
        return [literal for literal in self.literals.values() if isinstance(literal, NumberTest)]

    def _is_loop(self, atom: Atom) -> bool:
        """Whether an atom of two arguments leads from the only argument of the head to itself."""
        return self.head.arity == 1 and atom.arguments == (Variable(self.head.subject),) * 2

    @property
    def _leads_to_object(self) -> bool:
        """Whether the atoms lead to both arguments of the head, or twice to its only argument."""
        if self.head.arity > 1:
            return self.variables >= {*self.head.ends}
        return sum(_variables(atom).count(self.head.subject) for atom in self.atoms) > 1

    def _equality(self, comparison: Atom | Comparison) -> Body:
        """`(A == 'c')`; which argument is compared has been checked."""
        assert isinstance(comparison, Comparison)
        [variable] = variables_of(comparison)
        terms = (comparison.left, comparison.right)
        [constant] = [term for term in terms if isinstance(term, Constant)]
        argument, anchor = self.head.ends.index(variable), _entity(constant, comparison.place)
        return self._body((), Kind.ANCHORED, argument, anchor)

    def _body(
        self,
        steps: tuple[Step, ...],
        kind: Kind = Kind.PATH,
        argument: int = 0,
        constant: str | None = None,
    ) -> Body:
        """A body of the head's target."""
        target, head_arity = self.head.target, self.head.arity
        return Body(steps, target, kind, argument, constant, head_arity=head_arity)

    def _number(self, test: NumberTest, names: Mapping[str, str]) -> Body:
        """A comparison of numbers of the arguments, or a value of them."""
        ends = self.head.ends
        variables = [term.name for term in (test.left, test.right) if isinstance(term, Variable)]
        if not {*variables} <= {*ends} or len(variables) != len({*variables}):
            each = " and ".join(ends)
            raise RefusedError(f"{test} compares others than {each}", test.place)
        attribute, minus = (
            None if name is None else names.get(name.lower(), name)
            for name in (test.attribute, test.minus)
        )
        assert attribute is not None
        number, argument = NumberCondition.of(test, attribute, minus), ends.index(variables[0])
        if number.absolute and argument == 1:
            number, argument = number.swapped, 0
        return replace(self._body((), Kind.NUMBERS, argument), number=number)

    def _chain(self, names: Mapping[str, str]) -> ParsedBody:
        """Walk from the only argument over every atom once, up to any end."""
        [start] = self.variables & {*self.head.ends}
        left, steps, nodes, constant = list(self.atoms), list[Step](), [start], None
        while left:
            atom = self._next_atom(left, nodes[-1], f"{self.text} is not a chain from {start}")
            left.remove(atom)
            onward = self._onward(atom, nodes[-1], left)
            here, arity = atom.arguments.index(Variable(nodes[-1])), len(atom.arguments)
            predicate = real_name(atom, names)
            if atom.after:
                why = f"{self.text} has an order of time"
                raise RefusedError(f"{why}; expected it on a path from A to B", atom.place)
            if arity == 1:
                steps.append(Step(predicate, arity=1, when=atom.when))
                continue
            step = Step.leaving(predicate, here, arity)
            if onward is not None:
                step = Step.between(predicate, here, atom.arguments.index(onward), arity)
            steps.append(replace(step, when=atom.when))
            end = atom.arguments[step.places[not step.inverse]]
            if isinstance(end, Constant):
                constant = _entity(end, atom.place)
            else:
                nodes.append(end.name)
        argument = self.head.ends.index(start)
        body = self._body(tuple(steps), kind_about(steps, constant), argument, constant)
        for test in self._tests:
            last = constant is None and len(body.walk) == len(steps) and body.number is None
            if not last or test.left != Variable(nodes[-1]) or test.minus or test.bound is None:
                why = f"{test} stands beside {self.text}"
                expected = f"one comparison of a number of {nodes[-1]}, at the end of a chain"
                raise RefusedError(f"{why}; expected {expected}", test.place)
            attribute = names.get(test.attribute.lower(), test.attribute)
            number = NumberCondition.of(test, attribute, None)
            body = replace(body, kind=Kind.CHAIN, number=number)
        if len(body.walk) > MAX_CHAIN:
            why = f"the chain has {len(body.walk)} steps; expected at most {MAX_CHAIN}"
            raise RefusedError(why, self.atoms[MAX_CHAIN].place)
        return ParsedBody(body, (*dict.fromkeys([*self.head.ends, *nodes]),))

    def _next_atom(self, atoms: Sequence[Atom], here: str, refusal: str, most: int = 1) -> Atom:
        """The first atom with a variable, which at most so many have."""
        touching = [atom for atom in atoms if here in variables_of(atom)]
        if not touching:
            raise RefusedError(f"{refusal}: no atom leads on from {here}", atoms[0].place)
        if len(touching) > most:
            raise RefusedError(f"{refusal}: it branches at {here}", touching[1].place)
        return touching[0]

    def _onward(self, atom: Atom, here: str, left: Sequence[Atom]) -> Variable | Constant | None:
        """Where an atom of a chain leads: to an atom that is left, to a constant, or anywhere."""
        others: list[Atom | Comparison] = [*left, *self._tests]
        further = set[str]().union(*map(variables_of, others))
        terms = [
            term
            for term in atom.arguments
            if isinstance(term, Constant)
            or (isinstance(term, Variable) and term.name in further and term.name != here)
        ]
        constants = [term for term in terms if isinstance(term, Constant)]
        if len(constants) > 1:
            raise RefusedError(f"{atom} has {len(constants)} constants; expected one", atom.place)
        if len(terms) > 1:
            leads = ", ".join(map(str, terms))
            raise RefusedError(f"{atom} leads to {leads}; expected one of them", atom.place)
        return terms[0] if terms else None

    def _path(self, names: Mapping[str, str]) -> ParsedBody:
        """Walk from the first argument to the second, over every atom once.

        From the only argument of a head the walk is a cycle, and may begin with either neighbour.
        """
        start, end = self.head.ends
        longest = self.head.max_length
        if len(self.atoms) > longest:
            why = f"the path has {len(self.atoms)} atoms; expected at most {longest}"
            raise RefusedError(why, self.atoms[longest].place)
        no_path = f"{self.text} is not a path from {start} to {end}"
        links = [self._linked(atom, no_path) for atom in self.atoms]
        left, steps, nodes = list(self.atoms), list[Step](), [start]
        walked_atoms = list[Atom]()
        while left:
            here = nodes[-1]
            most = 2 if self.head.arity == 1 and not steps else 1
            atom = self._next_atom(left, here, no_path, most)
            left.remove(atom)
            walked_atoms.append(atom)
            first, second = links[self.atoms.index(atom)]
            # Never an earlier variable: an atom that leads back there would have been a branch.
            there = second if first == here else first
            begin, reach = (atom.arguments.index(Variable(name)) for name in (here, there))
            reach = 1 if here == there else reach
            step = Step.between(real_name(atom, names), begin, reach, len(atom.arguments))
            steps.append(replace(step, when=atom.when) if atom.when.kind else step)
            nodes.append(there)
        if nodes[-1] != end:
            raise RefusedError(f"{no_path}: it ends at {nodes[-1]}", self.atoms[-1].place)
        steps = _ordered(steps, walked_atoms, names)
        walked = cycle(steps) if self.head.arity == 1 else tuple(steps)
        return ParsedBody(self._body(walked), tuple(nodes))

    def _linked(self, atom: Atom, no_path: str) -> tuple[str, str]:
        """The two variables that an atom of a path leads between; others are free."""
        for term in atom.arguments:
            if isinstance(term, Constant):
                raise RefusedError(f"{no_path}: {atom} has the constant {term}", atom.place)
        names = _variables(atom)
        if len(names) > 2:
            others = set[str]().union(
                *(variables_of(another) for another in self.atoms if another is not atom)
            )
            names = [name for name in names if name in others or name in self.head.ends]
        if len(names) != 2:
            leads = "leads nowhere" if len(names) < 2 else f"leads between {', '.join(names)}"
            raise RefusedError(f"{no_path}: {atom} {leads}", atom.place)
        return names[0], names[1]


def _ordered(steps: Sequence[Step], atoms: Sequence[Atom], names: Mapping[str, str]) -> list[Step]:
    """The steps of a path, each after the neighbour that the bracket of its atom names."""
    ordered = list[Step]()
    for k, (step, atom) in enumerate(zip(steps, atoms, strict=True)):
        name = names.get(atom.after.lower(), atom.after)
        beside = [n for n in (-1, 1) if 0 <= k + n < len(steps) and steps[k + n].predicate == name]
        if atom.after and len(beside) != 1:
            found = "both atoms" if beside else "no atom"
            why = f"[after {atom.after}] names {found} beside {atom.predicate}(...)"
            raise RefusedError(f"{why}; expected the predicate of one neighbour", atom.place)
        if atom.after and beside == [-1] and ordered[-1].after == 1:
            both = f"{atoms[k - 1].predicate}(...) and {atom.predicate}(...)"
            why = f"{both} each come after the other; expected the bracket behind one of them"
            raise RefusedError(why, atom.place)
        ordered.append(replace(step, after=beside[0]) if atom.after else step)
    return ordered


def components(head: Head, literals: Mapping[int, Atom | Comparison]) -> list[Component]:
    """Split numbered literals into those that share variables other than the head's."""
    groups: list[tuple[set[str], dict[int, Atom | Comparison]]] = []
    for number, literal in literals.items():
        inner = variables_of(literal) - {*head.ends}
        joined = [group for group in groups if group[0] & inner]
        groups = [group for group in groups if not group[0] & inner]
        members = {i: member for _, some in joined for i, member in some.items()} | {
            number: literal
        }
        groups.append((inner.union(*(names for names, _ in joined)), members))
    parts = [Component(head, dict(sorted(members.items()))) for _, members in groups]
    return sorted(parts, key=lambda part: min(part.literals))


def real_name(atom: Atom, names: Mapping[str, str]) -> str:
    """Name in the data of an atom's predicate."""
    return names.get(atom.predicate.lower(), atom.predicate)


def _entity(constant: Constant, place: Place | None) -> str:
    """Entity name of a constant; one that no fact can have is refused."""
    if not constant.value or NO_NAME.search(constant.value):
        why = f"{constant} names no entity"
        raise RefusedError(f"{why}; expected one character or more, no TAB, CR, LF or NUL", place)
    return constant.value


def _variables(atom: Atom) -> list[str]:
    """Names of an atom's variables in their order."""
    return [term.name for term in atom.arguments if isinstance(term, Variable)]
