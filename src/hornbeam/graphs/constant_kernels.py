"""Counting rules with constants: every property of the sources against every answer."""

# ruff: noqa: ANN001, ANN201
# mypy: disallow-untyped-defs=false, disallow-untyped-calls=false

from __future__ import annotations

import numpy as np

from hornbeam.compiled import kernels

kernel = kernels("the counting of constants")


def find_run(links, entity, step):
    """Run of an entity along a step, -1 where there is none."""
    low, high = links.first_run[entity], links.first_run[entity + 1]
    stop = high
    while low < high:
        middle = (low + high) // 2
        if links.run_step[middle] < step:
            low = middle + 1
        else:
            high = middle
    if low < stop and links.run_step[low] == step:
        return low
    return -1


@kernel
def count_constants(
    links, step, sources, n_entities, n_steps, smoothing, least_hits, least_confidence
):
    """Rules t(X, c) <- property of X: exact hits and predictions over all queries along `step`.

    Rules are counted for the properties of `sources`. Per property p the loop adds up, over the
    queries' sources x that have p and over their answers c, 1 and |answers of x| - 1. The second
    sum is what other answers' queries do not predict.
    """
    n_runs = len(links.run_step)
    run_of = np.full(n_entities, -1, dtype=np.int64)
    for k in range(links.first_holder[step], links.first_holder[step + 1]):
        run_of[links.holder[k]] = find_run(links, links.holder[k], step)
    listed = np.zeros(n_runs + n_steps, dtype=np.bool_)
    for k in range(len(sources)):
        x = sources[k]
        for run in range(links.first_run[x], links.first_run[x + 1]):
            if links.run_step[run] != step and not listed[n_runs + links.run_step[run]]:
                listed[n_runs + links.run_step[run]] = True
            for i in range(links.run_start[run], links.run_start[run + 1]):
                p = links.property[i]
                if not listed[p] and links.run_start[p + 1] - links.run_start[p] > 1:
                    listed[p] = True
    rule_property = np.empty(1024, dtype=np.int64)
    rule_answer = np.empty(1024, dtype=np.int32)
    rule_hits = np.empty(1024, dtype=np.int64)
    rule_predicted = np.empty(1024, dtype=np.int64)
    filled = 0
    hits = np.zeros(n_entities, dtype=np.int64)
    others = np.zeros(n_entities, dtype=np.int64)
    touched = np.empty(n_entities, dtype=np.int32)
    for p in range(n_runs + n_steps):
        if not listed[p]:
            continue
        own = -1
        if p < n_runs:
            start, stop = links.run_start[p], links.run_start[p + 1]
            holders = links.end
            if links.run_step[p] == step ^ 1:
                own = links.run_entity[p]
        else:
            start, stop = links.first_holder[p - n_runs], links.first_holder[p - n_runs + 1]
            holders = links.holder
        n_touched = 0
        queries = 0
        for k in range(start, stop):
            run = run_of[holders[k]]
            if run < 0:
                continue
            answers = links.run_start[run + 1] - links.run_start[run]
            queries += answers
            for i in range(links.run_start[run], links.run_start[run + 1]):
                c = links.end[i]
                if hits[c] == 0:
                    touched[n_touched] = c
                    n_touched += 1
                hits[c] += 1
                others[c] += answers - 1
        if filled + n_touched > len(rule_property):
            size = 2 * (filled + n_touched)
            larger_property = np.empty(size, dtype=np.int64)
            larger_answer = np.empty(size, dtype=np.int32)
            larger_hits = np.empty(size, dtype=np.int64)
            larger_predicted = np.empty(size, dtype=np.int64)
            for k in range(filled):
                larger_property[k] = rule_property[k]
                larger_answer[k] = rule_answer[k]
                larger_hits[k] = rule_hits[k]
                larger_predicted[k] = rule_predicted[k]
            rule_property, rule_answer = larger_property, larger_answer
            rule_hits, rule_predicted = larger_hits, larger_predicted
        for k in range(n_touched):
            c = touched[k]
            predicted = queries - others[c]
            if (
                hits[c] >= least_hits
                and c != own
                and hits[c] >= least_confidence * (predicted + smoothing)
            ):
                rule_property[filled] = p
                rule_answer[filled] = c
                rule_hits[filled] = hits[c]
                rule_predicted[filled] = predicted
                filled += 1
            hits[c] = 0
            others[c] = 0
    return (
        rule_property[:filled], rule_answer[:filled], rule_hits[:filled], rule_predicted[:filled],
    )  # fmt: skip
