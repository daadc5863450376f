"""Learning on one page: label -> discover -> fit -> describe."""

from __future__ import annotations

import os
import time
from collections.abc import Sequence
from dataclasses import replace
from functools import partial
from inspect import signature
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from hornbeam.base.choices import Relaxation, Sampling
from hornbeam.base.compiled import announced
from hornbeam.base.files import fingerprint
from hornbeam.base.progress import SILENT, Progress, as_progress
from hornbeam.base.version import __version__
from hornbeam.counting.data_summaries import summary_of_facts, summary_of_labels
from hornbeam.counting.engine import Discovery, Engine
from hornbeam.counting.opening import collective_engine, evidence_of, open_engine, warn_of_leaks
from hornbeam.counting.timed_engine import check_times
from hornbeam.errors import InputError
from hornbeam.facts.events import warn_of_no_past
from hornbeam.facts.folds import EvidenceFolds
from hornbeam.facts.reading.readers import Input
from hornbeam.facts.table import Targets
from hornbeam.labelled_search import LabelledSearch, chosen_labels, labels_of_facts
from hornbeam.learning.joint import Joint
from hornbeam.learning.learner import Learner
from hornbeam.learning.problem import Problem
from hornbeam.learning.registry import make_learner
from hornbeam.learning.rule_learning import (
    LearnedRules,
    candidate_outcomes,
    learn_from_histograms,
    learn_rules,
)
from hornbeam.learning.trace import Choice, SecondStep, Trace
from hornbeam.learning_plan import LearningPlan, learning_plan, with_own_rules
from hornbeam.model import Model
from hornbeam.rules.candidates import RuleLimits
from hornbeam.rules.model_file import model_text, rules_fingerprint
from hornbeam.rules.own_rules import KnownPredicates, RuleInput, read_own_rules
from hornbeam.rules.provenance import (
    DIGITS,
    HeldOutFigure,
    Provenance,
    changed_settings,
    plain_values,
)
from hornbeam.rules.rule_model import RuleModel
from hornbeam.rules.weighing import Counts
from hornbeam.two_step import learn_second_step

if TYPE_CHECKING:
    from hornbeam.programs.extended_program import ExtendedProgram
    from hornbeam.programs.program import Program


def learn(
    facts: Input,
    labels: Input | None = None,
    *,
    target: str | Sequence[str] | None = None,
    method: str | Learner = "joint",
    language: RuleLimits | None = None,
    counts: Counts | str = "auto",
    relaxation: Relaxation | str | None = None,
    cross_evidence: bool = False,
    collective: bool | str = False,
    rules: RuleInput | None = None,
    keep: bool = False,
    guard: str | None = None,
    start: RuleModel | str | os.PathLike[str] | None = None,
    refit: bool = False,
    negatives: float = 1.0,
    negative_sampling: Sampling = "typed",
    seed: int = 0,
    engine: str = "memory",
    threads: int | None = None,
    progress: Progress | bool = SILENT,
) -> Model:
    """Learn a rule model from facts and labelled targets.

    Without labels, the facts of `target` are the true pairs. False pairs are those that the facts
    state (truth value 0, or false in a Boolean column of a table), else they are sampled.

    Parameters
    ----------
    facts
        The evidence: a file, a frame, tuples, a list of any of them, `Facts`, or an open engine.
    labels
        Labelled targets as a file, a frame, tuples, or the result of `read_labels`; or None.
    target
        The target predicate to learn, or several for one model; required without labels.
    method
        "joint", "boost", "ppll", "greedy", or a learner with settings of your own.
    language
        Which clauses are candidates.
    counts
        How much n groundings weigh: "raw", "log", "exists", "share", or "auto" (log, exists and
        share together for the joint learner, raw and share for boosting, else raw). Soft facts
        have no shares for linear and squared targets: "share" is "log" there, with a warning.
    relaxation
        "boolean", "linear" or "squared"; by default the relaxation that suits the method best.
    cross_evidence
        Let the true pairs be evidence for each other, hidden by folds while rules are learned
        (see `hornbeam.facts.folds`). For scoring, they must then be among the facts: `known`.
        Without labels this is always done.
    collective
        Let the belief in one pair count for other pairs; the model then scores all pairs together.
        True is "two-step": a plain model, with rules about its beliefs in other pairs if these
        rules help. "map" and "map-heads" are recursive rules with PSL's meaning; "asked-only" is a
        baseline in which every pair is taken to be true.
    rules
        Your own rules, which stay in the model: a file of PSL rules, a list of texts, or a model.
        A weight is not needed. They are fitted with the learned rules, and not penalised; learning
        looks for what they leave unexplained, and adds no rule that says the same.
    keep
        Keep the weights of your own rules where they have one.
    guard
        A predicate of pairs that every learned rule has as a further condition.
    start
        An earlier model, or its file, to begin with: the joint learner then looks for its strength
        near that model's. The result is that of learning without it, up to the tolerance of fits.
    refit
        Fit the selected rules once more, together and without L1.
    negatives, negative_sampling
        False pairs sampled per true pair, and how; see `hornbeam.facts.negatives`.
    seed
        Seed of everything random: folds of the internal validation, sampled negatives.
    engine
        "memory" or "duckdb": the engine that counts groundings, unless `facts` is an open engine.
    threads
        Threads to use; one per core by default.
    progress
        Callback that is given the progress of the work, or True for a bar on stderr.
    """
    sampling = negative_sampling if labels is None else None
    plan = learning_plan(
        method,
        language or RuleLimits(),
        counts,
        relaxation,
        collective,
        cross_evidence and labels is not None,
        sampling,
        seed,
    )
    began, opened = time.perf_counter(), open_engine(facts, engine, threads)
    from_facts = labels is None
    labels, drawn = _labels(opened, labels, target, negatives, negative_sampling, seed)
    if drawn is None:
        plan = replace(plan, semantics=replace(plan.semantics, sampled_negatives=None))
    if start is not None:
        plan = replace(plan, learner=_beginning_with(plan.learner, start))
    settings = {
        **changed_settings(plan.learner, ("seed", "fixed_path", "start")),
        **changed_settings(language or RuleLimits()),
        **_given(
            target=target if target is None or isinstance(target, str) else sorted(target),
            counts=counts, relaxation=relaxation, cross_evidence=cross_evidence,
            collective=collective, keep=keep, guard=guard, refit=refit, negatives=negatives,
            negative_sampling=negative_sampling,
        ),
    }  # fmt: skip
    opened = _seen_by(labels, opened)
    plan = plan.for_labels(labels).over(opened.numbers)
    if rules is not None or keep or guard is not None:
        known = _known_predicates(opened, labels, from_facts or cross_evidence, plan)
        own = read_own_rules(rules, known, keep=keep, guard=guard)
        plan = with_own_rules(plan, own, relaxation)
    with as_progress(progress) as shown:
        search = LabelledSearch(opened, labels, plan.language, shown, drawn, plan.own)
        found = _search(search, plan, from_facts or cross_evidence, seed)
        searched = time.perf_counter()
        learned, second = _fit(search, plan, found, refit, seed)
    if plan.own.rules:
        settings["own_rules"] = len(plan.own.rules)
    provenance = Provenance(
        __version__, plan.learner.name, settings, seed, summary_of_facts(evidence_of(opened)),
        summary_of_labels(labels), _held_out(learned.fit.choice), rules_fingerprint(learned.model),
    )  # fmt: skip
    made = replace(learned.model, provenance=provenance)
    seconds = {"generate": searched - began, "learn": time.perf_counter() - searched}
    trace = _trace(search, plan, found, learned, second, made, seconds, seed)
    return Model(made.rules, made.semantics, made.beliefs, provenance, trace)


def _seen_by(labels: Targets, engine: Engine) -> Engine:
    """The engine over what the labels may see: of facts with a time, those before the last label.

    What no label sees decides nothing, not even which spans of time are tried.
    """
    if labels.time is None:
        return engine
    if engine.facts is None or engine.facts.events is None:
        raise InputError("the labels have a time, and the facts have none: give `time` to both")
    check_times(engine.facts, labels)
    warn_of_no_past(engine.facts.events, labels.time, ("label", "labels"))
    return engine.over(engine.facts.before(int(labels.time.max())))


def _known_predicates(
    engine: Engine, labels: Targets, hides_own_facts: bool, plan: LearningPlan
) -> KnownPredicates:
    """What a user's own rules may be about: predicates of the facts and of the labels."""
    return KnownPredicates(
        engine.predicates, engine.not_binary, labels.arities, hides_own_facts or plan.recursive,
        loops=bool(np.any((labels.subject == labels.object) & ~labels.on_one)),
        numbers=engine.numbers,
    )  # fmt: skip


def _trace(
    search: LabelledSearch,
    plan: LearningPlan,
    found: _SearchResult,
    learned: LearnedRules,
    second: SecondStep | None,
    model: RuleModel,
    seconds: dict[str, float],
    seed: int,
) -> Trace:
    """How the model was learned."""
    discovery, labels = found.discovery, search.labels
    return Trace(
        method=plan.learner.name,
        counts=", ".join(plan.ways),
        targets=len(labels),
        positives=int(labels.positive.sum()),
        found=discovery.found,
        candidates=candidate_outcomes(
            discovery.candidates, discovery.statistics, model, plan.learner, plan.own
        ),
        seconds=seconds,
        seed=seed,
        language=plan.language,
        sampled_negatives=search.sampling,
        fit=learned.fit,
        model=fingerprint(model_text(model)),
        second_step=second,
        own=tuple(model.clause_text(rule.clause) for rule in plan.own.rules),
    )


def _beginning_with(learner: Learner, start: RuleModel | str | os.PathLike[str]) -> Learner:
    """The learner with the rules of an earlier model to begin with."""
    if not isinstance(learner, Joint):
        raise InputError(f'`start` is for `method="joint"`, not for {learner.name!r}: leave it out')
    model = start if isinstance(start, RuleModel) else Model.load(start)
    # the first step of a collective model is the plain one
    return replace(learner, start=model.beliefs or model.rules)


def _given(**settings: object) -> dict[str, Any]:
    """The settings of `learn` that differ from its defaults, as JSON values."""
    defaults = {name: parameter.default for name, parameter in signature(learn).parameters.items()}
    return plain_values(
        {name: value for name, value in settings.items() if value != defaults[name]}
    )


def _held_out(choice: Choice | None) -> HeldOutFigure | None:
    """The figure of the internal validation that a strength was chosen by."""
    if choice is None:
        return None
    folds = len(choice.validation.folds)
    meaning = (
        f"mean over the training pairs, each held out in one of {folds} folds while the strength "
        "was chosen; 0 is perfect, saying 0.5 to all is 0.693"
    )
    return HeldOutFigure("log_loss", float(f"{choice.log_loss:.{DIGITS}g}"), meaning)


class _SearchResult(NamedTuple):
    """Candidates with their counts, the folds used, and the learning problem."""

    discovery: Discovery
    folds: EvidenceFolds | None = None
    problem: Problem | None = None


def _search(search: LabelledSearch, plan: LearningPlan, by_folds: bool, seed: int) -> _SearchResult:
    """Find and count candidates: over the facts, by folds, or collectively, as the plan says."""
    if plan.two_steps:  # refuses an engine that it cannot use, before anything is searched
        collective_engine(search.engine)
    if plan.recursive:
        discovery, problem = search.discover_collectively(plan.semantics)
        found = _SearchResult(discovery, problem=problem)
    elif by_folds:
        folds = search.assign_folds(seed)
        found = _SearchResult(search.discover_by_folds(folds), folds)
    else:
        found = _SearchResult(search.discover_plain())
    if not plan.own.rules:
        _check_candidates(found.discovery, search.labels, plan.language)
    warn_of_leaks(found.discovery.candidates, search.labels)
    return found


def _fit(
    search: LabelledSearch, plan: LearningPlan, found: _SearchResult, refit: bool, seed: int
) -> tuple[LearnedRules, SecondStep | None]:
    """Learn the weights, and if the plan has two steps also the weights of the second step."""
    discovery, progress = found.discovery, search.progress
    with announced(progress):
        if discovery.histograms is not None:
            return learn_from_histograms(
                discovery.histograms, search.labels, plan.learner, plan.ways, plan.semantics,
                refit, search.count, progress, plan.own,
            ), None  # fmt: skip
        problem = found.problem
        if problem is None:
            problem = search.learning_problem(discovery, plan)
        learned = learn_rules(problem, plan.learner, plan.semantics, refit, progress)
        if not plan.two_steps:
            return learned, None
        first = search.first_step(plan, learned, problem, discovery, found.folds)
        return learn_second_step(
            first, seed=seed, asked_only=plan.asked_only, refit=refit, progress=progress
        )


def learn_program(
    program: Program | str | os.PathLike[str],
    *,
    split: str | None = None,
    target: str | Sequence[str] | None = None,
    method: str | Learner = "joint",
    language: RuleLimits | None = None,
    relaxation: Relaxation | str | None = None,
    keep: bool = False,
    guard: str | None = None,
    refit: bool = False,
    seed: int = 0,
    max_ground_rules: int | None = None,
    threads: int | None = None,
    progress: Progress | bool = SILENT,
) -> ExtendedProgram:
    """Learn rules beside those of a PSL program, from the truth of its targets.

    Parameters
    ----------
    program
        A program, or the path of one.
    split
        The split to learn from, in addition to the data of all splits; "learn" by default.
    target
        The open predicates to learn rules for, all of one argument or all of two; by default all
        that have targets.
    method
        "joint", "ppll", "greedy", or a learner with settings of your own.
    language
        Which clauses are candidates.
    relaxation
        "linear" or "squared" rules; by default squared if a given rule is.
    keep
        Keep the weights of given rules; by default they are fitted with the learned ones.
    guard
        A predicate that every learned rule has as a further condition, as given rules often have.
    refit
        Fit the selected rules once more, together and without L1.
    seed
        Seed of everything random.
    max_ground_rules
        Refuse to ground more; by default what the memory holds.
    threads
        Threads to use; one per core by default.
    progress
        Callback that is given the progress of the work, or True for a bar on stderr.
    """
    # imported late: learning a model needs no program
    from hornbeam.programs.program import Program, read_program
    from hornbeam.programs.program_learning import extend_program

    learner = make_learner(method, seed) if isinstance(method, str) else method
    if not isinstance(program, Program):
        program = read_program(program, split or "learn")
    with as_progress(progress) as shown:
        return extend_program(
            program,
            learner,
            partial(open_engine, threads=threads),
            target=target,
            language=language or RuleLimits(),
            relaxation=relaxation,
            keep=keep,
            guard=guard,
            refit=refit,
            max_ground_rules=max_ground_rules,
            threads=threads,
            progress=shown,
        )


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
    engine: Engine,
    labels: Input | None,
    target: str | Sequence[str] | None,
    negatives: float,
    sampling: Sampling,
    seed: int,
) -> tuple[Targets, Sampling | None]:
    """Labels to learn from, given or of the facts, and how false pairs were sampled, if any."""
    drawn = None
    if labels is None:
        if engine.facts is not None and engine.facts.events is not None:
            problem = "facts with a time need `labels`, each with its time: none are sampled"
            raise InputError(problem)
        chosen, drawn = labels_of_facts(engine, target, negatives, sampling, seed)
    else:
        chosen = chosen_labels(labels, target)
    if drawn is None:
        # sorted, so that sums over labels are the same to the bit for any order of rows
        time = chosen.subject if chosen.time is None else chosen.time
        order = np.lexsort((time, chosen.object, chosen.predicate, chosen.subject))
        chosen = chosen.select(order)
    check_labels(chosen)
    return chosen, drawn


def _check_candidates(found: Discovery, labels: Targets, language: RuleLimits) -> None:
    if not len(found.candidates):
        raise InputError(
            f"no body of up to {language.max_length} atoms has groundings for "
            f"{language.min_coverage} or more targets of {', '.join(labels.predicates)}: "
            "try a lower `min_coverage`, a larger `max_length`, or more facts"
        )
