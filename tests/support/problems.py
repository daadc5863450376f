"""Small learning problems, and their objective written down a second time.

What is checked here shares no code with the learners: strengths are dense matrix products, and
integrals are sums over Gauss-Legendre nodes.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np
import numpy.typing as npt
from hypothesis import strategies as st
from scipy.optimize import minimize

from hornbeam.base.arrays import Floats
from hornbeam.base.choices import Relaxation
from hornbeam.counting.statistics import Statistics
from hornbeam.facts.names import Names
from hornbeam.facts.table import ONE, Targets
from hornbeam.learning.body_clauses import model_counts
from hornbeam.learning.count_problem import CountProblem
from hornbeam.learning.learner import Learner
from hornbeam.learning.rule_learning import LearnedRules, learn_rules
from hornbeam.learning.rule_learning import problem_of as lay_out
from hornbeam.rules.body import Body, Step
from hornbeam.rules.rule_model import Semantics
from hornbeam.rules.weighing import Counts

#: Composite Gauss-Legendre on [0, 1]: exact to rounding for strengths up to some hundreds.
_X, _W = np.polynomial.legendre.leggauss(16)
PANELS = 8
NODES = np.concatenate([(k + (_X + 1) / 2) / PANELS for k in range(PANELS)])
SHARES = np.concatenate([_W / 2 / PANELS for _ in range(PANELS)])


def paths_of(n: int, lengths: Sequence[int] | None = None) -> list[Body]:
    """Distinct paths to stand for the columns of a table of counts."""
    lengths = [1] * n if lengths is None else lengths
    return [Body((Step(f"p{j}"),) * lengths[j], "t") for j in range(n)]


def statistics_of(counts: npt.ArrayLike, lengths: Sequence[int] | None = None) -> Statistics:
    """Table of counts from a dense (targets, sequences) array."""
    table = np.asarray(counts, dtype=np.int64)
    target, path = table.nonzero()
    body = np.full(len(target), ONE, dtype=np.int32)
    paths = paths_of(table.shape[1], lengths)
    return Statistics.of(
        paths, len(table), path, target.astype(np.int32), body, table[target, path]
    )


def labels_of(y: npt.ArrayLike) -> Targets:
    """Targets t(s0, o), t(s1, o), ... with these labels."""
    labels = np.asarray(y, dtype=np.float64)
    names = Names.of([f"s{i:04d}" for i in range(len(labels))] + ["o"])
    ids = names.find(f"s{i:04d}" for i in range(len(labels)))
    return Targets(
        names,
        Names.of(["t"]),
        np.zeros(len(labels), dtype=np.int32),
        ids,
        np.full(len(labels), names.index("o"), dtype=np.int32),
        np.round(labels * ONE).astype(np.int32),
    )


def problem_of(
    counts: npt.ArrayLike,
    y: npt.ArrayLike,
    relaxation: Relaxation = Relaxation.BOOLEAN,
    kind: Counts = Counts.RAW,
    lengths: Sequence[int] | None = None,
) -> CountProblem:
    """Lay out a problem from a dense table of counts and labels."""
    return CountProblem.of(statistics_of(counts, lengths), labels_of(y), [kind], relaxation)


def learned_rules(
    statistics: Statistics,
    labels: Targets,
    learner: Learner,
    counts: Counts | None = None,
    relaxation: Relaxation = Relaxation.BOOLEAN,
) -> LearnedRules:
    """Learn rules from statistics, as `hornbeam.learn` does; counts of None are the learner's."""
    ways = learner.counts if counts is None else (counts,)
    problem = lay_out(statistics, labels, ways, relaxation)
    semantics = Semantics(model_counts(ways), relaxation=relaxation)
    return learn_rules(problem, learner, semantics)


def dense(problem: CountProblem) -> tuple[Floats, Floats]:
    """U and D with A = U w and B = D w."""
    up = np.zeros((len(problem.y), len(problem.clauses)))
    down = np.zeros_like(up)
    for side, table in enumerate((up, down)):
        for k in range(len(problem.clauses)):
            part = problem.entries(k, side)
            table[problem.row[part], k] = problem.x[part]
    return up, down


def density(up: Floats, down: Floats, relaxation: Relaxation) -> tuple[Floats, Floats, Floats]:
    """log Z and the means of (1-y)^p and y^p of exp(-A (1-y)^p - B y^p), by summation."""
    p = 2 if relaxation is Relaxation.SQUARED else 1
    boolean = relaxation is Relaxation.BOOLEAN
    y = np.array([0.0, 1.0]) if boolean else NODES
    share = np.ones(2) if boolean else SHARES
    high, low = (1 - y) ** p, y**p
    energy = np.outer(up, high) + np.outer(down, low)
    least = energy.min(axis=1, keepdims=True)
    weight = share * np.exp(least - energy)
    z = weight.sum(axis=1)
    return np.log(z) - least[:, 0], weight @ high / z, weight @ low / z


@dataclass(frozen=True, eq=False)
class Reference:
    """The penalised loss and its gradient, written down a second time."""

    problem: CountProblem
    linear: Floats
    ridge: Floats

    @cached_property
    def design(self) -> tuple[Floats, Floats]:
        return dense(self.problem)

    def __call__(self, weights: Floats) -> tuple[float, Floats]:
        u, d = self.design
        p = 2 if self.problem.relaxation is Relaxation.SQUARED else 1
        y = self.problem.y
        observed = (1 - y) ** p, y**p
        log_z, e_up, e_down = density(u @ weights, d @ weights, self.problem.relaxation)
        loss = np.sum(log_z + (u @ weights) * observed[0] + (d @ weights) * observed[1])
        penalty = self.linear @ weights + self.ridge @ weights**2 / 2
        gradient = u.T @ (observed[0] - e_up) + d.T @ (observed[1] - e_down)
        return float(loss + penalty), gradient + self.linear + self.ridge * weights

    def minimum(self, members: Sequence[int] | None = None) -> tuple[Floats, float]:
        """Best weights of the member clauses (all by default), the others at 0, by SciPy."""
        n = len(self.problem.clauses)
        free = np.arange(n) if members is None else np.array(members, dtype=np.int64)
        if not len(free):
            return np.zeros(n), self(np.zeros(n))[0]

        def restricted(part: Floats) -> tuple[float, Floats]:
            weights = np.zeros(n)
            weights[free] = part
            loss, gradient = self(weights)
            return loss, gradient[free]

        part, least = np.full(len(free), 0.1), np.inf
        for _ in range(20):  # its line search gives up early now and then: begin again
            found = minimize(
                restricted,
                part,
                jac=True,
                method="L-BFGS-B",
                bounds=[(0, None)] * len(free),
                options={"ftol": 1e-14, "gtol": 1e-8, "maxiter": 2000, "maxcor": 20},
            )
            if not found.fun < least - 1e-9:
                break
            part, least = found.x, float(found.fun)
        weights = np.zeros(n)
        weights[free] = part
        return weights, least


def violation(weights: Floats, gradient: Floats) -> float:
    """Largest violation of the optimality conditions over w >= 0."""
    return float(
        np.max(np.where(weights > 0, np.abs(gradient), np.maximum(-gradient, 0)), initial=0)
    )


@st.composite
def problems(
    draw: st.DrawFn,
    relaxation: st.SearchStrategy[Relaxation] = st.sampled_from(Relaxation),  # noqa: B008
    soft: bool = False,
    max_columns: int = 4,
) -> CountProblem:
    """Up to 12 targets and 4 sequences with counts from 0 to 6; both classes are there."""
    n, k = draw(st.integers(2, 12)), draw(st.integers(1, max_columns))
    seed = draw(st.integers(0, 2**32 - 1))
    rng = np.random.default_rng(seed)
    counts = rng.integers(1, 7, (n, k)) * (rng.random((n, k)) < draw(st.sampled_from([0.3, 0.7])))
    # true where the first sequence leads, up to noise: some clauses pay, others do not
    y = ((counts[:, 0] > 0) ^ (rng.random(n) < draw(st.sampled_from([0.0, 0.2, 0.5])))).astype(
        float
    )
    y[:2] = 0.0, 1.0
    y = np.round(0.1 + 0.8 * rng.random(n), 3) if soft else y
    lengths = rng.integers(1, 4, k).tolist()
    kind = draw(st.sampled_from([Counts.RAW, Counts.LOG, Counts.EXISTS]))
    return problem_of(counts, y, draw(relaxation), kind, lengths)
