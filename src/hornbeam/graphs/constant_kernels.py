"""Loops over properties of entities: rules with constants, counted, and fitted together.

The counting loops go over the entities x that have a property p and the answer c along the step.
Per p and c they add up 1, the hits, and |answers of x| - 1, the `others`. The latter are queries
for other answers of x, where c is known and therefore not predicted.
"""

# ruff: noqa: ANN001, ANN201
# mypy: disallow-untyped-defs=false, disallow-untyped-calls=false

from __future__ import annotations

import numpy as np

from hornbeam.base.compiled import kernels
from hornbeam.graph.edge_runs import grown, place_of
from hornbeam.rules.rule_model import SMOOTHING

kernel = kernels("the counting of constants")

#: Minimum hits and minimum confidence of a rule.
MIN_HITS, MIN_CONFIDENCE = 2, 0.005
#: How many numbers a rule has while rules are counted: property, answer, hits, predicted.
PER_RULE = 4


def add_answers(answers, limit, touched, n_touched, hits, others):
    """Count the answers below `limit` of one more entity with the property; returns `n_touched`."""
    for c in answers:
        if c >= limit:
            continue
        if hits[c] == 0:
            touched[n_touched] = c
            n_touched += 1
        hits[c] += 1
        others[c] += len(answers) - 1
    return n_touched


def keep_rules(rules, filled, p, own, queries, touched, hits, others):
    """Add the rules of a property that are above the thresholds, and clear the property's counts.

    Returns an array that begins with the rules, `PER_RULE` numbers each, and how many of its
    numbers are filled.
    """
    rules = grown(rules, filled, PER_RULE * len(touched))
    for c in touched:
        predicted = queries - others[c]
        likely = hits[c] >= MIN_CONFIDENCE * (predicted + SMOOTHING)
        if hits[c] >= MIN_HITS and c != own and likely:
            rules[filled] = p
            rules[filled + 1] = c
            rules[filled + 2] = hits[c]
            rules[filled + 3] = predicted
            filled += PER_RULE
        hits[c] = 0
        others[c] = 0
    return rules, filled


@kernel
def common_properties(links, step, times):
    """Properties (s, d) that at least two entities with answers along a step have.

    `times` must be zero for every property.
    """
    listed = np.empty(1024, dtype=np.int64)
    filled = 0
    for k in range(links.first_holder[step], links.first_holder[step + 1]):
        x = links.holder[k]
        low = links.run_start[links.first_run[x]]
        high = links.run_start[links.first_run[x + 1]]
        listed = grown(listed, filled, high - low)
        for i in range(low, high):
            p = links.property[i]
            if times[p] == 1:
                listed[filled] = p
                filled += 1
            if times[p] < 2:
                times[p] += 1
    return listed[:filled]


@kernel
def count_constants(links, step, run_of, properties, hits, others, touched):
    """Rules t(X, c) <- s(X, d) of the given properties, counted over all queries along `step`.

    `run_of` has the run of every entity along the step, or -1. `hits` and `others` must be zero for
    every entity, and `touched` have room for all entities. Returns rules as `keep_rules` does.
    """
    rules = np.empty(4096, dtype=np.int64)
    filled = 0
    for p in properties:
        n_touched = 0
        queries = 0
        for k in range(links.run_start[p], links.run_start[p + 1]):
            run = run_of[links.end[k]]
            if run >= 0:
                answers = links.end[links.run_start[run] : links.run_start[run + 1]]
                queries += len(answers)
                n_touched = add_answers(answers, len(hits), touched, n_touched, hits, others)
        own = -1
        if links.run_step[p] == step ^ 1:
            own = place_of(links.first_run, 0, len(links.first_run), p + 1) - 1
        rules, filled = keep_rules(
            rules, filled, p, own, queries, touched[:n_touched], hits, others
        )
    return rules[:filled]


@kernel
def list_by_step(links, step, n_steps):
    """Entities with answers along `step`, as their places among these, by the steps of their links.

    Step s has the entities `by_step[start[s]]` to `by_step[start[s + 1]]`, in their order.
    """
    start = np.zeros(n_steps + 2, dtype=np.int64)
    low, high = links.first_holder[step], links.first_holder[step + 1]
    for k in range(low, high):
        x = links.holder[k]
        for run in range(links.first_run[x], links.first_run[x + 1]):
            start[links.run_step[run] + 2] += 1
    for s in range(2, n_steps + 2):
        start[s] += start[s - 1]
    by_step = np.empty(start[n_steps + 1], dtype=np.int32)
    for k in range(low, high):
        x = links.holder[k]
        for run in range(links.first_run[x], links.first_run[x + 1]):
            s = links.run_step[run]
            by_step[start[s + 1]] = k - low
            start[s + 1] += 1
    return start[:-1], by_step


@kernel
def count_open(start, by_step, step, first, answer, reach, n_runs, hits, others, touched):
    """Rules t(X, c) <- s(X, _) of steps s, counted over all queries along `step`.

    Step s has the entities that `start` and `by_step` list for it (see `list_by_step`), so that no
    entity without an answer is visited. The k-th entity with answers has `answer[first[k]]` to
    `answer[first[k + 1]]`. Answers are numbered within the step, the most frequent first: answer c
    passes for no step of more than `reach[c]` queries, so that most answers of most steps need not
    be counted.
    """
    rules = np.empty(4096, dtype=np.int64)
    filled = 0
    descending = -reach
    for s in range(len(start) - 1):
        queries = 0
        for k in by_step[start[s] : start[s + 1]]:
            queries += first[k + 1] - first[k]
        limit = np.searchsorted(descending, -queries, side="right")
        if s == step or not queries or not limit:
            continue
        n_touched = 0
        for k in by_step[start[s] : start[s + 1]]:
            answers = answer[first[k] : first[k + 1]]
            n_touched = add_answers(answers, limit, touched, n_touched, hits, others)
        rules, filled = keep_rules(
            rules, filled, n_runs + s, -1, queries, touched[:n_touched], hits, others
        )
    return rules[:filled]
