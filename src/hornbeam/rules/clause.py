"""Clauses: a body, a head, a sign, and how much its groundings weigh.

p1(A, B) & p2(B, C) -> t(A, C) pulls targets up, its negation -> !t(A, C) pushes them down, and a
clause with an empty body, !t(A, B), is a prior.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import lru_cache

from hornbeam.language.syntax import Atom, Comparison, Constant, Term, Variable
from hornbeam.rules.body import AnyBody, Body, Part, Step, body_ends, body_texts, spelt, variables
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
    >>> cycle = Body((Step("sold"), Step("owns", inverse=True)), "fraud", head_arity=1)
    >>> str(Clause(cycle))
    'sold(A, B) & owns(A, B) -> fraud(A)'
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
        head = f"{sign}{target}({', '.join(map(str, self.head_terms(body_ends(self.body))))})"
        atoms = body_texts(self.body, identifiers, distinct=distinct)
        text = f"{' & '.join(atoms)} -> {head}" if atoms else head
        return text if self.weighing is None else f"{text} {self.weighing}"

    def head_terms(self, ends: Sequence[Term]) -> tuple[Term, ...]:
        """The arguments of the head: both ends, or the only one of a target on one entity."""
        return tuple(ends[: self.body.head_arity])

    def applied(
        self, subject: Variable, object_: Variable
    ) -> tuple[tuple[Term, Term], Sequence[Part]]:
        """The terms of subject and object, and the conditions on them.

        An argument that a condition `(B == 'c')` compares is the constant itself.

        Examples
        --------
        >>> from hornbeam.rules.body import Conjunction, Kind, Step
        >>> antiviral = Body((Step("class"),), "treats", Kind.ANCHORED, 0, "antiviral")
        >>> flu = Body((), "treats", Kind.ANCHORED, 1, "flu")
        >>> clause = Clause(Conjunction((Part(antiviral), Part(flu))))
        >>> clause.applied_text(Variable("X"), Variable("Y"), {})
        "class(X, 'antiviral') -> treats(X, 'flu')"
        """
        ends: list[Term] = [subject, object_]
        conditions = list[Part]()
        for part in self.body.parts:
            if part.body.steps or part.body.constant is None:
                conditions.append(part)
            else:
                ends[part.body.argument] = Constant(part.body.constant)
        return (ends[0], ends[1]), conditions

    def atoms(self, subject: Variable, object_: Variable) -> tuple[list[Atom | Comparison], Atom]:
        """The literals of the body and the head over given variables; see `applied`."""
        ends, conditions = self.applied(subject, object_)
        free = (name for name in variables() if name not in (subject, object_))
        body = [literal for part in conditions for literal in part.body.literals(ends, free)]
        return body, Atom(self.target, self.head_terms(ends))

    def applied_text(
        self, subject: Variable, object_: Variable, identifiers: Mapping[str, str]
    ) -> str:
        """PSL text over given variables, with constants in the head; see `applied`."""
        if isinstance(self.body, Body) and self.body.is_path:
            steps = self.body.steps
            walked = tuple([(step.inverse, step.places, step.arity) for step in steps])
            names = [*[step.predicate for step in steps], self.target]
            template = self._path_template(walked, subject, object_)
            return template.format(*[identifiers.get(name, name) for name in names])
        return self._spelt_out(subject, object_, identifiers)

    def _spelt_out(
        self, subject: Variable, object_: Variable, identifiers: Mapping[str, str]
    ) -> str:
        """The text of `applied_text`, from the literals of a clause of any kind."""
        body, head = self.atoms(subject, object_)
        texts = [spelt(literal, identifiers) for literal in (*body, head)]
        return f"{' & '.join(texts[:-1])} -> {texts[-1]}"

    @staticmethod
    @lru_cache(maxsize=1000)
    def _path_template(
        walked: tuple[tuple[bool, tuple[int, int], int], ...], subject: Variable, object_: Variable
    ) -> str:
        """Text of a path, to be filled with the predicates of its steps and of its head.

        A model of a graph has tens of thousands of paths in a few dozen shapes. Every step is given
        by `inverse`, `places` and `arity`.
        """
        path = Body(tuple(Step("{}", *how) for how in walked), "{}")
        return Clause(path)._spelt_out(subject, object_, {})

    def __str__(self) -> str:
        return self.text({})


def prior(target: str, negated: bool = True, arity: int = 2) -> Clause:
    """The prior !t(A, B): without evidence a target is false.

    Where most labelled targets are true the prior is the opposite, t(A, B). The prior of a target
    on one entity, of arity 1, is !t(A) or t(A).
    """
    return Clause(Body((), target, head_arity=arity), negated)
