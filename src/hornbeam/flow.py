"""Learning on one page: label -> discover -> fit -> describe."""

from __future__ import annotations

import time
from collections.abc import Sequence

import numpy as np

from hornbeam.choices import Sampling
from hornbeam.compiled import announced
from hornbeam.counting.engine import Discovery
from hornbeam.counting.leaks import warn_of_leaks
from hornbeam.counting.opening import Evidence, as_evidence, facts_in_memory, select_target
from hornbeam.errors import InputError
from hornbeam.facts.negatives import origins, with_negatives_of_each
from hornbeam.facts.reading.readers import Input, as_labels
from hornbeam.facts.table import Targets
from hornbeam.files import fingerprint
from hornbeam.labelled_search import LabelledSearch
from hornbeam.learning.histogram_learning import learn_from_histograms
from hornbeam.learning.learner import Learner
from hornbeam.learning.outcomes import candidate_outcomes
from hornbeam.learning.rule_learning import learn_rules
from hornbeam.learning.trace import Trace
from hornbeam.learning_plan import learning_plan
from hornbeam.model import Model
from hornbeam.progress import SILENT, Progress
from hornbeam.rules.candidates import Language
from hornbeam.rules.model_file import model_text
from hornbeam.rules.rule_model import Relaxation
from hornbeam.rules.weighing import Counts
from hornbeam.scoring.two_step_scorer import two_step_facts
from hornbeam.two_step import learn_second_step


def learn(
    facts: Input,
    labels: Input | None = None,
    *,
    target: str | Sequence[str] | None = None,
    method: str | Learner = "joint",
    language: Language | None = None,
    counts: Counts | str = "auto",
    relaxation: Relaxation | str | None = None,
    cross_evidence: bool = False,
    collective: bool | str = False,
    refit: bool = False,
    negatives: float = 1.0,
    negative_sampling: Sampling = "typed",
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
        The evidence: a file, a frame, tuples, a list of these, `Facts`, or an open engine.
    labels
        Labelled targets as a file, a frame, tuples or what `read_labels` returns, or None.
    target
        Learn this target predicate only, or these in one model; required without labels.
    method
        "joint", "boost", "ppll", "greedy", or a learner with settings of your own.
    language
        Which clauses are candidates.
    counts
        How much n groundings weigh: "raw", "log", "exists", "share", or "auto" (the joint learner
        has log, exists and share side by side, boosting raw and share, the others raw).
    relaxation
        "boolean", "linear" or "squared"; by default the one the method is best with.
    cross_evidence
        Let the true pairs be evidence for each other, hidden by folds while rules are learned
        (see `hornbeam.facts.evidence_folds`). Scoring then needs them among the facts: `known`.
        Without labels this is always done.
    collective
        Let what is believed of one pair count for others; the model then scores all pairs
        together. True is "two-step": a plain model, and rules about what it believes of other
        pairs where these pay. "map" and "map-heads" are recursive rules with PSL's meaning;
        "asked-only" is a comparison in which every pair is believed in.
    refit
        Fit the surviving rules once more, together and without L1.
    negatives, negative_sampling
        Sampled negatives per positive, and how; see `hornbeam.facts.negatives`.
    seed
        Of everything random: folds of the internal validation, sampled negatives.
    """
    plan = learning_plan(
        method,
        language or Language(),
        counts,
        relaxation,
        collective,
        cross_evidence and labels is not None,
        seed,
    )
    began, sampled, evidence = time.perf_counter(), labels is None, as_evidence(facts)
    labels = _labels(evidence, labels, target, negatives, negative_sampling, seed)
    search = LabelledSearch(evidence, labels, plan.language, engine, threads, progress)
    problem, folds, second = None, None, None
    if plan.two_steps:
        two_step_facts(evidence, engine)
    if plan.recursive:
        found, problem = search.collectively(plan.semantics, sampled)
    elif sampled or cross_evidence:
        origin = None
        if sampled:
            origin = origins(labels, negative_sampling, np.random.default_rng([seed, 1]))
        folds = search.deal(origin, np.random.default_rng([seed, 2]))
        found = search.by_folds(folds)
    else:
        found = search.plainly()
    _check_candidates(found, labels, plan.language)
    warn_of_leaks(found.candidates, labels)
    searched = time.perf_counter()
    with announced(progress):
        if found.histograms is not None:
            learned = learn_from_histograms(
                found.histograms, labels, plan.learner, plan.ways, plan.semantics, refit,
                search.count, progress,
            )  # fmt: skip
        else:
            if problem is None:
                problem = search.laid_out(found, plan)
            learned = learn_rules(problem, plan.learner, plan.semantics, refit, progress)
            if plan.two_steps:
                first = search.first_step(plan, learned, problem, found, folds, sampled)
                learned, second = learn_second_step(
                    first, seed=seed, asked_only=plan.asked_only, refit=refit, progress=progress
                )
    trace = Trace(
        method=plan.learner.name,
        counts=", ".join(plan.ways),
        targets=len(labels),
        positives=int(labels.positive.sum()),
        found=found.found,
        candidates=candidate_outcomes(
            found.candidates, found.statistics, learned.model, plan.learner
        ),
        seconds={"generate": searched - began, "learn": time.perf_counter() - searched},
        seed=seed,
        language=plan.language,
        sampled_negatives=negative_sampling if sampled else None,
        fit=learned.fit,
        model=fingerprint(model_text(learned.model)),
        second_step=second,
    )
    made = learned.model
    return Model(made.rules, made.semantics, made.beliefs, trace)


def check_labels(labels: Targets) -> None:
    """Refuse labels from which nothing can be learned."""
    positives = int(labels.positive.sum())
    if positives in (0, len(labels)):
        kind = "false" if positives == 0 else "true"
        raise InputError(
            f"all {len(labels):,} labels are {kind}; learning needs both true and false targets "
            "(leave out `labels` and give `target` to sample negatives)"
        )


def _labels(
    facts: Evidence,
    labels: Input | None,
    target: str | Sequence[str] | None,
    negatives: float,
    sampling: Sampling,
    seed: int,
) -> Targets:
    """Choose the labels to learn from, or sample them from the facts."""
    if labels is not None:
        known = as_labels(labels, target if isinstance(target, str) else None)
        chosen = select_target(known, target)
        # in one order, whatever that of the rows was: sums over them are then the same to the bit
        chosen = chosen.select(np.lexsort((chosen.object, chosen.predicate, chosen.subject)))
    elif not target:
        raise InputError("without labels, name the predicate to learn: `target=PREDICATE`")
    else:
        in_memory = facts_in_memory(
            facts,
            "this engine leaves the facts where they are and samples no negatives: give `labels`",
        )
        rng = np.random.default_rng(seed)
        names = [target] if isinstance(target, str) else target
        chosen = with_negatives_of_each(in_memory, names, negatives, sampling, rng=rng)
    check_labels(chosen)
    return chosen


def _check_candidates(found: Discovery, labels: Targets, language: Language) -> None:
    if not len(found.candidates):
        raise InputError(
            f"no relation sequence up to length {language.max_length} connects "
            f"{language.min_coverage} or more targets of {', '.join(labels.predicates)}: "
            "try a lower `min_coverage`, a larger `max_length`, or more facts"
        )
