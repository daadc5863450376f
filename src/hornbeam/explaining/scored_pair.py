"""One pair with its rules and their counts: what-if questions, answered by scoring again."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np

from hornbeam.choices import Score
from hornbeam.counting.statistics import Statistics
from hornbeam.explaining.counterfactual import sides
from hornbeam.facts.names import Names
from hornbeam.facts.table import Targets
from hornbeam.rules.clause import Path, Prior
from hornbeam.rules.rule_model import Rule, Semantics
from hornbeam.scoring.independent_scorer import score_targets


@dataclass(frozen=True, eq=False)
class ScoredPair:
    """A pair, the rules of its target, and the paths that they have between its entities."""

    rules: Sequence[Rule]
    semantics: Semantics
    pair: Targets
    counted: Statistics

    @property
    def names(self) -> tuple[str, str]:
        """Subject and object."""
        entities = self.pair.entities
        return entities[int(self.pair.subject[0])], entities[int(self.pair.object[0])]

    @property
    def paths(self) -> Sequence[Path]:
        """The rules' relation sequences."""
        return self.counted.paths

    @cached_property
    def speaking(self) -> list[Path]:
        """Sequences that connect the pair."""
        return [path for path in self.paths if self.paths_of(path)]

    def sides(self, path: Path) -> set[bool]:
        """Heads (negated or not) of the rules with weight that walk a sequence."""
        return sides(self.rules, path)

    def paths_of(self, path: Path) -> int:
        """How many paths of a sequence connect the pair."""
        return self._counts[path]

    @cached_property
    def _counts(self) -> dict[Path, int]:
        counted = self.counted
        return {
            path: int(counted.count[counted.column(k)].sum()) for k, path in enumerate(self.paths)
        }

    def count(self, rule: Rule) -> int:
        """How many groundings a rule has; a prior needs no path and has one."""
        return 1 if isinstance(rule.clause, Prior) else self.paths_of(rule.clause.path)

    @cached_property
    def heard(self) -> dict[int, Rule]:
        """The rules that have a grounding, by their places: no score depends on the others."""
        return {place: rule for place, rule in enumerate(self.rules) if self.count(rule)}

    @cached_property
    def mean(self) -> float:
        """The pair's score."""
        return self.score(list(self.heard.values()))

    @cached_property
    def map(self) -> float:
        """Its MAP state."""
        return self.score(list(self.heard.values()), Score.MAP)

    @property
    def decision(self) -> bool:
        """Whether the model calls the pair true."""
        return self.mean >= self.semantics.threshold

    def flips(self, score: float) -> bool:
        """Whether a score stands for the other decision."""
        return (score >= self.semantics.threshold) != self.decision

    def score(self, rules: Sequence[Rule], kind: Score = Score.MEAN) -> float:
        """Score by some of the rules that are heard; where none is left to speak, a half."""
        if not rules:
            return 0.5
        return float(score_targets(rules, self.semantics, self._spoken, self.pair, kind)[0])

    @cached_property
    def _spoken(self) -> Statistics:
        """The counts without the sequences that have none."""
        some = np.flatnonzero(np.diff(self.counted.indptr))
        return replace(
            self.counted,
            paths=[self.paths[k] for k in some.tolist()],
            indptr=np.concatenate([[0], self.counted.indptr[1:][some]]),
        )

    def pull(self, place: int) -> float:
        """How far the score moves when a rule is taken away, with the sign of its say."""
        return self.mean - self.score([rule for k, rule in self.heard.items() if k != place])

    def without_paths(self, gone: Sequence[Path]) -> float:
        """Score by the rules that walk none of these sequences."""
        heard = self.heard.values()
        return self.score(
            [r for r in heard if isinstance(r.clause, Prior) or r.clause.path not in gone]
        )


def one_pair(subject: str, target: str, object_: str) -> Targets:
    """Table of one pair."""
    names, zero = Names.of([subject, object_]), np.zeros(1, dtype=np.int32)
    return Targets(names, Names.of([target]), zero, names.find([subject]), names.find([object_]))
