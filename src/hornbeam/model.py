"""What users do with a model: score, propose, rank, evaluate, explain, report, export.

`AnyModel` has the methods that models of both kinds share. `Model` is a model of weighted rules,
and `hornbeam.graph_model.GraphModel` a model of a whole graph.
"""

from __future__ import annotations

import os
from abc import ABC, abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path as FilePath
from typing import TYPE_CHECKING, Any, ClassVar, Protocol, Self, cast

import numpy as np

from hornbeam.base.choices import Score
from hornbeam.base.dates import time_in
from hornbeam.base.files import save_text
from hornbeam.base.progress import SILENT, Progress, as_progress
from hornbeam.base.result_table import ResultTable
from hornbeam.counting.memory.memory_engine import MemoryEngine
from hornbeam.counting.opening import facts_of, open_engine, open_in_memory
from hornbeam.counting.snapshot_engine import SnapshotEngine, as_timed
from hornbeam.errors import DataError, InputError
from hornbeam.explaining.explainer import Explainer, RuleExplainer, open_explainer
from hornbeam.explaining.explanation import PATHS, Explanation
from hornbeam.facts.reading.readers import Input, as_names
from hornbeam.learning.trace import Trace
from hornbeam.programs.query_parts import BASE, ID
from hornbeam.ranking.fact_ranker import FactRanker, RuleRanker
from hornbeam.ranking.named_queries import NamedQueries
from hornbeam.ranking.rank_evaluation import GraphEvaluation
from hornbeam.reporting.model_card import ModelCard, model_card
from hornbeam.reporting.model_diff import ModelDiff, model_diff
from hornbeam.reporting.rule_tables import judged_rules, rule_table
from hornbeam.rules.model_file import (
    GRAPH_MARK,
    file_text,
    is_graph_model,
    model_text,
    parse_model,
)
from hornbeam.rules.rule_model import RuleModel
from hornbeam.scoring.collective_scorer import CollectiveState, infer_pairs
from hornbeam.scoring.evaluation import Evaluation, evaluate
from hornbeam.scoring.model_checks import (
    check_time,
    labels_for,
    named_atom,
    pairs_for,
    refuse_time,
)
from hornbeam.scoring.scored_links import RuleScorer, propose_links

if TYPE_CHECKING:
    from hornbeam.programs.rule_queries import QueriedRule

#: Name of the facts that ranks are filtered by, if the caller gives no other.
FILTERS = "the facts, the filter and the test"
_OF_A_GRAPH = "is a model of a whole graph; open it with"


class AnyScorer(Protocol):
    """A model over facts, ready to score pairs or triples."""

    def predict(
        self, pairs: Input, *, names: Input | None = None, progress: Progress = SILENT
    ) -> ResultTable:
        """Score pairs, in their order; see `AnyModel.predict`."""

    def with_facts(self, new: Input) -> AnyScorer:
        """The same scorer over the facts and new ones, as if they had been read together."""


class AnyModel(ABC):
    """The methods that both kinds of models share: `hornbeam.Model` and `hornbeam.GraphModel`.

    A keyword that a kind of model does not support raises an `InputError`.
    """

    #: The column of predictions that `evaluate` compares with labels.
    _judged: ClassVar[str]
    #: Whether links of entities without facts are explained too, by the prior alone.
    _explains_unseen: ClassVar[bool] = True

    @property
    @abstractmethod
    def targets(self) -> list[str]:
        """Predicates that the model has rules for."""

    @property
    def target_arities(self) -> dict[str, int]:
        """The targets with the number of their arguments: 1 for a target on one entity, else 2."""
        return dict.fromkeys(self.targets, 2)

    @property
    def is_collective(self) -> bool:
        """Whether the model scores pairs together: a score depends on the other pairs."""
        return False

    @property
    @abstractmethod
    def text(self) -> str:
        """The text of the model file."""

    @abstractmethod
    def scorer(
        self, facts: Input, *, score: Score | str = Score.MEAN, engine: str = "memory",
        threads: int | None = None,
    ) -> AnyScorer:  # fmt: skip
        """Prepare to score several lists of pairs over the same facts."""

    @abstractmethod
    def ranker(
        self, facts: Input, *, score: Score | str = Score.MEAN, threads: int | None = None
    ) -> FactRanker:
        """Prepare to answer many queries over the same facts."""

    @abstractmethod
    def explainer(
        self, facts: Input, pairs: Input | None = None, *, threads: int | None = None
    ) -> Explainer:
        """Prepare to explain many links; a collective model needs all `pairs` that it scores."""

    @classmethod
    @abstractmethod
    def parse(cls, text: str, name: str = "model") -> Self:
        """Read a model from its text; error messages call the text `name`."""

    @classmethod
    def load(cls, path: str | os.PathLike[str]) -> Self:
        """Read a file that `save` wrote.

        Raises
        ------
        hornbeam.errors.DataError
            If the file cannot be read, or is not a model of this kind.
        """
        return cls.parse(file_text(path), os.fspath(path))

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write the model to a file, all of it or nothing."""
        save_text(path, self.text)

    def queries(
        self, language: str, *, base: str = BASE, id_property: str = ID,
        pair: Sequence[str] | None = None,
    ) -> ResultTable:  # fmt: skip
        """Write every rule as a query that returns its groundings for a pair, one row each.

        The table has rule, weight, query, and the reason where a rule has no query.

        Parameters
        ----------
        language
            "sparql" or "cypher".
        base
            What names that are no IRIs are appended to in SPARQL.
        id_property
            The property of a node that has its name in Cypher.
        pair
            The names of the pair, or of the entity; without it queries in SPARQL have
            `<urn:subject>` and `<urn:object>` in its place. In Cypher they are parameters.
        """
        from hornbeam.programs.rule_queries import rule_queries

        return rule_queries(
            self._queried_rules(), language, base=base, id_property=id_property, pair=pair
        )

    @abstractmethod
    def _queried_rules(self) -> list[QueriedRule]:
        """The rules, as queries are written of them."""

    def predict(
        self, facts: Input, pairs: Input, *, score: Score | str = Score.MEAN,
        names: Input | None = None, engine: str = "memory", threads: int | None = None,
        progress: Progress | bool = SILENT,
    ) -> ResultTable:  # fmt: skip
        """Score pairs; the table has one row per pair, in the order of the pairs.

        `np.asarray` of the table gives its scores. `facts` may be an open engine. `probability` is
        the probability that the pair is true: for a rule model, the mean itself. It is NaN where a
        score is no probability: with "map", or if the false pairs were sampled for learning.

        A model of a whole graph scores triples, each as an answer of (subject, relation, ?); its
        probabilities are calibrated. A triple that names an unknown entity has the score NaN and
        the probability 0. Triples that are facts are scored as if none of them were a fact; over a
        database they have no score.
        """
        scorer = self.scorer(facts, score=score, engine=engine, threads=threads)
        with as_progress(progress) as shown:
            return scorer.predict(pairs, names=names, progress=shown)

    def evaluate(
        self, facts: Input, labels: Input, *, score: Score | str = Score.MEAN,
        engine: str = "memory", threads: int | None = None, progress: Progress | bool = SILENT,
    ) -> Evaluation:  # fmt: skip
        """How well the scores agree with labels; `facts` may be an open engine."""
        known = labels_for(self, labels)
        scorer = self.scorer(facts, score=score, engine=engine, threads=threads)
        with as_progress(progress) as shown:
            return evaluate(known.truth, scorer.predict(known, progress=shown)[self._judged])

    def card(self, names: Input | None = None) -> ModelCard:
        """Where the model comes from, its figures, heaviest rules in words, and what it needs.

        Everything on the card is in the model file.
        """
        return model_card(cast("Any", self), as_names(names))

    def diff(
        self, new: AnyModel, facts: Input | None = None, labels: Input | None = None, *,
        threads: int | None = None, progress: Progress | bool = SILENT,
    ) -> ModelDiff:  # fmt: skip
        """How a new model of the same kind differs from this one: rules gone, new and changed.

        With facts and labels, also the figures of both models, and the labelled pairs that one of
        them calls true and the other false: by the threshold of a rule model, and from the
        probability 0.5 on by a model of a whole graph.
        """
        if (facts is None) != (labels is None):
            raise InputError("models are judged by labels over facts: give `facts` and `labels`")
        models = cast("Any", self), cast("Any", new)
        if facts is None or labels is None:
            return model_diff(*models)
        known, shared = labels_for(self, labels), facts_of(facts)
        with as_progress(progress) as shown:
            first, second = (
                np.asarray(
                    model.predict(shared, known, threads=threads, progress=shown)[model._judged]
                )
                for model in models
            )
        return model_diff(*models, known, (first, second))

    def rank(
        self, facts: Input, queries: Input | NamedQueries, *, top: int = 10, known: bool = False,
        score: Score | str = Score.MEAN, names: Input | None = None, threads: int | None = None,
        progress: Progress | bool = SILENT,
    ) -> ResultTable:  # fmt: skip
        """Answer queries, `(subject, relation, "?")` or `("?", relation, object)`, best first.

        The table has the `top` answers per query: subject, relation, object, score, rank and query;
        with `names`, also the names of subject and object. Answers that are facts are left out
        unless `known`. A model of a whole graph gives only new answers, each with its probability.
        """
        ranker = self.ranker(facts, score=score, threads=threads)
        with as_progress(progress) as shown:
            return ranker.rank(queries, top=top, known=known, names=names, progress=shown)

    def evaluate_ranks(
        self, facts: Input, test: Input, *, filter: Input | None = None,  # noqa: A002
        score: Score | str = Score.MEAN, threads: int | None = None,
        progress: Progress | bool = SILENT,
    ) -> GraphEvaluation:  # fmt: skip
        """Filtered ranks of the true answers of test triples, in both directions.

        Triples of `filter` are not wrong answers; test triples of other relations are left out.
        """
        with as_progress(progress) as shown:
            return self.ranker(facts, score=score, threads=threads).evaluate(test, filter, shown)

    @abstractmethod
    def explain(
        self, facts: Input, pair: Sequence[str], *, target: str | None = None,
        pairs: Input | None = None, paths: int = PATHS, flip: bool = True,
        names: Input | None = None, threads: int | None = None, progress: Progress | bool = SILENT,
        at: str | int | None = None,
    ) -> Explanation:  # fmt: skip
        """Explain the score of a pair: rules for and against it, their paths, and facts to flip it.

        Parameters
        ----------
        pair, target
            Subject and object, with the predicate between them or given as `target`; of a target
            on one entity the entity, alone or with the predicate after it.
        pairs
            For a collective model: all pairs that are scored together, including `pair`.
        paths
            Maximum number of paths per rule: the first paths in the order of entity names.
        flip
            Look for the fewest facts whose removal flips the decision (not for collective models,
            nor over facts with a time).
        at
            For a rule model over facts with a time: the time of the query, which sees the facts
            before it; a date, a timestamp or a whole number. By default all facts are before it.
        """

    def _explained(
        self, explainer: Explainer, pair: Sequence[str], target: str | None, names: Input | None,
        paths: int, flip: bool, progress: Progress | bool,
    ) -> Explanation:  # fmt: skip
        """Explain a link whose entities are given by ids or names; the explanation shows names."""
        called, known = as_names(names), explainer.facts.entities
        subject, predicate, object_ = named_atom(self, pair, target, called)
        entity = called.entity if self._explains_unseen else called.known_entity
        with as_progress(progress) as shown:
            explanation = explainer.explain(
                entity(subject, known), predicate, entity(object_, known), paths=paths, flip=flip,
                progress=shown,
            )  # fmt: skip
        return explanation.in_names(called)


@dataclass(frozen=True, eq=False)
class Model(RuleModel, AnyModel):
    r"""Weighted rules that score links; models with the same rules and semantics are equal.

    Facts, labels and pairs may be files, frames, tuples, or lists of any of them. Data that is used
    often is best read once, by `hornbeam.read_facts`, `read_labels` or `read_pairs`.
    Pairs and labels need no predicate if the model has one target. `names` are readable names of
    entities (see `hornbeam.read_names`), `score` is "mean" or "map", `engine` "memory" or "duckdb".
    `threads` is one per core by default, and `progress` a callback for the progress of the work, or
    True for a bar on stderr.

    Examples
    --------
    >>> import hornbeam as hb
    >>> model = hb.Model.parse("2: knows(A, B) & trusts(B, C) -> trusts(A, C)\n1: !trusts(A, B)\n")
    >>> model.predict([("a", "knows", "b"), ("b", "trusts", "c")], [("a", "c"), ("a", "b")])
    subject  predicate  object  score     probability
    a        trusts     c       0.731059  0.731059
    a        trusts     b       0.268941  0.268941
    """

    _judged = "score"

    trace: Trace | None = None

    def _repr_html_(self) -> str:
        return rule_table(self).html()

    @property
    def is_collective(self) -> bool:
        """Whether the model scores pairs together: a score depends on the other pairs."""
        return bool(self.semantics.collective)

    @property
    def text(self) -> str:
        """The text of the model file: one line of JSON, then PSL rules; `parse` reads it back."""
        return model_text(self)

    @classmethod
    def parse(cls, text: str, name: str = "model") -> Self:
        """Read a model from its text; error messages call the text `name`."""
        if text.startswith(GRAPH_MARK):
            raise DataError(name, f"{_OF_A_GRAPH} `hornbeam.GraphModel.parse`", line=1)
        parsed = parse_model(text, name)
        return cls(parsed.rules, parsed.semantics, parsed.beliefs, parsed.provenance)

    @classmethod
    def load(cls, path: str | os.PathLike[str]) -> Self:
        """Read a model file."""
        if is_graph_model(path):
            raise DataError(os.fspath(path), f"{_OF_A_GRAPH} `hornbeam.load`", line=1)
        return super().load(path)

    def to_table(
        self, facts: Input | None = None, labels: Input | None = None, *, worth: bool = False,
        progress: Progress | bool = SILENT,
    ) -> ResultTable:  # fmt: skip
        """A table of the rules: text, words, weight, counts; on labels, coverage and precision.

        With `worth` also the figures on the labels without each rule, the others unchanged.
        """
        engine = None if facts is None else self._walkable(facts, 1)
        with as_progress(progress) as shown:
            return judged_rules(self, engine, labels, worth=worth, progress=shown)

    def scorer(
        self, facts: Input, *, score: Score | str = Score.MEAN, engine: str = "memory",
        threads: int | None = None,
    ) -> RuleScorer:  # fmt: skip
        """Prepare to score several lists of pairs over the same facts."""
        return RuleScorer(self, open_engine(facts, engine, threads), Score(score))

    def map_state(
        self, facts: Input, pairs: Input, *, threads: int | None = None
    ) -> CollectiveState:
        """Find the MAP state of all pairs together, as a collective model scores them."""
        return infer_pairs(self, open_in_memory(facts, threads), pairs_for(self, pairs))

    def propose(
        self, facts: Input, *, target: str | None = None, top: int = 20, per_subject: bool = False,
        subjects: Sequence[str] | None = None, objects: Sequence[str] | None = None,
        score: Score | str = Score.MEAN, names: Input | None = None, engine: str = "memory",
        threads: int | None = None, progress: Progress | bool = SILENT,
    ) -> ResultTable:  # fmt: skip
        """Find the `top` best new links of `target` by following rules forward from `subjects`.

        By default `subjects` are the subjects of known facts of the target, or all entities if it
        has none. With `per_subject`, the table has the `top` best links per subject. If only
        `objects` are given, rules are followed backward from these, to any subject; with both, only
        links between these are proposed. See `hornbeam.scoring.proposals.proposable` for which
        pairs may be proposed.
        """
        refuse_time(self, "proposes none")
        memory = open_in_memory(facts, threads)
        counter = memory if engine == "memory" else open_engine(memory.facts, engine, threads)
        with as_progress(progress) as shown:
            return propose_links(
                self, memory, counter, target, None if names is None else as_names(names),
                subjects=subjects, objects=objects, top=top, per_subject=per_subject, score=score,
                progress=shown,
            )  # fmt: skip

    def ranker(
        self, facts: Input, *, score: Score | str = Score.MEAN, threads: int | None = None
    ) -> RuleRanker:
        """Prepare to answer many queries over the same facts."""
        return RuleRanker.of(self, open_in_memory(facts, threads), score=Score(score))

    def explainer(
        self, facts: Input, pairs: Input | None = None, *, threads: int | None = None,
        at: str | int | None = None,
    ) -> RuleExplainer:  # fmt: skip
        """Prepare to explain many pairs; a collective model needs all `pairs` that it scores.

        A model over facts with a time explains what was known at a time, after all by default.
        """
        wanted = None if pairs is None else pairs_for(self, pairs)
        return open_explainer(self, self._walkable(facts, threads, at), wanted)

    def explain(
        self, facts: Input, pair: Sequence[str], *, target: str | None = None,
        pairs: Input | None = None, paths: int = PATHS, flip: bool = True,
        names: Input | None = None, threads: int | None = None, progress: Progress | bool = SILENT,
        at: str | int | None = None,
    ) -> Explanation:  # fmt: skip
        """Explain the score of a pair; see `AnyModel.explain`.

        A model over facts with a time explains what was known `at` a time: a date, a timestamp or a
        whole number, by default one after all facts. No flips are searched for there.
        """
        explainer = self.explainer(facts, pairs, threads=threads, at=at)
        return self._explained(explainer, pair, target, names, paths, flip, progress)

    def _walkable(
        self, facts: Input, threads: int | None = None, at: str | int | None = None
    ) -> MemoryEngine:
        """The engine in memory, of a model over facts with a time at one time."""
        if self.semantics.time is None:
            if at is not None:
                raise InputError("the model is over facts without a time: leave out `at`")
            return open_in_memory(facts, threads)
        opened = open_engine(facts, threads=threads)
        check_time(self, opened)
        return SnapshotEngine.of(
            as_timed(opened, "the facts have no time"),
            self.bodies,
            time_in(at, self.semantics.time),
        )

    def report(
        self, facts: Input | None = None, labels: Input | None = None, *, test: Input | None = None,
        filter: Input | None = None, trace: Trace | None = None,  # noqa: A002
        names: Input | None = None, threads: int | None = None, progress: Progress | bool = SILENT,
        filtered_by: str = FILTERS,
    ) -> str:  # fmt: skip
        """The report as one HTML page: what was learned, how (by `trace`), how good on labels.

        Instead of labels, true triples of `test` may judge the model by their ranks, filtered by
        those of `filter`, too; the page says that they are filtered by `filtered_by`. Without
        facts the page shows the rules, and how they were learned.
        """
        from hornbeam.reporting.report import report, report_without_facts

        if test is not None and labels is not None:
            raise InputError("give either `labels` (pairs with 0 or 1) or `test` (true triples)")
        if filter is not None and test is None:
            raise InputError("`filter` needs `test`: it names further true triples")
        if facts is None:
            if labels is not None or test is not None:
                raise InputError("a model is judged over facts: give `facts`")
            return report_without_facts(self, trace or self.trace, as_names(names))
        known = None if labels is None else labels_for(self, labels)
        if test is not None:
            refuse_time(self, "ranks no test triples")
        engine = self._walkable(facts, threads)
        explainer = open_explainer(self, engine, known)
        with as_progress(progress) as shown:
            ranks = None
            if test is not None:
                ranks = RuleRanker.of(self, engine).evaluate(test, filter, shown)
            return report(
                explainer, known, trace or self.trace, shown, names=as_names(names), ranks=ranks,
                filtered_by=filtered_by,
            )  # fmt: skip

    def _queried_rules(self) -> list[QueriedRule]:
        from hornbeam.programs.rule_queries import queried_rules

        return list(queried_rules(self))

    def export(
        self, facts: Input | None = None, pairs: Input | None = None,
        output: str | os.PathLike[str] | None = None, *, plain: bool = False,
    ) -> FilePath:  # fmt: skip
        """Write a PSL program, ready for PSL's Java runtime, to a folder; returns its path.

        Rules that PSL cannot express use observed predicates with their counts; `plain` refuses.
        """
        from hornbeam.programs.export import export_program

        if facts is None or pairs is None:
            raise InputError(
                "a rule model is exported with its facts and pairs: give `facts`, `pairs`"
            )
        if output is None:
            raise InputError("name a folder for the program: `output`")
        refuse_time(self, "PSL knows no time, so that it is not exported")
        engine = open_in_memory(facts)
        return export_program(self, engine, pairs_for(self, pairs), output, plain=plain)

    def __repr__(self) -> str:
        return f"Model({len(self.rules)} rules for {', '.join(self.targets)})"
