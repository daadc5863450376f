"""What the atoms of a rule say of its two arguments: conditions, each of them one body.

Atoms that share a variable other than the two arguments belong together. Such a component is a path
from the first argument to the second, whatever its variables are called and in whatever order its
atoms stand; or one atom about one argument: open, anchored or unary.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property

from hornbeam.language.rule_parts import variables_of
from hornbeam.language.syntax import Atom, Comparison, Constant, Place, Variable
from hornbeam.rules.body import MAX_LENGTH, Body, Kind, Step


class RefusedError(Exception):
    """Why a rule is no clause of a model, and where that shows; without a place, in all of it."""

    def __init__(self, why: str, place: Place | None = None) -> None:
        super().__init__(why)
        self.place = place


@dataclass(frozen=True)
class Head:
    """Target predicate of a rule and its two variables."""

    target: str
    subject: str
    object: str

    @property
    def ends(self) -> tuple[str, str]:
        """Both variables."""
        return self.subject, self.object


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
    def variables(self) -> list[str]:
        """The variables of its atoms and both arguments, from the first argument to the second."""
        names = dict.fromkeys(name for atom in self.atoms for name in _variables(atom))
        inner = [name for name in names if name not in self.head.ends]
        return [self.head.subject, *inner, self.head.object]

    def body(self, names: Mapping[str, str]) -> Body:
        """The body that it states; see `stated_clause` for `names`."""
        if not self.atoms:
            [comparison] = self.literals.values()
            return self._equality(comparison)
        for atom in self.atoms:
            if len(_variables(atom)) > len(variables_of(atom)):
                why = f"{atom} has one variable twice; expected different ones"
                raise RefusedError(why, atom.place)
        if not set[str]().union(*map(variables_of, self.atoms)) & {*self.head.ends}:
            subject, object_ = self.head.ends
            raise RefusedError(f"{self.text} is about neither {subject} nor {object_}", self.place)
        if len(self.atoms) == 1 and not variables_of(self.atoms[0]) >= {*self.head.ends}:
            return self._condition(self.atoms[0], names)
        return self._path(names)

    def _equality(self, comparison: Atom | Comparison) -> Body:
        """`(A == 'c')`; which argument is compared has been checked."""
        assert isinstance(comparison, Comparison)
        [variable] = variables_of(comparison)
        terms = (comparison.left, comparison.right)
        [constant] = [term.value for term in terms if isinstance(term, Constant)]
        argument = self.head.ends.index(variable)
        return Body((), self.head.target, Kind.ANCHORED, argument, constant)

    def _condition(self, atom: Atom, names: Mapping[str, str]) -> Body:
        """One atom with one of the arguments."""
        [variable] = variables_of(atom) & {*self.head.ends}
        here, arity = atom.arguments.index(Variable(variable)), len(atom.arguments)
        predicate, argument = real_name(atom, names), self.head.ends.index(variable)
        if arity == 1:
            step = Step(predicate, arity=1)
            return Body((step,), self.head.target, Kind.UNARY, argument)
        constants = {i: t for i, t in enumerate(atom.arguments) if isinstance(t, Constant)}
        if len(constants) > 1:
            raise RefusedError(f"{atom} has {len(constants)} constants; expected one", atom.place)
        for there, constant in constants.items():
            step = Step.between(predicate, here, there, arity)
            return Body((step,), self.head.target, Kind.ANCHORED, argument, constant.value)
        step = Step.leaving(predicate, here, arity)
        return Body((step,), self.head.target, Kind.OPEN, argument)

    def _path(self, names: Mapping[str, str]) -> Body:
        """Walk from the first argument to the second, over every atom once."""
        start, end = self.head.ends
        if len(self.atoms) > MAX_LENGTH:
            why = f"the path has {len(self.atoms)} atoms; expected at most {MAX_LENGTH}"
            raise RefusedError(why, self.atoms[MAX_LENGTH].place)
        no_path = f"{self.text} is no path from {start} to {end}"
        left = [(atom, *self._linked(atom, no_path)) for atom in self.atoms]
        steps, here = list[Step](), start
        while left:
            if here == end:
                why = f"{no_path}: {left[0][0]} is not on it"
                raise RefusedError(why, left[0][0].place)
            touching = [link for link in left if here in link[1:]]
            if not touching:
                raise RefusedError(f"{no_path}: no atom leads on from {here}", left[0][0].place)
            if len(touching) > 1:
                raise RefusedError(f"{no_path}: it branches at {here}", touching[1][0].place)
            atom, first, second = touching[0]
            # Never a variable of before: an atom that leads back there would have been a branch.
            there = second if first == here else first
            begin, reach = (atom.arguments.index(Variable(name)) for name in (here, there))
            steps.append(Step.between(real_name(atom, names), begin, reach, len(atom.arguments)))
            here = there
            left.remove(touching[0])
        if here != end:
            raise RefusedError(f"{no_path}: it ends at {here}", self.atoms[-1].place)
        return Body(tuple(steps), self.head.target)

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


def _variables(atom: Atom) -> list[str]:
    """Names of an atom's variables in their order."""
    return [term.name for term in atom.arguments if isinstance(term, Variable)]
