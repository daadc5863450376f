"""The search for conditions, table by table; `condition_queries` has its selects."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np

from hornbeam.base.arrays import Array, Ids
from hornbeam.base.progress import Progress
from hornbeam.counting.known_conditions import condition_columns
from hornbeam.counting.sql.condition_queries import CONDITION_KEY, ConditionSearch
from hornbeam.counting.sql.database import Database
from hornbeam.counting.sql.found_bodies import FoundBodies, candidates_of
from hornbeam.counting.sql.step_queries import allowed_steps
from hornbeam.facts.names import Names
from hornbeam.facts.table import Targets
from hornbeam.rules.body import Body
from hornbeam.rules.candidates import Conditions, RuleLimits

#: Tables that the search leaves behind.
CONDITION_TABLES = ("known_conditions", "nodes", "touching", "anchors", "cells")


def count_conditions(database: Database, search: ConditionSearch, progress: Progress) -> None:
    """Join the nodes of the targets with their facts, up to the table `cells`."""
    database.view("arguments", search.arguments())
    database.create("nodes", search.nodes())
    if search.walks:
        database.view("leaving", allowed_steps(search.paths.limited))
        database.create("touching", search.touching())
    if search.prunes_anchors:
        database.create("anchors", search.anchors())
    progress.advance("Joining facts of arguments", 1, 2)
    database.create("cells", search.cells())
    progress.advance("Joining facts of arguments", 2, 2)


def conditions_found(
    database: Database,
    search: ConditionSearch,
    predicates: Names,
    targets: Targets,
    language: RuleLimits,
    named: Callable[[Ids], tuple[Names, Ids]],
) -> FoundBodies:
    """Every condition of enough coverage; `named` gives the names of constants."""
    found = database.fetch(search.figures(language.min_coverage))
    kind, argument, code, constant = (found[name].astype(np.int32) for name in CONDITION_KEY)
    steps = np.zeros((len(code), language.max_length), dtype=np.uint32)
    steps[:, 0] = code
    names, places = named(constant)
    conditions = Conditions(kind, argument, places, names)
    candidates = candidates_of(predicates, targets, steps, found, language, conditions)
    return FoundBodies(search, "known_conditions", CONDITION_KEY, found, candidates)


def known_conditions(
    bodies: Sequence[Body], heads: Ids, predicates: Names, locate: Callable[[Names], Ids]
) -> dict[str, Array]:
    """The table `known_conditions`: those of the bodies that the facts can ground."""
    constants = Names.of(body.constant for body in bodies if body.constant is not None)
    ids = dict(zip(constants, locate(constants).tolist(), strict=True)) if len(constants) else {}
    wanted = [(i, body) for i, body in enumerate(bodies) if not body.is_path and heads[i] >= 0]
    numbers, *condition = condition_columns(wanted, predicates, ids.__getitem__)
    columns = np.stack([numbers, heads[numbers], *condition]).astype(np.int32)
    return dict(zip(("path", "predicate", *CONDITION_KEY), columns, strict=True))
