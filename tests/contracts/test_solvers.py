"""One contract for every solver of MAP states: no point of a grid is better, none is wrong."""

from __future__ import annotations

import importlib
import inspect
import pkgutil
from collections.abc import Callable
from itertools import product

import numpy as np
import pytest
from hypothesis import given, settings

import hornbeam.hlmrf
from hornbeam.base.choices import Solver
from hornbeam.hlmrf.admm import ANCHORED, RELAXED, Admm
from hornbeam.hlmrf.exact import Exact
from hornbeam.hlmrf.map_inference import solve
from hornbeam.hlmrf.map_state import MapState, MapStatus
from hornbeam.hlmrf.potentials import Potentials
from tests.support.random_programs import programs

#: Planted states are multiples of 1/4, so that some point of it meets all constraints.
GRID = np.linspace(0, 1, 41)
TIGHT = {"epsilon_abs": 1e-9, "epsilon_rel": 1e-9, "max_violation": 1e-6, "max_iterations": 200_000}

Solve = Callable[[Potentials], MapState]
#: Every class that solves programs, with ways to use it. A new solver adds a line here.
SOLVERS: dict[type, dict[str, Solve]] = {
    Exact: {"exact": Exact().solve},
    Admm: {
        name: Admm(relaxation=relaxation, **TIGHT).solve  # type: ignore[arg-type]
        for name, relaxation in {"plain": 1.0, "relaxed": RELAXED, "anchored": ANCHORED}.items()
    },
}
#: And every choice of users, which may put several together.
CHOICES: dict[str, Solve] = {
    f"solve, {choice}": lambda potentials, choice=choice: solve(  # type: ignore[misc]
        potentials,
        choice,
        admm=Admm(**TIGHT),  # type: ignore[arg-type]
    )
    for choice in Solver
}
WAYS = {name: way for ways in SOLVERS.values() for name, way in ways.items()} | CHOICES


def test_every_solver_is_held_to_the_contract() -> None:
    found = {
        kind
        for module in pkgutil.iter_modules(hornbeam.hlmrf.__path__, "hornbeam.hlmrf.")
        for _, kind in inspect.getmembers(importlib.import_module(module.name), inspect.isclass)
        if hasattr(kind, "solve")
    }
    assert found == set(SOLVERS), "add the solver to SOLVERS: it must pass this suite"


@pytest.mark.quick_cases(3)
@pytest.mark.parametrize("way", WAYS)
@given(programs(most_variables=2))
@settings(max_examples=10)
def test_no_point_of_a_grid_is_better(way: str, potentials: Potentials) -> None:
    found = WAYS[way](potentials)
    assert found.status in (MapStatus.OPTIMAL, MapStatus.CONVERGED)
    assert ((found.state >= -1e-9) & (found.state <= 1 + 1e-9)).all()
    assert potentials.violations(found.state).max(initial=0.0) <= 1e-5
    assert found.objective == pytest.approx(potentials.objective(found.state), abs=1e-9)
    points = [np.array(point) for point in product(GRID, repeat=potentials.n_variables)]
    best = min(
        potentials.objective(point)
        for point in points
        if potentials.violations(point).max(initial=0.0) <= 1e-9
    )
    assert found.objective <= best + 1e-5
