"""The rules of an exported program, and its names.

Rules with raw counts and without thresholds are written as they are:

* A rule's head ranges over the listed pairs only (blocking). So every rule has a closed predicate
  of the pairs as its first body atom. A pair with an entity that has no fact is scored by its prior
  alone. So rules with a condition on one argument have a predicate of all other pairs instead.
* In a model that is not collective, targets do not depend on each other. In bodies, a target
  predicate is replaced by a closed predicate of its observed facts. A pair that is also a fact is
  not evidence for itself. Where there is such a pair, a rule through known facts is written once
  per way in which its facts can differ from the head.
* In a collective model the target predicate itself is in bodies, and pairs are not observed.

A comparison of numbers is an observed predicate of the entities, or pairs, that meet it once. The
columns of all other rules are counted, and written as observed predicates. A rule of weight w
adds w x (1 - y)^p or w x y^p to the energy of a pair, where its groundings weigh x. Truth values of
PSL end at 1, and move the knee of a hinge instead of its weight. So x must be part of the weight.
It is written as a sum of *addends*, with one rule per addend:

    w * 3.17: rule_7(A, B, '3.17') -> t(A, B)

Where a rule has few distinct x, its addends are these x, and every pair has one addend. Where it
has many, as shares have, addends are powers of two, and every x is a sum of them to `BITS` binary
digits. Then A and B, and with them the MAP state, agree to a few millionths.

Where bodies are soft and targets continuous, a pair has several hinges, each with its own height b,
which is the truth of the observed atom. A last argument, the height, tells the atoms apart:

    w * 3.17: rule_7(A, B, '3.17', C) -> t(A, B)
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import combinations, product

import numpy as np

from hornbeam.base.arrays import Floats, Ints
from hornbeam.base.choices import Relaxation
from hornbeam.counting.columns import HingeRows
from hornbeam.errors import InputError
from hornbeam.facts.names import Names
from hornbeam.language.rule_texts import identifiers
from hornbeam.language.syntax import (
    Atom,
    Comparison,
    Constant,
    Literal,
    LogicalRule,
    Operator,
    Term,
    Variable,
    weight_text,
)
from hornbeam.rules.body import Body, body_ends, variables
from hornbeam.rules.clause import Clause
from hornbeam.rules.number_conditions import attribute_of
from hornbeam.rules.rule_model import Rule, RuleModel
from hornbeam.rules.weighing import Counts

#: Characters that Java's trim() removes at both ends of a name.
BLANKS = "".join(map(chr, range(0x21)))
#: Constants that are written in a rule as they are.
SAFE = re.compile(r"[\w .:/#-]+\Z")
#: Closed predicates that accompany a target.
KINDS = ("pairs", "located", "known")


@dataclass(frozen=True)
class ExportedNames:
    """Identifiers of predicates, and replacements of entity names.

    Identifiers differ in more than case. PSL trims the names of entities, so a name that begins or
    ends in a blank is replaced by another name. So is a constant of a rule with characters that
    break PSL's database, such as a quote.
    """

    plain: Mapping[str, str]  #: identifiers of the predicates of targets and bodies
    #: Predicates of every target's "pairs", of its "located" pairs (both entities have facts), and
    #: of its "known" facts, which are observed.
    made: Mapping[tuple[str, str], str]
    #: Predicates of the rules whose columns are written out, by the rule's place in the model.
    computed: Mapping[int, str]
    entities: Mapping[str, str]  #: replacements of the entity names that PSL cannot have

    @classmethod
    def of(
        cls,
        predicates: Iterable[str],
        targets: Sequence[str],
        computed: Iterable[int],
        constants: Iterable[str],
        entities: Sequence[Names],
    ) -> ExportedNames:
        """Choose all identifiers; they are distinct when case is ignored."""
        plain = dict(identifiers({*predicates, *targets}))
        # names have no tab, so names with a tab cannot be a predicate's, and get identifiers last
        made = {(t, what): f"{plain[t]}\t{what}" for t in targets for what in KINDS}
        rules = {place: f"rule\t{place + 1}" for place in computed}
        spelt = identifiers([*plain.values(), *made.values(), *rules.values()])
        return cls(
            plain,
            {key: spelt[name] for key, name in made.items()},
            {place: spelt[name] for place, name in rules.items()},
            _replaced(constants, entities),
        )

    def texts(self, names: Sequence[str]) -> list[str]:
        """The names of entities in the program."""
        return [self.entities.get(name, name) for name in names]

    def term(self, term: Term) -> Term:
        """A term with the names of the program's entities."""
        if isinstance(term, Constant):
            return Constant(self.entities.get(term.value, term.value))
        return term

    def atom(self, predicate: str, terms: Iterable[Term]) -> Atom:
        """An atom of a predicate, which is given by its identifier."""
        return Atom(predicate, tuple(map(self.term, terms)))


def _replaced(constants: Iterable[str], tables: Sequence[Names]) -> dict[str, str]:
    """New names for entities whose names PSL would trim, or that are unsafe as constants."""
    others = {name for names in tables for name in names if name != name.strip(BLANKS)}
    others |= {name for name in constants if name != name.strip(BLANKS) or not SAFE.match(name)}
    found: dict[str, str] = {}
    number = 1
    for name in sorted(others):
        other = f"entity_{number}"
        while other in found.values() or any(names.index(other) >= 0 for names in tables):
            number += 1
            other = f"entity_{number}"
        found[name] = other
    return found


class RuleNotPlainError(InputError):
    """The error about a rule that plain PSL cannot express; `place` is its index in the model."""

    def __init__(self, place: int, why: str, rule: str) -> None:
        super().__init__(
            f'{why}: learn with `counts="raw"` and `bodies="paths"`, or export without `plain` '
            f"(the rule is: {rule})"
        )
        self.place = place


#: Why a rule with numbers is not plain PSL.
COMPARES = "plain PSL compares no numbers"


def why_not_plain(model: RuleModel, clause: Clause, soft: bool) -> str:
    """Why PSL cannot express a rule as it is, or ""; `soft` tells whether facts are soft."""
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
    bodies = [part.body for part in clause.body.parts]
    ends = (body.steps[-1] for body in bodies if len(body.steps) > 1 and body.steps[-1].arity == 1)
    if any(body.number and body.steps for body in bodies) or any(
        attribute_of(step.predicate) for step in ends
    ):
        return f"{COMPARES} at the end of a chain"
    return COMPARES if any(map(observed_name, bodies)) else ""


def observed_name(body: Body) -> str | None:
    """Name of the observed predicate that stands for a condition on numbers; None for others.

    A comparison of one entity has the same predicate for either argument.
    """
    if body.number is not None:
        ends = (Variable("A"), Variable("B"))
        argument = body.argument if body.only_argument is None else 0
        return str(body.number.test(ends[argument], ends[1 - argument]))
    return None


@dataclass(frozen=True)
class PlainRules:
    """Writes rules as they are, for one set of pairs.

    `stated` are the target predicates with a pair that is also a fact. `unseen` are those with a
    pair that has an entity without facts.
    """

    model: RuleModel
    names: ExportedNames
    stated: frozenset[str]
    unseen: frozenset[str]

    def implications(self, clause: Clause) -> Iterator[tuple[tuple[Literal, ...], Literal]]:
        """Yield body and head; several bodies if a clause has known facts of its own target."""
        ends, target = clause.head_terms(body_ends(clause.body)), clause.target
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
        """Atoms and comparisons of a body, with the original names of predicates."""
        ends = body_ends(clause.body)
        free = (name for name in variables() if name not in ends)
        literals = list[Atom | Comparison]()
        for part in clause.body.parts:
            name, argument = observed_name(part.body), part.body.argument
            if name is None:
                literals += part.body.literals(ends, free)
            else:
                lone = part.body.only_argument is not None
                literals.append(Atom(name, (ends[argument],) if lone else ends))
        return literals

    def _pairs(self, clause: Clause) -> str:
        """The predicate of the pairs that a clause may have groundings for."""
        on_paths = all(part.body.is_path for part in clause.body.parts)
        everywhere = on_paths or clause.target not in self.unseen
        return self.names.made[clause.target, "pairs" if everywhere else "located"]

    def _spelt(self, atom: Atom) -> str:
        plain = self.names.plain[atom.predicate]
        if self.model.semantics.recursive:
            return plain
        return self.names.made.get((atom.predicate, "known"), plain)

    def _ways_to_differ(self, atom: Atom, head: Sequence[Term]) -> list[list[Literal]]:
        """Mutually exclusive conditions under which an atom is not the head."""
        ways, same = list[list[Literal]](), list[Literal]()
        for term, of_head in zip(map(self.names.term, atom.arguments), head, strict=True):
            if term != of_head:
                ways.append([*same, _compared(of_head, Operator.DIFFERENT, term)])
                same.append(_compared(of_head, Operator.EQUAL, term))
        return ways


def _compared(one: Term, operator: Operator, other: Term) -> Literal:
    return Literal(Comparison(one, operator, other))


#: Maximum number of distinct values for which each value is an addend.
MAX_VALUES = 64
#: Significant binary digits of values that are written as sums of powers of two.
BITS = 17


def addends_of(x: Floats) -> dict[float, Ints]:
    """Write positive numbers as sums of addends; each addend has the positions of its numbers.

    Examples
    --------
    >>> {addend: rows.tolist() for addend, rows in addends_of(np.array([1.0, 3.5, 1.0])).items()}
    {1.0: [0, 2], 3.5: [1]}
    """
    values, which = np.unique(x, return_inverse=True)
    if len(values) <= MAX_VALUES:
        return {value: np.flatnonzero(which == k) for k, value in enumerate(values.tolist())}
    mantissa, exponent = np.frexp(x)
    digits = np.round(np.ldexp(mantissa, BITS)).astype(np.int64)
    lowest = exponent - BITS
    powers = range(int(lowest.min()), int(exponent.max()) + 1)
    by_power = {2.0**power: _digit(digits, power - lowest) for power in powers}
    return {value: rows for value, rows in by_power.items() if len(rows)}


def _digit(digits: Ints, place: Ints) -> Ints:
    """Positions of the numbers whose binary digit at `place`, one place per number, is 1."""
    inside = (place >= 0) & (place <= BITS)
    return np.flatnonzero(inside & (digits >> np.clip(place, 0, BITS) & 1 == 1))


@dataclass(frozen=True, eq=False)
class ComputedRule:
    """A rule, the predicate that stands for its body, and its hinges at the pairs."""

    rule: Rule
    predicate: str
    hinges: HingeRows

    @cached_property
    def addends(self) -> dict[float, Ints]:
        """The addends of the hinges' numbers, each with the positions of its hinges.

        Numbers below 0, of values below their mean, have negative addends.
        """
        found = dict[float, Ints]()
        for sign in (1.0, -1.0):
            places = np.flatnonzero(sign * self.hinges.number > 0.0)
            addends = addends_of(np.abs(self.hinges.number[places])) if len(places) else {}
            found |= {sign * value: places[rows] for value, rows in addends.items()}
        return found

    @cached_property
    def soft(self) -> bool:
        """Whether a hinge has a height below 1."""
        return bool((self.hinges.height < 1.0).any())

    @property
    def arity(self) -> int:
        """Arity of the predicate: the pair, the addend if there are several, the height if soft."""
        return self.rule.clause.body.head_arity + (len(self.addends) > 1) + self.soft

    def psl_rules(self, head: str, squared: bool) -> Iterator[LogicalRule]:
        """Yield one rule per addend."""
        names = variables()
        ends = self.rule.clause.head_terms((next(names), next(names)))
        height = (next(names),) if self.soft else ()
        negated = self.rule.clause.negated
        for value in self.addends:
            addend = (Constant(weight_text(value)),) if len(self.addends) > 1 else ()
            body = Literal(Atom(self.predicate, (*ends, *addend, *height)))
            literal = Literal(Atom(head, ends), negated ^ (value < 0.0))
            yield LogicalRule(self.rule.weight * abs(value), (body,), (literal,), squared)

    def columns(self) -> tuple[Ints, list[list[str]]]:
        """For every observed atom, the row of its pair, and columns of the other fields' texts."""
        rows = np.concatenate([np.empty(0, dtype=np.int64), *self.addends.values()])
        texts = [text for a, some in self.addends.items() for text in [weight_text(a)] * len(some)]
        addend = [texts] if len(self.addends) > 1 else []
        height = [f"{value:.6f}" for value in self.hinges.height[rows].tolist()]
        return self.hinges.target[rows], [*addend, *([height, height] if self.soft else [])]
