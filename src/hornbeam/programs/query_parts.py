"""What a query for the groundings of a rule asks for; see `hornbeam.programs.rule_queries`."""

from __future__ import annotations

from dataclasses import dataclass

from hornbeam.language.syntax import Atom, Comparison, Term, Variable

#: Where names go that are no IRIs.
BASE = "http://example.org/"
#: The property that has a node's name.
ID = "id"

#: Terms that must not all be equal, two and two; without any terms it can never hold.
Clash = tuple[tuple[Term, Term], ...]


@dataclass(frozen=True)
class QueriedCondition:
    """One condition of a rule: all of its atoms and tests, and none of its clashes."""

    atoms: tuple[Atom, ...]
    tests: tuple[Comparison, ...]
    clashes: tuple[Clash, ...]
    at_least: int | None = None  #: it counts once, if it has at least so many groundings

    @property
    def variables(self) -> list[Variable]:
        """The variables of its atoms, in their order."""
        terms = (term for atom in self.atoms for term in atom.arguments)
        return list(dict.fromkeys(term for term in terms if isinstance(term, Variable)))


@dataclass(frozen=True)
class RuleQuery:
    """The conditions of a rule about the variables of its head."""

    text: str
    weight: float
    ends: tuple[Variable, ...]
    conditions: tuple[QueriedCondition, ...]
