"""Small worlds of facts of one, two and three arguments, and models of all kinds of bodies.

Groundings are found by trying every fact at every step, and share no code with the program.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cache
from itertools import product

import numpy as np
from hypothesis import strategies as st

import hornbeam as hb
from hornbeam.base.choices import Relaxation
from hornbeam.facts.names import Names
from hornbeam.facts.numbers import Numbers
from hornbeam.facts.table import ONE, Atoms, Facts, Targets
from hornbeam.language.syntax import Bound, Operator
from hornbeam.rules.body import AnyBody, Body, Conjunction, Kind, Part, Step, simplest
from hornbeam.rules.clause import Clause, prior
from hornbeam.rules.number_conditions import NumberCondition
from hornbeam.rules.rule_model import Rule, RuleModel, Semantics
from hornbeam.rules.weighing import Counts, Threshold, Weighing
from tests.support.random_rules import Hinge
from tests.support.worlds import targets_of

#: A predicate and its arguments.
Atom = tuple[str, ...]
Pair = tuple[str, str, str]

#: Predicates by arity; "t" is a target that has facts too.
ARITY = {"u": 1, "v": 1, "p": 2, "q": 2, "t": 2, "r": 3}
ALL = (1, 2, 3)
ENTITIES = ("a", "b", "c", "d")
CRISP = st.just(ONE)
SOFT = st.sampled_from([ONE, ONE, 250_000, 500_000, 900_000])


@dataclass(frozen=True)
class BruteGrounding:
    """Entities, facts and truth of one grounding of a condition."""

    entities: tuple[str, ...]
    facts: tuple[Atom, ...]
    truth: int


@dataclass(frozen=True)
class RichWorld:
    """Facts with their truth values in millionths; removing some leaves all entities known.

    `numbers` are the values of an attribute of an entity.
    """

    values: Mapping[Atom, int]
    numbers: Mapping[tuple[str, str], frozenset[float]] = field(
        default_factory=lambda: {("m", "a"): frozenset([2.0])}
    )

    @property
    def facts(self) -> Facts:
        """As the table that programs read."""
        entities, predicates = Names.of(ENTITIES), Names.of(atom[0] for atom in self.values)
        tables = {}
        for arity in (1, 2, 3):
            mine = [(atom, value) for atom, value in self.values.items() if len(atom) == arity + 1]
            rows = sorted(
                (entities.index(atom[1]), predicates.index(atom[0]),
                 *(entities.index(name) for name in atom[2:]), value)
                for atom, value in mine
            )  # fmt: skip
            if rows:
                first, predicate, *others, value = np.array(rows, dtype=np.int32).T.copy()
                soft = None if (value == ONE).all() else value
                tables[arity] = Atoms(predicate.astype(np.uint16), (first, *others), soft)
        given = [(e, name, v) for (name, e), values in self.numbers.items() for v in values]
        return Facts(entities, predicates, tables, Numbers.of(entities, given))

    def _has(self, predicate: str) -> bool:
        return any(atom[0] == predicate for atom in self.values)

    def without(self, gone: Sequence[Atom]) -> RichWorld:
        """The same world without some facts."""
        left = {atom: v for atom, v in self.values.items() if atom not in gone}
        return RichWorld(left, self.numbers)

    def numbers_of(self, body: Body, pair: Pair) -> list[float]:
        """The numbers that ground a condition on them."""
        ends = (pair[0], pair[2])
        if not {*ends} <= {*ENTITIES}:
            return []
        number, here, there = body.number, ends[body.argument], ends[1 - body.argument]
        assert number is not None
        values = sorted(self.numbers.get((number.attribute, here), ()))
        if number.minus is not None:
            others = sorted(self.numbers.get((number.minus, there), ()))
            values = [one - other for one in values for other in others]
            values = [abs(value) for value in values] if number.absolute else values
        if number.bound is None:
            return values
        bound, least = number.bound.value, number.operator is Operator.AT_LEAST
        return [value for value in values if (value >= bound if least else value < bound)]

    def edges(self, step: Step) -> list[tuple[str, str, Atom]]:
        """What a step may walk: from, to, the fact."""
        found = []
        for atom in self.values:
            if atom[0] == step.predicate and len(atom) == step.arity + 1:
                ends = [atom[1 + place] for place in step.places]
                here, there = reversed(ends) if step.inverse else ends
                found.append((here, there, atom))
        return found

    def _walkable(self, step: Step, limit: int | None) -> list[tuple[str, str, Atom]]:
        edges = self.edges(step)
        fanout = Counter(here for here, _, _ in edges)
        return [e for e in edges if limit is None or fanout[e[0]] <= limit]

    def groundings(self, body: Body, pair: Pair, semantics: Semantics) -> list[BruteGrounding]:
        """All groundings of a condition, in the order of their entities."""
        ends, own = (pair[0], pair[2]), (pair[1], pair[0], pair[2])
        distinct, limit = semantics.distinct_variables, semantics.max_fanout
        if body.kind is Kind.PATH:
            found = list(self._paths(body.steps, (ends[0],), (), pair, semantics))
            return sorted(found, key=lambda one: one.entities)
        here = ends[body.argument]
        if body.number is not None and not body.steps:
            return [BruteGrounding((here,), (), ONE) for _ in self.numbers_of(body, pair)]
        if distinct and ends[0] == ends[1] and body.steps:
            return []
        if not body.steps:
            return [BruteGrounding((here,), (), ONE)] if here == body.constant else []
        has = body.kind is Kind.UNARY and body.steps[0].predicate.startswith("has_")
        if has and {*ends} <= {*ENTITIES}:
            numbers = self.numbers.get((body.steps[0].predicate[4:], here), ())
            return [BruteGrounding((here,), (), ONE)] if numbers else []
        found = [BruteGrounding((here,), (), ONE)]
        for k, step in enumerate(body.steps):
            if step.predicate.startswith("has_"):
                known = {
                    name for attribute, name in self.numbers if attribute == step.predicate[4:]
                }
                found = [one for one in found if one.entities[-1] in known]
                continue
            if step.arity == 1:
                facts = [atom for atom in self.values if atom[:-1] == (step.predicate,)]
                more = [
                    (one, one.entities, atom)
                    for one in found
                    for atom in facts
                    if atom[1] == one.entities[-1]
                ]
            else:
                at_constant = body.constant is not None and k == len(body.steps) - 1
                more = [
                    (one, (*one.entities, to), atom)
                    for one in found
                    for start, to, atom in self._walkable(step, limit)
                    if start == one.entities[-1]
                    and atom != own
                    and (not at_constant or to == body.constant)
                    and not (distinct and not at_constant and to in (*ends, *one.entities))
                ]
            found = [
                BruteGrounding(entities, (*one.facts, atom), one.truth + self.values[atom] - ONE)
                for one, entities, atom in more
            ]
        found = [one for one in found if one.truth > 0]
        if body.number is not None:
            alone = replace(body, steps=(), argument=0)
            found = [
                one
                for one in found
                for _ in self.numbers_of(alone, (one.entities[-1], pair[1], one.entities[-1]))
            ]
        return sorted(found, key=lambda one: one.entities)

    def _paths(
        self,
        steps: Sequence[Step],
        nodes: tuple[str, ...],
        facts: tuple[Atom, ...],
        pair: Pair,
        semantics: Semantics,
    ) -> Iterator[BruteGrounding]:
        if len(facts) == len(steps):
            truth = ONE + sum(self.values[atom] - ONE for atom in facts)
            if nodes[-1] == pair[2] and truth > 0:
                yield BruteGrounding(nodes, facts, truth)
            return
        for here, there, atom in self._walkable(steps[len(facts)], semantics.max_fanout):
            own = atom == (pair[1], pair[0], pair[2])
            again = semantics.distinct_variables and there in nodes
            if here == nodes[-1] and not own and not again:
                yield from self._paths(steps, (*nodes, there), (*facts, atom), pair, semantics)

    def share(self, body: Body, pair: Pair, semantics: Semantics) -> float:
        """The share of a path's groundings."""
        seen = self.without([(pair[1], pair[0], pair[2])])
        total = 0.0
        for one in self.groundings(body, pair, semantics):
            product = 1.0
            for k, step in enumerate(body.steps):
                edges = seen.edges(step)
                out = sum(here == one.entities[k] for here, _, _ in edges)
                into = sum(there == one.entities[k + 1] for _, there, _ in edges)
                product /= math.sqrt(out * into)
            total += product
        return total

    def truths(self, body: AnyBody, pair: Pair, semantics: Semantics) -> list[int]:
        """Truths above 0 of the ground clauses of a whole body, by Łukasiewicz over all atoms.

        Each takes one grounding of every condition; one with a threshold that holds is true.
        """
        found = []
        for part in body.parts:
            here = [one.truth for one in self.groundings(part.body, pair, semantics)]
            if part.threshold is not None:
                n = self.share(part.body, pair, semantics) if part.threshold.share else len(here)
                bound = part.threshold.bound
                here = [ONE] * (n > bound if part.threshold.share else n >= bound)
            found.append(here)
        combined = (sum(values) - (len(values) - 1) * ONE for values in product(*found))
        return [truth for truth in combined if truth > 0] if found else [ONE]

    def count(self, body: AnyBody, pair: Pair, semantics: Semantics) -> int:
        """Number of ground clauses of a whole body."""
        return len(self.truths(body, pair, semantics))


def hinges_of(model: RuleModel, world: RichWorld, pair: Pair) -> list[Hinge]:
    """The ground clauses that have the pair for their head, or what they add up to.

    With Boolean targets a ground clause adds its truth; with continuous ones it is a hinge of its
    own, and those of a rule share what their number weighs. Shares do not depend on truths.
    """
    found = list[Hinge]()
    for rule in model.rules:
        clause, weighing = rule.clause, model.counts_of(rule.clause)
        truths = [truth / ONE for truth in world.truths(clause.body, pair, model.semantics)]
        if not truths:
            continue
        way = Counts.RAW if clause.is_prior else weighing.counts
        if way is Counts.Z:
            first, *others = clause.body.parts
            factor = (
                sum(world.truths(simplest(others), pair, model.semantics)) / ONE if others else 1
            )
            numbers = world.numbers_of(first.body, pair)
            z = sum((value - weighing.mean) / weighing.deviation for value in numbers) * factor
            found.append((rule.weight * abs(z), 1.0, clause.negated ^ (z < 0)))
            continue
        n, boolean = len(truths), model.semantics.relaxation is Relaxation.BOOLEAN
        if way is Counts.SHARE:
            share = world.share(clause.body.parts[0].body, pair, model.semantics)
            hinges = [(math.log2(1 + share / weighing.median), 1.0)]
        elif way is Counts.EXISTS:
            hinges = [(max(truths), 1.0)] if boolean else [(1 / n, truth) for truth in truths]
        elif way is Counts.LOG:
            total = math.log2(1 + sum(truths)) if boolean else math.log2(1 + n) / n
            hinges = [(total, 1.0)] if boolean else [(total, truth) for truth in truths]
        else:
            hinges = [(truth, 1.0) if boolean else (1.0, truth) for truth in truths]
        found += [(rule.weight * number, height, clause.negated) for number, height in hinges]
    return found


def pairs_of(*pairs: Pair) -> Targets:
    """Table of pairs."""
    return targets_of([(pair, 0) for pair in pairs])


def rich_worlds(
    value: st.SearchStrategy[int] = CRISP, max_facts: int = 12, arities: Sequence[int] = ALL
) -> st.SearchStrategy[RichWorld]:
    """Up to so many facts of these arities over four entities."""
    entity = st.sampled_from(ENTITIES)
    atoms = st.one_of(
        *(
            st.tuples(st.just(name), *([entity] * arity))
            for name, arity in ARITY.items()
            if arity in arities
        )
    )
    attribute = st.tuples(st.sampled_from("mn"), entity)
    some = st.frozensets(st.sampled_from([-1.0, 0.0, 2.0, 3.5]), min_size=1, max_size=3)
    numbers = st.dictionaries(attribute, some, min_size=1, max_size=6)
    return st.builds(RichWorld, st.dictionaries(atoms, value, max_size=max_facts), numbers)


# strategies are made once: to make them in every example takes longer than to draw from them


@cache
def steps_of(arities: tuple[int, ...]) -> st.SearchStrategy[Step]:
    """Steps along relations between two entities, and between two places of three."""
    two = st.builds(Step, st.sampled_from(["p", "q", "t", "nowhere"]), st.booleans())
    places = st.sampled_from([(0, 1), (0, 2), (1, 2)])
    three = st.builds(Step, st.just("r"), st.booleans(), places, st.just(3))
    return two | three if 3 in arities else two


ATTRIBUTES = st.sampled_from(["m", "n", "nothing"])
NUMBERS = st.builds(
    lambda attribute, minus, absolute, operator, bound: NumberCondition(
        attribute, minus, minus is not None and absolute, operator, bound
    ),
    ATTRIBUTES,
    st.none() | ATTRIBUTES,
    st.booleans(),
    st.sampled_from([Operator.AT_LEAST, Operator.BELOW]),
    st.sampled_from([-2.0, 0.0, 2.0, 3.0]).map(Bound),
)
KINDS = st.sampled_from(list(Kind))
CONSTANTS = st.sampled_from([*ENTITIES, "unheard"])
UNARY = st.sampled_from(["u", "v", "has_m"])
COIN, PLACE = st.booleans(), st.integers(0, 1)


@cache
def _walks(steps: st.SearchStrategy[Step], least: int) -> st.SearchStrategy[list[Step]]:
    """From so many to three steps."""
    return st.lists(steps, min_size=least, max_size=3)


@st.composite
def conditions(draw: st.DrawFn, target: str, arities: Sequence[int] = ALL) -> Body:
    """One condition of any kind."""
    kind, steps = draw(KINDS), steps_of(tuple(arities))
    if kind is Kind.PATH:
        return Body(tuple(draw(_walks(steps, 1))), target)
    argument = draw(PLACE)
    if kind is Kind.NUMBERS:
        number = draw(NUMBERS)
        return Body((), target, kind, 0 if number.absolute else argument, number=number)
    if kind is Kind.UNARY:
        return Body((Step(draw(UNARY), arity=1),), target, kind, argument)
    if kind is Kind.CHAIN:
        return _chain(draw, target, argument, steps)
    constant = draw(CONSTANTS) if kind is Kind.ANCHORED else None
    if constant is not None and draw(COIN):
        return Body((), target, kind, argument, constant)
    return Body((draw(steps),), target, kind, argument, constant)


ENDS = st.sampled_from(["anything", "a constant", "a fact", "a number"])


@st.composite
def chains(draw: st.DrawFn, target: str, argument: int, steps: st.SearchStrategy[Step]) -> Body:
    """A chain of up to three steps with any end."""
    return _chain(draw, target, argument, steps)


def _chain(draw: st.DrawFn, target: str, argument: int, steps: st.SearchStrategy[Step]) -> Body:
    end = draw(ENDS)
    walk = tuple(draw(_walks(steps, 1 if end in ("a fact", "a number") else 2)))
    if end == "a fact":
        return Body((*walk, Step(draw(UNARY), arity=1)), target, Kind.CHAIN, argument)
    if end == "a number":
        number = replace(draw(NUMBERS), minus=None, absolute=False)
        return Body(walk, target, Kind.CHAIN, argument, number=number)
    if end == "a constant":
        return Body(walk, target, Kind.CHAIN, argument, draw(CONSTANTS))
    *first, last = walk
    # an atom of three arguments has one step to anywhere
    open_step = Step.leaving(last.predicate, last.places[last.inverse], last.arity)
    return Body((*first, open_step), target, Kind.CHAIN, argument)


HOW_MANY = st.sampled_from([1, 1, 1, 2, 2, 3])
THRESHOLDS = st.sampled_from([None, None, None, Threshold(1), Threshold(2)])
SHARE_THRESHOLDS = st.sampled_from([Threshold(share, share=True) for share in (0.1, 0.4, 0.6)])
_conditions = cache(conditions)


@st.composite
def bodies(
    draw: st.DrawFn, target: str, arities: Sequence[int] = ALL, shares: bool = True
) -> AnyBody:
    """A condition, or up to three of them, some with thresholds."""
    parts = []
    for _ in range(draw(HOW_MANY)):
        body, threshold = draw(_conditions(target, tuple(arities))), draw(THRESHOLDS)
        if threshold and shares and body.kind is Kind.PATH and draw(COIN):
            threshold = draw(SHARE_THRESHOLDS)
        parts.append(Part(body, threshold))
    return simplest(parts)


def single(body: AnyBody) -> bool:
    """Whether it is one condition without a threshold."""
    return not isinstance(body, Conjunction)


WEIGHTS = st.sampled_from([0.0, 0.4, 1.0, 2.5])
PRIORS = st.lists(st.tuples(WEIGHTS, COIN), max_size=2)
PLAIN = st.sampled_from([None, Weighing(Counts.RAW), Weighing(Counts.LOG), Weighing(Counts.EXISTS)])
RELAXATIONS = st.sampled_from(Relaxation)
SEMANTICS = st.tuples(
    st.sampled_from([Counts.RAW, Counts.LOG, Counts.EXISTS]),
    st.sampled_from([None, None, 1, 2]),
    COIN,
    st.sampled_from([0.5, 0.5, 0.3, 0.7]),
)
_bodies = cache(bodies)


@st.composite
def rich_models(
    draw: st.DrawFn,
    target: str = "t",
    arities: Sequence[int] = ALL,
    *,
    shares: bool = True,
) -> hb.Model:
    """Up to six rules of any kind, each with its own way of counting, and priors."""
    relaxation, rules = draw(RELAXATIONS), []
    for _ in range(draw(st.integers(0, 5))):
        body, weighing = draw(_bodies(target, tuple(arities), shares)), draw(PLAIN)
        path = single(body) and body.parts[0].body.kind is Kind.PATH
        if shares and path and draw(COIN):
            weighing = Weighing(Counts.SHARE, draw(st.sampled_from([0.1, 1.0])))
        first = body.parts[0]
        # with facts beside it, or soft facts and continuous targets, a standardised number is
        # refused in places; tests of their own have these
        alone = all(not part.body.steps for part in body.parts)
        may_be_value = relaxation is Relaxation.BOOLEAN and alone and first.threshold is None
        if first.body.number is not None and may_be_value and draw(COIN):
            value = replace(first.body, number=first.body.number.value)
            body = simplest([Part(value), *body.parts[1:]])
            weighing = Weighing(Counts.Z, mean=draw(st.sampled_from([0.0, 2.0])), deviation=0.5)
        rules.append(Rule(draw(WEIGHTS), Clause(body, draw(COIN), weighing)))
    rules += [Rule(weight, prior(target, negated)) for weight, negated in draw(PRIORS)]
    counts, max_fanout, distinct, threshold = draw(SEMANTICS)
    semantics = Semantics(
        counts,
        relaxation,
        max_fanout=max_fanout,
        distinct_variables=distinct,
        threshold=threshold,
    )
    # a prior without weight says nothing, and lets every model have its target
    return hb.Model((*rules, Rule(0.0, prior(target))), semantics)


def rich_pairs(target: str = "t") -> st.SearchStrategy[Pair]:
    """A pair whose names may be unseen or the same."""
    name = st.sampled_from([*ENTITIES, "unseen"])
    return st.tuples(name, st.just(target), name)


def positive_bodies(model: hb.Model) -> list[AnyBody]:
    """Bodies of rules that pull upwards."""
    return [
        rule.clause.body
        for rule in model.rules
        if rule.weight > 0 and not rule.clause.negated and not rule.clause.is_prior
    ]
