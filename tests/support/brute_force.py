"""What engines must return, found by walking every path in plain Python.

It shares no code with the engines: facts are a dictionary, a walk is a loop, sums are sums.
"""

from __future__ import annotations

import math
from collections import Counter, defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from hornbeam.rules.body import Body, Kind, Step
from hornbeam.rules.candidates import Language

ONE = 1_000_000

Triple = tuple[str, str, str]
#: Truth value of every fact in millionths.
World = Mapping[Triple, int]
#: Targets with their labels in millionths, in order; repeats are allowed.
Labels = Sequence[tuple[Triple, int]]
#: Steps that may be walked from a node: the step, its fact, and where it leads.
Leaving = Mapping[str, list[tuple[Step, Triple, str]]]
#: Rows of the sparse table: (target, body truth, paths).
Rows = list[tuple[int, int, int]]


@dataclass
class Figures:
    """What is known of one relation sequence."""

    covered: set[int] = field(default_factory=set)
    paths: int = 0
    bodies: Counter[tuple[int, int]] = field(default_factory=Counter)

    @property
    def rows(self) -> Rows:
        """Rows in the order of the statistics."""
        return sorted((target, body, count) for (target, body), count in self.bodies.items())


def search(world: World, labels: Labels, language: Language) -> dict[Body, Figures]:
    """Every sequence with a path, rounded or soft, between the arguments of some target."""
    found: dict[Body, Figures] = defaultdict(Figures)
    leaving = steps_by_node(world, language.max_fanout)
    for row, (target, _) in enumerate(labels):
        for steps, values in walks(world, target, language, leaving):
            figures = found[Body(steps, target[1])]
            if all(2 * value >= ONE for value in values):
                figures.covered.add(row)
                figures.paths += 1
            body = sum(values) - (len(values) - 1) * ONE
            if body > 0:
                figures.bodies[row, body] += 1
    return found


def walks(
    world: World, target: Triple, language: Language, leaving: Leaving | None = None
) -> Iterator[tuple[tuple[Step, ...], list[int]]]:
    """Steps and truth values of every walk from the target's subject to its object."""
    leaving = leaving or steps_by_node(world, language.max_fanout)
    subject, _, object_ = target
    stack: list[tuple[list[str], tuple[Step, ...], list[int]]] = [([subject], (), [])]
    while stack:
        nodes, steps, values = stack.pop()
        if steps and nodes[-1] == object_:
            yield steps, values
        if len(steps) == language.max_length:
            continue
        for step, fact, there in leaving[nodes[-1]]:
            # a target is no evidence for itself, whichever way it is walked
            if fact == target or (language.distinct_variables and there in nodes):
                continue
            if len(steps) + 1 == language.max_length and there != object_:
                continue
            stack.append(([*nodes, there], (*steps, step), [*values, world[fact]]))


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
    found: Mapping[Body, Figures], labels: Labels, language: Language, texts: Mapping[Body, str]
) -> list[tuple[Body, int, int, int]]:
    """Candidates in their order: sequence, coverage, coverage among true targets, paths."""
    rows = []
    for path, figures in found.items():
        coverage = len(figures.covered)
        true = sum(2 * labels[row][1] >= ONE for row in figures.covered)
        if coverage >= language.min_coverage:
            rows.append((path, coverage, true, figures.paths))
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
    world: World, atoms: WideWorld, labels: Labels, language: Language
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
    values: Mapping[Any, int], target: Triple, language: Language, leaving: Mapping[str, list[Any]]
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
    world: World, atoms: WideWorld, labels: Labels, language: Language
) -> dict[Body, Counter[tuple[int, int]]]:
    """(target row, truth) -> groundings of open, anchored and unary conditions on such atoms.

    A target with an entity that no fact has is scored by the prior alone.
    """
    seen = {x for s, _, o in world for x in (s, o)} | {x for _, some in atoms for x in some}
    found: dict[Body, Counter[tuple[int, int]]] = defaultdict(Counter)
    walks = wide_steps(atoms)
    fanout = Counter((here, step) for here, step, _, _ in walks)
    for row, (target, _) in enumerate(labels):
        if not {target[0], target[2]} <= seen:
            continue
        for argument, (here, other) in enumerate([(target[0], target[2]), (target[2], target[0])]):
            for start, step, atom, there in walks:
                limit = language.max_fanout
                if start != here or (limit is not None and fanout[here, step] > limit):
                    continue
                if language.distinct_variables and there in (here, other):
                    continue
                kinds = [(Kind.ANCHORED, there)] + [(Kind.OPEN, None)] * step.is_open
                for kind, constant in kinds:
                    body = Body((step,), target[1], kind, argument, constant)
                    found[body][row, atoms[atom]] += 1
            for (predicate, arguments), value in atoms.items():
                if arguments == (here,):
                    step = Step(predicate, arity=1)
                    found[Body((step,), target[1], Kind.UNARY, argument)][row, value] += 1
    return found
