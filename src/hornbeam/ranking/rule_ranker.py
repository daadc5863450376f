"""A rule model as a ranker: the entities that its rules lead to, ranked by their scores."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from hornbeam.base.arrays import Ids, Positions, pointers
from hornbeam.base.choices import Score
from hornbeam.base.progress import SILENT, PartOfWork, Progress
from hornbeam.counting.memory.memory_engine import MemoryEngine
from hornbeam.errors import InputError
from hornbeam.facts.argument_types import ArgumentTypes
from hornbeam.facts.known import with_targets
from hornbeam.facts.names import Names
from hornbeam.facts.table import Targets
from hornbeam.ranking.fact_ranker import FactRanker
from hornbeam.ranking.queries import Answers, Queries
from hornbeam.rules.rule_model import RuleModel
from hornbeam.scoring.best_links import ScoredPairs
from hornbeam.scoring.model_checks import warn_of_missing_names
from hornbeam.scoring.proposals import Proposer


@dataclass(frozen=True, eq=False)
class RuleRanker(FactRanker):
    """Proposes, with their scores, the other arguments of pairs that may be proposed, or are facts.

    See `hornbeam.scoring.proposable`.
    """

    model: RuleModel
    engine: MemoryEngine
    score: Score = Score.MEAN

    @classmethod
    def of(cls, model: RuleModel, engine: MemoryEngine, *, score: Score = Score.MEAN) -> RuleRanker:
        """A model over facts, to whose predicates missing targets are added."""
        warn_of_missing_names(model, engine)
        if model.semantics.collective:
            raise InputError(
                "a collective model scores pairs together and ranks no answers: evaluate it on "
                "`labels`"
            )
        facts = engine.facts
        missing = [name for name in model.targets if facts.predicates.index(name) < 0]
        if missing:
            none = np.empty(0, dtype=np.int32)
            facts = with_targets(
                facts, Targets(facts.entities, Names.of(missing), none, none, none)
            )
        return cls(facts, ArgumentTypes(facts), model, engine.over(facts), score)

    @property
    def relations(self) -> Sequence[str]:
        """Relations that the model has rules for."""
        return self.model.targets

    def answers(self, queries: Queries, progress: Progress = SILENT) -> Answers:
        """Answers of every query, best first."""
        directions = set(zip(queries.relation.tolist(), queries.asks_subject.tolist(), strict=True))
        rows, parts = list[Positions](), list[Answers]()
        for relation, asks_subject in sorted(directions):
            same = (queries.relation == relation) & (queries.asks_subject == asks_subject)
            rows.append(np.flatnonzero(same))
            starts, place = np.unique(queries.known[same], return_inverse=True)
            part = PartOfWork(progress, "Following rules", sum(map(len, rows[:-1])), len(rows[-1]),
                              len(queries))  # fmt: skip
            parts.append(self._from(relation, int(asks_subject), starts, part).take(place))
            part.finish()
        back = np.argsort(np.concatenate([np.empty(0, np.int64), *rows]))
        return Answers.concatenated([*parts, Answers.none(0)]).take(back)

    def _from(self, relation: int, near: int, starts: Ids, progress: Progress) -> Answers:
        """Answers of the queries of one relation and direction, by their known arguments."""
        blocks = list[ScoredPairs]()
        for done, pairs in self._proposer(self.facts.predicates[relation], near).links_from(starts):
            order = np.lexsort((pairs.end, -pairs.score, pairs.start))
            blocks.append(pairs.take(order))
            progress.advance("Following rules", done, len(starts))
        found = ScoredPairs.concatenated(blocks)
        sizes = np.bincount(np.searchsorted(starts, found.start), minlength=len(starts))
        return Answers(pointers(sizes), found.end, found.score)

    def _proposer(self, target: str, near: int) -> Proposer:
        """The proposer of one target in one direction, made at first use."""
        if (target, near) not in self._proposers:
            rules = self.model.of_target(target)
            made = Proposer(rules, self.engine, target, self.types, near, self.score)
            self._proposers[target, near] = made
        return self._proposers[target, near]

    @cached_property
    def _proposers(self) -> dict[tuple[str, int], Proposer]:
        return {}
