"""What engines must return, found by walking every path in plain Python.

It shares no code with the engines: facts are a dictionary, a walk is a loop, sums are sums.
"""

from __future__ import annotations

import math
from collections import Counter, defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from hornbeam.rules.body import Body, Kind, Step
from hornbeam.rules.candidates import RuleLimits

ONE = 1_000_000
#: Most walks of a chain per start, or ends of it, if it does not lead through hubs.
HUB_WALKS = 100
#: Most walks one step further from one argument of the targets of a predicate.
MAX_WALKS = 10_000_000

Triple = tuple[str, str, str]
#: Truth value of every fact in millionths.
World = Mapping[Triple, int]
#: Truth value of every unary fact (entity, predicate).
Unary = Mapping[tuple[str, str], int]
#: Targets with their labels in millionths, in order; repeats are allowed.
Labels = Sequence[tuple[Triple, int]]
#: Steps that may be walked from a node: the step, its fact, and where it leads.
Leaving = Mapping[str, list[tuple[Step, Triple, str]]]
#: Rows of the sparse table: (target, body truth, paths).
Rows = list[tuple[int, int, int]]


@dataclass
class Figures:
    """What is known of one body; `shares` by target."""

    covered: set[int] = field(default_factory=set)
    paths: int = 0
    bodies: Counter[tuple[int, int]] = field(default_factory=Counter)
    shares: dict[int, float] = field(default_factory=lambda: defaultdict(float))
    #: Largest `min_coverage` for which a body of this coverage may be a candidate.
    most_coverage: int = 1 << 30

    def add(self, row: int, values: Sequence[int], share: float = 0.0) -> None:
        """Enter one grounding for a target by the values of its atoms."""
        if all(2 * value >= ONE for value in values):
            self.covered.add(row)
            self.paths += 1
        body = sum(values) - (len(values) - 1) * ONE
        if body > 0:
            self.bodies[row, body] += 1
            self.shares[row] += share

    @property
    def rows(self) -> Rows:
        """Rows in the order of the statistics."""
        return sorted((target, body, count) for (target, body), count in self.bodies.items())


def search(
    world: World, labels: Labels, language: RuleLimits, unary: Unary | None = None
) -> dict[Body, Figures]:
    """Every body of the language with a grounding, rounded or soft, for some target."""
    found: dict[Body, Figures] = defaultdict(Figures)
    leaving = steps_by_node(world, language.max_fanout)
    kinds = language.bodies or (Kind.PATH,)
    for row, (target, _) in enumerate(labels):
        if Kind.PATH in kinds:
            weights = weights_seen_by(world, target) if language.shares else {}
            for steps, facts in walked_facts(target, language, leaving):
                share = math.prod(weights.get(fact, 0.0) for fact in facts)
                found[Body(steps, target[1])].add(row, [world[fact] for fact in facts], share)
        for body, value in conditions(world, target, language, leaving, unary or {}):
            if body.kind in kinds:
                found[body].add(row, [value])
        if Kind.CHAIN in kinds:
            for body, truths in chains(world, target, language, leaving, unary or {}):
                found[body].add(row, truths)
    if Kind.CHAIN in kinds:
        limit_anchors(world, labels, language, leaving, unary or {}, found)
    return found


def limit_anchors(
    world: World,
    labels: Labels,
    language: RuleLimits,
    leaving: Leaving,
    unary: Unary,
    found: dict[Body, Figures],
) -> None:
    """Enter which chains to constants may be candidates.

    Two facts or more lead to the constant, enough entities have sure walks to it, and there are few
    walks by the same steps. An entity, or a pair with distinct variables, is walked from once.
    """
    entities: dict[Body, set[str]] = defaultdict(set)
    walks: dict[Body, dict[tuple[str, str], int]] = defaultdict(dict)
    ends: dict[Body, set[str]] = defaultdict(set)
    ahead: dict[Body, dict[tuple[str, ...], int]] = defaultdict(dict)
    covered: Counter[Body] = Counter()
    for target, size in Counter(target for target, _ in labels).items():
        here, sure = Counter[Body](), set[Body]()
        for body, truths in chains(world, target, language, leaving, unary, hides=False):
            if all(2 * value >= ONE for value in truths):
                entities[body].add(target[2 * body.argument])
                sure.add(body)
            here[body] += 1
        covered.update(dict.fromkeys(sure, size))
        for body, number in here.items():
            node, other = target[2 * body.argument], target[2 - 2 * body.argument]
            start = node, other if language.distinct_variables else ""
            walks[body][start] = number
            if body.kind is Kind.OPEN and body.constant is not None:
                free = replace(body, kind=Kind.CHAIN, constant=None)
                ends[free].add(body.constant)
                times = size if language.distinct_variables else 1
                ahead[free][*start, body.constant] = times * len(leaving[body.constant])

    def is_few(chain: Body) -> bool:
        most, n = sum(walks[chain].values()), len(ends[chain])
        return most <= max(HUB_WALKS * len(walks[chain]), 2 * n) or n <= HUB_WALKS

    longer = walked_on(
        {
            chain: sum(numbers.values())
            for chain, numbers in ahead.items()
            if is_few(chain) and covered[chain] >= language.min_coverage
        }
    )
    for body, figures in found.items():
        if body.kind is not Kind.CHAIN:
            continue
        free = replace(body, constant=None)
        *shorter, whole = (replace(free, steps=body.walk[: k + 1]) for k in range(len(body.walk)))
        if not longer.issuperset(shorter):
            figures.most_coverage = 0
        elif body.constant is not None:
            *_, last = body.steps
            facts = [f for f in world if f[1] == last.predicate]
            n_leading = sum(fact[0 if last.inverse else 2] == body.constant for fact in facts)
            figures.most_coverage = len(entities[body]) if is_few(whole) and n_leading > 1 else 0


def walked_on(forecast: Mapping[Body, int]) -> set[Body]:
    """The chains that are made longer, by how many walks they then have, see `MAX_WALKS`."""
    longer = set[Body]()
    for length in (1, 2):
        level = {
            chain: number
            for chain, number in forecast.items()
            if len(chain.steps) == length
            and (length == 1 or replace(chain, steps=chain.steps[:1]) in longer)
        }
        for chain, number in level.items():
            beside = [
                other
                for body, other in level.items()
                if (body.target, body.argument) == (chain.target, chain.argument)
            ]
            if sum(other for other in beside if other <= number) <= MAX_WALKS:
                longer.add(chain)
    return longer


def chains(
    world: World,
    target: Triple,
    language: RuleLimits,
    leaving: Leaving,
    unary: Unary,
    hides: bool = True,
) -> Iterator[tuple[Body, list[int]]]:
    """Every grounding of a chain for a target, with the truth values of its facts.

    With distinct variables no two variables are one entity; a constant may be any. The target's
    own fact is hidden, if `hides`; else the ends of chains of any length are given as open bodies.
    """
    subject, head, object_ = target
    distinct = language.distinct_variables
    if not {subject, object_} <= known_entities(world, unary) or (distinct and subject == object_):
        return
    for argument, (here, other) in enumerate([(subject, object_), (object_, subject)]):
        stack: list[tuple[list[str], tuple[Step, ...], list[int]]] = [([here], (), [])]
        while stack:
            nodes, steps, values = stack.pop()
            met = [*nodes, other]
            if len(steps) == min(3, language.max_length):
                continue
            for step, fact, there in leaving[nodes[-1]]:
                if hides and fact == target:
                    continue
                longer, truths = (*steps, step), [*values, world[fact]]
                if len(longer) > 1:
                    yield Body(longer, head, Kind.CHAIN, argument, there), truths
                if distinct and there in met:
                    continue
                if len(longer) > 1 or not hides:
                    yield Body(longer, head, Kind.CHAIN, argument), truths
                if not hides:
                    yield Body(longer, head, Kind.OPEN, argument, there), truths
                for (entity, predicate), value in unary.items():
                    # of a target on one entity, the own fact is unary
                    if hides and (entity, predicate, entity) == target:
                        continue
                    if entity == there and len(longer) < language.max_length:
                        ending = (*longer, Step(predicate, arity=1))
                        yield Body(ending, head, Kind.CHAIN, argument), [*truths, value]
                stack.append(([*nodes, there], longer, truths))


def known_entities(world: World, unary: Unary) -> set[str]:
    """Every entity that a fact has."""
    return {name for s, _, o in world for name in (s, o)} | {name for name, _ in unary}


def walks(
    world: World, target: Triple, language: RuleLimits, leaving: Leaving | None = None
) -> Iterator[tuple[tuple[Step, ...], list[int]]]:
    """Steps and truth values of every walk from the target's subject to its object."""
    leaving = leaving or steps_by_node(world, language.max_fanout)
    for steps, facts in walked_facts(target, language, leaving):
        yield steps, [world[fact] for fact in facts]


def walked_facts(
    target: Triple, language: RuleLimits, leaving: Leaving
) -> Iterator[tuple[tuple[Step, ...], list[Triple]]]:
    """Steps and facts of every walk from the target's subject to its object."""
    subject, _, object_ = target
    stack: list[tuple[list[str], tuple[Step, ...], list[Triple]]] = [([subject], (), [])]
    while stack:
        nodes, steps, facts = stack.pop()
        if steps and nodes[-1] == object_:
            yield steps, facts
        if len(steps) == language.max_length:
            continue
        for step, fact, there in leaving[nodes[-1]]:
            # a target is no evidence for itself, whichever way it is walked
            if fact == target or (language.distinct_variables and there in nodes):
                continue
            if len(steps) + 1 == language.max_length and there != object_:
                continue
            stack.append(([*nodes, there], (*steps, step), [*facts, fact]))


def weights_seen_by(world: World, target: Triple) -> dict[Triple, float]:
    """Weight of a step along every fact: 1 / sqrt(out-degree x in-degree), the target left out."""
    others = [fact for fact in world if fact != target]
    out_degree = Counter((subject, predicate) for subject, predicate, _ in others)
    in_degree = Counter((predicate, object_) for _, predicate, object_ in others)
    return {(s, p, o): 1 / math.sqrt(out_degree[s, p] * in_degree[p, o]) for s, p, o in others}


def conditions(
    world: World, target: Triple, language: RuleLimits, leaving: Leaving, unary: Unary
) -> Iterator[tuple[Body, int]]:
    """Every grounding of an open, unary or anchored body for a target, with its truth value.

    With distinct variables no two variables are one entity; a constant may be any.
    """
    subject, head, object_ = target
    if not {subject, object_} <= known_entities(world, unary):
        return
    distinct = language.distinct_variables
    for argument, here in enumerate((subject, object_)):
        yield Body((), head, Kind.ANCHORED, argument, here), ONE
        if distinct and subject == object_:
            continue
        for (entity, predicate), value in unary.items():
            if entity == here:
                yield Body((Step(predicate, arity=1),), head, Kind.UNARY, argument), value
        for step, fact, there in leaving[here]:
            if fact == target:
                continue
            yield Body((step,), head, Kind.ANCHORED, argument, there), world[fact]
            if not (distinct and there in (subject, object_)):
                yield Body((step,), head, Kind.OPEN, argument), world[fact]


def steps_by_node(world: World, max_fanout: int | None) -> Leaving:
    """Steps that may be walked from every node."""
    leaving: dict[str, list[tuple[Step, Triple, str]]] = defaultdict(list)
    for fact in world:
        subject, predicate, object_ = fact
        leaving[subject].append((Step(predicate), fact, object_))
        leaving[object_].append((Step(predicate, inverse=True), fact, subject))
    if max_fanout is not None:
        for node, steps in leaving.items():
            fanout = Counter(step for step, _, _ in steps)
            leaving[node] = [item for item in steps if fanout[item[0]] <= max_fanout]
    return leaving


def kept(
    found: Mapping[Body, Figures], labels: Labels, language: RuleLimits, texts: Mapping[Body, str]
) -> list[tuple[Body, int, int, int]]:
    """Candidates in their order: body, coverage, coverage among true targets, groundings."""
    rows = []
    for body, figures in found.items():
        coverage = len(figures.covered)
        true = sum(2 * labels[row][1] >= ONE for row in figures.covered)
        least = language.min_coverage
        if least > figures.most_coverage:
            continue
        if coverage >= least and body.predicates.isdisjoint(language.exclude):
            rows.append((body, coverage, true, figures.paths))
    rows.sort(key=lambda row: (-row[1], len(row[0]), texts[row[0]]))
    return rows[: language.top]


# Atoms of any number of arguments -----------------------------------------------------------------

#: An atom of other than two arguments: its predicate and its arguments.
Wide = tuple[str, tuple[str, ...]]
#: Truth value of every such atom in millionths.
WideWorld = Mapping[Wide, int]


def wide_steps(atoms: WideWorld) -> list[tuple[str, Step, Wide, str]]:
    """From, step, atom, to: every way to walk an atom between two of its places."""
    return [
        (arguments[i], Step(predicate, i > j, (min(i, j), max(i, j)), len(arguments)),
         (predicate, arguments), arguments[j])
        for predicate, arguments in atoms
        if len(arguments) > 2
        for i in range(len(arguments))
        for j in range(len(arguments))
        if i != j
    ]  # fmt: skip


def wide_search(
    world: World, atoms: WideWorld, labels: Labels, language: RuleLimits
) -> tuple[dict[Body, Figures], dict[tuple[Body, int], float]]:
    """Every sequence with a path over binary and wider atoms, and its shares by target row."""
    leaving: dict[str, list[tuple[Step, Any, str]]] = defaultdict(list)
    for node, listed in steps_by_node(world, None).items():
        leaving[node] += listed
    for here, step, atom, there in wide_steps(atoms):
        leaving[here].append((step, atom, there))
    degree = Counter((node, step) for node, listed in leaving.items() for step, _, _ in listed)
    if language.max_fanout is not None:
        for node, listed in leaving.items():
            leaving[node] = [x for x in listed if degree[node, x[0]] <= language.max_fanout]
    values: dict[Any, int] = {**world, **atoms}
    found: dict[Body, Figures] = defaultdict(Figures)
    shares: dict[tuple[Body, int], float] = defaultdict(float)
    for row, (target, _) in enumerate(labels):
        for nodes, steps, used in wide_walks(values, target, language, leaving):
            body = Body(tuple(steps), target[1])
            if all(2 * value >= ONE for value in used):
                found[body].covered.add(row)
                found[body].paths += 1
            truth = sum(used) - (len(used) - 1) * ONE
            if truth > 0:
                found[body].bodies[row, truth] += 1
                shares[body, row] += share_of(nodes, steps, target, target in world, degree)
    return found, shares


def wide_walks(
    values: Mapping[Any, int],
    target: Triple,
    language: RuleLimits,
    leaving: Mapping[str, list[Any]],
) -> Iterator[tuple[list[str], list[Step], list[int]]]:
    """Nodes, steps and truth values of every walk from the target's subject to its object."""
    stack: list[tuple[list[str], list[Step], list[int]]] = [([target[0]], [], [])]
    while stack:
        nodes, steps, used = stack.pop()
        if steps and nodes[-1] == target[2]:
            yield nodes, steps, used
        if len(steps) < language.max_length:
            for step, fact, there in leaving.get(nodes[-1], []):
                if fact == target or (language.distinct_variables and there in nodes):
                    continue
                if len(steps) + 1 == language.max_length and there != target[2]:
                    continue
                stack.append(([*nodes, there], [*steps, step], [*used, values[fact]]))


def share_of(
    nodes: Sequence[str],
    steps: Sequence[Step],
    target: Triple,
    own: bool,
    degree: Mapping[tuple[str, Step], int],
) -> float:
    """Product over a walk's steps of 1 / sqrt(out-degree x in-degree), the own edge left out."""
    subject, predicate, object_ = target

    def seen(node: str, step: Step) -> int:
        mine = own and step.predicate == predicate and step.arity == 2
        return degree[node, step] - (mine and node == (object_ if step.inverse else subject))

    share = 1.0
    for here, step, there in zip(nodes, steps, nodes[1:], strict=False):
        share /= math.sqrt(seen(here, step) * seen(there, step.reversed()))
    return share


def wide_conditions(
    world: World, atoms: WideWorld, labels: Labels, language: RuleLimits
) -> dict[Body, Counter[tuple[int, int]]]:
    """(target row, truth) -> groundings of open, anchored and unary conditions on such atoms.

    A target with an entity that no fact has is scored by the prior alone.
    """
    seen = {x for s, _, o in world for x in (s, o)} | {x for _, some in atoms for x in some}
    found: dict[Body, Counter[tuple[int, int]]] = defaultdict(Counter)
    walks = wide_steps(atoms)
    fanout = Counter((here, step) for here, step, _, _ in walks)
    for row, (target, _) in enumerate(labels):
        alike = language.distinct_variables and target[0] == target[2]
        if alike or not {target[0], target[2]} <= seen:
            continue
        for argument, (here, other) in enumerate([(target[0], target[2]), (target[2], target[0])]):
            for start, step, atom, there in walks:
                limit = language.max_fanout
                if start != here or (limit is not None and fanout[here, step] > limit):
                    continue
                kinds: list[tuple[Kind, str | None]] = [(Kind.ANCHORED, there)]
                # a constant is no variable
                if step.is_open and not (language.distinct_variables and there in (here, other)):
                    kinds.append((Kind.OPEN, None))
                for kind, constant in kinds:
                    body = Body((step,), target[1], kind, argument, constant)
                    found[body][row, atoms[atom]] += 1
            for (predicate, arguments), value in atoms.items():
                if arguments == (here,):
                    step = Step(predicate, arity=1)
                    found[Body((step,), target[1], Kind.UNARY, argument)][row, value] += 1
    return found
