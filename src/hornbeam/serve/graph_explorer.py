"""The explorer of a model of a whole graph: everything is read once, and never changes.

A model ranks answers of any query, even of meaningless queries such as the capital of a river. So
the page of an entity, which shows its missing facts, first selects the queries that make sense. A
query belongs to a step: a relation with a direction. A step makes sense if the entity has links
along it. Another step makes sense if many entities that share a step with this entity have it.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property, partial

import numpy as np

from hornbeam.base.arrays import Bools, Floats, Ints, ranges
from hornbeam.base.progress import SILENT, Progress
from hornbeam.explaining.explanation import Explanation
from hornbeam.facts.entity_names import NO_NAMES, EntityNames
from hornbeam.facts.table import Facts
from hornbeam.graph_model import GraphModel
from hornbeam.graphs.graph_scorer import GraphScorer
from hornbeam.graphs.graph_text import graph_rule_words, rule_text
from hornbeam.graphs.linked_graph import LinkedGraph
from hornbeam.graphs.model_parts import direction_of, step_of
from hornbeam.graphs.opened_rankers import InMemoryRanker, explainer_of, ranker_in_memory
from hornbeam.graphs.ranking_model import RelationRules
from hornbeam.ranking.fact_ranker import tied_ranks
from hornbeam.ranking.queries import Direction, Queries
from hornbeam.rules.codes import is_inverse, predicate_of, step_code
from hornbeam.rules.rule_model import SMOOTHING
from hornbeam.serve.cache import BoundedCache
from hornbeam.serve.edits import NO_EDITS, Edits
from hornbeam.serve.entity_search import EntitySearch
from hornbeam.serve.explorer import ModelExplorer
from hornbeam.serve.shown_values import (
    KnownEdges,
    MissingFacts,
    QueryAnswers,
    RelationSummary,
    ShownDirection,
    ShownLink,
    ShownRule,
)

#: Number of cached results, and of steps whose co-occurrence shares are cached.
CACHED, CACHED_STEPS = 200, 2000
#: A query is shown if at least this share of similar entities has an answer to it.
MIN_EXPECTED = 0.25
#: Rules shown per part of a score, and groundings per rule.
REASONS, GROUNDINGS = 8, 3
#: Answers per query on the page of an entity, and rules per direction of a relation.
FIRST_ANSWERS, RULES = 5, 30


@dataclass(frozen=True, eq=False)
class ExpectedSteps:
    """Which steps are expected of an entity, by the co-occurrence of steps among entities."""

    graph: LinkedGraph

    @cached_property
    def _rows(self) -> BoundedCache[Floats]:
        return BoundedCache(CACHED_STEPS)

    def shares(self, entity: int) -> Floats:
        """How much each step is expected of an entity: 1 if the entity has links along the step.

        For any other step, each step s of the entity gives a share: of the entities with s, how
        many have the other step. The largest share counts, smoothed for steps of few entities.
        """
        links = self.graph.links
        own: Ints = links.run_step[slice(*links.first_run[entity : entity + 2])].astype(np.int64)
        expected = np.zeros(self.graph.step_limit)
        for step in own.tolist():
            row = self._rows.get(step, partial(self._co_occurrence, step))
            np.maximum(expected, row, out=expected)
        expected[own] = 1.0
        return expected

    def _co_occurrence(self, step: int) -> Floats:
        """Per step, the share of the entities with the given step that have it, too."""
        links, holders = self.graph.links, self.graph.holders(step)
        runs = ranges(links.first_run[holders], links.first_run[holders + 1])
        counts = np.bincount(links.run_step[runs], minlength=self.graph.step_limit)
        return np.asarray(counts / (len(holders) + SMOOTHING))


class GraphExplorer(ModelExplorer):
    """A model of a whole graph over facts.

    Ranks come from weights that were fitted together, so visitors cannot edit rules, and no pairs
    are listed.

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
    forks = True

    def __init__(
        self,
        facts: Facts,
        model: GraphModel,
        name: str = "model",
        *,
        entity_names: EntityNames = NO_NAMES,
        threads: int | None = None,
    ) -> None:
        super().__init__(facts, name, EntitySearch.of(facts.entities, entity_names))
        self.model = model
        self.ranker: InMemoryRanker = ranker_in_memory(model, facts, threads).named(entity_names)
        self.expected = ExpectedSteps(self.ranker.graph)
        self._missing = BoundedCache[list[MissingFacts]](CACHED)
        self._explained = BoundedCache[Explanation](CACHED)

    @property
    def scorer(self) -> GraphScorer:
        """The model over the facts, ready to score triples."""
        return GraphScorer(self.ranker)

    def warm_up(self, progress: Progress = SILENT) -> None:
        """Answer one query and explain its answers, which compiles what pages need."""
        for step in self.ranker.steps:
            known = self.ranker.graph.holders(step)[:1]
            if len(known):
                asked = self._asked(int(known[0]), [step], 1, progress)
                for answer in asked[0].answers:
                    self.explain(answer.subject, answer.predicate, answer.object)
                return

    def explains_at_once(self, subject: str, relation: str, object_: str) -> bool:
        """Whether a triple is not a fact: explaining a fact removes it from the graph first."""
        return not self.is_fact(subject, relation, object_)

    # -- the model --------------------------------------------------------------------------------

    @property
    def cautions(self) -> list[str]:
        """Cautions about the model on the start page."""
        return self.model.cautions

    @cached_property
    def _parts(self) -> dict[str, list[RelationRules]]:
        """The rules of every relation, by direction."""
        parts: dict[str, list[RelationRules]] = {}
        for part in self.model.relations:
            parts.setdefault(part.relation, []).append(part)
        return parts

    @cached_property
    def relations(self) -> list[RelationSummary]:
        """Relations of the model, most facts first, with their numbers of facts and path rules."""
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
        """Facts between an entity and other entities, by relation and direction."""
        links, edges = self.ranker.graph.links, list[KnownEdges]()
        for run in range(*links.first_run[entity : entity + 2].tolist()):
            ends = links.end[slice(*links.run_start[run : run + 2])]
            step = step_of(self.facts.predicates, int(links.run_step[run]))
            edges.append(KnownEdges(step.predicate, step.inverse, ends))
        return edges

    def is_fact(self, subject: str, relation: str, object_: str) -> bool:
        """Whether a triple is a true fact."""
        s, o = self.facts.entities.index(subject), self.facts.entities.index(object_)
        p = self.facts.predicates.index(relation)
        return min(s, o, p) >= 0 and o in self.ranker.graph.ends(s, step_code(p))

    # -- answers ----------------------------------------------------------------------------------

    def ask(
        self, known: str, relation: str, asks: Direction, edits: Edits, top: int
    ) -> QueryAnswers:
        """The best new answers of one query."""
        entity, relation = self.entity_id(known), self.relation_summary(relation).relation
        number = self.facts.predicates.index(relation)
        step = step_code(number, asks is Direction.SUBJECT)
        if number < 0 or step not in self.ranker.steps:
            return QueryAnswers(relation, asks, known, 0, ())
        return self._asked(entity, [step], top)[0]

    def missing(
        self, name: str, edits: Edits = NO_EDITS, top: int = FIRST_ANSWERS
    ) -> list[MissingFacts]:
        """The most probable missing facts of an entity by relation and direction, best first.

        Only queries that make sense are answered (see `ExpectedSteps`).
        """
        entity = self.entity_id(name)

        def made() -> list[MissingFacts]:
            shares = self.expected.shares(entity)
            steps = [step for step in self.ranker.steps if shares[step] >= MIN_EXPECTED]
            queries = zip(self._asked(entity, steps, top), shares[steps].tolist(), strict=True)
            missing = [MissingFacts(asked, share) for asked, share in queries if asked.answers]
            return sorted(missing, key=lambda query: -query.best_score)

        return self._missing.get((entity, top), made)

    def _asked(
        self, entity: int, steps: Sequence[int], top: int, progress: Progress = SILENT
    ) -> list[QueryAnswers]:
        """The answers of queries about an entity, one query per step, in the order of the steps."""
        relation = np.array([predicate_of(step) for step in steps], dtype=np.int32)
        asks_subject: Bools = np.array([is_inverse(step) for step in steps], dtype=np.bool_)
        known = np.full(len(steps), entity, dtype=np.int32)
        queries = Queries(relation, known, asks_subject)
        answers = self.ranker.answers(queries, progress)
        likely, rank = self.ranker.probabilities(answers), tied_ranks(answers)
        name, asked = self.facts.entities[entity], []
        for i, step in enumerate(steps):
            predicate, direction = self.facts.predicates[predicate_of(step)], direction_of(step)
            low, high = answers.offsets[i : i + 2].tolist()
            rows = range(low, min(low + top, high))
            links = []
            for row in rows:
                answer = self.facts.entities[int(answers.entities[row])]
                ends = (name, answer) if direction is Direction.OBJECT else (answer, name)
                score = float(likely[row])
                links.append(ShownLink(ends[0], predicate, ends[1], score, rank=float(rank[row])))
            asked.append(QueryAnswers(predicate, direction, name, high - low, tuple(links)))
        return asked

    def explain(
        self, subject: str, relation: str, object_: str, edits: Edits = NO_EDITS
    ) -> Explanation:
        """Reasons for a triple, from both ends; a known fact is explained as if it were unknown."""
        for name in (subject, object_):
            self.entity_id(name)
        self.relation_summary(relation)
        triple = (subject, relation, object_)

        def made() -> Explanation:
            return explainer_of(self.ranker, REASONS).explain(*triple, paths=GROUNDINGS)

        return self._explained.get(triple, made)
