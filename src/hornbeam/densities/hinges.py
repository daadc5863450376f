"""Sums of hinges in one variable: the potential of a target under soft evidence.

A ground clause whose body has truth b in [0, 1] has the potential max(0, b - y)^p, which pulls y
up. With a negated head it is max(0, b + y - 1)^p, which pushes y down. With 0/1 evidence every b is
1, and `hornbeam.densities.integrals` suffices. With soft evidence each hinge has its own knee:

    f(y) = sum over rules g of w_g phi_g(y),
    phi_g(y) = sum over its hinges k of c_k max(0, b_k - y)^p      (up, knee at b_k)
                                    or c_k max(0, b_k + y - 1)^p   (down, knee at 1 - b_k).

Rules may differ in p. Between neighbouring knees f is a line or a parabola. So a target is
integrated segment by segment (`integral_kernels.segments`), and the segments are joined by their
shares of Z. This gives log Z and E[y]. E[phi_g] is -d log Z / d w_g, and the covariances of the
phi_g are the Hessian of log Z in the weights.

`group_hinges` sorts a table once: the knees do not depend on the weights. The functions after it
take at most a few hundred nanoseconds per hinge (p = 2) and do not allocate per target.

A target that occurs m >= 2 times in a ground clause has the potential max(0, m y - (m-1))^p. This
is the down hinge of b = 1/m with count m^p. BOOLEAN targets need no hinges: y is 0 or 1, so
`two_sided` is exact, with n+ the sum of c b^p over up hinges, and n- over down hinges.

Examples
--------
One target; rule 0 pulls it up with a body true to 0.8, rule 1 is the prior !t:

>>> hinges = group_hinges([0, 0], [0, 1], [0.8, 1.0], [False, True])
>>> weights = np.array([2.0, 1.0])
>>> hinge_map(hinges, weights, Relaxation.LINEAR)
array([0.8])
>>> hinge_moments(hinges, weights, Relaxation.LINEAR).mean.round(3)
array([0.563])
"""

from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from hornbeam.base.arrays import (
    Bools,
    Floats,
    Ints,
    part_numbers,
    pointers,
    ranges,
    run_starts,
    sums_by,
)
from hornbeam.base.choices import Relaxation
from hornbeam.densities import hinge_kernels as kernels
from hornbeam.densities import integral_kernels


@dataclass(frozen=True)
class Hinges:
    """Hinges by target and rule, with their knees in order; made by `group_hinges`.

    A *group* is the hinges of one rule at one target. With 0/1 evidence, a row (clause, target) of
    the statistics table takes its place.
    """

    target_ptr: Ints  #: target i owns the groups target_ptr[i] up to target_ptr[i + 1]
    rule: Ints  #: the rule of each group; groups are sorted by target, then rule
    group_ptr: Ints  #: group g owns the hinges group_ptr[g] up to group_ptr[g + 1]
    height: Floats  #: b of each hinge
    down: Bools  #: whether a hinge pushes down
    count: Floats  #: c of each hinge
    node: Ints  #: the node (knee, 0 or 1) at which a hinge bends
    node_ptr: Ints  #: target i owns the nodes node_ptr[i] up to node_ptr[i + 1], from 0 to 1
    gap: Floats  #: distance from a node to the next of its target
    position: Floats  #: y at each node

    @property
    def group(self) -> Ints:
        """The group of each hinge."""
        return part_numbers(self.group_ptr)

    @property
    def target(self) -> Ints:
        """The target of each group."""
        return part_numbers(self.target_ptr)


#: Power of the hinges: one relaxation for all rules, or an array of whether each rule is squared.
Powers = Relaxation | Bools


class HingeMoments(NamedTuple):
    """log Z and E[y] of each target, and E[phi] of each group."""

    log_z: Floats
    mean: Floats
    expected: Floats


class _Integrated(NamedTuple):
    """Results of the kernel `combine`: totals, masses and moments of segments, least nodes."""

    totals: Floats
    mass: Floats
    moments: Floats
    least_node: Ints


def group_hinges(
    target: npt.ArrayLike,
    rule: npt.ArrayLike,
    height: npt.ArrayLike,
    down: npt.ArrayLike,
    count: npt.ArrayLike = 1.0,
    n_targets: int | None = None,
) -> Hinges:
    """Sort hinges by target and rule, and their knees by position.

    Parameters
    ----------
    target, rule
        Ids from 0 of each hinge's target and rule.
    height
        b in [0, 1]: the truth of the body.
    down
        False for max(0, b - y)^p, True for max(0, b + y - 1)^p.
    count
        c >= 0: multiplicity of the hinge; 1 by default.
    n_targets
        Number of targets; by default one more than the largest id.

    Raises
    ------
    ValueError
        If a height lies outside [0, 1] or a count is negative or not finite.
    """
    columns = np.broadcast_arrays(target, rule, height, down, count)
    order = np.lexsort((columns[1], columns[0]))
    t, r = (np.asarray(c, dtype=np.int64)[order] for c in columns[:2])
    b, c = (np.asarray(x, dtype=np.float64)[order] for x in (columns[2], columns[4]))
    d = np.asarray(columns[3], dtype=np.bool_)[order]
    if not (np.all(b >= 0) and np.all(b <= 1)):
        raise ValueError("a body's truth value lies outside [0, 1]; rescale the evidence")
    if not (np.all(c >= 0) and np.all(np.isfinite(c))):
        raise ValueError("a hinge's count is negative or not finite; counts start at 0")
    n = n_targets if n_targets is not None else int(t[-1]) + 1 if t.size else 0
    start = run_starts(t, r)
    node, node_ptr, gap, position = _lay_nodes(t, b, d, n)
    return Hinges(
        target_ptr=pointers(np.bincount(t[start], minlength=n)),
        rule=r[start],
        group_ptr=np.append(start, t.size).astype(np.int64),
        height=b,
        down=d,
        count=c,
        node=node,
        node_ptr=node_ptr,
        gap=gap,
        position=position,
    )


def _lay_nodes(
    target: Ints, height: Floats, down: Bools, n_targets: int
) -> tuple[Ints, Ints, Floats, Floats]:
    """The node of each hinge; and the nodes of each target, their gaps and their positions."""
    order = np.lexsort((np.where(down, 1 - height, height), target))
    node = np.empty(target.size, dtype=np.int64)
    node_ptr = np.empty(n_targets + 1, dtype=np.int64)
    gap, position = np.empty((2, target.size + 2 * n_targets))
    hinge_ptr = pointers(np.bincount(target, minlength=n_targets))
    kernels.lay_nodes.compiled(order, hinge_ptr, height, down, node, node_ptr, gap, position)
    return node, node_ptr, gap[: node_ptr[-1]].copy(), position[: node_ptr[-1]].copy()


def _kinds(hinges: Hinges, powers: Powers) -> Ints:
    """The kind of each hinge, a row of `bends`: up or down, linear or squared."""
    if isinstance(powers, Relaxation):
        if powers is Relaxation.BOOLEAN:
            raise ValueError(
                "a Boolean target has no use for hinges; "
                "call two_sided with the sums of count * height as n+ and n-"
            )
        return 2 * hinges.down + (powers is Relaxation.SQUARED)
    return 2 * hinges.down + powers[hinges.rule][hinges.group]


def _segment_shapes(hinges: Hinges, weights: npt.ArrayLike, kind: Ints) -> Floats:
    """Four rows: half slopes A and B and curve of f on each segment, and f at each node."""
    w = np.asarray(weights, dtype=np.float64)
    if not (np.all(w >= 0) and np.all(np.isfinite(w))):
        raise ValueError("a rule's weight is negative or not finite; keep weights at 0 or above")
    strength = hinges.count * w[hinges.rule][hinges.group]
    nodes = hinges.gap.size
    bends = sums_by(kind * nodes + hinges.node, strength, kernels.KINDS * nodes)
    shape = np.empty((4, nodes))
    kernels.slopes.compiled(hinges.node_ptr, hinges.gap, bends.reshape(kernels.KINDS, nodes), shape)
    return shape


def _integrate(hinges: Hinges, weights: npt.ArrayLike, kind: Ints) -> _Integrated:
    """Integrate every segment, and join the segments of each target."""
    shape = _segment_shapes(hinges, weights, kind)
    moments = np.empty((6, hinges.gap.size))
    integral_kernels.segments.compiled(shape[0], shape[1], shape[2], moments)
    work = np.empty((2, hinges.gap.size))
    least_node = np.empty(hinges.node_ptr.size - 1, dtype=np.int64)
    totals = np.empty((2, least_node.size))
    kernels.combine.compiled(
        hinges.node_ptr, hinges.gap, hinges.position, shape, moments, work, least_node, totals
    )
    return _Integrated(totals, work[0], moments, least_node)


def hinge_moments(hinges: Hinges, weights: npt.ArrayLike, powers: Powers) -> HingeMoments:
    """Integrate exp(-sum_g w_g phi_g(y)) for every target, with one weight >= 0 per rule.

    Powers are LINEAR (p = 1) or SQUARED (p = 2), or an array of whether each rule is squared.

    Returns
    -------
    HingeMoments
        log Z and E[y] of each target and E[phi_g] of each group. The errors are no larger than
        those of changing each weight by a few parts in 1e16. They stay below 1e-12 unless
        strong rules oppose each other over a long slope: there, a sum of weights times 1e-16 is
        not small compared with the remaining slope.

    Notes
    -----
    The gradient of sum_i log Z_i in the weights is minus
    ``np.bincount(hinges.rule, moments.expected)``.
    """
    kind = _kinds(hinges, powers)
    found = _integrate(hinges, weights, kind)
    at_node = np.empty((kernels.KINDS, hinges.gap.size))
    kernels.expect.compiled(hinges.node_ptr, hinges.gap, found.mass, found.moments, at_node)
    each = hinges.count * at_node[kind, hinges.node]
    log_z, mean = found.totals
    return HingeMoments(log_z, mean, sums_by(hinges.group, each, hinges.rule.size))


def hinge_covariance(hinges: Hinges, weights: npt.ArrayLike, powers: Powers) -> Floats:
    """Cov[phi_g, phi_h] within every target: the Hessian of its log Z in the weights.

    The result has one block of n_i x n_i numbers per target with n_i groups, end to end. The work
    for a target is n_i^2 times the number of its knees. Parameters are those of `hinge_moments`.
    """
    kind = _kinds(hinges, powers)
    found = _integrate(hinges, weights, kind)
    groups = np.diff(hinges.target_ptr)
    ptr = pointers(groups * groups)
    widest = int(np.diff(hinges.node_ptr).max(initial=0))
    profile = np.empty((3, int(groups.max(initial=0)), widest))
    values = np.empty(ptr[-1])
    kernels.covary.compiled(
        hinges.target_ptr, hinges.group_ptr, hinges.node, kind, hinges.count,
        hinges.node_ptr, hinges.gap, found.least_node, found.mass, found.moments,
        profile, ptr, values,
    )  # fmt: skip
    return values


def rule_covariance(hinges: Hinges, weights: npt.ArrayLike, powers: Powers, n_rules: int) -> Floats:
    """Hessian of sum_i log Z_i in the weights: the sum of the covariances of all targets."""
    low, high = hinges.target_ptr[hinges.target], hinges.target_ptr[hinges.target + 1]
    cell = np.repeat(hinges.rule, high - low) * n_rules + hinges.rule[ranges(low, high)]
    covariance = hinge_covariance(hinges, weights, powers)
    return sums_by(cell, covariance, n_rules * n_rules).reshape(n_rules, n_rules)


def hinge_map(hinges: Hinges, weights: npt.ArrayLike, powers: Powers) -> Floats:
    """The y of least f of each target; where f is least on an interval, its midpoint.

    The result is exact, without iteration: f is convex and known piece by piece. For LINEAR, f is
    flat where the sums of weights that pull up and push down are equal to the last bit.
    """
    shape = _segment_shapes(hinges, weights, _kinds(hinges, powers))
    out = np.empty(hinges.node_ptr.size - 1)
    kernels.minimise.compiled(hinges.node_ptr, hinges.gap, hinges.position, shape[0], shape[1], out)
    return out


def hinge_values(hinges: Hinges, y: npt.ArrayLike, powers: Powers) -> Floats:
    """phi_g(y_i) of each group at the given truth value of its target; one y per target."""
    squared = _kinds(hinges, powers) % 2 == 1
    group = hinges.group
    at = np.asarray(y, dtype=np.float64)[hinges.target][group]
    # b + y - 1: subtracting 1 from the larger of b and y is exact if the result is positive
    over = (np.maximum(hinges.height, at) - 1) + np.minimum(hinges.height, at)
    value = np.maximum(np.where(hinges.down, over, hinges.height - at), 0.0)
    return sums_by(group, hinges.count * np.where(squared, value**2, value), hinges.rule.size)
