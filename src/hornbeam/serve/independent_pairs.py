"""Independent pairs in the explorer: counted once, so that an edit only scores again."""

from __future__ import annotations

from collections.abc import Sequence
from functools import cached_property

import numpy as np

from hornbeam.base.arrays import Floats
from hornbeam.base.compiled import announced
from hornbeam.base.progress import SILENT, Progress
from hornbeam.counting.memory.memory_engine import MemoryEngine
from hornbeam.explaining.explanation import Explanation
from hornbeam.explaining.groundings import PathEnds, first_paths
from hornbeam.explaining.independent_explainer import IndependentExplainer
from hornbeam.explaining.known_scores import KnownScores
from hornbeam.facts.argument_types import ArgumentTypes
from hornbeam.facts.table import Targets
from hornbeam.model import Model
from hornbeam.rules.codes import path_codes, step_code
from hornbeam.rules.rule_model import Rule
from hornbeam.scoring.entity_proposals import CountedPairs, EntityProposer
from hornbeam.scoring.independent_scores import CachedCounts, RuleLayout
from hornbeam.serve.cache import BoundedCache
from hornbeam.serve.explorer_scorer import PATHS_SHOWN, NewLinks
from hornbeam.serve.links import links_at

#: Maximum number of rows in the cache of entities' counts.
CACHED_ROWS = 5_000_000
#: Explainers under edited weights that are cached; what is large is shared by all.
CACHED_EXPLAINERS = 32


class IndependentPairs:
    """Scores every pair by its own counts; see `ExplorerScorer`."""

    collective = False
    seconds = 0.0

    def __init__(
        self,
        model: Model,
        engine: MemoryEngine,
        listings: Sequence[Targets],
        types: ArgumentTypes,
        progress: Progress = SILENT,
    ) -> None:
        self.model = model
        self.engine = engine
        self.types = types
        bodies, language = model.bodies, model.language
        layout = RuleLayout.of(model, bodies)
        self._listings = [
            CachedCounts(model, layout, engine.count(one, bodies, language, progress=progress), one)
            for one in listings
        ]
        self._connected: BoundedCache[CountedPairs] = BoundedCache(
            CACHED_ROWS, lambda counted: counted.size
        )
        self._edited: BoundedCache[IndependentExplainer] = BoundedCache(
            CACHED_EXPLAINERS, lambda _: 1
        )

    @cached_property
    def _proposers(self) -> dict[tuple[str, bool], EntityProposer]:
        """What follows the rules of a target from subjects (`True`) or from objects."""
        return {
            (target, forward): EntityProposer(
                self.model, self.engine, target, self.types, 0 if forward else 1
            )
            for target in self.model.targets
            for forward in (True, False)
        }

    @cached_property
    def _explainer(self) -> IndependentExplainer:
        """Explains by the unedited rules, which most visitors see."""
        return IndependentExplainer.of(self.model, self.engine)

    def _explainer_of(self, rules: Sequence[Rule]) -> IndependentExplainer:
        weights = tuple(rule.weight for rule in rules)
        if weights == tuple(rule.weight for rule in self.model.rules):
            return self._explainer
        edited = self.model.with_rules(rules)
        return self._edited.get(weights, lambda: self._explainer.reweighted(edited))

    def warm_up(self, progress: Progress) -> None:
        """Compile what the first visitor would otherwise wait for."""
        atoms, graph = self.engine.facts.binary, self._explainer.finder.graph
        with announced(progress):
            for target in self.model.targets if len(atoms) else ():
                subject, object_ = (int(column[0]) for column in atoms.arguments)
                self.new_links(self.model.rules, subject, target, True, 1)
                names = self.engine.facts.entities.take([subject, object_])
                self.explain(self.model.rules, names[0], target, names[1])
                steps = [step_code(int(atoms.predicate[0]))]
                first_paths(graph, steps, PathEnds(subject, object_, 0), False, 1)
                if not self.model.semantics.decides:
                    self._explainer.known.place(target, 0.0)

    def is_ready(self, rules: Sequence[Rule]) -> bool:
        """True: the counts do not depend on weights."""
        return True

    def scores(self, rules: Sequence[Rule]) -> list[Floats]:
        """Scores of all pairs, listing by listing."""
        return [listing.scores(rules) for listing in self._listings]

    def explain(
        self, rules: Sequence[Rule], subject: str, target: str, object_: str, *, flip: bool = False
    ) -> Explanation:
        """Why a pair scores as it does; with `flip` what would flip the decision, without paths.

        Finding what flips it takes seconds on large facts.
        """
        paths = 0 if flip else PATHS_SHOWN
        return self._explainer_of(rules).explain(subject, target, object_, paths=paths, flip=flip)

    def known(self, rules: Sequence[Rule]) -> KnownScores:
        """Scores of known links, whose counts are shared by all edits."""
        return self._explainer_of(rules).known

    def new_links(
        self, rules: Sequence[Rule], entity: int, target: str, forward: bool, top: int
    ) -> NewLinks:
        """Best new links of an entity as subject (`forward`) or object."""
        proposer = self._proposers[target, forward]
        counted = self._connected.get((entity, target, forward), lambda: proposer.counted(entity))
        pairs, scores, total = proposer.best(counted, rules, top)
        return NewLinks(links_at(pairs, range(len(pairs)), scores), total, counted.left_out)

    def examples(self, top: int) -> list[str]:
        """The entities with most facts, those of the targets' facts first."""
        table, predicates = self.engine.facts.binary, self.engine.facts.predicates
        degree = np.diff(self.engine.graph.forward.offsets)
        linked = np.zeros(len(degree), dtype=np.bool_)
        for target in self.model.targets:
            of_target = table.predicate == predicates.index(target)
            for column in table.arguments:
                linked[column[of_target]] = True
        best = np.lexsort((np.arange(len(degree)), -degree, ~linked))[:top]
        return self.engine.facts.entities.take(best)

    def lacks(self, rule: int) -> bool:
        """Whether no fact has a predicate or a constant of a rule's body."""
        predicates, entities = self.engine.predicates, self.engine.facts.entities
        return any(
            path_codes(part.body, predicates) is None
            or (part.body.constant is not None and entities.index(part.body.constant) < 0)
            for part in self.model.rules[rule].clause.body.parts
        )
