"""The face of a model: score, propose, evaluate, explain, report, export."""

from __future__ import annotations

import os
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path as FilePath

from hornbeam.arrays import Floats
from hornbeam.choices import Score
from hornbeam.counting.opening import Evidence, open_engine
from hornbeam.explaining.explainer import Explainer, open_explainer
from hornbeam.explaining.explanation import PATHS, Explanation
from hornbeam.facts.entity_names import NO_NAMES, EntityNames
from hornbeam.facts.reading.readers import as_facts
from hornbeam.facts.table import Facts, Targets
from hornbeam.files import save_text
from hornbeam.graphs.asked import as_queries
from hornbeam.graphs.ranked_answers import ranked_answers
from hornbeam.graphs.ranking import GraphEvaluation, evaluate_ranks
from hornbeam.graphs.rule_ranker import RuleRanker
from hornbeam.learning.trace import Trace
from hornbeam.machine import worker_threads
from hornbeam.progress import SILENT, Progress
from hornbeam.reporting.evaluation import Evaluation, evaluate
from hornbeam.result_table import ResultTable
from hornbeam.rules.model_file import load_model, model_text, parse_model
from hornbeam.rules.rule_model import RuleModel
from hornbeam.scoring import model_checks as checks
from hornbeam.scoring.collective_scorer import CollectiveState, infer_pairs
from hornbeam.scoring.proposals import best_new_links, subjects_of
from hornbeam.scoring.scorer import open_scorer


@dataclass(frozen=True, eq=False)
class Model(RuleModel):
    r"""Weighted rules that score links.

    Examples
    --------
    >>> import hornbeam as hb
    >>> facts = hb.read_facts([("a", "knows", "b"), ("b", "trusts", "c")])
    >>> text = "2.0: knows(A, B) & trusts(B, C) -> trusts(A, C)\n1.0: !trusts(A, B)\n"
    >>> model = hb.Model.parse(text)
    >>> model.predict(facts, hb.read_pairs([("a", "trusts", "c")])).round(3)
    array([0.731])
    """

    trace: Trace | None = None

    @property
    def text(self) -> str:
        """The model as a file: PSL rules behind one line of JSON."""
        return model_text(self)

    @classmethod
    def parse(cls, text: str, name: str = "model") -> Model:
        """Read a model from its text; `name` is how errors call it."""
        parsed = parse_model(text, name)
        return cls(parsed.rules, parsed.semantics)

    @classmethod
    def load(cls, path: str | os.PathLike[str]) -> Model:
        """Read a model file."""
        loaded = load_model(path)
        return cls(loaded.rules, loaded.semantics)

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write the model; either all of it is there afterwards or nothing."""
        save_text(FilePath(path), self.text)

    def predict(
        self,
        facts: Evidence,
        pairs: Targets,
        *,
        score: Score | str = Score.MEAN,
        engine: str = "memory",
        threads: int | None = None,
        progress: Progress = SILENT,
    ) -> Floats:
        """Score pairs in their order."""
        checks.warn_of_missing_predicates(self, facts)
        checks.warn_of_missing_constants(self, facts)
        checks.warn_of_other_targets(self, pairs)
        scorer = open_scorer(self, facts, engine, threads)
        checks.tell_unseen(self, scorer.locate(pairs.entities), pairs, progress)
        return scorer.scores(pairs, Score(score), progress)

    def infer(self, facts: Facts, pairs: Targets, *, threads: int | None = None) -> CollectiveState:
        """Find the MAP state of all pairs together, as a collective model scores them."""
        return infer_pairs(self, facts, pairs, threads=threads)

    def propose(
        self,
        facts: Facts,
        *,
        target: str | None = None,
        top: int = 20,
        per_subject: bool = False,
        subjects: Sequence[str] | None = None,
        score: Score | str = Score.MEAN,
        engine: str = "memory",
        threads: int | None = None,
        progress: Progress = SILENT,
    ) -> tuple[Targets, Floats]:
        """Find the best new links by following the rules forward from subjects.

        Returns the pairs and their scores, best first (by subject where `per_subject`); by default
        of the target's known subjects, or, where the facts have none, of every entity.
        """
        name = checks.one_target(self, target)
        checks.warn_of_missing_predicates(self, facts)
        checks.warn_of_missing_constants(self, facts)
        return best_new_links(
            self,
            facts,
            open_engine(facts, engine, threads),
            name,
            subjects_of(facts, name, subjects),
            top=top,
            per_subject=per_subject,
            score=Score(score),
            progress=progress,
        )

    def evaluate(
        self,
        facts: Evidence,
        labels: Targets,
        *,
        score: Score | str = Score.MEAN,
        engine: str = "memory",
        threads: int | None = None,
        progress: Progress = SILENT,
    ) -> Evaluation:
        """How well the scores agree with labels."""
        predicted = self.predict(
            facts, labels, score=score, engine=engine, threads=threads, progress=progress
        )
        return evaluate(labels.truth, predicted)

    def rank(
        self,
        facts: Facts,
        queries: object,
        *,
        top: int = 10,
        known: bool = False,
        score: Score | str = Score.MEAN,
        threads: int | None = None,
        progress: Progress = SILENT,
    ) -> ResultTable:
        """Answer queries, `(subject, relation, "?")` or `("?", relation, object)`, best first.

        They come as a file, a frame, tuples or what `read_queries` returns. Answers that are facts
        already are left out unless `known`.
        """
        asked = as_queries(queries)
        ranker = self.ranker(facts, score=Score(score), threads=threads)
        return ranked_answers(ranker, asked, top, known, progress=progress)

    def evaluate_ranks(
        self,
        facts: Facts,
        test: object,
        *,
        filter: object = None,  # noqa: A002
        score: Score | str = Score.MEAN,
        threads: int | None = None,
        progress: Progress = SILENT,
    ) -> GraphEvaluation:
        """Filtered ranks of the true answers of test triples, in both directions.

        Test triples, and those of a filter that are no wrong answers either, come as facts, a
        file, a frame or tuples; those of other relations than the model's targets are left out.
        """
        ranker = self.ranker(facts, score=Score(score), threads=threads)
        further = [] if filter is None else [as_facts(filter)]
        return evaluate_ranks(
            ranker, ranker.facts, as_facts(test), further, relations=self.targets,
            progress=progress,
        )  # fmt: skip

    def ranker(
        self, facts: Facts, *, score: Score = Score.MEAN, threads: int | None = None
    ) -> RuleRanker:
        """Prepare to rank answers of many queries."""
        checks.warn_of_missing_predicates(self, facts)
        checks.warn_of_missing_constants(self, facts)
        return RuleRanker.of(self, facts, score=score, threads=threads)

    def explain(
        self,
        facts: Facts,
        pair: Sequence[str],
        *,
        target: str | None = None,
        pairs: Targets | None = None,
        paths: int = PATHS,
        flip: bool = True,
        threads: int = 1,
        progress: Progress = SILENT,
    ) -> Explanation:
        """Say why a pair scores as it does: rules for and against, their paths, what would flip it.

        Parameters
        ----------
        pair, target
            Subject and object, or subject, predicate and object; `target` names a left out one.
        pairs
            For a collective model: all pairs that are scored together, this one among them.
        paths
            Most paths of a rule to name, the first in the order of their entities' names.
        flip
            Look for the fewest facts whose removal flips the decision (not for collective models).
        """
        atom = checks.named_atom(self, pair, target)
        checks.warn_of_missing_predicates(self, facts)
        checks.warn_of_missing_constants(self, facts)
        explainer = self.explainer(facts, pairs, threads=threads)
        return explainer.explain(*atom, paths=paths, flip=flip, progress=progress)

    def explainer(self, facts: Facts, pairs: Targets | None = None, threads: int = 1) -> Explainer:
        """Prepare to explain many pairs; a collective model needs all that it scores together."""
        return open_explainer(self, facts, pairs, threads=threads)

    def report(
        self,
        facts: Facts,
        labels: Targets,
        *,
        trace: Trace | None = None,
        names: EntityNames = NO_NAMES,
        threads: int | None = None,
        progress: Progress = SILENT,
    ) -> str:
        """Write one HTML page: what was learned, how good it is on labels, where it fails.

        `trace` says how the model was learned; one that has just been learned knows it by itself.
        `names` are shown for the ids of entities (see `hornbeam.read_names`).
        """
        from hornbeam.reporting.report import report

        checks.warn_of_missing_predicates(self, facts)
        checks.warn_of_missing_constants(self, facts)
        checks.warn_of_other_targets(self, labels)
        explainer = open_explainer(self, facts, labels, threads=worker_threads(threads))
        return report(explainer, labels, trace or self.trace, progress, names=names)

    def export(
        self,
        facts: Facts,
        pairs: Targets,
        folder: str | os.PathLike[str],
        *,
        plain: bool = False,
    ) -> FilePath:
        """Write a PSL program that the Java runtime runs as it is; returns its path.

        Rules that PSL cannot say are written through predicates that hold what they count for the
        pairs; with `plain` they are refused.
        """
        from hornbeam.programs.export import export_program

        checks.check_arities(self, facts)
        return export_program(self, facts, pairs, folder, plain=plain)

    def __repr__(self) -> str:
        return f"Model({len(self.rules)} rules for {', '.join(self.targets)})"
