"""Learning rules beside those of a PSL program: ground the given rules, discover, fit, write.

Given rules mean what PSL means by them. They may be arithmetic, or have several targets in a body.
They are ground, and fitted as hinges together with candidates: bodies of observed atoms, counted as
PSL counts them. The result is a program again.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import TypeVar

import numpy as np

from hornbeam.base.arrays import Floats, Ints
from hornbeam.base.choices import Relaxation
from hornbeam.base.compiled import announced
from hornbeam.base.progress import Progress
from hornbeam.counting.columns import strengths_add_up
from hornbeam.counting.engine import Engine
from hornbeam.counting.opening import discover_bodies
from hornbeam.counting.statistics import Statistics
from hornbeam.errors import DataError, HornbeamNote, InputError, UnknownTargetError, warn
from hornbeam.facts.names import Names
from hornbeam.facts.table import ONE, Atoms, Facts, Targets, narrow_type
from hornbeam.language.arithmetic_rules import PslRule
from hornbeam.language.rule_texts import parse_rules
from hornbeam.language.syntax import Atom, Comparison, LogicalRule, Operator, weight_text
from hornbeam.learning.boost import Boost
from hornbeam.learning.count_problem import CountProblem
from hornbeam.learning.ground_rules import (
    adds_up,
    given_number,
    standing_for,
    with_counted_rules,
    with_ground_rules,
)
from hornbeam.learning.hinge_problem import HingeProblem, hinge_problem
from hornbeam.learning.learner import Learner
from hornbeam.learning.problem import Problem
from hornbeam.learning.rule_learning import learn_rules
from hornbeam.programs.extended_program import ExtendedProgram
from hornbeam.programs.program import Program
from hornbeam.programs.program_data import ProgramData
from hornbeam.programs.program_likelihood import ground_problem
from hornbeam.programs.weight_problem import ground_with_unit_weights, target_truth
from hornbeam.rules.body import Kind
from hornbeam.rules.candidates import ONE_ENTITY_BODIES, RuleLimits
from hornbeam.rules.clause import Clause
from hornbeam.rules.own_rules import KnownPredicates, OwnRule, OwnRules, read_own_rules
from hornbeam.rules.parsed_clauses import parsed_clause
from hornbeam.rules.rule_model import Rule, Semantics
from hornbeam.rules.weighing import Counts


def extend_program(
    program: Program,
    learner: Learner,
    open_facts: Callable[[Facts], Engine],
    *,
    target: str | Sequence[str] | None,
    language: RuleLimits,
    relaxation: Relaxation | str | None,
    keep: bool,
    guard: str | None,
    refit: bool,
    max_ground_rules: int | None,
    threads: int | None,
    progress: Progress,
) -> ExtendedProgram:
    """Learn rules beside those of a program; see `hornbeam.flow.learn_program`.

    `open_facts` opens an engine over the observed atoms.
    """
    if isinstance(learner, Boost):
        raise InputError(
            "conditions of boosted trees are thresholds, which PSL does not have: use "
            '`method="joint"`, "ppll" or "greedy" beside a program'
        )
    clock = time.perf_counter()
    power = _relaxation(program, relaxation)
    data = program.load()
    seconds = {"load": time.perf_counter() - clock}
    clock = time.perf_counter()
    truth = target_truth(program, data)
    known = _Evidence.of(program, data, truth, target)
    own = _own_rules(program, known, guard)
    limits = _language(language, learner, known, guard)
    semantics = Semantics(relaxation=power, distinct_variables=limits.distinct_variables)
    if guard is None:
        _name_guards(program)
    given = _ground_rules(program, data, truth, known.variable, max_ground_rules, threads, progress)
    engine = open_facts(known.facts)
    found = discover_bodies(engine, known.labels, limits, progress=progress)
    assert found.statistics is not None
    guards = [own.guard_body(name) for name in known.labels.predicates if guard is not None]
    own = replace(own, extra=frozenset(guards))
    counted = found.statistics.followed_by(engine.count(known.labels, guards, limits))
    problem = _problem(counted, known.labels, power, own, given, keep)
    seconds["generate"] = time.perf_counter() - clock
    clock = time.perf_counter()
    with announced(progress):
        learned = learn_rules(problem, learner, semantics, refit, progress)
    weights, rules = np.zeros(len(program.rules)), list[PslRule]()
    for rule in learned.model.rules:
        number = given_number(rule.clause)
        if number is not None:
            weights[number] = rule.weight
        elif rule.weight > 0.0:
            rules.append(_psl_rule(rule, semantics, program.name))
    fitted = program.reweighted_rules(weights.tolist())
    seconds["learn"] = time.perf_counter() - clock
    return ExtendedProgram(
        program, fitted, program.rules, tuple(rules), len(known.labels), len(found.candidates),
        seconds, guarded=guard is not None,
    )  # fmt: skip


# --- settings -------------------------------------------------------------------------------------


def _relaxation(program: Program, relaxation: Relaxation | str | None) -> Relaxation:
    """The power of learned rules; by default squared if a given rule is."""
    if relaxation is None:
        squared = any(rule.squared for rule in program.rules)
        return Relaxation.SQUARED if squared else Relaxation.LINEAR
    if Relaxation(relaxation) is Relaxation.BOOLEAN:
        raise InputError(
            "targets of a PSL program lie between 0 and 1: use "
            '`relaxation="linear"` or `relaxation="squared"`, not boolean'
        )
    return Relaxation(relaxation)


def _language(
    language: RuleLimits, learner: Learner, known: _Evidence, guard: str | None
) -> RuleLimits:
    """Bodies of observed atoms; for pairs without a guard paths, which limit both variables."""
    if known.labels.unary:
        bodies = language.bodies or ONE_ENTITY_BODIES
    else:
        bodies = language.bodies or (learner.bodies if guard is not None else (Kind.PATH,))
        if guard is None and set(bodies) != {Kind.PATH}:
            raise InputError(
                "in PSL, both variables of a head must be in the body, which only paths have: use "
                '`bodies="paths"`, or give a `guard` such as the predicate of the candidate pairs'
            )
    observed = (name for name in known.open_predicates if known.facts.predicates.index(name) >= 0)
    exclude = dict.fromkeys([*language.exclude, *observed, *([guard] if guard else [])])
    return replace(language, bodies=bodies, exclude=tuple(exclude), shares=False)


def _own_rules(program: Program, known: _Evidence, guard: str | None) -> OwnRules:
    """What the given rules say, where a learned rule could say it, and the guard."""
    facts = known.facts
    predicates = KnownPredicates(facts.predicates, facts.not_binary, known.labels.arities, False)
    own = read_own_rules(None, predicates, guard=guard)
    clauses = (_said(rule, source, guard) for rule, source in _logical(program))
    rules = (OwnRule(clause) for clause in dict.fromkeys(clauses) if clause is not None)
    return replace(own, rules=tuple(rules))


def _name_guards(program: Program) -> None:
    """Name predicates that are a further condition on the head's arguments in all given rules."""
    shared: set[str] | None = None
    for rule, _ in _logical(program):
        head = rule.head[0].atom
        if rule.body and isinstance(head, Atom):
            atoms = [one.atom for one in rule.body if isinstance(one.atom, Atom)]
            over_head = {atom.predicate for atom in atoms if atom.arguments == head.arguments}
            guards = over_head if len(atoms) > 1 else set()
            shared = guards if shared is None else shared & guards
    for name in sorted((shared or set()) & program.closed):
        gives = f'`guard="{name}"` gives it to learned rules, too'
        warn(f"all given rules have the condition {name}: {gives}", HornbeamNote)


def _logical(program: Program) -> list[tuple[LogicalRule, str]]:
    rules = zip(program.rules, program.sources, strict=True)
    return [(rule, source) for rule, source in rules if isinstance(rule, LogicalRule)]


def _said(rule: LogicalRule, source: str, guard: str | None) -> Clause | None:
    """The clause of a given rule without guard and `!=`; None where a model cannot have it."""
    body = tuple(
        literal
        for literal in rule.body
        if not (
            isinstance(literal.atom, Comparison) and literal.atom.operator is Operator.DIFFERENT
        )
        and getattr(literal.atom, "predicate", None) != guard
    )
    try:
        return parsed_clause(replace(rule, body=body), {}, source, weightless=True).clause
    except DataError:
        return None


# --- data -----------------------------------------------------------------------------------------


@dataclass(frozen=True, eq=False)
class _Evidence:
    """Observed atoms as facts, targets with their truth as labels, and the variable of each."""

    facts: Facts
    labels: Targets
    variable: Ints
    open_predicates: Sequence[str]

    @classmethod
    def of(
        cls, program: Program, data: ProgramData, truth: Floats, target: str | Sequence[str] | None
    ) -> _Evidence:
        """The evidence of chosen target predicates."""
        sizes = {name: len(tables.targets) for name, tables in data.predicates.items()}
        arity = {name: data.predicates[name].arity for name, n in sizes.items() if n}
        known = [name for name, n in arity.items() if n <= 2]
        asked = [target] if isinstance(target, str) else target
        for name in asked or ():
            if name not in known:
                raise UnknownTargetError(name, known)
        chosen = Names.of(asked or known)
        if not len(chosen):
            problem = "no open predicate of one argument or two has targets to learn rules for"
            raise DataError(program.name, problem)
        if len({arity[name] for name in chosen}) > 1:
            raise InputError(
                f"{program.name} has targets of one argument and of two: name some of one kind by "
                f"`target`: {', '.join(chosen)}"
            )
        first = data.first_variable
        variable = np.concatenate([first[name] + np.arange(sizes[name]) for name in chosen])
        ends = [data.predicates[name].targets.arguments for name in chosen]
        number = np.repeat(np.arange(len(chosen)), [sizes[name] for name in chosen])
        labels = Targets(
            data.names,
            chosen,
            number.astype(np.int32),
            np.concatenate([ids[0] for ids in ends]),
            np.concatenate([ids[-1] for ids in ends]),
            np.rint(truth[variable] * ONE).astype(np.int32),
            frozenset(name for name in chosen if arity[name] == 1),
        )
        if labels.positive.all() or not labels.positive.any():
            raise DataError(program.name, "the truth of all targets is the same; expected both")
        open_predicates = [one.name for one in program.predicates if not one.closed]
        return cls(observed_facts(data), labels, variable, open_predicates)


def observed_facts(data: ProgramData) -> Facts:
    """The observed atoms of a program, with truth values in millionths; 0 is no atom."""
    tables = {name: tables for name, tables in data.predicates.items() if len(tables.observed)}
    predicates = Names.of(tables)
    atoms = {}
    for arity in sorted({one.arity for one in tables.values()}):
        listed = [name for name in predicates if tables[name].arity == arity]
        sizes = [len(tables[name].observed) for name in listed]
        number = np.repeat([predicates.index(name) for name in listed], sizes)
        columns = zip(*(tables[name].observed.arguments for name in listed), strict=True)
        arguments = [np.concatenate(column) for column in columns]
        values = np.concatenate([tables[name].observed.values for name in listed])
        millionths = np.rint(values * ONE).astype(np.int32)
        order = np.lexsort((*reversed(arguments[1:]), number, arguments[0]))
        order = order[millionths[order] > 0]
        sorted_atoms = Atoms(
            number.astype(narrow_type(len(predicates)))[order],
            tuple(column[order] for column in arguments),
            millionths[order],
        )
        atoms[arity] = sorted_atoms.select(np.ones(len(order), dtype=np.bool_))
    return Facts(data.names, predicates, atoms)


def _ground_rules(
    program: Program,
    data: ProgramData,
    truth: Floats,
    variable: Ints,
    max_ground_rules: int | None,
    threads: int | None,
    progress: Progress,
) -> HingeProblem[PslRule]:
    """The hinges of the given rules in the labelled targets, whose rows replace variables."""
    grounded = ground_with_unit_weights(program, data, max_ground_rules, threads, progress)
    problem = ground_problem(program.rules, grounded.potentials, truth)
    row = np.full(len(truth), -1, dtype=np.int64)
    row[variable] = np.arange(len(variable))
    seen = row[problem.target] >= 0
    names = ("target", "rule", "height", "down", "count")
    hinges = {name: getattr(problem, name)[seen] for name in names}
    return replace(problem, **hinges | {"target": row[hinges["target"]]}, y=truth[variable])


# --- fitting --------------------------------------------------------------------------------------


def _problem(
    counted: Statistics,
    labels: Targets,
    power: Relaxation,
    own: OwnRules,
    given: HingeProblem[PslRule],
    keep: bool,
) -> Problem:
    """The problem of candidates and given rules."""
    weighted = [k for k, rule in enumerate(given.clauses) if rule.weight is not None]
    given = given.only(np.array(weighted, dtype=np.int64))
    clauses = [standing_for(k, labels.predicates[0]) for k in weighted]
    stated = np.array([rule.weight or 0.0 for rule in given.clauses])
    grounded = np.bincount(given.rule, minlength=len(given.clauses)) > 0
    fixed = np.where(grounded & (not keep), np.nan, stated)
    columns = replace(own, rules=())
    if adds_up(given, power is Relaxation.SQUARED) and strengths_add_up(counted, power):
        candidates = CountProblem.of(counted, labels, (Counts.RAW,), power, own=columns)
        return with_counted_rules(_unsaid(candidates, own), given, clauses, fixed)
    hinges = hinge_problem(counted, labels, (Counts.RAW,), power, columns)
    return with_ground_rules(_unsaid(hinges, own), given, clauses, fixed)


P = TypeVar("P", CountProblem, HingeProblem[Clause])


def _unsaid(problem: P, own: OwnRules) -> P:
    """The candidates that say something else than given rules.

    The prior `t(A, B)` is left out: in PSL no atom would limit its variables.
    """
    members = [
        k
        for k, clause in enumerate(problem.clauses)
        if own.admits(clause) and not (clause.is_prior and not clause.negated)
    ]
    return problem.only(np.array(members, dtype=np.int64))


def _psl_rule(rule: Rule, semantics: Semantics, source: str) -> PslRule:
    """A learned rule as PSL reads it."""
    text = rule.clause.text({}, distinct=semantics.distinct_variables)
    squared = " ^2" if semantics.relaxation is Relaxation.SQUARED else ""
    [parsed] = parse_rules(f"{weight_text(rule.weight)}: {text}{squared}", source)
    return replace(parsed, place=None)
