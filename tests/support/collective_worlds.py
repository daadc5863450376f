"""Rules about pairs that are scored together, and the energy of all their ground clauses."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise

from hypothesis import strategies as st

from hornbeam.base.arrays import Floats
from hornbeam.base.choices import Relaxation
from hornbeam.rules.body import Body, Step
from hornbeam.rules.clause import Clause, prior
from hornbeam.rules.rule_model import Rule
from hornbeam.scoring.collective_scorer import CollectiveState
from hornbeam.scoring.model_checks import collective_path
from tests.support.brute_force import Triple
from tests.support.ground_clauses import ground_clauses
from tests.support.worlds import TARGETS, World


@dataclass(frozen=True)
class Energy:
    """Sum of the potentials of all ground clauses that have a pair in them."""

    rules: Sequence[Rule]
    world: World
    relaxation: Relaxation
    distinct: bool = False

    @property
    def pairs(self) -> list[Triple]:
        return [pair for pair, _ in self.world.labels]

    def __call__(self, value: dict[Triple, float]) -> float:
        p = 2 if self.relaxation is Relaxation.SQUARED else 1
        pairs = set(self.pairs)
        known = set(self.world.values) - pairs
        entities = sorted({name for s, _, o in [*known, *pairs] for name in (s, o)})
        truth = dict.fromkeys(known, 1.0) | value
        total = 0.0
        for rule in self.rules:
            clause = rule.clause
            if clause.is_prior:
                mine = [value[pair] for pair in pairs if pair[1] == clause.target]
                total += sum(rule.weight * (y if clause.negated else 1 - y) ** p for y in mine)
                continue
            path = collective_path(clause)
            for body, head in ground_clauses(path, entities, self.distinct):
                listed = all(atom in truth for atom in [*body, head])
                if not listed or not pairs & {*body, head}:
                    continue
                if not clause.negated and head in body:
                    continue
                b = max(0.0, sum(truth[atom] for atom in body) - (len(body) - 1))
                gap = b + truth[head] - 1 if clause.negated else b - truth[head]
                total += rule.weight * max(0.0, gap) ** p
        return total


def at(state: CollectiveState, y: Floats) -> dict[Triple, float]:
    """Values of the distinct pairs by name."""
    atoms = state.linked.atoms
    return {
        (atoms.entities[s], atoms.predicates[p], atoms.entities[o]): float(value)
        for s, p, o, value in zip(
            atoms.subject.tolist(), atoms.predicate.tolist(), atoms.object.tolist(), y.tolist(),
            strict=True,
        )
    }  # fmt: skip


STEPS = st.builds(Step, st.sampled_from(TARGETS), st.booleans())


@st.composite
def models(draw: st.DrawFn, longest: int = 3) -> list[Rule]:
    """Rules over the predicates of the random worlds, and a prior per target."""
    rules: list[Rule] = []
    for _ in range(draw(st.integers(1, 4))):
        steps = tuple(draw(st.lists(STEPS, min_size=1, max_size=longest)))
        path = Body(steps, draw(st.sampled_from(TARGETS)))
        rules.append(Rule(draw(st.floats(0.1, 3)), Clause(path, draw(st.booleans()))))
    weights = st.floats(0, 1)
    return [*rules, *(Rule(draw(weights), prior(name)) for name in TARGETS)]


RELAXATIONS = st.sampled_from(list(Relaxation))


def chain() -> World:
    """Friends of friends: pairs support each other, one of them stands among the facts."""
    one = 1_000_000
    names = "abcd"
    values = {(s, "p", o): one for s, o in pairwise(names)}
    labels = [((s, "t", o), 0) for s in names for o in names if s < o]
    return World(values, labels)


RULES = [
    Rule(2.0, Clause(Body((Step("p"),), "t"))),
    Rule(3.0, Clause(Body((Step("t"), Step("t")), "t"))),
    Rule(0.05, prior("t")),
]
