"""Learning a whole graph, on one page: discover, count, hide, gather, fit, describe."""

from __future__ import annotations

import os
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

import numpy as np

from hornbeam.arrays import Floats, Ids, Ints
from hornbeam.compiled import announced
from hornbeam.errors import InputError
from hornbeam.facts.reading.readers import Input, as_facts
from hornbeam.facts.table import Facts
from hornbeam.graphs.calibration import fit_calibration, log_odds
from hornbeam.graphs.discovery import THIN, discover_paths, longest_path, turned_paths
from hornbeam.graphs.graph import Graph
from hornbeam.graphs.graph_model import Calibration, GraphModel
from hornbeam.graphs.hidden_folds import Extent, hidden_folds
from hornbeam.graphs.linked_pairs import linked_shares
from hornbeam.graphs.model_parts import relation_rules
from hornbeam.graphs.path_rules import (
    Asked,
    PathRules,
    asked_along,
    best_rules,
    by_source,
    counted,
)
from hornbeam.graphs.pools import Classes, GraphEvidence, Pool, pool_of
from hornbeam.graphs.ranking_fit import Ranking, fit_ranking, refit, scores_of
from hornbeam.graphs.ridge import MOST_ENTITIES, Ridge
from hornbeam.graphs.rule_files import GivenRules, read_rules
from hornbeam.graphs.rule_weights import fit_rule_weights
from hornbeam.graphs.workload import Workload
from hornbeam.progress import SILENT, Progress
from hornbeam.rules.codes import predicate_of, step_code

#: The longest paths that can be asked for.
MAX_PATH = 5
#: Without held-out facts, every so-manieth source of training queries decides.
EVERY = 5
#: Draws of random numbers, by purpose: each has its own, whatever else is drawn.
FOLDS, DISCOVERING, JUDGING, COUNTING, ASKING = range(5)


@dataclass(frozen=True)
class GraphSettings:
    """Which parts of the design take part; all of them unless something is to be compared.

    Attributes
    ----------
    constants, backward, ridge
        Classes of rules beside paths.
    ridge_penalty
        The ridge's penalty.
    per_relation
        A ranking model per relation and direction.
    rule_weights
        A weight per path rule, in sparse graphs, where held-out queries gain by it.
    hidden_confidences
        Confidences of paths for training queries are counted without the hidden fold.
    extent
        How much is searched and counted; by size unless given.
    """

    constants: bool = True
    backward: bool = True
    ridge: bool = True
    ridge_penalty: float = 40.0
    per_relation: bool = True
    rule_weights: bool = True
    hidden_confidences: bool = True
    extent: Extent | None = None


@dataclass(frozen=True, eq=False)
class _Learning:
    """What all stages share."""

    graph: Graph
    steps: list[int]
    sizes: list[float]
    length: int
    extent: Extent
    settings: GraphSettings
    seed: int
    work: Workload

    def rng(self, purpose: int, step: int) -> np.random.Generator:
        """Random numbers of a purpose and a step."""
        return np.random.default_rng([self.seed, purpose, step])

    def ridge(self, graph: Graph) -> Ridge | None:
        """The ridge of a graph, where it takes part."""
        if not self.settings.ridge or graph.n_entities > MOST_ENTITIES:
            return None
        ridge = Ridge.fit(graph, self.settings.ridge_penalty)
        assert len(ridge.rest)  # before threads ask for it
        return ridge

    def evidence(self, graph: Graph) -> GraphEvidence:
        """A graph to answer queries from."""
        classes = Classes(self.settings.constants, self.settings.backward)
        return GraphEvidence(graph, self.ridge(graph), classes)


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
    progress: Progress = SILENT,
    settings: GraphSettings | None = None,
) -> GraphModel:
    """Learn rules for every relation in both directions, and how to rank answers by them.

    Parameters
    ----------
    facts
        The graph, as a file, a frame, tuples or `Facts`; facts of other than two arguments are
        left out.
    valid
        Held-out facts, which decide on features and penalties; without them a part of the training
        queries does.
    relations
        Learn these only; bodies of rules have all.
    rules
        A file of AnyBURL or AMIE: its path rules are taken instead of looking for some.
    max_length
        The longest path, 1 to 5; "auto" by density.
    time_limit
        Seconds after which nothing new is begun; the model is made of what there is.
    seed
        For all random choices; the same seed gives the same model on any number of threads.
    threads
        Threads to use; one per core by default.
    progress
        Hears how far it is.
    settings
        Parts to leave out, for comparisons.

    Raises
    ------
    hornbeam.errors.InputError
        Where there is no graph, or no such relation or length.
    """
    settings = settings or GraphSettings()
    facts = as_facts(facts)
    valid = None if valid is None else as_facts(valid)
    graph = Graph.of(facts)
    if not len(graph):
        raise InputError("there are no facts of two arguments: a graph needs links")
    if max_length != "auto" and not 1 <= max_length <= MAX_PATH:
        raise InputError(f"`max_length` is {max_length}, expected 1 to {MAX_PATH} or 'auto'")
    steps = _steps(facts, graph, relations)
    degree = np.bincount(graph.predicate, minlength=graph.n_predicates)
    sizes = [float(min(degree[predicate_of(step)], 1000) + 100) for step in steps]
    length = longest_path(graph) if max_length == "auto" else max_length
    work = Workload(progress, "Learning the graph", time_limit, threads)
    extent = settings.extent or Extent.of(graph)
    learning = _Learning(graph, steps, sizes, length, extent, settings, seed, work)
    with announced(progress):
        if rules is None:
            found = _find_rules(learning)
        else:
            found = _given_rules(learning, facts, read_rules(rules, facts.predicates, length), progress)
        model = _ranked(learning, found, facts, valid)
    work.finish()
    return model


def _steps(facts: Facts, graph: Graph, relations: Sequence[str] | None) -> list[int]:
    present = np.unique(graph.predicate).tolist()
    if relations is not None:
        wanted = {name: facts.predicates.index(name) for name in relations}
        for name, number in wanted.items():
            if number not in present:
                known = ", ".join(facts.predicates.take(present[:10]))
                raise InputError(f"no fact of the relation {name!r}; there is {known}")
        present = sorted(set(wanted.values()))
    return [step_code(p, inverse) for p in present for inverse in (False, True)]


# --- rules ----------------------------------------------------------------------------------------


def _find_rules(learning: _Learning) -> dict[int, PathRules]:
    """Discover paths of every relation, judge them, and count those that are kept."""
    graph, extent, work = learning.graph, learning.extent, learning.work
    assert len(graph.links.end)  # built before threads ask for it
    forward = learning.steps[::2]

    def discover(step: int) -> Ids:
        rng = learning.rng(DISCOVERING, step)
        return discover_paths(graph, step, learning.length, rng, extent.found, extent.sampled)

    found = work.each(discover, forward, learning.sizes[::2], 0.05, until=0.2)
    nothing = np.empty((0, learning.length), dtype=np.int32)
    paths = {}
    for step, some in zip(forward, found, strict=True):
        paths[step] = nothing if some is None else some
        paths[step ^ 1] = turned_paths(paths[step])

    def judge(step: int) -> Ids:
        asked = asked_along(graph, step, extent.judged, learning.rng(JUDGING, step))
        rules = counted(graph, step, paths[step], asked)
        base = 1 / max(len(graph.holders(step ^ 1)), 1)
        kept: Ids = rules.paths[best_rules(rules, base, extent.kept)]
        return kept

    kept = work.each(judge, learning.steps, learning.sizes, 0.15, until=0.4)
    chosen = {
        step: nothing if some is None else some
        for step, some in zip(learning.steps, kept, strict=True)
    }
    return _count(learning, graph, chosen, 0.1, 0.5)


def _given_rules(
    learning: _Learning, facts: Facts, given: GivenRules, progress: Progress
) -> dict[int, PathRules]:
    """Take paths as they are given, and count them."""
    told = {
        "with constants": given.with_constants,
        "that are no paths of the allowed length": given.no_paths,
        "with relations that no fact has": given.unknown,
    }
    left_out = ", ".join(f"{n:,} {what}" for what, n in told.items() if n)
    progress.message(f"{len(given):,} path rules read" + (f"; not: {left_out}" if left_out else ""))
    paths = {}
    for step in learning.steps[::2]:
        some = given.paths.get(facts.predicates[predicate_of(step)], ())
        rows = np.zeros((len(some), learning.length), dtype=np.int32)
        for row, path in enumerate(some):
            codes = [step_code(facts.predicates.index(s.predicate), s.inverse) for s in path]
            rows[row, : len(codes)] = codes
        paths[step], paths[step ^ 1] = rows, turned_paths(rows)
    return _count(learning, learning.graph, paths, 0.3, 0.5)


def _count(
    learning: _Learning, graph: Graph, paths: dict[int, Ids], share: float, until: float
) -> dict[int, PathRules]:
    """Confidences of paths on a graph; rules that there is no time to count fall out."""
    most = learning.extent.counted
    assert len(graph.links.end)

    def count(step: int) -> PathRules:
        asked = asked_along(graph, step, most, learning.rng(COUNTING, step))
        return counted(graph, step, paths[step], asked)

    rules = learning.work.each(count, learning.steps, learning.sizes, share, until)
    return {
        step: PathRules.none(step, learning.length) if some is None else some
        for step, some in zip(learning.steps, rules, strict=True)
    }


# --- queries to learn from ------------------------------------------------------------------------


def _training_pool(learning: _Learning, rules: dict[int, PathRules]) -> tuple[Pool | None, list[Graph]]:
    """Training queries of all hidden folds, and the graphs without them."""
    pools: list[Pool] = []
    graphs: list[Graph] = []
    extent, work = learning.extent, learning.work
    paths = {step: some.paths for step, some in rules.items()}
    share = 0.4 / extent.hidden
    for number, (rest, hidden) in enumerate(hidden_folds(learning.graph, extent, learning.seed)):
        if pools and work.expired(0.6):
            break
        seen = rules
        if learning.settings.hidden_confidences:
            seen = _count(learning, rest, paths, share / 2, 0.8)
        asked = {
            step: asked_along(hidden, step, extent.queries, learning.rng(ASKING, step))
            for step in learning.steps
        }
        evidence = learning.evidence(rest)
        pools += _pools(learning, evidence, seen, asked, number, share / 2, 0.8)
        graphs.append(rest)
        del evidence  # its ridge is large
    return (Pool.together(pools) if pools else None), graphs


def _pools(
    learning: _Learning,
    evidence: GraphEvidence,
    rules: dict[int, PathRules],
    asked: dict[int, Asked],
    fold: int,
    share: float,
    until: float,
) -> list[Pool]:
    steps = [step for step in learning.steps if len(asked[step].sources)]
    sizes = [len(asked[step].sources) + 10.0 for step in steps]

    def one(step: int) -> Pool:
        return pool_of(evidence, rules[step], asked[step], learning.extent.pool, fold)

    found = learning.work.each(one, steps, sizes, share, until)
    return [pool for pool in found if pool is not None]


def _held_triples(facts: Facts, valid: Facts) -> tuple[Ids, Ids, Ids]:
    """Subject, predicate and object of held-out facts in the ids of train; unknown ones left out."""
    atoms = valid.binary
    subject, object_ = atoms.arguments
    predicate = atoms.predicate.astype(np.int64)
    entity = np.append(valid.entities.translate(facts.entities), -1)
    relation = np.append(valid.predicates.translate(facts.predicates), -1)
    triples = entity[subject], relation[predicate], entity[object_]
    known = np.all([part >= 0 for part in triples], axis=0)
    s, p, o = (part[known].astype(np.int32) for part in triples)
    return s, p, o


# --- the model ------------------------------------------------------------------------------------


def _ranked(
    learning: _Learning, rules: dict[int, PathRules], facts: Facts, valid: Facts | None
) -> GraphModel:
    """Fit the ranking model to hidden folds, and put the model together."""
    graph, work = learning.graph, learning.work
    train, graphs = _training_pool(learning, rules)
    subject = predicate = object_ = None
    if valid is not None:
        subject, predicate, object_ = _held_triples(facts, valid)
    linked = linked_shares(graph, subject, object_)
    own: dict[int, Floats] = {}
    if train is None:
        ranking, calibration = _unfitted(), Calibration()
    else:
        held = None
        if subject is not None and predicate is not None and object_ is not None:
            held = _held_pool(learning, rules, subject, predicate, object_)
        ranking, own, calibration = _fitted(learning, train, held, graphs, rules)
    uses_ridge = any(name.startswith("ridge") for name in ranking.features)
    queries = np.zeros(graph.step_limit, dtype=np.int64)
    if train is not None:
        asked = np.add.reduceat(train.truth, train.offsets[:-1]) if len(train.entity) else 0
        np.add.at(queries, train.step, asked)
    parts = relation_rules(learning.graph, facts, rules, ranking, own, queries, work, 0.05,
                           learning.settings.constants)  # fmt: skip
    return GraphModel(
        parts,
        ranking.features,
        tuple(ranking.weights.tolist()),
        learning.settings.ridge_penalty if uses_ridge else None,
        learning.settings.constants,
        learning.settings.backward,
        learning.extent.pool,
        learning.length,
        calibration,
        linked,
        learning.seed,
        {
            "facts": len(graph),
            "entities": graph.n_entities,
            "penalty": ranking.penalty,
            "rule_weights": "yes" if own else "no",
            "held_out": "valid" if valid is not None else "train",
            "held_out_mrr": ranking.mrr,
            "stopped_early": "yes" if work.expired() else "no",
        },
    )


def _held_pool(
    learning: _Learning, rules: dict[int, PathRules], subject: Ids, predicate: Ids, object_: Ids
) -> Pool | None:
    """Held-out facts as queries to all of train."""
    asked = {}
    for step in learning.steps:
        rows: Ints = np.flatnonzero(predicate == predicate_of(step))
        known, answer = subject[rows], object_[rows]
        asked[step] = by_source(answer, known) if step % 2 else by_source(known, answer)
    evidence = learning.evidence(learning.graph)
    pools = _pools(learning, evidence, rules, asked, 0, 0.1, 0.9)
    return Pool.together(pools) if pools else None


def _fitted(
    learning: _Learning,
    train: Pool,
    held: Pool | None,
    graphs: list[Graph],
    rules: dict[int, PathRules],
) -> tuple[Ranking, dict[int, Floats], Calibration]:
    settings, work = learning.settings, learning.work
    fitted_to = train
    if held is None:
        decides = np.arange(len(train.source)) % EVERY == EVERY - 1
        fitted_to, held = train.select(~decides), train.select(decides)
    ranking = fit_ranking(fitted_to, held, work, settings.per_relation)
    calibration = fit_calibration(
        log_odds(held.offsets, scores_of(held, ranking)), held.truth
    )
    if fitted_to is not train and not work.expired():
        ranking = refit(train, ranking, work)
    own: dict[int, Floats] = {}
    sparse = learning.graph.mean_links <= THIN
    if settings.rule_weights and sparse and fitted_to is train and not work.expired():
        graph = learning.graph
        ranking, own = fit_rule_weights(train, held, graphs, graph, rules, ranking, work, 0.05)
    return ranking, own, calibration


def _unfitted() -> Ranking:
    """Best confidence first: what is left where the time limit allowed no training queries."""
    weights = np.array([1.0])
    return Ranking(("best",), np.ones(1), weights, {}, None, 0.0)
