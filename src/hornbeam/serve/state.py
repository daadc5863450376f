"""What the explorer knows: everything is read and counted once, edits only score again.

All of it is shared by every visitor and never changes; what a visitor changes comes in as `Edits`.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import cached_property

import numpy as np
import numpy.typing as npt

from hornbeam.clauses.clause import Prior
from hornbeam.clauses.model_file import clause_texts, model_text
from hornbeam.clauses.rules import Rule
from hornbeam.errors import InputError
from hornbeam.facts.table import ONE, Facts, Targets
from hornbeam.inference.closed import Floats, rule_paths, score_targets
from hornbeam.model import Model
from hornbeam.progress import SILENT, Progress
from hornbeam.results.evaluation import Evaluation, evaluate
from hornbeam.results.explainer import Explainer
from hornbeam.results.explanation import Explanation
from hornbeam.results.groundings import Pair, first_paths
from hornbeam.serve.cache import Bounded
from hornbeam.serve.edits import Edits, fingerprint
from hornbeam.serve.links import Link, largest, links_at
from hornbeam.serve.name_index import NameIndex
from hornbeam.serve.pair_counts import PairCounter
from hornbeam.serve.predictions import Reach, Reacher, path_codes
from hornbeam.statistics.memory import MemoryEngine
from hornbeam.statistics.table import Statistics

#: Rows that the cache of entities' counts may hold, and scores that the cache of edits may.
CACHED_ROWS = 5_000_000
CACHED_SCORES = 5_000_000
CACHED_FIGURES = 1000

NO_EDITS = Edits()


@dataclass(frozen=True, eq=False)
class Served:
    """A model on facts, ready to answer."""

    name: str
    model: Model
    facts: Facts
    engine: MemoryEngine
    texts: tuple[str, ...] = field(init=False)

    def __post_init__(self) -> None:
        refuse_collective(self.model, self.name)
        object.__setattr__(self, "texts", tuple(clause_texts(self.model.rules)))

    @cached_property
    def fingerprint(self) -> str:
        """What a cookie of edits calls the model."""
        return fingerprint(self.model.text)

    @cached_property
    def reacher(self) -> Reacher:
        """Follows the rules from an entity."""
        return Reacher(self.facts, self.engine, self.model)

    @cached_property
    def pair_counter(self) -> PairCounter:
        """Counts the paths of single pairs."""
        return PairCounter(self.facts, self.engine.threads, reacher=self.reacher)

    def explainer(self, rules: Sequence[Rule]) -> Explainer:
        """Explains pairs under rules as they are weighted now."""
        made = Explainer(rules, self.model.semantics, self.model.language, self.facts)
        # what does not depend on weights is shared: these take a cached property's place
        vars(made).update(
            engine=self.pair_counter, graph=self.reacher.graph, texts=list(self.texts)
        )
        return made


@dataclass(frozen=True, eq=False)
class Listing:
    """Listed pairs, labelled or not, and the counts of a model's rules for them."""

    served: Served
    targets: Targets
    counted: Statistics

    def scores(self, rules: Sequence[Rule]) -> Floats:
        """Score all of them."""
        return score_targets(rules, self.served.model.semantics, self.counted, self.targets)

    def rows_of(self, entity: str) -> npt.NDArray[np.intp]:
        """Rows that name the entity."""
        i = self.targets.entities.index(entity)
        if i < 0:
            return np.empty(0, dtype=np.intp)
        return np.flatnonzero((self.targets.subject == i) | (self.targets.object == i))

    def row_of(self, subject: str, predicate: str, object_: str) -> int | None:
        """Row of one pair."""
        p = self.targets.predicates.index(predicate)
        s, o = (self.targets.entities.index(name) for name in (subject, object_))
        same = (self.targets.subject == s) & (self.targets.object == o)
        rows = np.flatnonzero(same & (self.targets.predicate == p))
        return int(rows[0]) if len(rows) else None


class Explorer:
    """One or two models on facts, with the pairs that were listed.

    Parameters
    ----------
    facts
        The evidence.
    model, name
        The model that visitors edit, and what it is called.
    other, other_name
        A second model to compare with.
    labels, pairs
        Labelled pairs, on which figures are computed, and further pairs to show.
    """

    def __init__(
        self,
        facts: Facts,
        model: Model,
        name: str = "model",
        *,
        other: Model | None = None,
        other_name: str = "other",
        labels: Targets | None = None,
        pairs: Targets | None = None,
        threads: int | None = None,
        progress: Progress = SILENT,
    ) -> None:
        engine = MemoryEngine(facts) if threads is None else MemoryEngine(facts, threads)
        self.facts = facts
        self.served = Served(name, model, facts, engine)
        self.other = None if other is None else Served(other_name, other, facts, engine)
        self.names = NameIndex.of(facts.entities)
        self.labels, self.pairs = (
            None if targets is None else count_listing(self.served, targets, progress)
            for targets in (labels, pairs)
        )
        self.other_labels, self.other_pairs = (
            None
            if targets is None or self.other is None
            else count_listing(self.other, targets, progress)
            for targets in (labels, pairs)
        )
        self._reached: Bounded[Reach] = Bounded(CACHED_ROWS, lambda reach: reach.size)
        self._scored: Bounded[Floats] = Bounded(CACHED_SCORES, len)
        self._evaluated: Bounded[Evaluation] = Bounded(CACHED_FIGURES, lambda _: 1)
        self._warm_up()

    @property
    def model(self) -> Model:
        """The model as it was loaded."""
        return self.served.model

    @property
    def listings(self) -> list[Listing]:
        """The labelled pairs, then the others."""
        return [listing for listing in (self.labels, self.pairs) if listing is not None]

    def _warm_up(self) -> None:
        """Compile what the first visitor would otherwise wait for."""
        atoms = self.facts.binary
        for target in self.model.targets if len(atoms) else ():
            subject, object_ = (int(column[0]) for column in atoms.arguments)
            self.predictions(subject, target, True, NO_EDITS, 1)
            names = self.facts.entities
            self.explain(names[subject], target, names[object_], NO_EDITS)
            steps = [2 * (int(atoms.predicate[0]) + 1)]
            first_paths(self.served.reacher.graph, steps, Pair(subject, object_, 0), False, 1)

    # -- edits ------------------------------------------------------------------------------------

    def edited_text(self, edits: Edits) -> str:
        """The edited model as a file; rules that are off are left out."""
        return model_text(edits.kept(self.model.rules), self.model.semantics)

    def scores(self, listing: Listing, edits: Edits) -> Floats:
        """Scores of listed pairs under the edits."""
        return self._scored.get(
            (id(listing), edits.key), lambda: listing.scores(edits.scoring(self.model.rules))
        )

    def other_scores(self, listing: Listing) -> Floats:
        """Scores of listed pairs by the other model, which nobody edits."""
        return self._scored.get(id(listing), lambda: listing.scores(listing.served.model.rules))

    def figures(self, edits: Edits) -> Evaluation | None:
        """How well the scores fit the labels, where there are labels."""
        if self.labels is None:
            return None
        labels = self.labels
        return self._evaluated.get(
            edits.key, lambda: evaluate(labels.targets.truth, self.scores(labels, edits))
        )

    def changed(self, edits: Edits, top: int) -> list[Link]:
        """The listed pairs that the edits move most."""
        found = []
        for listing in self.listings:
            before, now = self.scores(listing, NO_EDITS), self.scores(listing, edits)
            moved = np.abs(now - before)
            rows = largest(moved, top)
            found += links_at(listing.targets, rows[moved[rows] > 0], now, before)
        return sorted(found, key=lambda link: -abs(link.change))[:top]

    def missing(self, rule: int) -> bool:
        """Whether the facts lack a predicate of the rule's body, so that it never speaks."""
        clause = self.model.rules[rule].clause
        return not isinstance(clause, Prior) and path_codes(self.facts, clause.path) is None

    def listed_page(
        self, edits: Edits, order: str, first: int, size: int
    ) -> tuple[list[Link], int]:
        """Some of the listed pairs, highest score (or error) first, and how many there are."""
        scores = [self.scores(listing, edits) for listing in self.listings]
        keys = [
            np.abs(mine - listing.targets.truth)
            if order == "error" and listing.targets.millionths is not None
            else mine - (order == "error")  # pairs without a label have no error: behind
            for listing, mine in zip(self.listings, scores, strict=True)
        ]
        joint = np.concatenate([np.empty(0), *keys])
        chosen = largest(joint, min(first + size, len(joint)))[first:]
        n_labelled = len(keys[0]) if keys else 0
        links = []
        for row in chosen.tolist():
            which, at = (0, row) if row < n_labelled else (1, row - n_labelled)
            links += links_at(self.listings[which].targets, [at], scores[which])
        return links, len(joint)

    # -- entities ---------------------------------------------------------------------------------

    def find(self, typed: str, limit: int) -> list[str]:
        """Names of entities that fit what was typed, best first."""
        return self.facts.entities.take(self.names.find(typed, limit))

    def predictions(
        self, entity: int, target: str, forward: bool, edits: Edits, top: int
    ) -> tuple[list[Link], int, int]:
        """Best new links of an entity as subject (`forward`) or object, how many, and left out."""
        reach = self._reached.get(
            (entity, target, forward), lambda: self.served.reacher.reach(target, entity, forward)
        )
        rules = edits.scoring(self.model.rules)
        pairs, scores, total = self.served.reacher.best(reach, rules, top)
        return links_at(pairs, range(len(pairs)), scores), total, reach.left_out

    def listed(self, entity: str, edits: Edits, top: int) -> tuple[list[Link], int]:
        """Listed pairs that name the entity, best first, and how many there are."""
        found, total = [], 0
        for listing in self.listings:
            rows, scores = listing.rows_of(entity), self.scores(listing, edits)
            total += len(rows)
            best = rows[largest(scores[rows], top)]
            found += links_at(listing.targets, best, scores)
        return sorted(found, key=lambda link: -link.score)[:top], total

    def explain(
        self, subject: str, target: str, object_: str, edits: Edits, *, flip: bool = False
    ) -> Explanation:
        """Why a pair scores as it does; reasons carry the numbers of the model's rules.

        With `flip` also what would turn the decision, which takes seconds on large facts.
        """
        # rules that are off have weight 0, so they give no reason and keep the others' numbers
        explainer = self.served.explainer(edits.scoring(self.model.rules))
        paths = 0 if flip else PATHS_SHOWN
        return explainer.explain(subject, target, object_, paths=paths, flip=flip)

    def label(self, subject: str, target: str, object_: str) -> float | None:
        """Label of a pair, where it has one."""
        if self.labels is None:
            return None
        row = self.labels.row_of(subject, target, object_)
        if row is None or self.labels.targets.millionths is None:
            return None
        return int(self.labels.targets.millionths[row]) / ONE


#: Paths of a rule that are shown and drawn.
PATHS_SHOWN = 12


def refuse_collective(model: Model, name: str) -> None:
    """Refuse a model whose scores depend on all targets together: edits could not follow at once.

    This is the one place that knows; a collective scorer would take the place of `Listing.scores`.
    """
    if model.semantics.collective:
        raise InputError(
            f"{name}: the model is collective, and the explorer shows models whose pairs are "
            "scored one by one; use hornbeam predict, or learn without --collective"
        )


def count_listing(served: Served, targets: Targets, progress: Progress) -> Listing:
    """Count a model's rules for listed pairs."""
    model = served.model
    counted = served.engine.count(
        targets, rule_paths(model.rules), model.language, progress=progress
    )
    return Listing(served, targets, counted)
