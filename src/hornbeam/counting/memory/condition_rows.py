"""Tables of counted conditions, and the candidates that they are."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, fields, replace
from typing import Self

import numpy as np

from hornbeam.base.arrays import Bools, Integers, Ints, added_up, pointers, ranges
from hornbeam.counting.memory.path_search import LocatedPairs
from hornbeam.facts.atom_keys import pair_keys
from hornbeam.facts.table import ONE
from hornbeam.rules.candidates import Candidates


@dataclass(frozen=True, eq=False)
class ConditionRows:
    """A table of columns of the same length."""

    def take(self, rows: Integers | Bools) -> Self:
        """The given rows."""
        return type(self)(*(getattr(self, field.name)[rows] for field in fields(self)))

    @classmethod
    def united(cls, parts: Sequence[Self]) -> Self:
        """The rows of all parts."""
        names = [field.name for field in fields(cls)]
        none = np.empty(0, dtype=np.int64)
        return cls(*(np.concatenate([none, *(getattr(p, name) for p in parts)]) for name in names))


@dataclass(frozen=True, eq=False)
class ConditionCounts(ConditionRows):
    """Numbers of groundings by condition, truth, and `row`: that of a pair, or of an entity.

    Conditions are given by numbers: keys of the counter, or places in a table of conditions.
    """

    condition: Ints
    row: Ints
    truth: Ints
    count: Ints

    def added_up(self) -> ConditionCounts:
        """Equal rows as one row with the sum of their counts, without those of sum 0."""
        row, condition, truth, count = added_up(self.count, self.row, self.condition, self.truth)
        return ConditionCounts(condition, row, truth, count).take(count != 0)

    def true(self) -> ConditionCounts:
        """The counts of groundings that are true to some degree, equal rows added up."""
        return self if self.truth.min(initial=ONE) == ONE else self.take(self.truth > 0).added_up()

    def numbered(self, keys: Ints, numbers: Ints) -> ConditionCounts:
        """The counts of conditions with these keys, given by their numbers.

        A model may hold the same condition more than once: each gets all its counts.
        """
        order = np.argsort(keys, kind="stable")
        low, high = (
            np.searchsorted(keys[order], self.condition, side=side) for side in ("left", "right")
        )
        repeated = self.take(np.repeat(np.arange(len(self.row)), high - low))
        return replace(repeated, condition=numbers[order[ranges(low, high)]])


def rows_of_pairs(entity: Ints, place: Ints) -> tuple[Ints, Ints]:
    """The rows of every pair's entity, and the pair of each of them.

    `entity` is that of every row, and ascends; `place` is the entity of every pair.
    """
    bounds = np.searchsorted(entity, np.arange(int(place.max(initial=-1)) + 2))
    low, high = bounds[place], bounds[place + 1]
    return ranges(low, high), np.repeat(np.arange(len(place)), high - low)


@dataclass(frozen=True, eq=False)
class FoundConditions:
    """Conditions by numbers, as in `Candidates`, and their counts for some pairs.

    `steps` has the codes of each condition's steps and of the fact that it ends in. `sure` tells
    which counts are of groundings whose facts all round to true.
    """

    steps: Ints
    conditions: Ints
    counts: ConditionCounts  #: by the place of the condition in the table
    sure: Bools

    @classmethod
    def united(cls, parts: Sequence[FoundConditions]) -> FoundConditions:
        """The conditions of several tables, one after the other."""
        first = pointers([len(part.steps) for part in parts])
        counts = [
            replace(part.counts, condition=part.counts.condition + start)
            for part, start in zip(parts, first.tolist(), strict=False)
        ]
        return cls(
            np.concatenate([part.steps for part in parts]),
            np.concatenate([part.conditions for part in parts]),
            ConditionCounts.united(counts),
            np.concatenate([part.sure for part in parts]),
        )

    def candidates(self, pairs: LocatedPairs, head: int, paths: Candidates) -> Candidates:
        """The conditions as candidates of target number `head`.

        They are over the predicates and constants of the candidates `paths`.
        """
        n, true = len(self.steps), self.counts.take(self.sure)
        # a condition covers a pair once, however many values its groundings have
        covered = np.unique(pair_keys(true.condition, true.row, len(pairs)))
        of_covered, pair = np.divmod(covered, max(len(pairs), 1))
        steps = np.zeros((n, paths.steps.shape[1]), dtype=np.uint32)
        width = min(steps.shape[1], self.steps.shape[1])
        steps[:, :width] = self.steps[:, :width]
        return replace(
            paths,
            steps=steps,
            target=np.full(n, head, dtype=np.int32),
            coverage=np.bincount(of_covered, minlength=n),
            coverage_true=np.bincount(of_covered, pairs.positive[pair], n).astype(np.int64),
            paths=np.bincount(true.condition, true.count, n).astype(np.int64),
            conditions=self.conditions.astype(np.int32),
        )
