"""Path clauses p1(A, B) & p2(B, C) -> t(A, C), their negations, and the negative prior !t(A, B)."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from itertools import combinations
from string import ascii_uppercase

#: Most atoms of a body. The searches are written for up to four, and say so.
MAX_LENGTH = 4
#: Variables of a path clause in the order of its nodes.
VARIABLES = ascii_uppercase[: MAX_LENGTH + 1]


@dataclass(frozen=True, order=True)
class Step:
    """One atom of a body: a predicate walked forwards, or backwards as its inverse."""

    predicate: str
    inverse: bool = False

    def reversed(self) -> Step:
        """The same atom walked the other way."""
        return Step(self.predicate, not self.inverse)


@dataclass(frozen=True)
class Path:
    """A relation sequence and the target predicate whose arguments it connects.

    Examples
    --------
    >>> path = Path((Step("cites"), Step("mentions")), "mentions")
    >>> str(PathClause(path))
    'cites(A, B) & mentions(B, C) -> mentions(A, C)'
    >>> str(PathClause(Path((Step("cites", inverse=True),), "knows"), negated=True))
    'cites(B, A) -> !knows(A, B)'
    """

    steps: tuple[Step, ...]
    target: str

    def __len__(self) -> int:
        return len(self.steps)


@dataclass(frozen=True)
class PathClause:
    """A path with a head: t where it pulls targets up, !t where it pushes them down."""

    path: Path
    negated: bool = False
    distinct: bool = False

    @property
    def target(self) -> str:
        """Predicate of the head, as a prior has it."""
        return self.path.target

    def __str__(self) -> str:
        return clause_text(self.path, self.negated, self.distinct, {})


@dataclass(frozen=True)
class Prior:
    """The prior !t(A, B): a target is false until something speaks for it.

    Where most labelled targets are true the prior leans the other way, t(A, B).
    """

    target: str
    negated: bool = True

    def __str__(self) -> str:
        return prior_text(self, {})


def clause_text(path: Path, negated: bool, distinct: bool, identifiers: Mapping[str, str]) -> str:
    """PSL text of a clause; names without an identifier stand as they are."""
    atoms = []
    for i, step in enumerate(path.steps):
        here, there = VARIABLES[i], VARIABLES[i + 1]
        first, second = (there, here) if step.inverse else (here, there)
        atoms.append(f"{identifiers.get(step.predicate, step.predicate)}({first}, {second})")
    if distinct:
        nodes = VARIABLES[: len(path) + 1]
        atoms += [f"({one} != {other})" for one, other in combinations(nodes, 2)]
    target = identifiers.get(path.target, path.target)
    head = f"{'!' if negated else ''}{target}({VARIABLES[0]}, {VARIABLES[len(path)]})"
    return f"{' & '.join(atoms)} -> {head}"


def prior_text(prior: Prior, identifiers: Mapping[str, str]) -> str:
    """PSL text of a prior."""
    target = identifiers.get(prior.target, prior.target)
    return f"{'!' if prior.negated else ''}{target}(A, B)"
