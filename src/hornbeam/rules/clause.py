"""Clauses: a body, a head, a sign, and how much its groundings weigh.

p1(A, B) & p2(B, C) -> t(A, C) pulls targets up, its negation -> !t(A, C) pushes them down, and a
clause with an empty body, !t(A, B), is a prior.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace

from hornbeam.rules.body import AnyBody, Body, body_ends, body_texts
from hornbeam.rules.weighing import Weighing


@dataclass(frozen=True)
class Clause:
    """A body with a head: t where it pulls targets up, !t where it pushes them down.

    `weighing` is how much n groundings weigh; None is the model's way.

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

    body: AnyBody
    negated: bool = False
    weighing: Weighing | None = None

    @property
    def target(self) -> str:
        """Predicate of the head."""
        return self.body.target

    @property
    def is_prior(self) -> bool:
        """Whether the body is empty, so that every target is a grounding."""
        return not len(self.body)

    def with_target(self, target: str) -> Clause:
        """The same clause with another predicate in its head."""
        return replace(self, body=self.body.with_target(target))

    @property
    def mirror(self) -> Clause:
        """The same clause with subject and object exchanged."""
        return Clause(self.body.mirror, self.negated, self.weighing)

    def text(self, identifiers: Mapping[str, str], *, distinct: bool = False) -> str:
        """PSL text; names without an identifier stay as they are.

        With `distinct`, all variables of the body must be different entities.
        """
        target = identifiers.get(self.target, self.target)
        sign = "!" if self.negated else ""
        subject, object_ = body_ends(self.body)
        head = f"{sign}{target}({subject}, {object_})"
        atoms = body_texts(self.body, identifiers, distinct=distinct)
        text = f"{' & '.join(atoms)} -> {head}" if atoms else head
        return text if self.weighing is None else f"{text} {self.weighing}"

    def __str__(self) -> str:
        return self.text({})


def prior(target: str, negated: bool = True) -> Clause:
    """The prior !t(A, B): without evidence a target is false.

    Where most labelled targets are true the prior is the opposite, t(A, B).
    """
    return Clause(Body((), target), negated)
