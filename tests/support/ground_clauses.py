"""Collective statistics by the definition: every ground clause, every target, one by one.

It shares no code with the library: a ground clause is a tuple of atoms, truth is a set of them.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from itertools import product

from hornbeam.rules.body import Body
from tests.support.brute_force import ONE, Labels, Triple
from tests.support.brute_force import World as Values


def ground_clauses(
    path: Body, entities: Sequence[str], distinct: bool
) -> Iterator[tuple[list[Triple], Triple]]:
    """Body atoms and head of every ground clause of a sequence."""
    for nodes in product(entities, repeat=len(path) + 1):
        if distinct and len(set(nodes)) < len(nodes):
            continue
        body = [
            (there, step.predicate, here) if step.inverse else (here, step.predicate, there)
            for step, here, there in zip(path.steps, nodes, nodes[1:], strict=False)
        ]
        yield body, (nodes[0], path.target, nodes[-1])


class Conditioned:
    """Terms of every labelled target, given the facts and the other targets' labels."""

    def __init__(self, values: Values, labels: Labels) -> None:
        self.row = {target: i for i, (target, _) in enumerate(labels)}
        self.true = set(values) | {target for target, label in labels if 2 * label >= ONE}
        self.false = {target for target, label in labels if 2 * label < ONE} - set(values)
        triples = [*values, *self.row]
        self.entities = sorted({name for s, _, o in triples for name in (s, o)})

    def terms(self, path: Body, negated: bool, distinct: bool) -> Counter[tuple[str, int, int]]:
        """How often a target has a term: ("up", target, 1) or ("down", target, times)."""
        found: Counter[tuple[str, int, int]] = Counter()
        for body, head in ground_clauses(path, self.entities, distinct):
            untrue = set(body) - self.true
            # all of the body but the target itself is true, for one target at most if some is not
            if len(untrue) > 1 or (not negated and head in body):
                continue
            for target in {*body, head} & self.row.keys():
                if not untrue <= {target}:
                    continue
                row, times = self.row[target], body.count(target)
                if negated and (head == target or head in self.true):
                    found["down", row, times + (head == target)] += 1
                elif not negated and head == target:
                    found["up", row, 1] += 1
                elif not negated and head in self.false:
                    found["down", row, times] += 1
        return found
