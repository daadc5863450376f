"""A user's own rules, which stay in a learned model, and the guard of learned rules.

An own rule has a weight or none. It is fitted together with the learned rules, without an L1
penalty, or keeps its weight. Candidates that say the same as an own rule are left out. A *guard* is
a predicate of pairs that every learned rule has as a further condition; of entities where the
target is on one entity:

    0.8: candidate(A, C) & cites(A, B) & mentions(B, C) -> mentions(A, C)
"""

from __future__ import annotations

import os
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property

import numpy as np

from hornbeam.base.arrays import Bools, Floats
from hornbeam.base.choices import Relaxation
from hornbeam.base.texts import did_you_mean, shown_list
from hornbeam.errors import DataError, HornbeamNote, InputError, warn
from hornbeam.facts.names import Names
from hornbeam.facts.numbers import Numbers, no_numbers
from hornbeam.language.arithmetic_rules import atoms_of, refusal, variables_of
from hornbeam.language.rule_texts import identifiers, names_by_identifier
from hornbeam.language.syntax import Comparison, LogicalRule, Operator
from hornbeam.rules.body import Body, Conjunction, Kind, Part, Step
from hornbeam.rules.clause import Clause
from hornbeam.rules.model_file import (
    check_distinct,
    checked_relaxation,
    file_text,
    is_graph_model,
    model_text,
    read_rule_texts,
)
from hornbeam.rules.number_conditions import NumberCondition, attribute_of
from hornbeam.rules.parsed_bodies import real_name
from hornbeam.rules.rule_model import Rule, RuleModel
from hornbeam.rules.weighing import Counts, Weighing

#: Own rules as users give them: a file, texts of rules, or a model.
RuleInput = str | os.PathLike[str] | Sequence[str] | RuleModel
#: Target, sign, and conditions with how often each occurs: equal for clauses that say the same.
Meaning = tuple[str, bool, frozenset[tuple[Part, int]]]


@dataclass(frozen=True)
class OwnRule:
    """An own rule: its clause, and the weight that its text gives, None without one."""

    clause: Clause
    weight: float | None = None


@dataclass(frozen=True)
class OwnRules:
    """The own rules of a model, and the guard of learned rules; by default neither.

    The guard has as many arguments as the target, `guard_arity`. With `keep`, rules that have a
    weight keep it. `counts` is the way of counting of rules without a bracket. `relaxation` and
    `distinct` are what the text of the rules says of targets and variables, None where it says
    nothing. Bodies of `extra` are counted for own rules only: they are no candidates.
    """

    rules: tuple[OwnRule, ...] = ()
    keep: bool = False
    guard: str | None = None
    counts: Counts = Counts.RAW
    relaxation: Relaxation | None = None
    distinct: bool | None = None
    extra: frozenset[Body] = field(default_factory=frozenset)
    guard_arity: int = 2

    def __bool__(self) -> bool:
        return bool(self.rules) or self.guard is not None

    @property
    def conditional(self) -> list[OwnRule]:
        """The rules that are not priors."""
        return [rule for rule in self.rules if not rule.clause.is_prior]

    @cached_property
    def shares(self) -> bool:
        """Whether a rule needs the shares of paths."""
        return RuleModel(tuple(Rule(0.0, rule.clause) for rule in self.rules)).shares

    def bodies(self, targets: Iterable[str], symmetric: bool) -> list[Body]:
        """The distinct bodies to count: those of the rules, of mirror images, and the guards."""
        clauses = [rule.clause for rule in self.rules]
        clauses += [clause.mirror for clause in clauses] if symmetric else []
        parts = [part.body for clause in clauses for part in clause.body.parts]
        guards = [self.guard_body(target) for target in targets if self.guard is not None]
        return list(dict.fromkeys([*parts, *guards]))

    def beside(
        self, bodies: Iterable[Body], targets: Iterable[str], symmetric: bool = False
    ) -> OwnRules:
        """The rules beside candidates of these `bodies`: all further bodies are `extra`."""
        extra = frozenset(self.bodies(targets, symmetric)).difference(bodies)
        return replace(self, extra=extra)

    def guard_body(self, target: str) -> Body:
        """The guard as a condition on the pairs of a target."""
        assert self.guard is not None
        if self.guard_arity == 1:
            return Body((Step(self.guard, arity=1),), target, Kind.UNARY, head_arity=1)
        return Body((Step(self.guard),), target)

    def guarded(self, clause: Clause) -> Clause:
        """A learned clause with the guard as a further condition."""
        if self.guard is None or clause.is_prior:
            return clause
        guard = Part(self.guard_body(clause.target))
        return replace(clause, body=Conjunction((guard, *clause.body.parts)))

    def admits(self, clause: Clause, symmetric: bool = False) -> bool:
        """Whether a clause is a candidate, and no own rule says the same.

        Where the target is `symmetric`, a clause says the same as its mirror image.
        """
        clauses = [clause, clause.mirror] if symmetric else [clause]
        said = any(self._meaning(clause) in self._said for clause in clauses)
        return clause.body not in self.extra and not said

    def stands_for_mirror(self, clause: Clause) -> bool:
        """Whether an own rule of a symmetric target represents its mirror image too.

        Not if it is its own mirror image, or if the mirror image is an own rule itself.
        """
        return self._meaning(clause.mirror) not in self._said

    @cached_property
    def _said(self) -> frozenset[Meaning]:
        return frozenset(self._meaning(rule.clause) for rule in self.rules)

    def _meaning(self, clause: Clause) -> Meaning:
        """What a clause says, whatever the order of its conditions and without the guard."""
        guard = None if self.guard is None else Part(self.guard_body(clause.target))
        parts = [part for part in clause.body.parts if part != guard] or list(clause.body.parts)
        return clause.target, clause.negated, frozenset(Counter(parts).items())

    def has(self, clause: Clause) -> bool:
        """Whether a clause is an own rule."""
        return any(rule.clause == clause for rule in self.rules)

    def flags(self, clauses: Sequence[Clause]) -> Bools | None:
        """Which clauses are own rules; None if there are no own rules."""
        own = {rule.clause for rule in self.rules}
        return np.array([clause in own for clause in clauses]) if own else None

    def fixed_weights(self, clauses: Sequence[Clause], grounded: Bools) -> Floats | None:
        """Weights of own rules that are not fitted, NaN for other clauses; None without own rules.

        A rule without groundings has the weight of its text, since no label tells a better one.
        """
        if not self.rules:
            return None
        weights = {rule.clause: rule.weight for rule in self.rules}
        fixed = np.full(len(clauses), np.nan)
        for k, clause in enumerate(clauses):
            if clause not in weights:
                continue
            weight = weights[clause]
            if not grounded[k] or (self.keep and weight is not None):
                fixed[k] = weight or 0.0
        return fixed

    def counted_as(self, counts: Counts) -> OwnRules:
        """The rules with brackets where their way of counting differs from a model's `counts`."""
        if counts is self.counts:
            return self
        rules = [replace(rule, clause=_bracketed(rule.clause, self.counts)) for rule in self.rules]
        return replace(self, rules=tuple(rules), counts=counts)


#: No own rules, and no guard.
NO_OWN_RULES = OwnRules()


def _bracketed(clause: Clause, counts: Counts) -> Clause:
    if clause.is_prior or clause.weighing is not None:
        return clause
    return replace(clause, weighing=Weighing(counts))


# --- reading --------------------------------------------------------------------------------------


@dataclass(frozen=True)
class KnownPredicates:
    """Predicates that own rules may have: those of the facts, and the targets with their arities.

    `not_binary` has the numbers of arguments of predicates that have not two. Targets are evidence
    themselves where `targets_known`. With `loops`, a labelled pair has one entity twice. Numbers of
    entities are `numbers`.
    """

    facts: Names
    not_binary: Mapping[str, int]
    targets: Mapping[str, int]
    targets_known: bool
    loops: bool = False
    numbers: Numbers = field(default_factory=no_numbers)

    @cached_property
    def by_identifier(self) -> dict[str, str]:
        """Names by identifier in lower case, as Hornbeam writes them in models."""
        spelt = identifiers({*self.facts, *self.targets, *self.numbers.attributes})
        return names_by_identifier({identifier: name for name, identifier in spelt.items()})

    def arity(self, name: str) -> int | None:
        """Number of arguments of a predicate in bodies; None where no fact has it."""
        if self.facts.index(name) >= 0:
            return self.not_binary.get(name, 2)
        attribute = attribute_of(name)
        if attribute is not None and self.numbers.attributes.index(attribute) >= 0:
            return 1
        return self.targets.get(name) if self.targets_known else None


def read_own_rules(
    rules: RuleInput | None, known: KnownPredicates, *, keep: bool = False, guard: str | None = None
) -> OwnRules:
    """Read and check own rules; errors name the file and line of a rule.

    Refused are rules of other targets, with predicates that no fact has, or with another number of
    arguments than in the facts, and rules that are given twice.
    """
    guard_arity = 2 if guard is None else _check_guard(guard, known)
    if rules is None:
        if keep:
            raise InputError("`keep` is for own rules: give `rules` too")
        return OwnRules(guard=guard, guard_arity=guard_arity)
    text, name = _text_and_name(rules)
    adapted = {} if known.loops else {"adapt": _without_different_ends}
    read = read_rule_texts(text, name, known.by_identifier, weightless=True, **adapted)
    header, written, own = read.header, read.rules, list[OwnRule]()
    first = dict[Clause, LogicalRule]()
    for rule, (clause, _) in zip(written, read.clauses, strict=True):
        _check_rule(rule, clause, known, read.names, name)
        if (before := first.setdefault(clause, rule)) is not rule:
            line = before.place.line if before.place else "before"
            raise refusal(rule, f"the rule says the same as line {line}; expected it once", name)
        own.append(OwnRule(clause, rule.weight))
    weighted = [rule for rule in written if rule.weight is not None]
    stated = header.get("relaxation")
    if stated is not None or any(rule.squared for rule in weighted):
        stated = checked_relaxation(weighted, stated, name)
    bodied = any(parsed.distinct is not None for parsed in read.clauses)
    distinct = check_distinct(written, read.clauses, header.get("distinct_variables"), name)
    counts = header.get("counts", Counts.RAW)
    return OwnRules(
        tuple(own), keep, guard, counts, stated, distinct if bodied else None,
        guard_arity=guard_arity,
    )  # fmt: skip


def _without_different_ends(rule: LogicalRule) -> LogicalRule:
    """A rule without `(A != C)` between the arguments of its head, if that is its only `!=`.

    PSL's rules often have it. It changes nothing where no pair has one entity twice.
    """
    different = [
        literal
        for literal in rule.body
        if isinstance(literal.atom, Comparison) and literal.atom.operator is Operator.DIFFERENT
    ]
    ends = variables_of(rule.head[0].atom)
    if len(different) != 1 or len(rule.body) == 1 or variables_of(different[0].atom) != ends:
        return rule
    at = rule.body.index(different[0])
    if any(span.stop > at for span in rule.thresholds):
        return rule
    warn(
        "own rules lose != between the two arguments of their heads: no labelled pair has one "
        "entity twice",
        HornbeamNote,
    )
    return replace(
        rule, body=tuple(literal for literal in rule.body if literal is not different[0])
    )


def _text_and_name(rules: RuleInput) -> tuple[str, str]:
    """The text of own rules, and how errors call it."""
    if isinstance(rules, RuleModel):
        return model_text(rules), "rules"
    if not isinstance(rules, str | os.PathLike):
        return "\n".join(rules), "rules"
    name = os.fspath(rules)
    if name.lower().endswith((".json", ".yaml", ".yml")):
        learner = "`hornbeam.flow.learn_program`"
        raise DataError(name, f"is a PSL program; {learner} learns rules beside its own")
    if is_graph_model(name):
        problem = "is a model of a whole graph; expected a text of PSL rules"
        raise DataError(name, problem, line=1)
    return file_text(name), name


def _check_rule(
    rule: LogicalRule, clause: Clause, known: KnownPredicates, named: Mapping[str, str], name: str
) -> None:
    """Refuse a rule of another target, or with atoms that the facts cannot ground."""
    if clause.target not in known.targets:
        hint = did_you_mean(clause.target, list(known.targets))
        targets = shown_list(map(repr, known.targets))
        why = f"its head {clause.target!r} is no target; expected {targets}.{hint}"
        raise refusal(rule, why, name)
    stated, expected_of_head = clause.body.head_arity, known.targets[clause.target]
    if stated != expected_of_head:
        why = f"its head has arity {stated}; expected {expected_of_head}, as the labels"
        raise refusal(rule, why, name)
    compared = [part.body.number for part in clause.body.parts if part.body.number is not None]
    for number in compared:
        _check_number(rule, number, known, name)
    heads = [literal.atom for literal in rule.head]
    if clause.body.parts and clause.body.parts[0].body.is_value:
        heads.append(rule.body[0].atom)  # `year(A)`, which [z] standardises, is no fact
    for atom in (atom for atom in atoms_of(rule) if all(atom is not head for head in heads)):
        predicate = real_name(atom, named)
        arity, expected = len(atom.arguments), known.arity(predicate)
        if expected is None and predicate in known.targets:
            why = (
                f"no fact has {predicate!r}, the target: let true pairs be evidence for each other "
                "by `cross_evidence`"
            )
            raise refusal(rule, why, name, atom.place)
        if expected is None:
            hint = did_you_mean(predicate, list(known.facts))
            raise refusal(rule, f"no fact has the predicate {predicate!r}.{hint}", name, atom.place)
        if arity != expected:
            why = f"{atom} has arity {arity}; expected {expected}, as in the facts"
            raise refusal(rule, why, name, atom.place)


def _check_number(
    rule: LogicalRule, number: NumberCondition, known: KnownPredicates, name: str
) -> None:
    """Refuse attributes that no entity has, and comparisons of dates with numbers."""
    for attribute in sorted(number.attributes):
        if known.numbers.attributes.index(attribute) >= 0:
            continue
        why = f"no entity has the number {attribute!r}: give `numbers` or `dates`."
        if known.facts.index(attribute) >= 0:
            why = f"{attribute!r} is a relation of the facts, not a number; expected an attribute."
        raise refusal(rule, why + did_you_mean(attribute, list(known.numbers.attributes)), name)
    if problem := number.problem(known.numbers):
        raise refusal(rule, problem, name)


def _check_guard(guard: str, known: KnownPredicates) -> int:
    """The arity of a guard; refused if it is not that of the target, or no fact has the guard."""
    arity = known.arity(guard) if guard not in known.targets else None
    if arity is None:
        hint = did_you_mean(guard, list(known.facts))
        raise InputError(f"no fact has the predicate {guard!r}, which `guard` names.{hint}")
    for target, expected in known.targets.items():
        if arity != expected:
            raise InputError(
                f"`guard` {guard!r} has arity {arity}; expected {expected}, as the target {target}"
            )
    return arity
