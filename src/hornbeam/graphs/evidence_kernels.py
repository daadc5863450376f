"""Evidence of rules for the answers of queries: the loops that count and gather it.

All loops work on the steps of `hornbeam.graphs.linked_graph`. A query's source is a, its step is t,
and its known answers are the run of a along t.

*Paths.* The rules of a step form a trie, listed in preorder, so that the entities reached by a
prefix are computed once. A path to c never returns to a, and c is not its first entity. This leaves
out paths that connect a and c by the link t(a, c) itself. For every entity reached, the first
entity of the walks to it is stored, or `SEVERAL` if their first entities differ.
"""

# ruff: noqa: ANN001, ANN201
# mypy: disallow-untyped-defs=false, disallow-untyped-calls=false

from __future__ import annotations

import math

import numpy as np

from hornbeam.base.compiled import kernels
from hornbeam.graph.edge_runs import grown, place_of
from hornbeam.graphs.constant_kernels import MIN_CONFIDENCE, MIN_HITS
from hornbeam.graphs.features import (
    AGAINST,
    ALONG,
    BACKWARD,
    COLUMN,
    FIRED,
    FORWARD,
    N_BEST,
    N_FEATURES,
    N_PLAIN,
    OF_CLASS,
    PATH,
    REVERSE,
    TOGETHER,
    TOTAL,
)
from hornbeam.rules.rule_model import SMOOTHING

kernel = kernels("the evidence of rules")

#: Stands for the first entity of walks whose first entities differ.
SEVERAL = -2
#: A rule that proposes more answers than this is ignored for the query.
MAX_PROPOSED = 500
#: Lower bounds before logarithms are taken: of confidences, and of ridge scores / best ridge score.
CONFIDENCE_FLOOR = 1e-4
RIDGE_FLOOR = 1e-3
#: Weights of links are integers in units of 1 / MILLION.
MILLION = 1_000_000


def find_run(links, entity, step):
    """Run of an entity along a step, -1 if it has no links along the step."""
    if len(links.run_at) > 0:
        return np.int64(links.run_at[entity, step])
    stop = links.first_run[entity + 1]
    run = place_of(links.run_step, links.first_run[entity], stop, step)
    return run if run < stop and links.run_step[run] == step else -1


def expand(links, step, source, depth, walk):
    """Walk one step from the entities at `depth` - 1; returns how many it finds, 0 if too many."""
    walk.stamp[0] += 1
    stamp = walk.stamp[0]
    node, first, seen = walk.node[depth], walk.first[depth], walk.seen[depth]
    before, origins = walk.node[depth - 1], walk.first[depth - 1]
    reached = 0
    for i in range(walk.size[depth - 1]):
        x = before[i]
        if depth > 1 and x == source:
            continue
        run = find_run(links, x, step)
        if run < 0:
            continue
        origin = origins[x]
        for k in range(links.run_start[run], links.run_start[run + 1]):
            y = links.end[k]
            if depth == 1:
                origin = y
            if seen[y] != stamp:
                if reached == MAX_PROPOSED:
                    return 0
                seen[y] = stamp
                first[y] = origin
                node[reached] = y
                reached += 1
            elif first[y] != origin:
                first[y] = SEVERAL
    return reached


def next_rule(links, trie, source, i, walk):
    """Walk the trie from its node i, 0 to begin, to the next rule that is reached.

    Returns the node after the rule, the rule (-1 after the last), and the number of its answers,
    which are in `walk.answer`. (A generator would be shorter, but a compiled generator never frees
    the arrays that it was given.)
    """
    if i == 0:
        walk.node[0, 0] = source
        walk.size[0] = 1
    while i < len(trie.depth):
        depth = trie.depth[i]
        reached = expand(links, trie.step[i], source, depth, walk)
        walk.size[depth] = reached
        if reached == 0:
            i = trie.skip[i]
            continue
        rule = trie.rule[i]
        i += 1
        if rule >= 0:
            answers = 0
            for k in range(reached):
                c = walk.node[depth, k]
                if depth == 1 or walk.first[depth, c] != c:
                    walk.answer[answers] = c
                    answers += 1
            return i, rule, answers
    return i, -1, 0


@kernel
def count_paths(links, shared, part, walk):
    """Hits and predictions of the path rules of several steps, in two rows.

    `shared` has the paths, rules and queries of all steps (`hornbeam.graphs.path_rules`); only the
    queries of the sources in `part` are counted. For a query, a rule predicts its answers minus the
    other known answers.
    """
    targets, sources = shared.targets, shared.sources
    known = np.zeros((len(targets), walk.node.shape[1]), dtype=np.int8)
    n_queries = np.zeros(len(targets), dtype=np.int64)
    counts = np.zeros((2, len(shared.rule)), dtype=np.int64)
    for s in part:
        for q in range(shared.first_query[s], shared.first_query[s + 1]):
            t = shared.query_step[q]
            run = find_run(links, sources[s], targets[t])
            if run < 0:
                continue
            for k in range(links.run_start[run], links.run_start[run + 1]):
                known[t, links.end[k]] = 1
            for k in range(shared.low[q], shared.high[q]):
                known[t, shared.answer[k]] = 2
            n_queries[t] = shared.high[q] - shared.low[q]
        node, path, answers = next_rule(links, shared.trie, sources[s], 0, walk)
        while path >= 0:
            for r in range(shared.first_rule[path], shared.first_rule[path + 1]):
                t = shared.rule_step[r]
                if n_queries[t] == 0:
                    continue
                unknown, hit = 0, 0
                for k in range(answers):
                    state = known[t, walk.answer[k]]
                    unknown += state == 0
                    hit += state == 2
                counts[0, shared.rule[r]] += hit
                counts[1, shared.rule[r]] += n_queries[t] * unknown + hit
            node, path, answers = next_rule(links, shared.trie, sources[s], node, walk)
        for q in range(shared.first_query[s], shared.first_query[s + 1]):
            t = shared.query_step[q]
            n_queries[t] = 0
            run = find_run(links, sources[s], targets[t])
            if run >= 0:
                for k in range(links.run_start[run], links.run_start[run + 1]):
                    known[t, links.end[k]] = 0
    return counts


@kernel
def fired_paths(links, trie, sources, offsets, entity, walk):
    """Which path rules fire for which candidates: pairs of row and rule, in the order of sources.

    The candidates of source i are the rows `offsets[i]` to `offsets[i + 1]` of `entity`.
    """
    row_of = np.full(walk.node.shape[1], -1, dtype=np.int64)
    row = np.empty(1024, dtype=np.int64)
    fired = np.empty(1024, dtype=np.int32)
    filled = 0
    for s in range(len(sources)):
        for k in range(offsets[s], offsets[s + 1]):
            row_of[entity[k]] = k
        node, rule, answers = next_rule(links, trie, sources[s], 0, walk)
        while rule >= 0:
            row, fired = grown(row, filled, answers), grown(fired, filled, answers)
            for k in range(answers):
                at = row_of[walk.answer[k]]
                if at >= 0:
                    row[filled] = at
                    fired[filled] = rule
                    filled += 1
            node, rule, answers = next_rule(links, trie, sources[s], node, walk)
        for k in range(offsets[s], offsets[s + 1]):
            row_of[entity[k]] = -1
    return row[:filled], fired[:filled]


# --- the evidence of all classes ----------------------------------------------------------------


def propose(found, c):
    """Make c a candidate, unless it is a candidate already."""
    if not found.is_listed[c]:
        found.is_listed[c] = True
        found.listed[found.size[0]] = c
        found.size[0] += 1


def fire(found, c, group, confidence, loss):
    """Add a rule that fires for c to the evidence of the rule's class."""
    propose(found, c)
    row = found.evidence[c, group]
    if confidence > row[2]:
        if confidence > row[1]:
            row[2] = row[1]
            if confidence > row[0]:
                row[1] = row[0]
                row[0] = confidence
            else:
                row[1] = confidence
        else:
            row[2] = confidence
    row[TOTAL] += loss
    row[FIRED] += 1


def fire_forward(constants, p, found):
    """Fire the rules of one property of the source."""
    at = place_of(constants.property, 0, len(constants.property), p)
    if at < len(constants.property) and constants.property[at] == p:
        for k in range(constants.start[at], constants.start[at + 1]):
            fire(found, constants.answer[k], FORWARD, constants.confidence[k], constants.loss[k])


def share_property(properties, p):
    """Count one more known answer that has the property."""
    if properties.shared[p] == 0:
        properties.listed[properties.size[0]] = p
        properties.size[0] += 1
    properties.shared[p] += 1


def fire_backward(links, a, step, run, properties, is_known, found):
    """Fire rules t(a, Y) <- property of Y, if at least two known answers of a have the property."""
    n_runs = len(links.run_step)
    properties.size[0] = 0
    for k in range(links.run_start[run], links.run_start[run + 1]):
        c = links.end[k]
        for r in range(links.first_run[c], links.first_run[c + 1]):
            returns = links.run_step[r] == step ^ 1
            if not returns:
                share_property(properties, n_runs + links.run_step[r])
            for i in range(links.run_start[r], links.run_start[r + 1]):
                if not (returns and links.end[i] == a):
                    share_property(properties, links.property[i])
    for j in range(properties.size[0]):
        p = properties.listed[j]
        hits = properties.shared[p]
        properties.shared[p] = 0
        if hits < MIN_HITS:
            continue
        if p < n_runs:
            start, stop = links.run_start[p], links.run_start[p + 1]
            holders = links.end
        else:
            start, stop = links.first_holder[p - n_runs], links.first_holder[p - n_runs + 1]
            holders = links.holder
        confidence = hits / (stop - start + SMOOTHING)
        if confidence < MIN_CONFIDENCE or stop - start == hits:
            continue
        loss = -math.log1p(-confidence)
        for k in range(start, stop):
            if not is_known[holders[k]]:
                fire(found, holders[k], BACKWARD, confidence, loss)


def fire_all(links, tables, a, run, scratch):
    """Fire the rules of all classes for one source, whose run along the query's step is `run`."""
    trie, constants, found = tables.trie, tables.constants, scratch.found
    node, rule, answers = next_rule(links, trie, a, 0, scratch.walk)
    while rule >= 0:
        for k in range(answers):
            fire(found, scratch.walk.answer[k], PATH, trie.confidence[rule], trie.loss[rule])
        node, rule, answers = next_rule(links, trie, a, node, scratch.walk)
    if len(constants.property):
        n_runs = len(links.run_step)
        for r in range(links.first_run[a], links.first_run[a + 1]):
            fire_forward(constants, n_runs + links.run_step[r], found)
            for k in range(links.run_start[r], links.run_start[r + 1]):
                fire_forward(constants, links.property[k], found)
    if tables.has_backward and run >= 0:
        fire_backward(links, a, trie.target, run, scratch.properties, scratch.is_known, found)


def mark(ends, start, stop, is_known, value):
    """Set `is_known` to `value` for the entities ends[start:stop]."""
    for k in range(start, stop):
        is_known[ends[k]] = value


def drop_known(found, is_known):
    """Remove known entities from the listed candidates, and unset `is_listed` of all candidates."""
    free = 0
    for k in range(found.size[0]):
        c = found.listed[k]
        found.is_listed[c] = False
        if is_known[c]:
            found.evidence[c] = 0.0
        else:
            found.listed[free] = c
            free += 1
    found.size[0] = free


def chosen_candidates(evidence, listed, limit, most, strength, has_ridge, slot):
    """At most `most` of the listed candidates: all, as listed, if there are at most `limit`.

    Otherwise they are chosen alternately: the best by confidence, and the best by the ridge.
    Candidates that no rule fires for are ordered by `slot`.
    """
    n = len(listed)
    if n <= limit:
        return listed
    most = min(most, n)
    by_rules = np.empty(n, dtype=np.float64)
    by_ridge = np.empty(n, dtype=np.float64)
    for i in range(n):
        c = listed[i]
        best = 0.0
        total = 0.0
        for g in range(evidence.shape[1]):
            best = max(best, evidence[c, g, 0])
            total += evidence[c, g, TOTAL]
        by_rules[i] = -best - 1e-3 * total
        if best == 0.0:  # slot scores are so small here that they come after all rules
            by_rules[i] = -slot[c] / (MILLION * MILLION)
        by_ridge[i] = -strength[c] if has_ridge else 0.0
    order = np.argsort(by_rules, kind="mergesort")
    other = np.argsort(by_ridge, kind="mergesort") if has_ridge else order
    taken = np.zeros(n, dtype=np.bool_)
    chosen = np.empty(most, dtype=np.int32)
    at = np.zeros(2, dtype=np.int64)
    filled, turn = 0, 0
    while filled < most:
        ranked = order if turn == 0 else other
        while at[turn] < n and taken[ranked[at[turn]]]:
            at[turn] += 1
        if at[turn] < n:
            taken[ranked[at[turn]]] = True
            chosen[filled] = listed[ranked[at[turn]]]
            filled += 1
        turn = 1 - turn
    return chosen


def slot_score(links, weights, c):
    """The slot score of an entity, in millionths (see `hornbeam.graphs.slots`)."""
    score = np.int64(0)
    if len(weights) > 0:
        for r in range(links.first_run[c], links.first_run[c + 1]):
            score += weights[links.run_step[r]]
    return score


def count_linked(links, a, step, weights, linked, more):
    """Count the other links from a to its neighbours (`more` = 1), or clear the counts (0).

    The columns of `linked` count links of other relations in the query's direction, of other
    relations against it, and of the relation itself against it. The last column adds up the links'
    weights for the query's step (`hornbeam.graphs.linked_pairs`).
    """
    for r in range(links.first_run[a], links.first_run[a + 1]):
        other = links.run_step[r]
        if other == step:
            continue
        column = ALONG if (other ^ step) & 1 == 0 else REVERSE if other == step ^ 1 else AGAINST
        weight = weights[other, step] if len(weights) > 0 else 0
        for k in range(links.run_start[r], links.run_start[r + 1]):
            c = links.end[k]
            linked[c, column] = more * (linked[c, column] + 1)
            linked[c, TOGETHER] = more * (linked[c, TOGETHER] + weight)


def describe(evidence, c, a, prior, is_seen, degree, linked, slot, feature):
    """All features of a candidate but the ridge's (see `hornbeam.graphs.features`)."""
    best = 0.0
    total = 0.0
    for g in range(evidence.shape[1]):
        row = evidence[c, g]
        first = g * len(OF_CLASS)
        for k in range(N_BEST):
            feature[first + k] = math.log(max(row[k], CONFIDENCE_FLOOR))
        noisy_or = max(-math.expm1(-row[TOTAL]), CONFIDENCE_FLOOR)
        feature[first + OF_CLASS.noisy_or] = math.log(noisy_or)
        feature[first + OF_CLASS.fired] = math.log1p(row[FIRED])
        feature[first + OF_CLASS.sum] = math.log1p(row[TOTAL])
        best = max(best, row[0])
        total += row[TOTAL]
    feature[COLUMN.best] = math.log(max(best, CONFIDENCE_FLOOR))
    feature[COLUMN.noisy_or] = math.log(max(-math.expm1(-total), CONFIDENCE_FLOOR))
    feature[COLUMN.frequency] = prior
    feature[COLUMN.seen] = 1.0 if is_seen else 0.0
    feature[COLUMN.degree] = math.log1p(degree[c])
    feature[COLUMN.itself] = 1.0 if c == a else 0.0
    feature[COLUMN.slot] = slot / MILLION
    for k in range(TOGETHER):
        feature[COLUMN.linked_along + k] = math.log1p(linked[c, k])
    feature[COLUMN.linked_together] = linked[c, TOGETHER] / MILLION


def describe_ridge(listed, chosen, forward, backward, feature):
    """The ridge's features of the chosen candidates, relative to the best listed candidate."""
    best_forward, best_backward, best_sum = 1e-9, 1e-9, 1e-9
    for c in listed:
        ahead, back = max(float(forward[c]), 0.0), max(float(backward[c]), 0.0)
        best_forward = max(best_forward, ahead)
        best_backward = max(best_backward, back)
        best_sum = max(best_sum, ahead + back)
    for k in range(len(chosen)):
        c = chosen[k]
        ahead, back = max(float(forward[c]), 0.0), max(float(backward[c]), 0.0)
        feature[k, COLUMN.ridge_forward] = math.log(max(ahead / best_forward, RIDGE_FLOOR))
        feature[k, COLUMN.ridge_backward] = math.log(max(back / best_backward, RIDGE_FLOOR))
        feature[k, COLUMN.ridge_sum] = math.log(max((ahead + back) / best_sum, RIDGE_FLOOR))


@kernel
def gather(links, tables, sources, ridge, limit, most, leave_out_linked, scratch):
    """The best `limit` candidates per source with features, then up to `most` without features.

    For `tables` and `scratch` see `hornbeam.graphs.graph_evidence`; `scratch` is restored on
    return, except for its stamps. `ridge.forward` and `ridge.backward` are rows of ridge scores
    (no rows without a ridge), `ridge.proposed` has the ridge's candidates.
    Returns, source after source, the number of candidates, the candidates and their features; then
    the number of further candidates, and the further candidates.
    """
    forward, backward, step = ridge.forward, ridge.backward, tables.trie.target
    has_ridge = len(forward) > 0
    found, is_known = scratch.found, scratch.is_known
    n_features = N_FEATURES if has_ridge else N_PLAIN
    entity = np.empty(len(sources) * limit, dtype=np.int32)
    feature = np.empty((len(entity), n_features), dtype=np.float32)
    count = np.zeros(len(sources), dtype=np.int64)
    further = np.empty(len(sources) * (most - limit), dtype=np.int32)
    further_count = np.zeros(len(sources), dtype=np.int64)
    filled, rest = 0, 0
    for s in range(len(sources)):
        a = sources[s]
        found.size[0] = 0
        run = find_run(links, a, step)
        known, known_stop = 0, 0
        if run >= 0:
            known, known_stop = links.run_start[run], links.run_start[run + 1]
        mark(links.end, known, known_stop, is_known, True)
        fire_all(links, tables, a, run, scratch)
        for c in tables.usual:
            propose(found, c)
        if has_ridge:
            for c in ridge.proposed[s]:
                propose(found, c)
        if leave_out_linked:
            known = links.run_start[links.first_run[a]]
            known_stop = links.run_start[links.first_run[a + 1]]
            mark(links.end, known, known_stop, is_known, True)
        drop_known(found, is_known)
        mark(links.end, known, known_stop, is_known, False)
        # by id, so that ties do not depend on the order in which rules fired
        listed = np.sort(found.listed[: found.size[0]])
        if has_ridge:
            for c in listed:
                strength = max(float(forward[s, c]), 0.0) + max(float(backward[s, c]), 0.0)
                scratch.strength[c] = strength
        for c in listed:
            if found.evidence[c, PATH, 0] + found.evidence[c, FORWARD, 0] == 0.0:
                scratch.slot[c] = slot_score(links, tables.slots, c)
        ordered = chosen_candidates(
            found.evidence, listed, limit, most, scratch.strength, has_ridge, scratch.slot
        )
        chosen = ordered[:limit]
        count[s] = len(chosen)
        further_count[s] = len(ordered) - len(chosen)
        further[rest : rest + further_count[s]] = ordered[limit:]
        rest += further_count[s]
        described = feature[filled : filled + len(chosen)]
        count_linked(links, a, step, tables.weights, scratch.linked, 1)
        for k in range(len(chosen)):
            c = chosen[k]
            entity[filled + k] = c
            times = 0
            inverse_run = find_run(links, c, step ^ 1)
            if inverse_run >= 0:
                times = links.run_start[inverse_run + 1] - links.run_start[inverse_run]
            describe(
                found.evidence, c, a, tables.log_share[times], times > 0, tables.degree,
                scratch.linked, slot_score(links, tables.slots, c), described[k],
            )  # fmt: skip
        count_linked(links, a, step, tables.weights, scratch.linked, 0)
        if has_ridge:
            describe_ridge(listed, chosen, forward[s], backward[s], described)
        for c in listed:
            found.evidence[c] = 0.0
        filled += len(chosen)
    return count, entity[:filled], feature[:filled], further_count, further[:rest]


@kernel
def gather_fired(
    group,
    confidence,
    loss,
    rows,
    offsets,
    itself,
    prior,
    seen,
    degree,
    linked,
    slot,
    limit,
    most,
    found,
):
    """Candidates of every source, as `gather` returns them, from rules that fired in a database.

    Candidate i has the rules `rows[i]` to `rows[i + 1]`, in the order in which `gather` would fire
    them. Source s has the candidates `offsets[s]` to `offsets[s + 1]`, by id; `itself[s]` is the
    candidate that is the source itself, or -1. `prior`, `seen` and `degree` have one element per
    candidate, as has `slot`; `linked` has the columns of `count_linked`, and `found` lists all
    candidates.
    """
    for c in range(len(rows) - 1):
        for k in range(rows[c], rows[c + 1]):
            # the loss of backward rules is computed as in `fire_backward`, to the same bits
            own = -math.log1p(-confidence[k]) if group[k] == BACKWARD else loss[k]
            fire(found, c, group[k], confidence[k], own)
    size = offsets[1:] - offsets[:-1]
    count = np.minimum(size, limit)
    further_count = np.minimum(size, most) - count
    chosen = np.empty(count.sum(), dtype=np.int32)
    further = np.empty(further_count.sum(), dtype=np.int32)
    feature = np.empty((len(chosen), N_PLAIN), dtype=np.float32)
    filled, rest = 0, 0
    for s in range(len(offsets) - 1):
        listed = np.arange(offsets[s], offsets[s + 1]).astype(np.int32)
        ordered = chosen_candidates(found.evidence, listed, limit, most, prior, False, slot)
        further[rest : rest + further_count[s]] = ordered[limit:]
        rest += further_count[s]
        for c in ordered[:limit]:
            chosen[filled] = c
            describe(
                found.evidence, c, itself[s], prior[c], seen[c], degree, linked, slot[c],
                feature[filled],
            )  # fmt: skip
            filled += 1
    return count, chosen, feature, further_count, further
