"""The state of the explorer of a whole graph: everything is read once, and never changes."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from hornbeam.base.arrays import Bools
from hornbeam.base.progress import SILENT, Progress
from hornbeam.errors import InputError
from hornbeam.explaining.explanation import Explanation
from hornbeam.facts.entity_names import NO_NAMES, EntityNames
from hornbeam.facts.table import Facts
from hornbeam.graph_model import GraphModel
from hornbeam.graphs.graph_explainer import GraphExplainer
from hornbeam.graphs.memory_ranker import MemoryRanker
from hornbeam.graphs.model_parts import step_of
from hornbeam.graphs.ranking_model import RelationRules
from hornbeam.ranking.queries import Direction, Queries
from hornbeam.ranking.ranked_answers import tied_ranks
from hornbeam.rules.body import Step
from hornbeam.rules.codes import is_inverse, predicate_of, step_code
from hornbeam.serve.cache import BoundedCache
from hornbeam.serve.entity_facts import KnownEdges
from hornbeam.serve.entity_search import EntitySearch
from hornbeam.serve.expected_steps import ExpectedSteps

#: Number of cached results.
CACHED = 200
#: Minimum share of similar entities that have an answer for a query to be shown.
MIN_EXPECTED = 0.25
#: Rules shown per part of a score, and groundings per rule.
REASONS, GROUNDINGS = 8, 3


class UnknownNameError(InputError):
    """No entity or relation has the requested name."""


@dataclass(frozen=True)
class RankedAnswer:
    """A triple that no fact states, as the answer of a query."""

    subject: str
    relation: str
    object: str
    rank: float
    probability: float


@dataclass(frozen=True)
class QueryAnswers:
    """A query, how many answers are proposed for it, and the best of them."""

    relation: str
    asks: Direction
    known: str
    candidates: int
    answers: tuple[RankedAnswer, ...]


@dataclass(frozen=True)
class MissingFacts:
    """Facts that an entity may lack in one relation and direction.

    `expected` is how much the query makes sense: 1 if the entity has such facts already, else the
    share of similar entities that have some.
    """

    asked: QueryAnswers
    expected: float

    @property
    def best_probability(self) -> float:
        """Probability of the first answer, times how much the query makes sense."""
        answers = self.asked.answers
        return self.expected * answers[0].probability if answers else 0.0


@dataclass(frozen=True)
class RelationSummary:
    """A relation: its facts, and its rules in both directions."""

    relation: str
    facts: int
    parts: tuple[RelationRules, ...]

    @property
    def rules(self) -> int:
        """Path rules of both directions."""
        return sum(len(part.rules) for part in self.parts)


class GraphExplorer:
    """A model of a whole graph over facts.

    Parameters
    ----------
    facts
        The graph from which queries are answered.
    model, name
        The model, and its name.
    entity_names
        Names of entities on pages.
    """

    def __init__(
        self,
        facts: Facts,
        model: GraphModel,
        name: str = "model",
        *,
        entity_names: EntityNames = NO_NAMES,
        threads: int | None = None,
    ) -> None:
        self.facts = facts
        self.model = model
        self.name = name
        self.entity_names = entity_names
        self.ranker = MemoryRanker.of(model, facts, threads=threads).named(entity_names)
        self.search = EntitySearch.of(facts.entities, entity_names)
        self.expected = ExpectedSteps(self.ranker.graph)
        self._missing: BoundedCache[list[MissingFacts]] = BoundedCache(CACHED, lambda _: 1)
        self._explained: BoundedCache[Explanation] = BoundedCache(CACHED, lambda _: 1)

    def warm_up(self, progress: Progress = SILENT) -> None:
        """Compile and compute what visitors would otherwise wait for; pages come without it too."""
        for step in self.ranker.steps:
            known = self.ranker.graph.holders(step)[:1]
            if len(known):
                asked = self._asked(int(known[0]), [step], 1, progress)
                for answer in asked[0].answers:
                    self.explain(answer.subject, answer.relation, answer.object)
                return

    # -- the model --------------------------------------------------------------------------------

    @cached_property
    def relations(self) -> list[RelationSummary]:
        """Relations of the model, those with most facts first."""
        predicates = self.facts.predicates
        counts = np.bincount(self.facts.binary.predicate, minlength=len(predicates))
        parts: dict[str, list[RelationRules]] = {}
        for part in self.model.relations:
            parts.setdefault(part.relation, []).append(part)
        found = []
        for name, some in parts.items():
            number = predicates.index(name)
            found.append(
                RelationSummary(name, int(counts[number]) if number >= 0 else 0, tuple(some))
            )
        return sorted(found, key=lambda one: (-one.facts, one.relation))

    def relation(self, name: str) -> RelationSummary:
        """One relation of the model."""
        for one in self.relations:
            if one.relation == name:
                return one
        raise UnknownNameError(f"The model has no rules for the relation “{name[:100]}”.")

    # -- entities ---------------------------------------------------------------------------------

    def entity(self, name: str) -> int:
        """Id of an entity."""
        found = self.facts.entities.index(name)
        if found < 0:
            raise UnknownNameError(f"No fact names “{name[:100]}”.")
        return found

    def called(self, text: str) -> str:
        """The entity with an id, or with a unique name."""
        owners = self.search.owners.get(text, ())
        if self.facts.entities.index(text) < 0 and len(owners) == 1:
            return owners[0]
        return text

    @cached_property
    def examples(self) -> list[str]:
        """Entities with many links, as examples."""
        degree = self.ranker.graph.degree
        best = np.argsort(-degree, kind="stable")[:8]
        return self.facts.entities.take(int(i) for i in best if degree[i])

    def known_edges(self, entity: int) -> list[KnownEdges]:
        """Facts between an entity and others, by relation and direction."""
        links, found = self.ranker.graph.links, list[KnownEdges]()
        for run in range(int(links.first_run[entity]), int(links.first_run[entity + 1])):
            ends = links.end[links.run_start[run] : links.run_start[run + 1]]
            step = step_of(self.facts.predicates, int(links.run_step[run]))
            found.append(KnownEdges(step.predicate, step.inverse, ends))
        return found

    def is_fact(self, subject: str, relation: str, object_: str) -> bool:
        """Whether a triple is a true fact."""
        s, o = self.facts.entities.index(subject), self.facts.entities.index(object_)
        p = self.facts.predicates.index(relation)
        return min(s, o, p) >= 0 and o in self.ranker.graph.ends(s, step_code(p))

    # -- answers ----------------------------------------------------------------------------------

    def ask(self, known: str, relation: str, asks: Direction, top: int) -> QueryAnswers:
        """The best new answers of one query."""
        entity = self.entity(known)
        self.relation(relation)
        number = self.facts.predicates.index(relation)
        step = step_code(number, asks is Direction.SUBJECT)
        if number < 0 or step not in self.ranker.steps:
            return QueryAnswers(relation, asks, known, 0, ())
        return self._asked(entity, [step], top)[0]

    def missing(self, name: str, top: int) -> list[MissingFacts]:
        """The most probable missing facts of an entity by relation and direction, best first.

        Only queries that make sense are answered.
        """
        entity = self.entity(name)

        def made() -> list[MissingFacts]:
            shares = self.expected.shares(entity)
            steps = [step for step in self.ranker.steps if shares[step] >= MIN_EXPECTED]
            asked = self._asked(entity, steps, top)
            found = [
                MissingFacts(one, float(shares[step]))
                for one, step in zip(asked, steps, strict=True)
                if one.answers
            ]
            return sorted(found, key=lambda one: -one.best_probability)

        return self._missing.get((entity, top), made)

    def _asked(
        self, entity: int, steps: Sequence[int], top: int, progress: Progress = SILENT
    ) -> list[QueryAnswers]:
        """Answers of an entity along steps, in their order."""
        relation = np.array([predicate_of(step) for step in steps], dtype=np.int32)
        asks_subject: Bools = np.array([is_inverse(step) for step in steps], dtype=np.bool_)
        known = np.full(len(steps), entity, dtype=np.int32)
        queries = Queries(relation, known, asks_subject)
        found = self.ranker.answers(queries, progress)
        likely, rank = self.ranker.probabilities(found), tied_ranks(found)
        name, asked = self.facts.entities[entity], []
        for i, step in enumerate(steps):
            walked = step_of(self.facts.predicates, step)
            low, high = int(found.offsets[i]), int(found.offsets[i + 1])
            rows = range(low, min(low + top, high))
            answers = self.facts.entities.take(found.entities[rows].tolist())
            asked.append(
                QueryAnswers(
                    walked.predicate,
                    Direction.SUBJECT if walked.inverse else Direction.OBJECT,
                    name,
                    high - low,
                    tuple(
                        RankedAnswer(*ends, float(rank[row]), float(likely[row]))
                        for row, ends in zip(rows, _triples(name, walked, answers), strict=True)
                    ),
                )
            )
        return asked

    def explain(self, subject: str, relation: str, object_: str) -> Explanation:
        """Reasons for a triple, from both ends; a known fact is explained as if it were unknown."""
        for name in (subject, object_):
            self.entity(name)
        self.relation(relation)
        triple = (subject, relation, object_)

        def made() -> Explanation:
            return GraphExplainer(self.ranker, REASONS).explain(*triple, paths=GROUNDINGS)

        return self._explained.get(triple, made)


def _triples(known: str, step: Step, answers: Sequence[str]) -> Iterator[tuple[str, str, str]]:
    """Answers along a step as subject, relation and object."""
    for answer in answers:
        ends = (answer, known) if step.inverse else (known, answer)
        yield ends[0], step.predicate, ends[1]
