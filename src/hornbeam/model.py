"""The whole flow on one page: facts and labels in, a model out, scores from the model.

facts -> candidates -> statistics -> weights -> model -> scores -> evaluation
"""

from __future__ import annotations

import os
import time
import warnings
from collections.abc import Sequence
from dataclasses import asdict, dataclass, field, replace
from pathlib import Path as FilePath
from typing import Any

import numpy as np
import numpy.typing as npt

from hornbeam.arrays import Floats
from hornbeam.counting.collective.collective_statistics import (
    CollectiveStatistics,
    discover_collective,
)
from hornbeam.counting.engine import Engine
from hornbeam.counting.opening import Evidence, discover, open_engine, select_target
from hornbeam.counting.sql.sql_engine import SqlEngine
from hornbeam.counting.statistics import Statistics
from hornbeam.errors import DataError, HornbeamWarning, InputError, UnknownTargetError
from hornbeam.explaining.explainer import Explainer, open_explainer
from hornbeam.explaining.explanation import PATHS, Explanation
from hornbeam.facts.negatives import Sampling, with_negatives
from hornbeam.facts.table import Facts, Targets
from hornbeam.files import save_text
from hornbeam.learning.histogram_learning import learn_from_histograms
from hornbeam.learning.joint import Joint
from hornbeam.learning.learner import LEARNERS, Learner, learn_rules
from hornbeam.learning.outcomes import candidate_outcomes
from hornbeam.learning.trace import Trace, trace_of
from hornbeam.machine import worker_threads
from hornbeam.progress import SILENT, Progress
from hornbeam.reporting.evaluation import Evaluation, evaluate
from hornbeam.rules.candidates import Language
from hornbeam.rules.model_file import model_text, parse_model
from hornbeam.rules.rule_model import Counts, Relaxation, RuleModel, Semantics
from hornbeam.scoring.batches import scored_batches
from hornbeam.scoring.collective_scorer import CollectiveState, infer_pairs
from hornbeam.scoring.independent_scorer import Score
from hornbeam.scoring.proposals import best_new_links, subjects_of
from hornbeam.scoring.scorer import Scorer, open_scorer

__all__ = ["Model", "discover", "learn", "select_target"]


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

    trace: dict[str, Any] = field(default_factory=dict)

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
        try:
            return cls.parse(FilePath(path).read_text(encoding="utf-8"), str(path))
        except UnicodeDecodeError:
            raise DataError(str(path), "expected UTF-8 text of PSL rules") from None
        except OSError as error:
            raise DataError(str(path), f"cannot be read: {error.strerror}") from None

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
        self._check(facts)
        self._check_targets(pairs)
        scorer = open_scorer(self, facts, engine, threads)
        self._tell_unseen(scorer, pairs, progress)
        return scorer.scores(pairs, Score(score), progress)

    def infer(
        self,
        facts: Evidence,
        pairs: Targets,
        *,
        engine: str = "memory",
        threads: int | None = None,
        progress: Progress = SILENT,
    ) -> CollectiveState:
        """Find the MAP state of all pairs together, as a collective model scores them."""
        return infer_pairs(self, facts, pairs, engine, threads=threads, progress=progress)

    def predict_to(
        self,
        engine: SqlEngine,
        pairs: Targets,
        path: str | os.PathLike[str],
        *,
        score: Score | str = Score.MEAN,
        progress: Progress = SILENT,
    ) -> None:
        """Score pairs in their order into Parquet that the engine writes, a block at a time.

        The columns are subject, predicate, object and score.
        """
        if self.semantics.collective:
            raise InputError(
                'a collective model scores pairs together, in memory: use `engine="memory"`'
            )
        self._check(engine)
        self._tell_unseen(engine, pairs, progress)
        batches = scored_batches(engine, self, pairs, Score(score), progress)
        engine.database.write_parquet(os.fspath(path), batches)

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

        Returns the pairs and their scores, best first (by subject where `per_subject`). Without
        `subjects` links are proposed for the target's known subjects, or, where the facts have
        none, for every entity.
        """
        name = self._one_target(target)
        if self.semantics.collective:
            raise InputError(
                "a collective model scores pairs together and proposes none: give `pairs`"
            )
        self._check(facts)
        return best_new_links(
            self,
            facts,
            open_engine(facts, engine, threads),
            name,
            subjects_of(facts, name) if subjects is None else _known_subjects(facts, subjects),
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
        pair
            Subject and object, or subject, predicate and object.
        target
            The predicate of a pair without one, where the model has several.
        pairs
            For a collective model: all pairs that are scored together, this one among them.
        paths
            Most paths of a rule to name, the first in the order of their entities' names.
        flip
            Look for the smallest set of facts whose removal flips the decision; not done for a
            collective model, where a fact less would move all pairs.
        """
        if isinstance(pair, str) or len(pair) not in (2, 3):
            raise InputError(
                f"{pair!r} is no pair; expected (subject, object) or (subject, predicate, object)"
            )
        subject, object_ = pair[0], pair[-1]
        name = self._one_target(pair[1] if len(pair) == 3 else target)
        self._check(facts)
        return self.explainer(facts, pairs, threads=threads).explain(
            subject, name, object_, paths=paths, flip=flip, progress=progress
        )

    def explainer(
        self, facts: Facts, pairs: Targets | None = None, *, threads: int = 1
    ) -> Explainer:
        """Prepare to explain many pairs over the same facts.

        A collective model needs all `pairs` that are scored together.
        """
        return open_explainer(self, facts, pairs, threads=threads)

    def report(
        self,
        facts: Facts,
        labels: Targets,
        *,
        trace: Trace | None = None,
        threads: int | None = None,
        progress: Progress = SILENT,
    ) -> str:
        """Write one HTML page: what was learned, how good it is on labels, where it fails.

        The page needs no network. `trace` says how the model was learned; a model that has just
        been learned knows it by itself.
        """
        from hornbeam.reporting.report import report

        self._check(facts)
        self._check_targets(labels)
        if trace is None and self.trace:
            trace = trace_of(self.trace)
        explainer = self.explainer(facts, labels, threads=worker_threads(threads))
        return report(explainer, labels, trace, progress)

    def export(self, facts: Facts, pairs: Targets, folder: str | os.PathLike[str]) -> FilePath:
        """Write a PSL program that the Java runtime runs as it is; returns its path."""
        from hornbeam.programs.export import export_program

        return export_program(self, facts, pairs, folder)

    def _one_target(self, target: str | None) -> str:
        if target is None and len(self.targets) == 1:
            return self.targets[0]
        if target is None:
            raise InputError(f"the model has several targets: choose one of {self.targets}")
        if target not in self.targets:
            raise UnknownTargetError(target, self.targets)
        return target

    def _tell_unseen(self, evidence: Scorer | Engine, pairs: Targets, progress: Progress) -> None:
        """Say how many pairs have an entity that no fact has, and what then decides."""
        unknown = evidence.locate(pairs.entities) < 0
        unseen = int(np.count_nonzero(unknown[pairs.subject] | unknown[pairs.object]))
        if unseen:
            subject = "1 pair names" if unseen == 1 else f"{unseen:,} pairs name"
            others = " and by the other pairs" if self.semantics.collective else ""
            scored = "it scores" if unseen == 1 else "they score"
            progress.message(
                f"{subject} an entity that no fact has; {scored} by the prior{others}."
            )

    def _check_targets(self, pairs: Targets) -> None:
        """Warn about pairs that no rule can speak about."""
        silent = sorted(set(pairs.predicates) - set(self.targets))
        if silent:
            _warn(f"the model has no rule for {', '.join(map(repr, silent))}; such pairs score 0.5")

    def _check(self, facts: Evidence) -> None:
        """Warn about rules over predicates that the facts do not have."""
        used = set[str]().union(*(body.predicates for body in self.bodies))
        missing = sorted(name for name in used if facts.predicates.index(name) < 0)
        if missing:
            _warn(f"the facts have no predicate {', '.join(map(repr, missing))}; "
                  "its rules have no groundings")  # fmt: skip

    def __repr__(self) -> str:
        return f"Model({len(self.rules)} rules for {', '.join(self.targets)})"

    def _repr_html_(self) -> str:
        from html import escape

        rows = "".join(
            f"<tr><td style='text-align:right'>{rule.weight:.3g}</td>"
            f"<td style='text-align:left'><code>{escape(text)}</code></td></tr>"
            for rule, text in zip(self.rules, self.clause_texts, strict=True)
        )
        return f"<table><tr><th>weight</th><th>rule</th></tr>{rows}</table>"


def learn(
    facts: Evidence,
    labels: Targets | None = None,
    *,
    target: str | None = None,
    method: str | Learner = "joint",
    language: Language | None = None,
    counts: Counts | str = "auto",
    relaxation: Relaxation | str | None = None,
    collective: bool = False,
    refit: bool = False,
    negatives: float = 1.0,
    negative_sampling: Sampling = "uniform",
    seed: int = 0,
    engine: str = "memory",
    threads: int | None = None,
    progress: Progress = SILENT,
) -> Model:
    """Learn a rule model from facts and labelled targets.

    Without labels the facts of `target` are the positives and negatives are sampled.

    Parameters
    ----------
    facts
        The evidence.
    labels
        Labelled targets, or None.
    target
        Learn this target predicate only; required without labels.
    method
        "joint", "ppll", "greedy", or a learner with settings of your own.
    language
        Which clauses are candidates.
    counts
        How much n groundings weigh: "raw", "log", "exists", or "auto" (the joint learner chooses
        by internal validation; the others take "raw").
    relaxation
        "boolean", "linear" or "squared"; by default the one the method is best with.
    collective
        Let bodies hold labelled targets too. The model then scores all pairs together.
    refit
        Fit the surviving rules once more, together and without L1.
    negatives, negative_sampling
        Sampled negatives a positive, and how; see `hornbeam.facts.negatives`.
    seed
        Of everything random: folds of the internal validation, sampled negatives.
    """
    seconds = {}
    clock = time.perf_counter()
    language = language or Language()
    labels, sampled = _labels(facts, labels, target, negatives, negative_sampling, seed)
    check_labels(labels)
    statistics: Statistics | CollectiveStatistics | None
    if collective:
        conditioned = discover_collective(
            facts, labels, language, engine=engine, threads=threads, progress=progress,
            own_facts_expected=sampled,
        )  # fmt: skip
        found, statistics = conditioned.search, conditioned.statistics
    else:
        opened = open_engine(facts, engine, threads)
        found = discover(opened, labels, language, progress=progress, own_facts_expected=sampled)
        statistics = found.statistics
    if not len(found.candidates):
        raise InputError(
            f"no relation sequence up to length {language.max_length} connects "
            f"{language.min_coverage} or more targets of {', '.join(labels.predicates)}: "
            "try a lower `min_coverage`, a larger `max_length`, or more facts"
        )
    seconds["generate"] = time.perf_counter() - clock
    clock = time.perf_counter()
    learner, usual = _learner(method, seed)
    setup = (
        labels,
        learner,
        None if counts == "auto" else Counts(counts),
        Relaxation(relaxation) if relaxation is not None else usual,
        Semantics(max_fanout=language.max_fanout, distinct_variables=language.distinct_variables),
        refit,
    )
    if statistics is None:
        assert found.histograms is not None
        learned = learn_from_histograms(
            found.histograms,
            *setup,
            lambda paths: opened.count(labels, paths, language, progress=progress),
            progress,
        )
    else:
        learned = learn_rules(statistics, *setup, progress)
    seconds["learn"] = time.perf_counter() - clock
    name = type(learner).__name__.lower()
    trace = {
        "method": name,
        "seed": seed,
        "language": asdict(language),
        "targets": len(labels),
        "positives": int(labels.positive.sum()),
        "sampled_negatives": negative_sampling if sampled else None,
        "found": found.found,
        "candidates": candidate_outcomes(
            found.candidates, found.statistics, learned.rules, learned.semantics.counts, name
        ),
        "seconds": seconds,
        **learned.trace,
    }
    return Model(learned.rules, learned.semantics, trace)


def _labels(
    facts: Evidence,
    labels: Targets | None,
    target: str | None,
    negatives: float,
    sampling: Sampling,
    seed: int,
) -> tuple[Targets, bool]:
    """Choose the labels to learn from, and say whether they were sampled from the facts."""
    if labels is not None:
        return select_target(labels, target), False
    if target is None:
        raise InputError("without labels, name the predicate to learn: `target=PREDICATE`")
    if not isinstance(facts, Facts):
        raise InputError(
            "this engine leaves the facts where they are and samples no negatives: give `labels`"
        )
    rng = np.random.default_rng(seed)
    return with_negatives(facts, target, negatives, sampling, rng=rng), True


def check_labels(labels: Targets) -> None:
    """Refuse labels from which nothing can be learned."""
    positives = int(labels.positive.sum())
    if positives in (0, len(labels)):
        kind = "false" if positives == 0 else "true"
        raise InputError(
            f"all {len(labels):,} labels are {kind}; learning needs both true and false targets "
            "(leave out `labels` and give `target` to sample negatives)"
        )


def _learner(method: str | Learner, seed: int) -> tuple[Learner, Relaxation]:
    if isinstance(method, str):
        if method not in LEARNERS:
            raise InputError(f"unknown method {method!r}; expected one of {', '.join(LEARNERS)}")
        make, usual = LEARNERS[method]
        learner = make()
        return (replace(learner, seed=seed) if isinstance(learner, Joint) else learner), usual
    return method, LEARNERS[type(method).__name__.lower()][1]


def _known_subjects(facts: Facts, names: Sequence[str]) -> npt.NDArray[np.int32]:
    found = facts.entities.find(names)
    if (found < 0).any():
        unknown = names[int(np.argmax(found < 0))]
        raise InputError(f"no fact has the subject {unknown!r}; expected the name of an entity")
    return np.unique(found)


def _warn(text: str) -> None:
    warnings.warn(text, HornbeamWarning, stacklevel=3)
