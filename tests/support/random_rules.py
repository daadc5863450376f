"""Random rule models, and their scores from the definition."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise

import numpy as np
from hypothesis import strategies as st

from hornbeam.base.choices import Relaxation
from hornbeam.rules.body import Body, Step
from hornbeam.rules.clause import Clause, prior
from hornbeam.rules.rule_model import Rule, RuleModel, Semantics
from hornbeam.rules.weighing import Counts
from tests.support.brute_force import ONE, Triple, walks
from tests.support.brute_force import World as Values
from tests.support.worlds import PREDICATES

#: One ground clause: its rule's weight times its share, body truth, whether the head is negated.
Hinge = tuple[float, float, bool]


@dataclass(frozen=True)
class ReferenceModel(RuleModel):
    """A rule model that finds its ground clauses by walking, one by one."""

    def hinges(self, world: Values, pair: Triple) -> list[Hinge]:
        """List every ground clause that has the pair for its head, found by walking."""
        found: dict[tuple[Step, ...], list[float]] = {}
        for steps, values in walks(world, pair, self.language):
            body = sum(values) - (len(values) - 1) * ONE
            if body > 0:
                found.setdefault(steps, []).append(body / ONE)
        hinges = []
        for rule in self.rules:
            clause = rule.clause
            if clause.is_prior:
                if clause.target == pair[1]:
                    hinges.append((rule.weight, 1.0, clause.negated))
            elif clause.body.target == pair[1]:
                [part] = clause.body.parts
                bodies = found.get(part.body.steps, [])
                n = len(bodies)
                share = {
                    Counts.RAW: 1.0,
                    Counts.LOG: np.log2(1 + n) / max(n, 1),
                    Counts.EXISTS: 1 / max(n, 1),
                }[self.counts_of(clause).counts]
                hinges += [(rule.weight * share, body, clause.negated) for body in bodies]
        return hinges

    def reaches(self, world: Values, pair: Triple) -> bool:
        """Whether a positive rule of some weight has a ground clause for the pair."""
        grounded = [
            rule for rule in self.rules
            if not rule.clause.is_prior and not rule.clause.negated and rule.weight > 0
        ]  # fmt: skip
        return bool(self.with_rules(grounded).hinges(world, pair))


def energy(hinges: Sequence[Hinge], y: np.ndarray, p: int) -> np.ndarray:
    """f(y): sum of w max(0, b - y)^p, and of w max(0, b + y - 1)^p for negated heads."""
    total = np.zeros_like(y)
    for weight, body, negated in hinges:
        total += weight * np.maximum(0.0, body + y - 1 if negated else body - y) ** p
    return total


def mean_by_quadrature(hinges: Sequence[Hinge], relaxation: Relaxation) -> float:
    """E[y], by summation over {0, 1} or over nodes between the knees."""
    p = 2 if relaxation is Relaxation.SQUARED else 1
    if relaxation is Relaxation.BOOLEAN:
        y, share = np.array([0.0, 1.0]), np.ones(2)
    else:
        knees = sorted({0.0, 1.0, *(1 - b if negated else b for _, b, negated in hinges)})
        x, w = np.polynomial.legendre.leggauss(40)
        cuts = np.unique(np.concatenate([np.linspace(*ends, 5) for ends in pairwise(knees)]))
        width = np.diff(cuts)
        y = (cuts[:-1, None] + width[:, None] * (x + 1) / 2).ravel()
        share = (width[:, None] * w / 2).ravel()
    f = energy(hinges, y, p)
    density = share * np.exp(f.min() - f)
    return float(density @ y / density.sum())


@st.composite
def rule_models(
    draw: st.DrawFn, target: str = "t", relaxations: Sequence[Relaxation] = tuple(Relaxation)
) -> ReferenceModel:
    """Up to six rules of length 1 to 3 for a target, over known predicates and one unknown."""
    distinct = draw(st.booleans())
    step = st.builds(Step, st.sampled_from([*PREDICATES, "nowhere"]), st.booleans())
    body = st.lists(step, min_size=1, max_size=3).map(tuple)
    weight = st.sampled_from([0.0, 0.5, 1.0, 2.5]) | st.floats(0, 10)
    path_rule = st.builds(
        lambda w, steps, negated: Rule(w, Clause(Body(steps, target), negated)),
        weight,
        body,
        st.booleans(),
    )
    priors = st.builds(lambda w, negated: Rule(w, prior(target, negated)), weight, st.booleans())
    rules = draw(st.lists(path_rule, max_size=5)) + draw(st.lists(priors, max_size=2))
    fanout = draw(st.none() | st.integers(1, 3))
    semantics = Semantics(
        draw(st.sampled_from([Counts.RAW, Counts.LOG, Counts.EXISTS])),
        draw(st.sampled_from(relaxations)),
        max_fanout=fanout,
        distinct_variables=distinct,
    )
    return ReferenceModel(tuple(rules), semantics)
