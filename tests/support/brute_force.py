"""What engines must return, found by walking every path in plain Python.

It shares no code with the engines: facts are a dictionary, a walk is a loop, sums are sums.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field

from hornbeam.rules.body import Body, Step
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
