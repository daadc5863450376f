"""Clauses: a body, a head, and a sign.

p1(A, B) & p2(B, C) -> t(A, C) pulls targets up, its negation -> !t(A, C) pushes them down, and a
clause with an empty body, !t(A, B), is a prior.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from hornbeam.rules.body import VARIABLES, Body


@dataclass(frozen=True)
class Clause:
    """A body with a head: t where it pulls targets up, !t where it pushes them down.

    Examples
    --------
    >>> from hornbeam.rules.body import Step
    >>> body = Body((Step("cites"), Step("mentions")), "mentions")
    >>> str(Clause(body))
    'cites(A, B) & mentions(B, C) -> mentions(A, C)'
    >>> str(Clause(Body((Step("cites", inverse=True),), "knows"), negated=True))
    'cites(B, A) -> !knows(A, B)'
    >>> str(prior("knows"))
    '!knows(A, B)'
    """

    body: Body
    negated: bool = False

    @property
    def target(self) -> str:
        """Predicate of the head."""
        return self.body.target

    @property
    def is_prior(self) -> bool:
        """Whether the body is empty, so that every target is a grounding."""
        return not self.body.steps

    def text(self, identifiers: Mapping[str, str], *, distinct: bool = False) -> str:
        """PSL text; names without an identifier stand as they are.

        With `distinct`, all variables of the body must be different entities.
        """
        target = identifiers.get(self.target, self.target)
        sign = "!" if self.negated else ""
        head = f"{sign}{target}({VARIABLES[0]}, {self.body.last_variable})"
        atoms = self.body.atoms(identifiers, distinct=distinct)
        return f"{' & '.join(atoms)} -> {head}" if atoms else head

    def __str__(self) -> str:
        return self.text({})


def prior(target: str, negated: bool = True) -> Clause:
    """The prior !t(A, B): without evidence a target is false.

    Where most labelled targets are true the prior is the opposite, t(A, B).
    """
    return Clause(Body((), target), negated)
