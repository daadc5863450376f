"""Learning a whole graph, on one page: discover, count, hide, gather, fit, describe."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from dataclasses import fields, replace
from types import MappingProxyType
from typing import Any, Literal, NamedTuple

import numpy as np

from hornbeam.base.arrays import Floats
from hornbeam.base.compiled import announced
from hornbeam.base.progress import SILENT, Progress, as_progress
from hornbeam.base.version import __version__
from hornbeam.counting.data_summaries import summary_of_facts
from hornbeam.counting.opening import facts_or_database
from hornbeam.errors import InputError
from hornbeam.facts.argument_types import ArgumentTypes
from hornbeam.facts.reading.readers import Input, as_facts
from hornbeam.facts.table import Facts
from hornbeam.graph_model import GraphModel
from hornbeam.graphs.features import FEATURES, LINKED, SLOT
from hornbeam.graphs.functional import functional_steps
from hornbeam.graphs.graph_counter import GraphCounter
from hornbeam.graphs.graph_settings import Extent, GraphPlan, GraphSettings, StageShares
from hornbeam.graphs.graph_stages import (
    GraphLearning,
    count_given,
    held_pool,
    held_triples,
    training_pool,
    with_held,
)
from hornbeam.graphs.graph_text import rules_fingerprint
from hornbeam.graphs.memory_graph import open_graph
from hornbeam.graphs.model_parts import relation_rules
from hornbeam.graphs.path_lengths import (
    affordable_length,
    find_confirmed_rules,
    with_confirmed_ridge,
)
from hornbeam.graphs.path_rules import THIN, PathRules, is_keyed
from hornbeam.graphs.pools import Pool
from hornbeam.graphs.ranking_choice import choose_ranking, choosing_trials, measuring_trials
from hornbeam.graphs.ranking_fit import (
    FittedRanking,
    Trial,
    fit_ranking,
    fit_rule_weights,
    part_lifts,
    scores_of,
)
from hornbeam.graphs.ranking_model import Calibration, LinkedShares
from hornbeam.graphs.ridge import MAX_NODES
from hornbeam.graphs.rule_files import read_imported_rules
from hornbeam.graphs.softmax import fit_calibration, softmax_log_odds
from hornbeam.graphs.workload import Portion, Workload
from hornbeam.ranking.queries import Triples
from hornbeam.rules.body import MAX_PATH
from hornbeam.rules.codes import step_code
from hornbeam.rules.provenance import (
    DataSummary,
    HeldOutFigure,
    Provenance,
    changed_settings,
    significant,
)

#: Minimum number of held-out queries to choose settings by, and the number from which on they
#: choose settings only. Fewer held-out queries are also used to fit weights.
MIN_QUERIES, MANY_QUERIES = 200, 10_000
NO_LINKS = "there are no facts of two arguments: a graph needs links"


def learn_graph(
    facts: Input,
    valid: Input | None = None,
    *,
    relations: Sequence[str] | None = None,
    rules: str | os.PathLike[str] | None = None,
    max_length: int | Literal["auto"] = "auto",
    time_limit: float | None = None,
    seed: int = 0,
    threads: int | None = None,
    progress: Progress | bool = SILENT,
    settings: GraphSettings | None = None,
) -> GraphModel:
    """Learn rules for every relation in both directions, and how to rank answers by them.

    Parameters
    ----------
    facts
        The graph: a file, a frame, tuples, `Facts`, or an engine of `open_duckdb`, which leaves the
        graph in its database. Only facts of two arguments are used. In a database constants are not
        fitted together.
    valid
        Held-out facts, which decide on features and penalties. If held-out facts are few, weights
        are then fitted to their queries, too. They are never evidence: rules are counted from
        `facts` alone.
    relations
        Relations to learn, by default all; bodies of rules may have any relation.
    rules
        A file of AnyBURL or AMIE. Its path rules are used, and no path rules are discovered.
    max_length
        The longest path, 1 to 5; "auto" by density and a forecast of walks; more than three
        steps stay only if the MRR of `valid` gains by them.
    time_limit
        Seconds after which no work is started; the model is made of the finished parts.
    seed
        For all random choices; the same seed gives the same model on any number of threads.
    threads
        Threads to use; one per core by default.
    progress
        Callback that is given the progress of the work, or True for a bar on stderr.
    settings
        Parts of the method to leave out, for comparisons.

    Raises
    ------
    hornbeam.errors.InputError
        Where the facts have no links or lack a relation, or `max_length` is out of range.
    """
    settings, facts = settings or GraphSettings(), facts_or_database(facts)
    if isinstance(facts, Facts):
        ArgumentTypes(facts).check()
    changed = {
        **changed_settings(settings),
        **({} if relations is None else {"relations": list(relations)}),
        **({} if max_length == "auto" else {"max_length": max_length}),
        **({} if time_limit is None else {"time_limit": time_limit}),
    }
    if isinstance(facts, Facts) and facts.events is not None:
        if rules is not None or max_length not in ("auto", 1):
            raise InputError(
                "rules of facts with a time have one atom in their body: leave out `rules` and "
                "`max_length`"
            )
        with as_progress(progress) as shown:
            work = Workload(shown, "Learning the graph", time_limit, threads)
            held = None if valid is None else as_facts(valid)
            model = _learned_events(facts, held, relations, seed, work, settings)
        return _with_provenance(model, changed, summary_of_facts(facts), held)
    graph = open_graph(facts, settings)
    if not graph.size.facts:
        raise InputError(NO_LINKS)
    held = None if valid is None else as_facts(valid)
    extent = settings.extent or Extent.of(graph.size)
    length, shorter = _path_length(graph, extent, max_length)
    steps = _steps(graph, relations)
    plan = GraphPlan(length, graph.canonical_steps, extent, seed)
    with as_progress(progress) as shown, announced(shown):
        work = Workload(shown, "Learning the graph", time_limit, threads)
        shares = _stage_shares(graph, plan, settings, held is not None)
        learning = GraphLearning(graph, steps, plan, settings, work, shares)
        work.advance(0.0)  # starts the estimate of the remaining time
        if settings.ridge and graph.ridge_penalty is None:
            shown.message(
                "Constants are not fitted together (no ridge): that needs facts in memory, and at "
                f"most {MAX_NODES:,} entities and properties that several entities have."
            )
        if shorter is not None:
            shown.message(shorter)
        triples = None if held is None else held_triples(graph, held)
        if rules is None:
            confirms = triples if max_length == "auto" else None
            learning, found = find_confirmed_rules(learning, confirms)
        else:
            imported = read_imported_rules(rules, set(graph.predicates), length)
            changed["rules"] = len(imported)
            found = count_given(learning, imported)
        learning = with_confirmed_ridge(learning, found, triples)
        model = _ranked(learning, found, triples, rediscover=rules is None)
        work.finish()
    return _with_provenance(model, changed, summary_of_facts(facts), held)


def _path_length(
    graph: GraphCounter, extent: Extent, asked: int | Literal["auto"]
) -> tuple[int, str | None]:
    """The longest path to count, and a message where it is shorter than usual."""
    if asked != "auto" and not 1 <= asked <= MAX_PATH:
        raise InputError(f"`max_length` is {asked}, expected 1 to {MAX_PATH} or 'auto'")
    length, shorter = affordable_length(graph, extent) if asked == "auto" else (asked, None)
    if not is_keyed(graph.size, length):
        n = graph.size.predicates
        raise InputError(f"`max_length` is {length}, too much for {n:,} relations: expected 3")
    return length, shorter


def _stage_shares(
    graph: GraphCounter, plan: GraphPlan, settings: GraphSettings, has_held: bool
) -> StageShares:
    """The shares of the work that the stages of learning take."""
    size, has_ridge = graph.size, graph.ridge_penalty is not None
    sparse = settings.rule_weights and size.mean_links <= THIN and has_held
    return StageShares.of(size, plan.length, plan.extent, has_ridge, has_held, sparse)


def _with_provenance(
    model: GraphModel, changed: dict[str, Any], facts: DataSummary | None, held: Facts | None
) -> GraphModel:
    """The model with where it comes from."""
    provenance = Provenance(
        __version__, "ranking", changed, model.seed, facts,
        None if held is None else summary_of_facts(held), _held_out(model),
        rules_fingerprint(model),
    )  # fmt: skip
    return replace(model, provenance=provenance)


def _held_out(model: GraphModel) -> HeldOutFigure | None:
    """The MRR of held-out queries, None if it was not measured."""
    mrr, measured_on = model.chosen.get("held_out_mrr"), model.measured_on
    if measured_on is None or not isinstance(mrr, float | int):
        return None
    return HeldOutFigure("mrr", float(significant([mrr])[0]), f"on {measured_on}")


def _learned_events(
    facts: Facts, held: Facts | None, relations: Sequence[str] | None, seed: int, work: Workload,
    settings: GraphSettings,
) -> GraphModel:  # fmt: skip
    """Learn a graph whose facts have times."""
    from hornbeam.graphs.timed.timed_learning import learn_events

    assert facts.events is not None
    if not (facts.events.object >= 0).any():
        raise InputError(NO_LINKS)
    _check_relations(relations, list(facts.predicates))
    work.advance(0.0)
    with announced(work.progress):
        model = learn_events(
            facts, held, None if relations is None else list(relations), seed, work,
            settings.per_relation,
        )  # fmt: skip
    work.finish()
    return GraphModel(**{field.name: getattr(model, field.name) for field in fields(model)})


def _check_relations(wanted: Sequence[str] | None, present: Sequence[str]) -> None:
    """Refuse wanted relations that the facts lack."""
    for name in wanted or ():
        if name not in present:
            known = ", ".join(present[:10])
            raise InputError(f"the facts have no relation {name!r}; they have {known}")


def _steps(graph: GraphCounter, relations: Sequence[str] | None) -> list[int]:
    """The steps to learn: of all relations that have links, or of the wanted ones."""
    present = np.flatnonzero(graph.links_by_predicate).tolist()
    if relations is not None:
        _check_relations(relations, graph.predicates.take(present))
        present = sorted({graph.predicates.index(name) for name in relations})
    return [step_code(p, inverse) for p in present for inverse in (False, True)]


# --- the model ------------------------------------------------------------------------------------


def _ranked(
    learning: GraphLearning,
    rules: dict[int, PathRules],
    triples: Triples | None,
    rediscover: bool,
) -> GraphModel:
    """Fit the ranking model to hidden folds, and put the model together."""
    plan, work, settings = learning.plan, learning.work, learning.settings
    graph = learning.graph.with_chosen_ridge(plan, work)
    learning = replace(learning, graph=graph)
    linked, fitted = graph.linked_shares(triples), _Fitted()
    # how pairs are linked reveals how the facts were split
    unlinked = linked.caution is not None
    rediscover = rediscover and plan.extent.rediscover
    train, graphs = training_pool(learning, rules, rediscover, unlinked)
    if train is not None:
        held = None if triples is None else held_pool(learning, rules, triples)
        fitted = _fitted(learning, train, held, graphs, rules, linked)
    ranking, own = fitted.ranking, fitted.own
    uses_ridge = any(name.startswith("ridge") for name in ranking.features)
    queries = np.zeros(graph.size.step_limit, dtype=np.int64)
    parts = {} if train is None else part_lifts(train, ranking)
    if train is not None:
        step = np.repeat(train.step, np.diff(train.offsets))
        queries += np.bincount(step[train.truth], minlength=len(queries))
    portion = Portion(work, learning.shares.naming)
    constants = graph.best_constants(sorted(rules), portion) if settings.constants else {}
    functional = functional_steps(graph, sorted(rules), triples)
    return GraphModel(
        relations=relation_rules(
            graph.predicates, rules, constants, ranking, own, queries, parts, functional
        ),
        features=ranking.features,
        weights=tuple(significant(ranking.weights).tolist()),
        ridge=graph.ridge_penalty if uses_ridge else None,
        constants=settings.constants,
        backward=settings.backward,
        slots=settings.slots,
        pool=plan.extent.pool,
        max_length=plan.length,
        calibration=Calibration(
            *significant([fitted.calibration.slope, fitted.calibration.intercept]).tolist()
        ),
        linked=linked,
        seed=plan.seed,
        chosen={
            "facts": graph.size.facts,
            "entities": graph.size.entities,
            "penalty": ranking.penalty,
            "rule_weights": "yes" if own else "no",
            "held_out": fitted.judged_by,
            "held_out_mrr": fitted.mrr,
            "stopped_early": "yes" if work.expired() else "no",
        },
    )


#: The ranking if the time limit allowed no training queries: best confidence first.
UNFITTED = FittedRanking(("best",), np.ones(1), np.ones(1), {}, None)


class _Fitted(NamedTuple):
    """Results of fitting: ranking, rules' own weights, calibration, judging queries, their MRR."""

    ranking: FittedRanking = UNFITTED
    own: Mapping[int, Floats] = MappingProxyType({})
    calibration: Calibration = Calibration()
    judged_by: str = "none"
    mrr: float | None = None


def _fitted(
    learning: GraphLearning,
    train: Pool,
    held: Pool | None,
    graphs: list[GraphCounter],
    rules: dict[int, PathRules],
    linked: LinkedShares,
) -> _Fitted:
    settings, work, shares = learning.settings, learning.work, learning.shares
    available = FEATURES[: train.feature.shape[1]]
    if linked.caution:
        available = tuple(name for name in available if name not in LINKED)
    if not settings.slots:
        available = tuple(name for name in available if name != SLOT)
    decides = held is not None and _only_chooses(held, learning, linked)
    if held is not None and (decides or held.n_queries >= MIN_QUERIES):
        trials, measured_by, judged_by = [Trial(train, held, learning.plan.seed)], None, "valid"
    else:
        trials, judged_by = choosing_trials(train, learning.plan.seed), "train"
        measured_by = measuring_trials(train, learning.plan.seed)
    rankings, mrr = choose_ranking(
        trials, available, work, settings.per_relation, shares.fitting, measured_by
    )
    ranking, own = rankings[0], dict[int, Floats]()
    judged = [trial.judged for trial in trials]
    scores = [scores_of(pool, chosen) for pool, chosen in zip(judged, rankings, strict=True)]
    if held is not None and shares.weighting and not work.expired():
        portion = Portion(work, shares.weighting)
        ranking, own, scores[0], gain = fit_rule_weights(
            trials[0], graphs, learning.graph, rules, ranking, portion
        )
        mrr = None if mrr is None else mrr + gain
    odds = [
        softmax_log_odds(pool.offsets, score) for pool, score in zip(judged, scores, strict=True)
    ]
    truth = np.concatenate([pool.truth for pool in judged])
    calibration = fit_calibration(np.concatenate(odds), truth)
    # free these copies of queries before further copies are made
    del trials, measured_by, judged
    if not decides and not work.expired():
        queries = train if held is None else with_held(train, held)
        features, penalty = ranking.features, ranking.penalty
        ranking = fit_ranking(queries, features, penalty, work, ranking, shares.refitting)
    return _Fitted(ranking, own, calibration, judged_by, mrr)


def _only_chooses(held: Pool, learning: GraphLearning, linked: LinkedShares) -> bool:
    """Whether held-out facts only choose settings, and weights are not fitted to them.

    True if held-out facts are many, if they decide on rule weights, or if the split depends on
    links: fitted weights would exploit such a split.
    """
    many = held.n_queries >= MANY_QUERIES
    return many or learning.shares.weighting > 0 or linked.caution is not None
