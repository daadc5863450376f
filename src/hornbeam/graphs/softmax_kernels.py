"""Loops of the softmax ranking model: its loss with gradient, and ranks of the true answers.

Rows are candidates, source after source. A source may have several true answers. Each true answer
is ranked among the candidates that are not true, so the loss of a source with scores s is

    sum over its true answers t of  log(e^(s_t) + sum over false c of e^(s_c)) - s_t.
"""

# ruff: noqa: ANN001, ANN201
# mypy: disallow-untyped-defs=false, disallow-untyped-calls=false

from __future__ import annotations

import math

import numpy as np

from hornbeam.base.compiled import kernels

kernel = kernels("the ranking model")

#: Softmax shares below which a candidate is left out of the gradient, and of the curvature.
MIN_SHARE, MIN_CURVING = 1e-9, 1e-4


@kernel
def loss_and_gradient(offsets, feature, truth, fired_start, fired, weights, score, gradient):
    """Loss of weights; its gradient is added to `gradient`, and `score` is scratch for one source.

    Weights of features come first, then weights of rules. The rules that fire for row i are
    `fired[fired_start[i]]` to `fired[fired_start[i + 1]]`.
    """
    loss = 0.0
    n = feature.shape[1]
    sparse = len(fired) > 0
    for s in range(len(offsets) - 1):
        start, stop = offsets[s], offsets[s + 1]
        top = -np.inf
        true = 0
        for i in range(start, stop):
            # four independent sums, so that additions need not wait for each other
            sum0, sum1, sum2, sum3 = 0.0, 0.0, 0.0, 0.0
            k = 0
            while k + 3 < n:
                sum0 += feature[i, k] * weights[k]
                sum1 += feature[i, k + 1] * weights[k + 1]
                sum2 += feature[i, k + 2] * weights[k + 2]
                sum3 += feature[i, k + 3] * weights[k + 3]
                k += 4
            while k < n:
                sum0 += feature[i, k] * weights[k]
                k += 1
            total = (sum0 + sum1) + (sum2 + sum3)
            if sparse:
                for j in range(fired_start[i], fired_start[i + 1]):
                    total += weights[n + fired[j]]
            score[i - start] = total
            top = max(top, total)
            true += truth[i]
        if true == 0 or true == stop - start:
            continue
        base = 0.0
        for i in range(start, stop):
            score[i - start] = math.exp(score[i - start] - top)
            if not truth[i]:
                base += score[i - start]
        shared = 0.0  # sum of 1 / (base + e^(s_t)) over the true answers
        for i in range(start, stop):
            if truth[i]:
                whole = base + score[i - start]
                share = score[i - start] / whole
                if share > 0.0:
                    loss -= math.log(share)
                else:
                    loss += 700.0
                shared += 1.0 / whole
                for k in range(n):
                    gradient[k] += (share - 1.0) * feature[i, k]
                if sparse:
                    for j in range(fired_start[i], fired_start[i + 1]):
                        gradient[n + fired[j]] += share - 1.0
        for i in range(start, stop):
            share = score[i - start] * shared
            if not truth[i] and share > MIN_SHARE:
                for k in range(n):
                    gradient[k] += share * feature[i, k]
                if sparse:
                    for j in range(fired_start[i], fired_start[i + 1]):
                        gradient[n + fired[j]] += share
    return loss


@kernel
def add_curvature(offsets, feature, truth, fired_start, fired, weights, score, mean, whole, own):
    """Add the Hessian of the loss to `whole` (lower triangle) and its diagonal of rules to `own`.

    The Hessian is approximate: the true answers of a source count as one answer of their mean
    strength, and small shares are left out. That suffices for the direction of a search.
    """
    n = feature.shape[1]
    sparse = len(fired) > 0
    for s in range(len(offsets) - 1):
        start, stop = offsets[s], offsets[s + 1]
        top = -np.inf
        true = 0
        for i in range(start, stop):
            total = 0.0
            for k in range(n):
                total += feature[i, k] * weights[k]
            if sparse:
                for j in range(fired_start[i], fired_start[i + 1]):
                    total += weights[n + fired[j]]
            score[i - start] = total
            top = max(top, total)
            true += truth[i]
        if true == 0 or true == stop - start:
            continue
        base = 0.0
        for i in range(start, stop):
            score[i - start] = math.exp(score[i - start] - top) / (true if truth[i] else 1)
            base += score[i - start]
        mean[:] = 0.0
        for i in range(start, stop):
            score[i - start] /= base
            if score[i - start] > MIN_CURVING:
                for k in range(n):
                    mean[k] += score[i - start] * feature[i, k]
        for i in range(start, stop):
            share = score[i - start]
            if share > MIN_CURVING:
                for k in range(n):
                    away = true * share * (feature[i, k] - mean[k])
                    for j in range(k + 1):
                        whole[k, j] += away * (feature[i, j] - mean[j])
                if sparse:
                    for j in range(fired_start[i], fired_start[i + 1]):
                        own[fired[j]] += true * share * (1.0 - share)


@kernel
def ranks_among_wrong(offsets, score, truth):
    """Rank of every true answer among the wrong answers of its source, ties averaged."""
    rank = np.empty(truth.sum(), dtype=np.float64)
    n = 0
    for s in range(len(offsets) - 1):
        for i in range(offsets[s], offsets[s + 1]):
            if truth[i]:
                above, equal = 0, 0
                for k in range(offsets[s], offsets[s + 1]):
                    if not truth[k]:
                        above += score[k] > score[i]
                        equal += score[k] == score[i]
                rank[n] = 1.0 + above + 0.5 * equal
                n += 1
    return rank
