"""Questions about a graph and their ranked answers."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum
from typing import Protocol

from hornbeam.arrays import Bools, Floats, Ids, Integers
from hornbeam.progress import SILENT, Progress


class Direction(StrEnum):
    """Which argument is asked for."""

    OBJECT = "object"
    SUBJECT = "subject"


@dataclass(frozen=True, eq=False)
class Queries:
    """Questions over the ids of a table of facts.

    `answer` holds the true answers, for evaluation (-1: an entity or relation that train lacks).
    """

    relation: Ids
    known: Ids
    asks_subject: Bools
    answer: Ids | None = None


@dataclass(frozen=True, eq=False)
class Answers:
    """Answers of query i stand in `offsets[i]` to `offsets[i + 1]`, best first."""

    offsets: Integers
    entities: Ids
    scores: Floats


class Ranker(Protocol):
    """Whatever answers queries."""

    def answers(self, queries: Queries, progress: Progress = SILENT) -> Answers:
        """Every proposed candidate of every query; all others tie below them."""
