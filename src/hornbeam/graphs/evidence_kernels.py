"""What rules say about the answers of a query, counted and gathered by loops.

All loops work on the steps of `hornbeam.graphs.linked_graph`. A query's source is a, the step asked
for is t, its known answers are the run of a along t.

*Paths.* The rules of a step form a trie, listed in preorder, so that the entities reached by a
prefix are found once. A path to c never passes a again, and c is not its first entity: whatever
connects a and c by the link t(a, c) itself is left out so. Each entity reached remembers the first
entity of the walks that led there, or that there were several (`MANY`).
"""

# ruff: noqa: ANN001, ANN201
# mypy: disallow-untyped-defs=false, disallow-untyped-calls=false

from __future__ import annotations

import numpy as np

from hornbeam.compiled import kernels

kernel = kernels("the evidence of rules")

#: Several first entities.
MANY = -2
#: Classes of rules, and what is kept of each per candidate: three best confidences, the sum of
#: -log(1 - confidence), rules.
PATH, FORWARD, BACKWARD = 0, 1, 2
TOTAL, FIRED = 3, 4
#: Confidences below this are taken for it, in logarithms; ridge scores below a share of the best.
LEAST = 1e-4
LEAST_SHARE = 1e-3


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


def expand(links, step, source, depth, node, first, size, seen, stamp, most):
    """Walk one step from the entities at `depth` - 1; more than `most` ends count as none."""
    reached = 0
    for i in range(size[depth - 1]):
        x = node[depth - 1, i]
        if depth > 1 and x == source:
            continue
        run = find_run(links, x, step)
        if run < 0:
            continue
        for k in range(links.run_start[run], links.run_start[run + 1]):
            y = links.end[k]
            origin = y if depth == 1 else first[depth - 1, x]
            if seen[depth, y] != stamp:
                if reached == most:
                    return 0
                seen[depth, y] = stamp
                first[depth, y] = origin
                node[depth, reached] = y
                reached += 1
            elif first[depth, y] != origin:
                first[depth, y] = MANY
    return reached


def walk_arrays(trie, n_entities):
    """Entities reached per depth, the first of their walks, when they were seen, how many."""
    depths = 1
    for i in range(len(trie.depth)):
        depths = max(depths, trie.depth[i] + 1)
    return (
        np.empty((depths, n_entities), dtype=np.int32),
        np.empty((depths, n_entities), dtype=np.int32),
        np.zeros((depths, n_entities), dtype=np.int64),
        np.zeros(depths, dtype=np.int64),
    )


@kernel
def count_paths(links, trie, n_rules, sources, offsets, asked, n_entities, most):
    """Hits and predictions of path rules over queries (source i, the answers `asked` of it).

    A query predicts the rule's answers less the other known ones.
    """
    node, first, seen, size = walk_arrays(trie, n_entities)
    known = np.zeros(n_entities, dtype=np.int8)
    hits = np.zeros(n_rules, dtype=np.int64)
    predicted = np.zeros(n_rules, dtype=np.int64)
    stamp = 0
    for s in range(len(sources)):
        a = sources[s]
        run = find_run(links, a, trie.target)
        if run < 0:
            continue
        for k in range(links.run_start[run], links.run_start[run + 1]):
            known[links.end[k]] = 1
        for k in range(offsets[s], offsets[s + 1]):
            known[asked[k]] = 2
        queries = offsets[s + 1] - offsets[s]
        node[0, 0] = a
        size[0] = 1
        i = 0
        while i < len(trie.depth):
            depth = trie.depth[i]
            stamp += 1
            size[depth] = expand(
                links, trie.step[i], a, depth, node, first, size, seen, stamp, most
            )
            if size[depth] == 0:
                i = trie.skip[i]
                continue
            rule = trie.rule[i]
            if rule >= 0:
                for k in range(size[depth]):
                    c = node[depth, k]
                    if depth > 1 and first[depth, c] == c:
                        continue
                    if known[c] == 0:
                        predicted[rule] += queries
                    elif known[c] == 2:
                        predicted[rule] += 1
                        hits[rule] += 1
            i += 1
        for k in range(links.run_start[run], links.run_start[run + 1]):
            known[links.end[k]] = 0
    return hits, predicted


def fire(evidence, touched, n_touched, is_touched, c, group, confidence, loss):
    """A rule of a class speaks for c; the number of candidates then."""
    if not is_touched[c]:
        is_touched[c] = True
        touched[n_touched] = c
        n_touched += 1
    row = evidence[c, group]
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
    return n_touched


def fire_paths(links, trie, a, walk, stamp, most, evidence, touched, n_touched, is_touched):
    """All path rules of a source; the number of candidates and the last stamp."""
    node, first, seen, size = walk
    node[0, 0] = a
    size[0] = 1
    i = 0
    while i < len(trie.depth):
        depth = trie.depth[i]
        stamp += 1
        size[depth] = expand(links, trie.step[i], a, depth, node, first, size, seen, stamp, most)
        if size[depth] == 0:
            i = trie.skip[i]
            continue
        rule = trie.rule[i]
        if rule >= 0:
            confidence, loss = trie.confidence[rule], trie.loss[rule]
            for k in range(size[depth]):
                c = node[depth, k]
                if depth > 1 and first[depth, c] == c:
                    continue
                n_touched = fire(
                    evidence, touched, n_touched, is_touched, c, PATH, confidence, loss
                )
        i += 1
    return n_touched, stamp


def fire_forward(links, constants, p, evidence, touched, n_touched, is_touched):
    """Rules of one property of the source."""
    low, high = 0, len(constants.property)
    while low < high:
        middle = (low + high) // 2
        if constants.property[middle] < p:
            low = middle + 1
        else:
            high = middle
    if low < len(constants.property) and constants.property[low] == p:
        for k in range(constants.start[low], constants.start[low + 1]):
            n_touched = fire(
                evidence, touched, n_touched, is_touched, constants.answer[k], FORWARD,
                constants.confidence[k], constants.loss[k],
            )  # fmt: skip
    return n_touched


def fire_backward(
    links, a, step, run, shared, listed, is_known, smoothing, least, evidence, touched, n_touched,
    is_touched,
):  # fmt: skip
    """Rules t(a, Y) <- property of Y, for what at least two known answers of a share."""
    n_runs = len(links.run_step)
    n_listed = 0
    for k in range(links.run_start[run], links.run_start[run + 1]):
        c = links.end[k]
        for r in range(links.first_run[c], links.first_run[c + 1]):
            p = n_runs + links.run_step[r]
            if links.run_step[r] != step ^ 1:
                if shared[p] == 0:
                    listed[n_listed] = p
                    n_listed += 1
                shared[p] += 1
            for i in range(links.run_start[r], links.run_start[r + 1]):
                if links.end[i] == a and links.run_step[r] == step ^ 1:
                    continue
                p = links.property[i]
                if shared[p] == 0:
                    listed[n_listed] = p
                    n_listed += 1
                shared[p] += 1
    for j in range(n_listed):
        p = listed[j]
        hits = shared[p]
        shared[p] = 0
        if hits < 2:
            continue
        if p < n_runs:
            start, stop = links.run_start[p], links.run_start[p + 1]
            holders = links.end
        else:
            start, stop = links.first_holder[p - n_runs], links.first_holder[p - n_runs + 1]
            holders = links.holder
        confidence = hits / (stop - start + smoothing)
        if confidence < least or stop - start == hits:
            continue
        loss = -np.log1p(-confidence)
        for k in range(start, stop):
            if not is_known[holders[k]]:
                n_touched = fire(
                    evidence, touched, n_touched, is_touched, holders[k], BACKWARD, confidence, loss
                )
    return n_touched


def chosen_candidates(evidence, listed, limit, strength, has_ridge):
    """At most `limit` candidates: the best by confidence and the best by ridge in turns."""
    n = len(listed)
    if n <= limit:
        return listed
    by_rules = np.empty(n, dtype=np.float64)
    by_ridge = np.empty(n, dtype=np.float64)
    for i in range(n):
        c = listed[i]
        best = 0.0
        total = 0.0
        for g in range(3):
            best = max(best, evidence[c, g, 0])
            total += evidence[c, g, TOTAL]
        by_rules[i] = -best - 1e-3 * total
        by_ridge[i] = -strength[c] if has_ridge else 0.0
    order = np.argsort(by_rules, kind="mergesort")
    other = np.argsort(by_ridge, kind="mergesort") if has_ridge else order
    taken = np.zeros(n, dtype=np.bool_)
    chosen = np.empty(limit, dtype=np.int32)
    filled, i, j = 0, 0, 0
    while filled < limit:
        while i < n and taken[order[i]]:
            i += 1
        if i < n:
            taken[order[i]] = True
            chosen[filled] = listed[order[i]]
            filled += 1
        if filled < limit:
            while j < n and taken[other[j]]:
                j += 1
            if j < n:
                taken[other[j]] = True
                chosen[filled] = listed[other[j]]
                filled += 1
    return chosen


def describe(evidence, c, a, prior, degree, feature):
    """Features of a candidate without the ridge's (see `hornbeam.graphs.features`)."""
    best = 0.0
    total = 0.0
    for g in range(3):
        row = evidence[c, g]
        for k in range(3):
            feature[6 * g + k] = np.log(max(row[k], LEAST))
        feature[6 * g + 3] = np.log(max(-np.expm1(-row[TOTAL]), LEAST))
        feature[6 * g + 4] = np.log1p(row[FIRED])
        feature[6 * g + 5] = np.log1p(row[TOTAL])
        best = max(best, row[0])
        total += row[TOTAL]
    feature[18] = np.log(max(best, LEAST))
    feature[19] = np.log(max(-np.expm1(-total), LEAST))
    feature[20] = prior[c]
    feature[21] = 1.0 if prior[c] > prior[len(prior) - 1] else 0.0
    feature[22] = np.log1p(degree[c])
    feature[23] = 1.0 if c == a else 0.0


@kernel
def gather(
    links, trie, constants, sources, frequent, prior, degree, forward, backward, proposed,
    smoothing, least, most, limit, backward_rules, leave_out_linked, scratch,
):  # fmt: skip
    """Candidates of every source and their features.

    `prior` has one further element, the prior of what never is an answer. `forward` and `backward`
    are rows of ridge scores (or have none), `proposed` the ridge's candidates. `scratch` is left as
    it was found, but for stamps.
    """
    n_runs = len(links.run_step)
    has_ridge = len(forward) > 0
    walk = (scratch.node, scratch.first, scratch.seen, scratch.size)
    evidence, touched, strength = scratch.evidence, scratch.touched, scratch.strength
    is_touched, is_known = scratch.is_touched, scratch.is_known
    shared, listed = scratch.shared, scratch.listed
    entity = np.empty((len(sources), limit), dtype=np.int32)
    n_features = 27 if has_ridge else 24
    feature = np.empty((len(sources), limit, n_features), dtype=np.float32)
    count = np.zeros(len(sources), dtype=np.int64)
    stamp = scratch.stamp[0]
    for s in range(len(sources)):
        a = sources[s]
        n_touched = 0
        run = find_run(links, a, trie.target)
        if run >= 0:
            for k in range(links.run_start[run], links.run_start[run + 1]):
                is_known[links.end[k]] = True
        n_touched, stamp = fire_paths(
            links, trie, a, walk, stamp, most, evidence, touched, n_touched, is_touched
        )
        if len(constants.property):
            for r in range(links.first_run[a], links.first_run[a + 1]):
                n_touched = fire_forward(
                    links, constants, n_runs + links.run_step[r], evidence, touched, n_touched,
                    is_touched,
                )  # fmt: skip
                for k in range(links.run_start[r], links.run_start[r + 1]):
                    n_touched = fire_forward(
                        links, constants, links.property[k], evidence, touched, n_touched,
                        is_touched,
                    )  # fmt: skip
        if backward_rules and run >= 0:
            n_touched = fire_backward(
                links, a, trie.target, run, shared, listed, is_known, smoothing, least, evidence,
                touched, n_touched, is_touched,
            )  # fmt: skip
        for k in range(len(frequent)):
            if not is_touched[frequent[k]]:
                is_touched[frequent[k]] = True
                touched[n_touched] = frequent[k]
                n_touched += 1
        if has_ridge:
            for k in range(proposed.shape[1]):
                if not is_touched[proposed[s, k]]:
                    is_touched[proposed[s, k]] = True
                    touched[n_touched] = proposed[s, k]
                    n_touched += 1
        if leave_out_linked:
            for k in range(
                links.run_start[links.first_run[a]], links.run_start[links.first_run[a + 1]]
            ):
                is_known[links.end[k]] = True
        free = 0
        for k in range(n_touched):
            c = touched[k]
            is_touched[c] = False
            if is_known[c]:
                for g in range(3):
                    for f in range(5):
                        evidence[c, g, f] = 0.0
            else:
                touched[free] = c
                free += 1
        best_forward, best_backward, best_sum = 1e-9, 1e-9, 1e-9
        if has_ridge:
            for k in range(free):
                c = touched[k]
                ahead, back = max(forward[s, c], 0.0), max(backward[s, c], 0.0)
                strength[c] = ahead + back
                best_forward = max(best_forward, ahead)
                best_backward = max(best_backward, back)
                best_sum = max(best_sum, ahead + back)
        chosen = chosen_candidates(evidence, touched[:free], limit, strength, has_ridge)
        count[s] = len(chosen)
        for k in range(len(chosen)):
            c = chosen[k]
            entity[s, k] = c
            describe(evidence, c, a, prior, degree, feature[s, k])
            if has_ridge:
                ahead, back = max(forward[s, c], 0.0), max(backward[s, c], 0.0)
                feature[s, k, 24] = np.log(max(ahead / best_forward, LEAST_SHARE))
                feature[s, k, 25] = np.log(max(back / best_backward, LEAST_SHARE))
                feature[s, k, 26] = np.log(max((ahead + back) / best_sum, LEAST_SHARE))
        for k in range(free):
            for g in range(3):
                for f in range(5):
                    evidence[touched[k], g, f] = 0.0
        if run >= 0:
            for k in range(links.run_start[run], links.run_start[run + 1]):
                is_known[links.end[k]] = False
        if leave_out_linked:
            for k in range(
                links.run_start[links.first_run[a]], links.run_start[links.first_run[a + 1]]
            ):
                is_known[links.end[k]] = False
    scratch.stamp[0] = stamp
    return count, entity, feature


@kernel
def fired_paths(links, trie, sources, offsets, entity, n_entities, most):
    """Which path rules speak for which candidates: pairs of row and rule, in the order of sources.

    The candidates of source i stand in the rows `offsets[i]` to `offsets[i + 1]` of `entity`.
    """
    node, first, seen, size = walk_arrays(trie, n_entities)
    row_of = np.full(n_entities, -1, dtype=np.int64)
    row = np.empty(1024, dtype=np.int64)
    fired = np.empty(1024, dtype=np.int32)
    filled = 0
    stamp = 0
    for s in range(len(sources)):
        for k in range(offsets[s], offsets[s + 1]):
            row_of[entity[k]] = k
        node[0, 0] = sources[s]
        size[0] = 1
        i = 0
        while i < len(trie.depth):
            depth = trie.depth[i]
            stamp += 1
            size[depth] = expand(
                links, trie.step[i], sources[s], depth, node, first, size, seen, stamp, most
            )
            if size[depth] == 0:
                i = trie.skip[i]
                continue
            if trie.rule[i] >= 0:
                if filled + size[depth] > len(row):
                    larger_row = np.empty(2 * (filled + size[depth]), dtype=np.int64)
                    larger_fired = np.empty(2 * (filled + size[depth]), dtype=np.int32)
                    for k in range(filled):
                        larger_row[k] = row[k]
                        larger_fired[k] = fired[k]
                    row, fired = larger_row, larger_fired
                for k in range(size[depth]):
                    c = node[depth, k]
                    if row_of[c] >= 0 and not (depth > 1 and first[depth, c] == c):
                        row[filled] = row_of[c]
                        fired[filled] = trie.rule[i]
                        filled += 1
            i += 1
        for k in range(offsets[s], offsets[s + 1]):
            row_of[entity[k]] = -1
    return row[:filled], fired[:filled]
