"""The explorer of a model of a whole graph: everything is read once, and never changes."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from functools import cached_property

import numpy as np

from hornbeam.base.arrays import Bools
from hornbeam.base.progress import SILENT, Progress
from hornbeam.explaining.explanation import Explanation
from hornbeam.facts.entity_names import NO_NAMES, EntityNames
from hornbeam.facts.table import Facts, Targets
from hornbeam.graph_model import GraphModel
from hornbeam.graphs.graph_explainer import GraphExplainer
from hornbeam.graphs.graph_ranker import MemoryRanker
from hornbeam.graphs.graph_text import graph_rule_words, rule_text
from hornbeam.graphs.model_parts import step_of
from hornbeam.graphs.ranking_model import RelationRules
from hornbeam.ranking.fact_ranker import tied_ranks
from hornbeam.ranking.queries import Direction, Queries
from hornbeam.rules.body import Step
from hornbeam.rules.codes import is_inverse, predicate_of, step_code
from hornbeam.serve.cache import BoundedCache
from hornbeam.serve.edits import NO_EDITS, Edits
from hornbeam.serve.entity_facts import KnownEdges
from hornbeam.serve.entity_search import EntitySearch
from hornbeam.serve.expected_steps import ExpectedSteps
from hornbeam.serve.explorer import (
    MissingFacts,
    QueryAnswers,
    RelationSummary,
    ShownDirection,
    ShownRule,
    entity_id,
    relation_summary,
)
from hornbeam.serve.links import ShownLink

#: Number of cached results.
CACHED = 200
#: Minimum share of similar entities that have an answer for a query to be shown.
MIN_EXPECTED = 0.25
#: Rules shown per part of a score, and groundings per rule.
REASONS, GROUNDINGS = 8, 3
#: Answers per query on the page of an entity, and rules per direction of a relation.
FIRST_ANSWERS, RULES = 5, 30


class GraphExplorer:
    """A model of a whole graph over facts; see `Explorer`.

    Ranks come from weights that were fitted together, so visitors have no edits, and no pairs are
    listed.

    Parameters
    ----------
    facts
        The graph from which queries are answered.
    model, name
        The model, and its name.
    entity_names
        Names of entities on pages.
    """

    score_name = "probability"
    fingerprint = ""
    caution: str | None = None
    listings: Sequence[Targets] = ()
    #: The caches of answers and explanations are shared by threads of one process.
    forks = False

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
                    self.explain(answer.subject, answer.predicate, answer.object)
                return

    def known_scores(self, edits: Edits) -> None:
        """None: probabilities speak for themselves."""

    def is_ready(self, edits: Edits) -> bool:
        """True: there are no edits."""
        return True

    def answers_at_once(self, name: str) -> bool:
        """True, for any entity."""
        return True

    def explains_at_once(self, subject: str, relation: str, object_: str) -> bool:
        """Whether a triple is no fact: a fact has to be taken out of the graph first."""
        return not self.is_fact(subject, relation, object_)

    # -- the model --------------------------------------------------------------------------------

    @property
    def cautions(self) -> list[str]:
        """What the start page says of the model."""
        return [self.model.linked.caution] if self.model.linked.caution else []

    @cached_property
    def _parts(self) -> dict[str, list[RelationRules]]:
        """The rules of every relation, by direction."""
        parts: dict[str, list[RelationRules]] = {}
        for part in self.model.relations:
            parts.setdefault(part.relation, []).append(part)
        return parts

    @cached_property
    def relations(self) -> list[RelationSummary]:
        """Relations of the model, those with most facts first; their path rules are counted."""
        predicates = self.facts.predicates
        counts = np.bincount(self.facts.binary.predicate, minlength=len(predicates))
        summaries = []
        for name, parts in self._parts.items():
            number = predicates.index(name)
            facts = int(counts[number]) if number >= 0 else 0
            rules = [rule for part in parts for rule in self._direction(part, 1).paths]
            best = max(rules, key=lambda rule: rule.confidence, default=None)
            n_rules = sum(len(part.rules) for part in parts)
            summaries.append(RelationSummary(name, facts, n_rules, best))
        return sorted(summaries, key=lambda summary: (-summary.facts, summary.relation))

    def counted_rules(self, relation: str) -> list[ShownDirection]:
        """The best rules of a relation in both directions."""
        return [self._direction(part, RULES) for part in self._parts.get(relation, ())]

    def _direction(self, part: RelationRules, most: int) -> ShownDirection:
        """The most confident rules of a relation in one direction."""
        paths, constants = (
            tuple(
                ShownRule(
                    rule_text(rule.clause, part.direction, self.model.identifiers),
                    graph_rule_words(rule.clause, part.direction),
                    rule.confidence, rule.hits, rule.predicted,
                )
                for rule in rules[:most]
            )
            for rules in (part.rules, part.constants)
        )  # fmt: skip
        return ShownDirection(part.direction, part.queries, len(part.rules), paths, constants)

    # -- entities ---------------------------------------------------------------------------------

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

    def listed(self, entity: str, edits: Edits, top: int) -> tuple[list[ShownLink], int]:
        """None: no pairs are listed."""
        return [], 0

    # -- answers ----------------------------------------------------------------------------------

    def ask(
        self, known: str, relation: str, asks: Direction, edits: Edits, top: int
    ) -> QueryAnswers:
        """The best new answers of one query."""
        entity = entity_id(self.facts, known)
        relation_summary(self, relation)
        number = self.facts.predicates.index(relation)
        step = step_code(number, asks is Direction.SUBJECT)
        if number < 0 or step not in self.ranker.steps:
            return QueryAnswers(relation, asks, known, 0, ())
        return self._asked(entity, [step], top)[0]

    def missing(
        self, name: str, edits: Edits = NO_EDITS, top: int = FIRST_ANSWERS
    ) -> list[MissingFacts]:
        """The most probable missing facts of an entity by relation and direction, best first.

        Only queries that make sense are answered.
        """
        entity = entity_id(self.facts, name)

        def made() -> list[MissingFacts]:
            shares = self.expected.shares(entity)
            steps = [step for step in self.ranker.steps if shares[step] >= MIN_EXPECTED]
            asked = self._asked(entity, steps, top)
            found = [
                MissingFacts(one, float(shares[step]))
                for one, step in zip(asked, steps, strict=True)
                if one.answers
            ]
            return sorted(found, key=lambda one: -one.best_score)

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
                        ShownLink(*ends, float(likely[row]), rank=float(rank[row]))
                        for row, ends in zip(rows, _triples(name, walked, answers), strict=True)
                    ),
                )
            )
        return asked

    def explain(
        self, subject: str, relation: str, object_: str, edits: Edits = NO_EDITS
    ) -> Explanation:
        """Reasons for a triple, from both ends; a known fact is explained as if it were unknown."""
        for name in (subject, object_):
            entity_id(self.facts, name)
        relation_summary(self, relation)
        triple = (subject, relation, object_)

        def made() -> Explanation:
            return GraphExplainer(self.ranker, REASONS).explain(*triple, paths=GROUNDINGS)

        return self._explained.get(triple, made)


def _triples(known: str, step: Step, answers: Sequence[str]) -> Iterator[tuple[str, str, str]]:
    """Answers along a step as subject, relation and object."""
    for answer in answers:
        ends = (answer, known) if step.inverse else (known, answer)
        yield ends[0], step.predicate, ends[1]
