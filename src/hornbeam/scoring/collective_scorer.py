"""Collective inference: all pairs are unknown together, and rules may link them to each other.

The MAP state of all pairs minimises the sum of all ground clauses' potentials, by ADMM. The score
of a pair is then the mean E[y] of its density with the other pairs at their MAP values: every
ground clause is a hinge in y whose knee the others decide, so closed forms remain.

* A pair among the facts is true for the others. It is not evidence for itself: its own
  score is the mean, or the MAP, of its density given the others.
* Targets in {0, 1} (the boolean relaxation) have no tractable joint state. The others are then held
  at the MAP state of the linear relaxation, and E[y] is that of y in {0, 1}: the potentials'
  difference between y = 0 and y = 1. That MAP state is also the score by MAP.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from hornbeam.base.arrays import Bools, Floats, pointers
from hornbeam.base.choices import CollectiveMethod, Relaxation, Score
from hornbeam.base.progress import SILENT, Progress
from hornbeam.counting.engine import Engine
from hornbeam.counting.opening import recursive_engine
from hornbeam.densities.hinges import hinge_map, hinge_moments
from hornbeam.densities.integrals import score_map, score_mean
from hornbeam.facts.table import Targets
from hornbeam.hlmrf.admm import Admm
from hornbeam.hlmrf.map_state import MapState, MapStatus, assess
from hornbeam.hlmrf.potentials import (
    ONE_RULE,
    ConditionalHinges,
    PotentialKind,
    Potentials,
    conditional_hinges,
)
from hornbeam.rules.rule_model import RuleModel
from hornbeam.scoring.independent_scores import strengths
from hornbeam.scoring.linked_clauses import CollectivePairGraph, weighted
from hornbeam.scoring.model_checks import check_collective

#: Settings of ADMM: tighter tolerances than usual, since scores depend on the state, and a step
#: size for programs in which few rows have weights near the largest.
EPSILON_ABS, EPSILON_REL, MAX_ITERATIONS = 1e-6, 1e-4, 5000
ADMM_STEPS = {PotentialKind.LINEAR: 0.01, PotentialKind.SQUARED: 0.03}
#: Maximum number of iterations of the means.
MAX_ROUNDS = 200


@dataclass(frozen=True, eq=False)
class CollectiveState:
    """Pairs at their MAP values, and all ground clauses that contain them.

    The variables are the distinct pairs `linked.atoms`, of which those among the facts are held at
    1. `potentials` are all ground clauses and priors over them, `state` their MAP values, and
    `solved` is how these were found. Where rules move only their heads, `negated` gives the rules
    that deny them, and the state is that of the means.
    """

    linked: CollectivePairGraph
    potentials: Potentials
    state: Floats
    solved: MapState
    relaxation: Relaxation
    negated: Bools | None = None

    def scores(self, score: Score = Score.MEAN) -> Floats:
        """Score of every pair, in the order the pairs were given."""
        own = self.own_scores(score)
        if score is Score.MAP:
            of_one = self.linked.stated | (self.negated is not None)
            own = np.where(of_one, own, self.state)
        return np.asarray(own[self.linked.place])

    def own_scores(self, score: Score) -> Floats:
        """E[y] or the best value of each distinct pair with the others at their MAP values."""
        hinges, n = self.conditional_hinges(), self.potentials.n_variables
        if score is Score.MEAN:
            return conditional_means(hinges, n, self.relaxation)
        if self.relaxation is Relaxation.BOOLEAN:
            return score_map(*hinges.strengths(n), self.relaxation)
        return hinge_map(hinges.grouped(n), ONE_RULE, self.relaxation)

    def conditional_hinges(self) -> ConditionalHinges:
        """What each ground clause is to each of its variables, given the others' MAP values.

        Where rules move only their heads, body atoms have no hinges.
        """
        rows = self.potentials
        found = conditional_hinges(rows, self.state, self.relaxation is Relaxation.SQUARED)
        if self.negated is not None:
            rule = rows.rule[rows.row]
            strength = np.where((rule < 0) | ~found.down, found.strength, 0.0)
            down = np.where(rule < 0, found.down, np.append(self.negated, False)[rule])
            return found._replace(down=down, strength=strength)
        return found


def conditional_means(hinges: ConditionalHinges, n: int, relaxation: Relaxation) -> Floats:
    """E[y] of each of `n` variables by its hinges; 0.5 without any."""
    if relaxation is Relaxation.BOOLEAN:
        return score_mean(*hinges.strengths(n), relaxation)
    return hinge_moments(hinges.grouped(n), ONE_RULE, relaxation).mean


def infer_pairs(
    model: RuleModel, engine: Engine, pairs: Targets, progress: Progress = SILENT
) -> CollectiveState:
    """Find the MAP state of all pairs of a collective model; their labels are not looked at."""
    return infer_linked(model, as_variables(model, engine, pairs), progress)


def as_variables(model: RuleModel, engine: Engine, pairs: Targets) -> CollectivePairGraph:
    """The pairs of a collective model as variables; the weights do not matter."""
    check_collective(model)
    return CollectivePairGraph.of(recursive_engine(engine, model.semantics.max_fanout), pairs)


def infer_linked(
    model: RuleModel, linked: CollectivePairGraph, progress: Progress = SILENT
) -> CollectiveState:
    """Find the MAP state of linked pairs under the weights of a model."""
    relaxation, stated = model.semantics.relaxation, linked.stated
    kind = PotentialKind.SQUARED if relaxation is Relaxation.SQUARED else PotentialKind.LINEAR
    heads_only = model.semantics.collective is CollectiveMethod.MAP_HEADS
    if heads_only:
        links = weighted(linked.count_by_rule(model, progress), model)
    else:
        links = linked.ground(model, kind, progress)
    counted = linked.known.count(linked.atoms, model.bodies, model.language, progress=progress)
    up, down = strengths(model, counted, linked.atoms)
    potentials = _with_pulls(links, up, down, kind)
    if heads_only:
        negated = np.array([rule.clause.negated for rule in model.rules], dtype=np.bool_)
        start = np.where(stated, 1.0, score_mean(up, down, relaxation))
        return _believed_state(linked, potentials, start, relaxation, negated)
    solver = Admm(
        step=ADMM_STEPS[kind],
        epsilon_abs=EPSILON_ABS,
        epsilon_rel=EPSILON_REL,
        max_iterations=MAX_ITERATIONS,
        threads=linked.known.threads,
    )
    start = np.where(stated, 1.0, score_map(up, down, relaxation))
    solved = solver.solve(_held_at_one(potentials, stated), start, progress)
    unconstrained = np.bincount(potentials.variable, minlength=len(up)) == 0
    state = np.where(stated, 1.0, np.where(unconstrained, 0.5, solved.state))
    return CollectiveState(linked, potentials, state, solved, relaxation)


def _believed_state(
    linked: CollectivePairGraph,
    potentials: Potentials,
    start: Floats,
    relaxation: Relaxation,
    negated: Bools,
) -> CollectiveState:
    """The means of all pairs given each other's, where rules move only their heads.

    This state is not the minimum of an energy, since heads have no influence on bodies. The means
    are iterated with damping 1/2 until they converge.
    """
    state, status, none = start, MapStatus.ITERATIONS, np.zeros(len(potentials))
    unsolved = assess(potentials, start, none, status, "means", np.inf)
    for _ in range(MAX_ROUNDS):
        found = CollectiveState(linked, potentials, state, unsolved, relaxation, negated)
        after = np.where(linked.stated, 1.0, 0.5 * (state + found.own_scores(Score.MEAN)))
        moved, state = float(np.max(np.abs(after - state), initial=0.0)), after
        if moved < EPSILON_ABS:
            status = MapStatus.CONVERGED
            break
    solved = assess(potentials, state, none, status, "means", np.inf)
    return CollectiveState(linked, potentials, state, solved, relaxation, negated)


def _with_pulls(links: Potentials, up: Floats, down: Floats, kind: PotentialKind) -> Potentials:
    """Add to the links the ground clauses of one variable: up (1 - y)^p and down y^p."""
    pulled, pushed = np.flatnonzero(up > 0.0), np.flatnonzero(down > 0.0)
    signs = np.repeat([-1.0, 1.0], [len(pulled), len(pushed)])
    pulls = Potentials.of(
        links.n_variables,
        np.arange(len(signs)),
        np.concatenate([pulled, pushed]),
        signs,
        np.where(signs < 0.0, 1.0, 0.0),
        np.concatenate([up[pulled], down[pushed]]),
    )
    return Potentials.joined(links.n_variables, [links, pulls.of_rule(-1, kind, 1.0)])


def _held_at_one(potentials: Potentials, held: Bools) -> Potentials:
    """The program with some variables replaced by 1."""
    if not held.any():
        return potentials
    gone = held[potentials.variable]
    shift = np.bincount(potentials.row[gone], potentials.coefficient[gone], len(potentials))
    sizes = np.bincount(potentials.row[~gone], minlength=len(potentials))
    put_in = replace(
        potentials,
        indptr=pointers(sizes),
        variable=potentials.variable[~gone],
        coefficient=potentials.coefficient[~gone],
        constant=potentials.constant + shift,
    )
    return put_in.select(sizes > 0)
