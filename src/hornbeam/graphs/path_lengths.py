"""How long paths of a whole graph may be: density, a forecast of walks, and held-out facts decide.

Density bounds the length (`hornbeam.graphs.path_rules.longest_path`). In a sparse graph, paths of
four or five steps may be worth a search, or take many times as long for nothing: if entities like
years and cities have thousands of links, there are millions of walks between any two entities. So
walks are counted before they are walked: w_k(v) walks of k steps leave the entity v, with
w_0(v) = 1 and w_k(v) the sum of w_(k-1) over v's links. The ends of random links have on average

    sum over v of degree(v) w_k(v) / sum over v of degree(v) = W_(k+1) / W_1

walks of k steps, where W_k is the number of all walks of k steps. The longest length whose walks
are within a budget is tried, and three steps beside it. The longer paths stay if the MRR of
held-out facts gains enough by them. In graphs of very many entities, held-out facts decide in the
same way whether constants are fitted together (`hornbeam.graphs.ridge`).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from hornbeam.graphs.features import FEATURES, RIDGE
from hornbeam.graphs.graph_counter import GraphCounter
from hornbeam.graphs.graph_settings import Extent
from hornbeam.graphs.graph_stages import GraphLearning, find_rules, held_pool
from hornbeam.graphs.path_rules import PathRules, longest_path
from hornbeam.graphs.pools import Pool
from hornbeam.graphs.ranking_choice import BASIC, choosing_trials
from hornbeam.graphs.ranking_fit import fit_graph, reciprocal_ranks_of, scores_of
from hornbeam.ranking.queries import Triples

#: The length that needs no confirmation.
SHORT = 3
#: Maximum number of walks, from all sources that rules are counted for, of paths of more steps.
MAX_WALKS = 1e12
#: Minimum gain of MRR by longer paths, and how many held-out facts it is measured on.
MIN_GAIN, JUDGED = 0.005, 1_000
#: Number of entities above which constants are fitted together only if that gains.
MANY_ENTITIES = 20_000
#: Minimum number of held-out queries that decide; with fewer, the budget alone does.
MIN_QUERIES = 200


def forecast_walks(graph: GraphCounter, length: int, extent: Extent) -> float:
    """Number of walks of `length` steps from all sources that rules are counted for."""
    sources = 2 * int(np.minimum(graph.links_by_predicate, extent.counted).sum())
    return sources * graph.n_walks(length + 1) / max(graph.n_walks(1), 1.0)


def affordable_length(graph: GraphCounter, extent: Extent) -> tuple[int, str | None]:
    """The longest length by density and walks, and a message if walks make it shorter."""
    longest = longest_path(graph.size)
    for length in range(longest, SHORT, -1):
        walks = forecast_walks(graph, length, extent)
        if walks <= MAX_WALKS:
            return length, None
    if longest <= SHORT:
        return longest, None
    return SHORT, (
        f"Paths of up to {SHORT} steps: counting rules of {SHORT + 1} steps would take "
        f"{walks:.1e} walks, more than the budget of {MAX_WALKS:.0e}."
    )


def find_confirmed_rules(
    learning: GraphLearning, held: Triples | None
) -> tuple[GraphLearning, dict[int, PathRules]]:
    """Rules of the plan's length, or of three steps if longer paths gain too little.

    Without enough held-out facts, the plan's length stands.
    """
    shares = learning.shares
    times = (shares.discovering, 0.2), (shares.judging, 0.4), (shares.counting, 0.5)
    found = find_rules(learning, learning.graph, *times)
    if held is None or learning.plan.length <= SHORT or 2 * len(held) < MIN_QUERIES:
        return learning, found
    if learning.work.expired(0.4):
        return learning, found
    no_share = replace(shares, held=0.0, ridge=0.0)
    trial = replace(learning, shares=no_share)
    if needs_confirmation(learning.graph):  # what is judged then is worth less than its time
        trial = replace(trial, graph=learning.graph.without_ridge())
    short = replace(trial, plan=replace(learning.plan, length=SHORT))
    fewer = find_rules(short, learning.graph, (0.0, 0.4), (0.0, 0.5), (0.0, 0.6))
    sample = _sampled(held)
    long_mrr, short_mrr = (
        _held_out_mrr(held_pool(trial, rules, sample), learning, BASIC) for rules in (found, fewer)
    )
    length, stays = learning.plan.length, long_mrr >= short_mrr + MIN_GAIN
    learning.work.progress.message(
        f"Paths of up to {length if stays else SHORT} steps: on held-out facts the MRR is "
        f"{long_mrr:.3f} with {length} steps and {short_mrr:.3f} with {SHORT}."
    )
    shorter = replace(learning, plan=short.plan)
    return (learning, found) if stays else (shorter, fewer)


def needs_confirmation(graph: GraphCounter) -> bool:
    """Whether a graph is so large that constants are fitted together only if that gains."""
    return graph.ridge_penalty is not None and graph.size.entities > MANY_ENTITIES


def with_confirmed_ridge(
    learning: GraphLearning, rules: dict[int, PathRules], held: Triples | None
) -> GraphLearning:
    """Leave out the ridge of a large graph, unless the MRR of held-out facts gains by it."""
    if not needs_confirmation(learning.graph):
        return learning
    why = "there are too few held-out facts to show what it gains"
    if held is not None and 2 * len(held) >= MIN_QUERIES and not learning.work.expired(0.5):
        trial = replace(learning, shares=replace(learning.shares, held=0.0, ridge=0.0))
        pool = held_pool(trial, rules, _sampled(held))
        plain = tuple(name for name in BASIC if name not in RIDGE)
        mrr, without = (_held_out_mrr(pool, learning, names) for names in (BASIC, plain))
        if mrr >= without + MIN_GAIN:
            return learning
        why = f"on held-out facts the MRR is {mrr:.3f} with it and {without:.3f} without"
    learning.work.progress.message(
        f"Constants are not fitted together in a graph of more than {MANY_ENTITIES:,} entities: "
        f"{why}."
    )
    return replace(learning, graph=learning.graph.without_ridge())


def _sampled(held: Triples) -> Triples:
    """About `JUDGED` of the held-out facts, evenly."""
    return held.select(np.arange(len(held)) % -(-len(held) // JUDGED) == 0)


def _held_out_mrr(pool: Pool | None, learning: GraphLearning, names: Sequence[str]) -> float:
    """MRR of queries by the graph's weights, fitted to one half and evaluated on the other."""
    if pool is None or not pool.truth.any():
        return 0.0
    features = tuple(name for name in names if FEATURES.index(name) < pool.feature.shape[1])
    total = 0.0
    for trial in choosing_trials(pool, learning.plan.seed):
        ranking = fit_graph(trial.fitted.informative(), features, None, learning.work)
        ranks = reciprocal_ranks_of(trial.judged, scores_of(trial.judged, ranking))
        total += float(ranks.sum())
    return total / max(pool.n_queries, 1)
