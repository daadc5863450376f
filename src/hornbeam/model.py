"""The whole flow on one page: facts and labels in, a model out, scores from the model.

    facts -> candidates -> statistics -> weights -> model -> scores -> evaluation
"""

from __future__ import annotations

import os
import time
import warnings
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path as FilePath
from typing import Any

import numpy as np
import numpy.typing as npt

from hornbeam.clauses.candidates import Language
from hornbeam.clauses.clause import Prior
from hornbeam.clauses.model_file import model_text, parse_model
from hornbeam.clauses.rules import Counts, Relaxation, Rule, Semantics
from hornbeam.errors import DataError, HornbeamWarning, InputError, UnknownTargetError
from hornbeam.facts.table import Facts, Targets
from hornbeam.files import save_text
from hornbeam.inference.closed import Score, rule_paths, scores, strengths
from hornbeam.inference.proposals import reached_pairs, subjects_of
from hornbeam.learning.learners import LEARNERS, Learner, learn_rules
from hornbeam.progress import SILENT, Progress
from hornbeam.results.evaluation import Evaluation, evaluate
from hornbeam.statistics.engine import Discovery, Engine

Floats = npt.NDArray[np.float64]


@dataclass(frozen=True, eq=False)
class Model:
    """Weighted rules that score links.

    Examples
    --------
    >>> import hornbeam as hb
    >>> facts = hb.read_facts([("a", "knows", "b"), ("b", "trusts", "c")])
    >>> text = "2.0: knows(A, B) & trusts(B, C) -> trusts(A, C)\\n1.0: !trusts(A, B)\\n"
    >>> model = hb.Model.parse(text)
    >>> model.predict(facts, hb.read_pairs([("a", "trusts", "c")])).round(3)
    array([0.731])
    """

    rules: tuple[Rule, ...]
    semantics: Semantics = Semantics()
    trace: dict[str, Any] = field(default_factory=dict)

    @property
    def text(self) -> str:
        """The model as a file: PSL rules behind one line of JSON."""
        return model_text(self.rules, self.semantics)

    @classmethod
    def parse(cls, text: str, name: str = "model") -> Model:
        """A model from its text; `name` is how errors call it."""
        rules, semantics = parse_model(text, name)
        return cls(tuple(rules), semantics)

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

    @property
    def targets(self) -> list[str]:
        """Target predicates."""
        heads = (
            rule.clause.target if isinstance(rule.clause, Prior) else rule.clause.path.target
            for rule in self.rules
        )
        return sorted(set(heads))

    @property
    def language(self) -> Language:
        """How the rules walk the graph."""
        distinct = any(getattr(rule.clause, "distinct", False) for rule in self.rules)
        return Language(distinct_variables=distinct, max_fanout=self.semantics.max_fanout)

    def strengths(
        self,
        facts: Facts,
        pairs: Targets,
        *,
        engine: str = "memory",
        threads: int | None = None,
        progress: Progress = SILENT,
    ) -> tuple[Floats, Floats]:
        """What the rules say for (A) and against (B) every pair."""
        self._check(facts, pairs)
        paths = rule_paths(self.rules)
        counted = open_engine(facts, engine, threads).count(
            pairs, paths, self.language, progress=progress
        )
        return strengths(self.rules, self.semantics, counted, pairs)

    def predict(
        self,
        facts: Facts,
        pairs: Targets,
        *,
        score: Score | str = Score.MEAN,
        engine: str = "memory",
        threads: int | None = None,
        progress: Progress = SILENT,
    ) -> Floats:
        """Score pairs in their order."""
        up, down = self.strengths(facts, pairs, engine=engine, threads=threads, progress=progress)
        return scores(up, down, self.semantics, Score(score))

    def propose(
        self,
        facts: Facts,
        *,
        target: str | None = None,
        top: int = 20,
        per_subject: bool = False,
        subjects: Sequence[str] | None = None,
        threads: int | None = None,
        progress: Progress = SILENT,
    ) -> tuple[Targets, Floats]:
        """The best new links, found by following the rules forward from subjects.

        Returns the pairs and their scores, best first (by subject where `per_subject`).
        """
        name = self._one_target(target)
        start = subjects_of(facts, name) if subjects is None else facts.entities.find(subjects)
        if (start < 0).any():
            unknown = [s for s, i in zip(subjects or [], start, strict=True) if i < 0]
            raise InputError(f"no fact has the subject {unknown[0]!r}")
        blocks: list[tuple[Targets, Floats]] = []
        for block in reached_pairs(facts, self.rules, name, start):
            found = self.predict(facts, block, threads=threads)
            best = _best(found, block, top, per_subject)
            blocks.append((block.select(best), found[best]))
            progress.advance("Following rules", int(block.subject.max()), len(facts.entities))
        return _united(blocks, facts, name, top, per_subject)

    def evaluate(
        self,
        facts: Facts,
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

    def _one_target(self, target: str | None) -> str:
        if target is None and len(self.targets) == 1:
            return self.targets[0]
        if target is None:
            raise InputError(f"the model has several targets: choose one of {self.targets}")
        if target not in self.targets:
            raise UnknownTargetError(target, self.targets)
        return target

    def _check(self, facts: Facts, pairs: Targets) -> None:
        """Warn once about rules over unknown predicates and pairs that no rule speaks of."""
        used = {step.predicate for path in rule_paths(self.rules) for step in path.steps}
        missing = sorted(name for name in used if facts.predicates.index(name) < 0)
        if missing:
            _warn(f"the facts have no predicate {', '.join(map(repr, missing))}; "
                  "its rules have no groundings")  # fmt: skip
        silent = sorted(set(pairs.predicates) - set(self.targets))
        if silent:
            _warn(f"the model has no rule for {', '.join(map(repr, silent))}; such pairs score 0.5")

    def __repr__(self) -> str:
        return f"Model({len(self.rules)} rules for {', '.join(self.targets)})"

    def _repr_html_(self) -> str:
        from html import escape

        rows = "".join(
            f"<tr><td style='text-align:right'>{rule.weight:.3g}</td>"
            f"<td style='text-align:left'><code>{escape(str(rule.clause))}</code></td></tr>"
            for rule in self.rules
        )
        return f"<table><tr><th>weight</th><th>rule</th></tr>{rows}</table>"


def learn(
    facts: Facts,
    labels: Targets | None = None,
    *,
    target: str | None = None,
    method: str | Learner = "joint",
    language: Language | None = None,
    counts: Counts | str = "auto",
    relaxation: Relaxation | str | None = None,
    refit: bool = False,
    negatives: float = 1.0,
    negative_sampling: str = "uniform",
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
    found = discover(
        facts, labels, language, engine=engine, threads=threads, progress=progress,
        own_facts_expected=sampled,
    )  # fmt: skip
    if not len(found.candidates):
        raise InputError(
            f"no relation sequence up to length {language.max_length} connects "
            f"{language.min_coverage} or more targets of {', '.join(labels.predicates)}: "
            "try a lower --min-coverage, a larger --max-length, or more facts"
        )
    assert found.statistics is not None
    seconds["generate"] = time.perf_counter() - clock
    clock = time.perf_counter()
    learner, usual = _learner(method, seed)
    learned = learn_rules(
        found.statistics,
        labels,
        learner,
        None if counts == "auto" else Counts(counts),
        Relaxation(relaxation) if relaxation is not None else usual,
        Semantics(max_fanout=language.max_fanout),
        language.distinct_variables,
        refit,
        progress,
    )
    seconds["learn"] = time.perf_counter() - clock
    trace = {
        "method": method if isinstance(method, str) else type(method).__name__.lower(),
        "seed": seed,
        "targets": len(labels),
        "positives": int(labels.positive.sum()),
        "sampled_negatives": negative_sampling if sampled else None,
        "found": found.found,
        "candidates": [
            {"clause": c.text, "coverage": c.coverage, "coverage_true": c.coverage_true,
             "paths": c.paths}
            for c in found.candidates
        ],
        "seconds": seconds,
        **learned.trace,
    }  # fmt: skip
    return Model(learned.rules, learned.semantics, trace)


def _labels(
    facts: Facts,
    labels: Targets | None,
    target: str | None,
    negatives: float,
    sampling: str,
    seed: int,
) -> tuple[Targets, bool]:
    """The labels to learn from, and whether they were sampled from the facts."""
    if labels is not None:
        return select_target(labels, target), False
    if target is None:
        raise InputError("without labels, name the predicate to learn: --target PREDICATE")
    from hornbeam.facts.negatives import with_negatives

    return with_negatives(facts, target, negatives, sampling, np.random.default_rng(seed)), True


def check_labels(labels: Targets) -> None:
    """Refuse labels from which nothing can be learned."""
    positives = int(labels.positive.sum())
    if positives in (0, len(labels)):
        kind = "false" if positives == 0 else "true"
        raise InputError(
            f"all {len(labels):,} labels are {kind}; learning needs both true and false targets "
            "(leave out --labels and give --target to sample negatives)"
        )


def _learner(method: str | Learner, seed: int) -> tuple[Learner, Relaxation]:
    if isinstance(method, str):
        if method not in LEARNERS:
            raise InputError(f"unknown method {method!r}; expected one of {', '.join(LEARNERS)}")
        make, usual = LEARNERS[method]
        learner = make()
        return (replace(learner, seed=seed) if method == "joint" else learner), usual  # type: ignore[call-arg]
    return method, LEARNERS[type(method).__name__.lower()][1]


def select_target(targets: Targets, predicate: str | None) -> Targets:
    """The targets of one predicate, or all of them where `predicate` is None."""
    if predicate is None:
        return targets
    index = targets.predicates.index(predicate)
    if index < 0:
        raise UnknownTargetError(predicate, list(targets.predicates))
    from hornbeam.facts.names import Names

    chosen = targets.select(targets.predicate == index)
    return replace(
        chosen, predicates=Names.of([predicate]), predicate=np.zeros_like(chosen.predicate)
    )


def open_engine(facts: Facts, engine: str = "memory", threads: int | None = None) -> Engine:
    """The engine of that name over the facts."""
    if engine == "memory":
        from hornbeam.statistics.memory import MemoryEngine

        return MemoryEngine(facts) if threads is None else MemoryEngine(facts, threads)
    raise InputError(f"unknown engine {engine!r}; expected: memory")


def discover(
    facts: Facts,
    labels: Targets,
    language: Language | None = None,
    *,
    engine: str = "memory",
    threads: int | None = None,
    statistics: bool = True,
    progress: Progress = SILENT,
    own_facts_expected: bool = False,
) -> Discovery:
    """Find the candidate clauses for labelled targets, and count their groundings.

    Examples
    --------
    >>> from hornbeam import Language, discover, read_facts, read_labels
    >>> facts = read_facts([("paper1", "cites", "paper2"), ("paper2", "mentions", "gene")])
    >>> labels = read_labels([("paper1", "mentions", "gene", 1.0)])
    >>> found = discover(facts, labels, Language(min_coverage=1))
    >>> [candidate.text for candidate in found.candidates][0]
    'cites(A, B) & mentions(B, C) -> mentions(A, C)'
    """
    found = open_engine(facts, engine, threads).discover(
        labels, language or Language(), statistics=statistics, progress=progress
    )
    if found.own_edges and not own_facts_expected:
        _warn(
            f"{found.own_edges:,} labelled targets stand among the facts too; "
            "a target's own fact is never evidence for itself"
        )
    if found.unseen:
        progress.message(f"{found.unseen:,} targets name an entity that no fact has.")
    return found


def _best(found: Floats, pairs: Targets, top: int, per_subject: bool) -> npt.NDArray[np.intp]:
    """Rows of the best scores, ties by subject and object, at most `top` (each subject)."""
    order = np.lexsort((pairs.object, pairs.subject, -found))
    if not per_subject:
        return order[:top]
    order = order[np.argsort(pairs.subject[order], kind="stable")]
    subject = pairs.subject[order]
    starts = np.flatnonzero(np.concatenate([[True], subject[1:] != subject[:-1]]))
    rank = np.arange(len(order)) - np.repeat(starts, np.diff(np.append(starts, len(order))))
    return order[rank < top]


def _united(
    blocks: list[tuple[Targets, Floats]], facts: Facts, target: str, top: int, per_subject: bool
) -> tuple[Targets, Floats]:
    """One list from the best of every block of subjects."""
    from hornbeam.facts.names import Names

    none = np.empty(0, dtype=np.int32)
    columns = [
        np.concatenate([getattr(block, name) for block, _ in blocks]) if blocks else none
        for name in ("predicate", "subject", "object")
    ]
    found = np.concatenate([score for _, score in blocks]) if blocks else np.empty(0)
    pairs = Targets(facts.entities, Names.of([target]), *columns)
    best = _best(found, pairs, top, per_subject) if blocks else np.empty(0, dtype=np.intp)
    return pairs.select(best), found[best]


def _warn(text: str) -> None:
    warnings.warn(text, HornbeamWarning, stacklevel=3)
