"""The explorer of a PSL program: its ground rules and inferred atoms, which never change."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from functools import cached_property

import numpy as np
from duckdb import DuckDBPyConnection

from hornbeam.base.arrays import largest
from hornbeam.base.progress import SILENT, Progress
from hornbeam.facts.entity_names import NO_NAMES, EntityNames
from hornbeam.programs.ground_rule_list import GroundRuleList
from hornbeam.programs.inference import Inference
from hornbeam.programs.inferred_atoms import InferredAtoms
from hornbeam.serve.entity_search import EntitySearch
from hornbeam.serve.explorer import Explorer

#: Number of constants on the start page.
EXAMPLES = 8


class ProgramExplorer(Explorer):
    """A program after inference.

    Parameters
    ----------
    inference
        The inference.
    connection
        The database with the table of `Inference.listed_rules`, with parts and without texts.
    name
        Name of the program.
    entity_names
        Names of constants on pages.
    """

    is_program = True

    def __init__(
        self,
        inference: Inference,
        connection: DuckDBPyConnection,
        name: str = "program",
        entity_names: EntityNames = NO_NAMES,
    ) -> None:
        super().__init__(name, EntitySearch.of(inference.ground.data.names, entity_names))
        self.inference = inference
        self.atoms = InferredAtoms(inference)
        self.ground_rules = GroundRuleList(self.atoms, connection)

    @property
    def summary(self) -> str:
        """The numbers of targets and ground rules."""
        ground = self.inference.ground
        targets, rules = ground.potentials.n_variables, int(ground.counts.sum())
        return f"{targets:,} targets · {rules:,} ground rules"

    @cached_property
    def examples(self) -> list[str]:
        """The constants of most targets."""
        data = self.inference.ground.data
        counts = np.zeros(len(data.names))
        for tables in data.predicates.values():
            for column in tables.targets.arguments:
                counts += np.bincount(column, minlength=len(counts))
        best = largest(counts, EXAMPLES)
        return data.names.take(best[counts[best] > 0.0])

    def warm_up(self, progress: Progress) -> None:
        """Compute the figures of all rules, and find the truth of all targets."""
        _ = self.ground_rules.figures, self.atoms.data.truth


@contextmanager
def open_program_explorer(
    inference: Inference,
    name: str = "program",
    *,
    entity_names: EntityNames = NO_NAMES,
    threads: int | None = None,
    progress: Progress = SILENT,
) -> Iterator[ProgramExplorer]:
    """Open the explorer of a program; its database is gone at the end."""
    with inference.listed_rules(texts=False, threads=threads, progress=progress) as connection:
        yield ProgramExplorer(inference, connection, name, entity_names)
