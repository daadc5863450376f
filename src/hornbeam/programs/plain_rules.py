"""Rules that PSL can express as they are: raw counts, no thresholds.

* A rule's head ranges over the listed pairs only, so every rule gets them as a first body atom
  (blocking); they are a closed predicate of their own. A pair with an entity that no fact has
  is scored by its prior alone, so rules with a condition on one argument get the others.
* In a model that is not collective, observed facts of a target predicate become a closed predicate
  of their own, which replaces it in bodies: targets do not depend on each other. A pair that is
  also a fact is not evidence for itself; where there is such a pair, a rule through known facts is
  written once for every way in which its facts can differ from the head.
* In a collective model the target predicate itself is in bodies, and pairs are not observed.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from itertools import combinations, product

from hornbeam.base.choices import Relaxation
from hornbeam.errors import InputError
from hornbeam.language.syntax import Atom, Comparison, Literal, Operator, Term, Variable
from hornbeam.programs.exported_names import ExportedNames
from hornbeam.rules.body import body_ends, variables
from hornbeam.rules.clause import Clause
from hornbeam.rules.rule_model import RuleModel
from hornbeam.rules.weighing import Counts


class RuleNotPlainError(InputError):
    """A rule that plain PSL cannot express; `place` is its number in the model."""

    def __init__(self, place: int, why: str, rule: str) -> None:
        super().__init__(
            f'{why}: learn with `counts="raw"` and `bodies="paths"`, or export without `plain` '
            f"(the rule is: {rule})"
        )
        self.place = place


def why_not_plain(model: RuleModel, clause: Clause, soft: bool) -> str:
    """Why PSL cannot express a rule as it is, or ""; `soft` is whether facts are."""
    if clause.is_prior:
        return ""
    counts, semantics = model.counts_of(clause).counts, model.semantics
    lone_path = len(clause.body.parts) == 1 and all(
        part.body.is_path and all(step.arity == 2 for step in part.body.steps)
        for part in clause.body.parts
    )
    if not clause.body.predicates.isdisjoint(model.believed):
        return "plain PSL does not know what a first step believes of other pairs"
    if counts is not Counts.RAW:
        return f"in plain PSL every grounding counts, and this rule counts them by {counts.value}"
    if any(part.threshold is not None for part in clause.body.parts):
        return "plain PSL has no thresholds"
    if semantics.max_fanout is not None:
        return "plain PSL has no limit on the fan-out"
    if soft and semantics.relaxation is Relaxation.BOOLEAN:
        return "truth values between 0 and 1 mean something else to PSL than to boolean targets"
    if semantics.distinct_variables and not lone_path:
        return "with distinct variables only paths are the same in plain PSL"
    return ""


@dataclass(frozen=True)
class PlainRules:
    """Writes rules for one set of pairs.

    `stated` are the targets with a pair that is also a fact, `unseen` those with a
    pair of which some entity has no fact.
    """

    model: RuleModel
    names: ExportedNames
    stated: frozenset[str]
    unseen: frozenset[str]

    def implications(self, clause: Clause) -> Iterator[tuple[tuple[Literal, ...], Literal]]:
        """Bodies and head of a clause; several where it goes through known facts of its target."""
        ends, target = body_ends(clause.body), clause.target
        head = Literal(self.names.atom(self.names.plain[target], ends), clause.negated)
        if clause.is_prior and clause.negated:
            yield (), head
            return
        body = [Literal(self.names.atom(self._pairs(clause), ends))]
        literals = self._literals(clause)
        for literal in literals:
            if isinstance(literal, Comparison):
                right = self.names.term(literal.right)
                body.append(_compared(literal.left, literal.operator, right))
            else:
                body.append(Literal(self.names.atom(self._spelt(literal), literal.arguments)))
        atoms = [literal for literal in literals if isinstance(literal, Atom)]
        if self.model.semantics.distinct_variables:
            nodes = dict.fromkeys(term for atom in atoms for term in atom.arguments)
            body += [_compared(x, Operator.DIFFERENT, y) for x, y in combinations(nodes, 2)]
        own = [atom for atom in atoms if atom.predicate == target]
        if self.model.semantics.recursive or target not in self.stated:
            own = []
        for chosen in product(*(self._ways_to_differ(atom, ends) for atom in own)):
            conditions = [literal for way in chosen for literal in way]
            yield (*body, *conditions), head

    def _literals(self, clause: Clause) -> list[Atom | Comparison]:
        """Atoms and comparisons of a body, with the predicates' own names."""
        ends = body_ends(clause.body)
        free = (name for name in variables() if name not in ends)
        return [literal for part in clause.body.parts for literal in part.body.literals(ends, free)]

    def _pairs(self, clause: Clause) -> str:
        """The pairs that a clause may have groundings for."""
        on_paths = all(part.body.is_path for part in clause.body.parts)
        if on_paths or clause.target not in self.unseen:
            return self.names.pairs[clause.target]
        return self.names.located[clause.target]

    def _spelt(self, atom: Atom) -> str:
        is_target = atom.predicate in self.names.known
        if is_target and not self.model.semantics.recursive:
            return self.names.known[atom.predicate]
        return self.names.plain[atom.predicate]

    def _ways_to_differ(self, atom: Atom, head: tuple[Variable, Variable]) -> list[list[Literal]]:
        """Conditions, no two of which hold at once, under which an atom is not the head."""
        (x, y), (a, b) = map(self.names.term, atom.arguments), head
        ways = []
        if x != a:
            ways.append([_compared(a, Operator.DIFFERENT, x)])
        if y != b:
            same = [_compared(a, Operator.EQUAL, x)] if x != a else []
            ways.append([*same, _compared(b, Operator.DIFFERENT, y)])
        return ways


def _compared(one: Term, operator: Operator, other: Term) -> Literal:
    return Literal(Comparison(one, operator, other))
