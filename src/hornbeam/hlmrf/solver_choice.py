"""When ADMM is left for the exact solver: estimated costs of both, from counts alone.

ADMM's residuals shrink by about the same factor in every period of iterations. So the factor of the
latest period tells how many iterations are left. The interior-point method takes about the same
number of iterations in every program; the cost of an iteration follows from the numbers of entries
of its matrix and of the matrix's triangular factor, which are known before the first iteration.

Costs are nanoseconds of one core of an ordinary machine. Clocks are not read: the same program is
solved in the same way on every machine.
"""

from __future__ import annotations

import math

import numpy as np

from hornbeam.hlmrf.admm import ARRAY_CALLS, PERIOD, WORTH_COMPILING, Admm, Residuals
from hornbeam.hlmrf.exact import MANY_PRODUCTS, InteriorPoint, dense_products
from hornbeam.hlmrf.potentials import Potentials

#: Cost of an iteration of ADMM per literal, by arrays and by compiled loops; number of literals
#: that cost as much as the rest of an iteration; cost of loading the compiled loops.
ARRAY_LITERAL, COMPILED_LITERAL, ADMM_CALLS, ADMM_LOADING = 30.0, 8.0, 5_000, 6e8
#: Iterations of the interior-point method, their cost per entry, the cost of the setup per entry,
#: and the cost of loading the solver.
EXACT_ITERATIONS, EXACT_ENTRY, EXACT_SETUP, EXACT_LOADING = 20, 52.0, 500.0, 1e8
#: Cost per multiplication of the factorisation's dense part, entry by entry and by blocks.
ENTRY_PRODUCT, BLOCK_PRODUCT = 0.5, 0.1
#: Entries of matrix and factor per literal in programs without fill-in: a lower estimate.
MATRIX_ENTRIES, FACTOR_ENTRIES = 3.0, 1.8
#: Maximum number of entries of matrix and factor, about a gigabyte.
MAX_ENTRIES = 30_000_000
#: Maximum of a bound of the factor's entries up to which the factorisation is analysed.
MAX_FILL = 200_000_000


class ExactAlternative:
    """The exact solver as ADMM's alternative for a program, set up once it may be worth it."""

    def __init__(self, potentials: Potentials, admm: Admm) -> None:
        """Keep the program; nothing is computed yet."""
        self.potentials, self.admm = potentials, admm
        self.literals = len(potentials.variable)
        self.prepared: InteriorPoint | None = None
        self._fits = self.literals * (MATRIX_ENTRIES + FACTOR_ENTRIES) <= MAX_ENTRIES
        self._latest = math.inf  # the previous period's residual, in units of its limit

    def is_quicker(self, iterations: int, residuals: Residuals) -> bool:
        """Whether the exact solver costs less than the iterations that ADMM still needs.

        To be called after every period of ADMM that did not end it.
        """
        ratios = (residuals.primal, residuals.primal_limit), (residuals.dual, residuals.dual_limit)
        now = max(math.inf if limit == 0.0 else size / limit for size, limit in ratios)
        latest, self._latest = self._latest, now
        if math.isinf(latest):
            return False  # one period alone tells nothing
        left = self._iterations_left(latest, now, iterations)
        return self.costs_at_most(self._admm_cost(iterations, left))

    def _iterations_left(self, latest: float, now: float, iterations: int) -> float:
        """Iterations until the residual meets its limit if it goes on shrinking as it does."""
        most = float(self.admm.max_iterations - iterations)
        if now <= 1.0 < latest:
            return PERIOD  # at rest, except for a violated constraint: another period may mend it
        if now <= 1.0 or now >= latest:
            return most
        return min(PERIOD * math.log(now) / math.log(latest / now), most)

    def _admm_cost(self, done: int, left: float) -> float:
        by_arrays = max(WORTH_COMPILING / (self.literals + ARRAY_CALLS) - done, 0.0)
        loads = 0.0 < by_arrays < left
        cost = COMPILED_LITERAL * left + (ARRAY_LITERAL - COMPILED_LITERAL) * min(by_arrays, left)
        return (self.literals + ADMM_CALLS) * cost + loads * ADMM_LOADING

    def costs_at_most(self, limit: float) -> bool:
        """Whether the exact solver fits into memory and costs at most `limit`.

        Sets the solver up if a lower estimate does not exceed the limit.
        """
        matrix, factor = self.literals * MATRIX_ENTRIES, self.literals * FACTOR_ENTRIES
        if not self._fits or _exact_cost(matrix, factor) > limit:
            return False
        if self.prepared is None:
            self._fits = fill_bound(self.potentials) <= MAX_FILL
            if not self._fits:
                return False
            self.prepared = InteriorPoint(self.potentials)
        matrix, factor = self.prepared.entries
        self._fits = matrix + factor <= MAX_ENTRIES
        return self._fits and _exact_cost(matrix, factor) <= limit


def _exact_cost(matrix: float, factor: float) -> float:
    """Cost of the interior-point method for numbers of entries of the matrix and of its factor."""
    products = dense_products(matrix, factor)
    product = BLOCK_PRODUCT if products > MANY_PRODUCTS else ENTRY_PRODUCT
    iteration = EXACT_ENTRY * (matrix + factor) + product * products
    return float(EXACT_ITERATIONS * iteration + EXACT_SETUP * matrix + EXACT_LOADING)


def fill_bound(potentials: Potentials) -> float:
    """A bound of the entries of a good ordering's factor, over the variables alone.

    It is a full triangle if that is small enough, else the sum of the components' full triangles or
    the envelope of the reverse Cuthill-McKee ordering. The solver allocates its factor before it
    tells the size, so that must be bounded.
    """
    whole = 0.5 * float(potentials.n_variables) ** 2
    if whole <= MAX_FILL:
        return whole
    from scipy import sparse
    from scipy.sparse.csgraph import connected_components, reverse_cuthill_mckee

    sizes = potentials.sizes.astype(np.float64)
    pairs = float((sizes * sizes).sum())
    if pairs > MAX_FILL:
        return pairs
    literals = (np.ones(len(potentials.variable), np.int32), potentials.variable, potentials.indptr)
    incidence = sparse.csr_array(literals, (len(potentials), potentials.n_variables))
    graph = sparse.csr_array(incidence.T @ incidence)
    component = connected_components(graph, directed=False)[1]
    triangles = float((np.bincount(component).astype(np.float64) ** 2).sum()) / 2.0
    if triangles <= MAX_FILL:
        return triangles
    place = np.empty(potentials.n_variables, dtype=np.int64)
    place[reverse_cuthill_mckee(graph, symmetric_mode=True)] = np.arange(potentials.n_variables)
    links = graph.tocoo()
    first = place.copy()
    np.minimum.at(first, links.coords[0], place[links.coords[1]])
    return min(triangles, float((place - first).sum()))
