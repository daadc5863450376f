"""Parses the atoms of a rule body into conditions, each of them one `Body`.

Atoms that share a variable other than the two arguments belong together. Such a component is a path
from the first argument to the second, with any names of variables and in any order of atoms; or one
atom about one argument: open, anchored or unary.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import NamedTuple

from hornbeam.language.arithmetic_rules import RefusedError, variables_of
from hornbeam.language.syntax import Atom, Comparison, Constant, Place, Variable
from hornbeam.rules.body import MAX_LENGTH, Body, Kind, Step

#: Characters that entity names cannot contain.
NO_NAME = re.compile(r"[\t\r\n\0\ud800-\udfff]")


@dataclass(frozen=True)
class Head:
    """Target predicate of a rule and its two variables."""

    target: str
    subject: str
    object: str
    #: Maximum number of atoms of a path in the body.
    max_length: int = MAX_LENGTH

    @property
    def ends(self) -> tuple[str, str]:
        """Both variables."""
        return self.subject, self.object


class ParsedBody(NamedTuple):
    """A body, and the variables that it walks over with both arguments; none without atoms."""

    body: Body
    nodes: tuple[str, ...] = ()


@dataclass(frozen=True)
class Component:
    """Literals that belong together, with their places in the rule's body.

    They are atoms, or one `==` between an argument and a constant.
    """

    head: Head
    literals: Mapping[int, Atom | Comparison]

    @cached_property
    def atoms(self) -> list[Atom]:
        """Its atoms."""
        return [literal for literal in self.literals.values() if isinstance(literal, Atom)]

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
            return ParsedBody(self._equality(comparison))
        for atom in self.atoms:
            if len(_variables(atom)) > len(variables_of(atom)):
                why = f"{atom} has one variable twice; expected different ones"
                raise RefusedError(why, atom.place)
        if not self.variables & {*self.head.ends}:
            subject, object_ = self.head.ends
            raise RefusedError(f"{self.text} is about neither {subject} nor {object_}", self.place)
        if len(self.atoms) == 1 and not self.variables >= {*self.head.ends}:
            return self._condition(self.atoms[0], names)
        return self._path(names)

    def _equality(self, comparison: Atom | Comparison) -> Body:
        """`(A == 'c')`; which argument is compared has been checked."""
        assert isinstance(comparison, Comparison)
        [variable] = variables_of(comparison)
        terms = (comparison.left, comparison.right)
        [constant] = [term for term in terms if isinstance(term, Constant)]
        argument, anchor = self.head.ends.index(variable), _entity(constant, comparison.place)
        return Body((), self.head.target, Kind.ANCHORED, argument, anchor)

    def _condition(self, atom: Atom, names: Mapping[str, str]) -> ParsedBody:
        """One atom with one of the arguments."""
        [variable] = self.variables & {*self.head.ends}
        here, arity = atom.arguments.index(Variable(variable)), len(atom.arguments)
        predicate, argument = real_name(atom, names), self.head.ends.index(variable)
        target, ends = self.head.target, self.head.ends
        if arity == 1:
            step = Step(predicate, arity=1)
            return ParsedBody(Body((step,), target, Kind.UNARY, argument), ends)
        constants = {i: t for i, t in enumerate(atom.arguments) if isinstance(t, Constant)}
        if len(constants) > 1:
            raise RefusedError(f"{atom} has {len(constants)} constants; expected one", atom.place)
        if constants:
            [(there, constant)] = constants.items()
            anchor = _entity(constant, atom.place)
            step = Step.between(predicate, here, there, arity)
            return ParsedBody(Body((step,), target, Kind.ANCHORED, argument, anchor), ends)
        step = Step.leaving(predicate, here, arity)
        reached = _variables(atom)[step.places[not step.inverse]]
        nodes = (self.head.subject, reached, self.head.object)
        return ParsedBody(Body((step,), target, Kind.OPEN, argument), nodes)

    def _path(self, names: Mapping[str, str]) -> ParsedBody:
        """Walk from the first argument to the second, over every atom once."""
        start, end = self.head.ends
        longest = self.head.max_length
        if len(self.atoms) > longest:
            why = f"the path has {len(self.atoms)} atoms; expected at most {longest}"
            raise RefusedError(why, self.atoms[longest].place)
        no_path = f"{self.text} is not a path from {start} to {end}"
        left = [(atom, *self._linked(atom, no_path)) for atom in self.atoms]
        steps, nodes = list[Step](), [start]
        while left:
            here = nodes[-1]
            touching = [link for link in left if here in link[1:]]
            if not touching:
                raise RefusedError(f"{no_path}: no atom leads on from {here}", left[0][0].place)
            if len(touching) > 1:
                raise RefusedError(f"{no_path}: it branches at {here}", touching[1][0].place)
            atom, first, second = touching[0]
            # Never an earlier variable: an atom that leads back there would have been a branch.
            there = second if first == here else first
            begin, reach = (atom.arguments.index(Variable(name)) for name in (here, there))
            steps.append(Step.between(real_name(atom, names), begin, reach, len(atom.arguments)))
            nodes.append(there)
            left.remove(touching[0])
        if nodes[-1] != end:
            raise RefusedError(f"{no_path}: it ends at {nodes[-1]}", self.atoms[-1].place)
        return ParsedBody(Body(tuple(steps), self.head.target), tuple(nodes))

    def _linked(self, atom: Atom, no_path: str) -> tuple[str, str]:
        """The two variables that an atom of a path leads between; others are free."""
        for term in atom.arguments:
            if isinstance(term, Constant):
                raise RefusedError(f"{no_path}: {atom} has the constant {term}", atom.place)
        names = _variables(atom)
        if len(names) > 2:
            others = set[str]().union(*(variables_of(one) for one in self.atoms if one is not atom))
            names = [name for name in names if name in others or name in self.head.ends]
        if len(names) != 2:
            leads = "leads nowhere" if len(names) < 2 else f"leads between {', '.join(names)}"
            raise RefusedError(f"{no_path}: {atom} {leads}", atom.place)
        return names[0], names[1]


def components(head: Head, literals: Mapping[int, Atom | Comparison]) -> list[Component]:
    """Split numbered literals into those that share variables other than the head's."""
    groups: list[tuple[set[str], dict[int, Atom | Comparison]]] = []
    for number, literal in literals.items():
        inner = variables_of(literal) - {*head.ends}
        joined = [group for group in groups if group[0] & inner]
        groups = [group for group in groups if not group[0] & inner]
        members = {i: one for _, some in joined for i, one in some.items()} | {number: literal}
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
