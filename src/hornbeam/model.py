"""The face of a model: score, propose, evaluate, explain, report, export."""

from __future__ import annotations

import os
import warnings
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path as FilePath

import numpy as np
import numpy.typing as npt

from hornbeam.arrays import Floats
from hornbeam.choices import Score
from hornbeam.counting.engine import Engine
from hornbeam.counting.opening import Evidence, open_engine
from hornbeam.counting.sql.sql_engine import SqlEngine
from hornbeam.errors import DataError, HornbeamWarning, InputError, UnknownTargetError
from hornbeam.explaining.explainer import Explainer, open_explainer
from hornbeam.explaining.explanation import PATHS, Explanation
from hornbeam.facts.table import Facts, Targets
from hornbeam.files import save_text
from hornbeam.learning.trace import Trace
from hornbeam.machine import worker_threads
from hornbeam.progress import SILENT, Progress
from hornbeam.reporting.evaluation import Evaluation, evaluate
from hornbeam.rules.model_file import model_text, parse_model
from hornbeam.rules.rule_model import RuleModel
from hornbeam.scoring.batches import scored_batches
from hornbeam.scoring.collective_scorer import CollectiveState, infer_pairs
from hornbeam.scoring.proposals import best_new_links, subjects_of
from hornbeam.scoring.scorer import Scorer, open_scorer


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
        explainer = self.explainer(facts, labels, threads=worker_threads(threads))
        return report(explainer, labels, trace or self.trace, progress)

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


def _known_subjects(facts: Facts, names: Sequence[str]) -> npt.NDArray[np.int32]:
    found = facts.entities.find(names)
    if (found < 0).any():
        unknown = names[int(np.argmax(found < 0))]
        raise InputError(f"no fact has the subject {unknown!r}; expected the name of an entity")
    return np.unique(found)


def _warn(text: str) -> None:
    warnings.warn(text, HornbeamWarning, stacklevel=3)
