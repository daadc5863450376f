"""The loops behind `hornbeam.densities.hinges`.

The *nodes* of a target are its knees, 0 and 1. Between two nodes lies a *segment*, stored at the
index of its left node (the slot of the last node stays empty). Three habits keep the digits:

* Up hinges are summed from right to left and down hinges from left to right. So values and slopes
  are sums of positive terms, and a slope of f is one subtraction.
* Positions and values of f are measured outwards from the node of least f. So no number near the
  peak is a difference of large numbers.
* Expected hinges are carried from node to node, again by positive terms.
"""

import math

import numpy as np

from hornbeam.base.arrays import Bools, Floats, Ints
from hornbeam.base.compiled import kernels

kernel = kernels("the integrals of hinges")


# --- nodes ---------------------------------------------------------------------------------


def _gap(down_i: bool, b_i: float, down_j: bool, b_j: float) -> float:
    """Knee j minus knee i with one rounding; a knee is b (up hinge) or 1 - b (down hinge)."""
    if down_i == down_j:
        return b_i - b_j if down_i else b_j - b_i
    total = b_i + b_j
    part = total - b_i
    lost = (b_i - (total - part)) + (b_j - part)
    over = (total - 1) + lost
    return over if down_i else -over


def _sort_exactly(order: Ints, height: Floats, down: Bools, first: int, last: int) -> None:
    """Insertion sort of the knees, which are sorted already up to the rounding of 1 - b."""
    for at in range(first + 1, last):
        k = order[at]
        to = at
        while (
            to > first and _gap(down[order[to - 1]], height[order[to - 1]], down[k], height[k]) < 0
        ):
            order[to] = order[to - 1]
            to -= 1
        order[to] = k


@kernel
def lay_nodes(
    order: Ints, hinge_ptr: Ints, height: Floats, down: Bools,
    node_of: Ints, node_ptr: Ints, gap: Floats, position: Floats,
) -> None:  # fmt: skip
    """Fill in the distinct nodes of every target, and the node of each hinge."""
    node = -1
    for i in range(hinge_ptr.size - 1):
        node += 1
        node_ptr[i], position[node] = node, 0.0
        here_down, here = False, 0.0
        _sort_exactly(order, height, down, hinge_ptr[i], hinge_ptr[i + 1])
        for at in range(hinge_ptr[i], hinge_ptr[i + 1] + 1):
            ended = at == hinge_ptr[i + 1]
            next_down, b = (True, 0.0) if ended else (down[order[at]], height[order[at]])
            step = _gap(here_down, here, next_down, b)
            if step > 0:
                gap[node] = step
                node += 1
                position[node] = 1 - b if next_down else b
                here_down, here = next_down, b
            if not ended:
                node_of[order[at]] = node
        gap[node] = 0.0
    node_ptr[-1] = node + 1


# --- f on its segments ---------------------------------------------------------------------


#: Rows of `bends` at each node: linear and squared up hinges, linear and squared down hinges.
KINDS = 4


def _shape(first: int, last: int, gap: Floats, bends: Floats, out: Floats) -> None:
    """Fill in one target's part of the result of `slopes`."""
    left, right, curve, value = out
    left[last] = right[last] = curve[last] = value[last] = 0.0
    linear = squared = slope = total = 0.0
    for j in range(last - 1, first - 1, -1):
        linear += bends[0, j + 1]
        squared += bends[1, j + 1]
        start, step = linear + slope, 2 * squared * gap[j]
        slope += step
        total += (start + step / 2) * gap[j]
        left[j], right[j], curve[j], value[j] = start + step, start, step, total
    linear = squared = slope = total = 0.0
    for j in range(first, last):
        linear += bends[2, j]
        squared += bends[3, j]
        start, step = linear + slope, 2 * squared * gap[j]
        slope += step
        total += (start + step / 2) * gap[j]
        left[j] = gap[j] * (left[j] - start) / 2
        right[j] = gap[j] * (start + step - right[j]) / 2
        curve[j] = gap[j] * (curve[j] + step) / 2
        value[j + 1] += total


@kernel
def slopes(node_ptr: Ints, gap: Floats, bends: Floats, out: Floats) -> None:
    """Rows of out: half slopes A and B (see `segments`) and curve per segment, and f per node."""
    for i in range(node_ptr.size - 1):
        _shape(node_ptr[i], node_ptr[i + 1] - 1, gap, bends, out)


@kernel
def minimise(
    node_ptr: Ints, gap: Floats, position: Floats, left: Floats, right: Floats, out: Floats
) -> None:
    """Find where f is least: where its slope crosses 0, or the middle of a flat stretch."""
    for i in range(node_ptr.size - 1):
        j, last = node_ptr[i], node_ptr[i + 1] - 1
        while j < last and left[j] > 0 and right[j] <= 0:
            j += 1
        if j < last and left[j] > 0:
            out[i] = position[j] + gap[j] * (left[j] / (left[j] + right[j]))
            continue
        start = position[j]
        while j < last and left[j] == 0 and right[j] == 0:
            j += 1
        out[i] = (start + position[j]) / 2


def _lowest(left: float, right: float, curve: float, at_left: float, at_right: float) -> float:
    """The least f on a segment, computed from the lower of its end values."""
    if left <= 0:
        return at_left
    if right <= 0 or curve == 0:
        return at_right
    if left <= right:
        return at_left - left * (left / (left + right))
    return at_right - right * (right / (left + right))


def _outwards(
    first: int, last: int, least: int, gap: Floats, shape: Floats, moments: Floats, work: Floats
) -> None:
    """Fill in least f and mean position of each segment, both measured from node ``least``."""
    left, right, curve = shape[0], shape[1], shape[2]
    floor, centre = work[0], work[1]
    f = x = 0.0
    for j in range(least, last):
        after = f + (right[j] - left[j])
        floor[j] = _lowest(left[j], right[j], curve[j], f, after)
        centre[j] = x + gap[j] * moments[1, j]
        f, x = after, x + gap[j]
    f = x = 0.0
    for j in range(least - 1, first - 1, -1):
        before = f - (right[j] - left[j])
        floor[j] = _lowest(left[j], right[j], curve[j], before, f)
        centre[j] = x - gap[j] * moments[2, j]
        f, x = before, x - gap[j]


@kernel
def combine(
    node_ptr: Ints, gap: Floats, position: Floats, shape: Floats, moments: Floats,
    work: Floats, least_node: Ints, out: Floats,
) -> None:  # fmt: skip
    """Join the segments; rows of out are log Z and E[y], and work[0] becomes P(segment)."""
    for i in range(node_ptr.size - 1):
        first, last = node_ptr[i], node_ptr[i + 1] - 1
        least = first + np.argmin(shape[3, first : last + 1])
        least_node[i] = least
        _outwards(first, last, least, gap, shape, moments, work)
        floor = work[0, first:last].min()
        total = deficit = 0.0
        for j in range(first, last):
            log_mass = moments[0, j] - (work[0, j] - floor)
            deficit += gap[j] * math.expm1(log_mass)
            work[0, j] = gap[j] * math.exp(log_mass)
            total += work[0, j]
        log_z = math.log1p(deficit) if deficit > -0.5 else math.log(total)
        mean = 0.0
        for j in range(first, last):
            work[0, j] /= total
            mean += work[0, j] * work[1, j]
        out[0, i] = log_z - (shape[3, least] + floor)
        out[1, i] = position[least] + mean


# --- potentials ----------------------------------------------------------------------------


def _carry(p: float, h: float, m1: float, m2: float, state: Floats) -> None:
    """Update the expected first and second power of a hinge by one segment.

    `state` has P, H1 and H2 of the segments before, whose distances grow by the gap h. Then the
    terms p E[(h u)^k] of this segment are added.
    """
    behind, h1, h2 = state
    state[0] = behind + p
    state[1] = h1 + h * behind + p * h * m1
    state[2] = h2 + h * (2 * h1 + h * behind) + p * h * h * m2


@kernel
def expect(node_ptr: Ints, gap: Floats, mass: Floats, moments: Floats, out: Floats) -> None:
    """Rows of out: the expected hinge of every kind (see `KINDS`) with its knee at each node."""
    left, right, var = moments[1], moments[2], moments[3]
    state = np.empty(3)
    for i in range(node_ptr.size - 1):
        first, last = node_ptr[i], node_ptr[i + 1] - 1
        out[:2, first] = out[2:, last] = 0.0
        state[:] = 0.0
        for j in range(first, last):
            _carry(mass[j], gap[j], right[j], var[j] + right[j] ** 2, state)
            out[:2, j + 1] = state[1:]
        state[:] = 0.0
        for j in range(last - 1, first - 1, -1):
            _carry(mass[j], gap[j], left[j], var[j] + left[j] ** 2, state)
            out[2:, j] = state[1:]


def _profile(
    first: int, last: int, least: int, shape: Floats, moments: Floats, profile: Floats, at: int
) -> None:
    """Find a potential's mean (from node ``least``), slope and curvature on each segment."""
    left, right, curve = shape[0], shape[1], shape[2]
    value = 0.0
    for j in range(least, last):
        low, square = moments[1, j], moments[3, j] + moments[1, j] ** 2
        profile[0, at, j - first] = value - 2 * left[j] * low + curve[j] * square
        value += right[j] - left[j]
    value = 0.0
    for j in range(least - 1, first - 1, -1):
        high, square = moments[2, j], moments[3, j] + moments[2, j] ** 2
        profile[0, at, j - first] = value - 2 * right[j] * high + curve[j] * square
        value -= right[j] - left[j]
    for j in range(first, last):
        profile[1, at, j - first] = 2 * (right[j] * moments[1, j] - left[j] * moments[2, j])
        profile[2, at, j - first] = curve[j]


def _block(mass: Floats, moments: Floats, profile: Floats, n: int, out: Floats) -> None:
    """Covariances of n potentials: between the means of segments, plus those within segments."""
    size = mass.size
    for a in range(n):
        profile[0, a, :size] -= np.dot(mass, profile[0, a, :size])
    for a in range(n):
        for b in range(a + 1):
            total = 0.0
            for j in range(size):
                va, sa, ca = profile[0, a, j], profile[1, a, j], profile[2, a, j]
                vb, sb, cb = profile[0, b, j], profile[1, b, j], profile[2, b, j]
                inner = sa * sb * moments[3, j] + (sa * cb + ca * sb) * moments[4, j]
                total += mass[j] * (va * vb + inner + ca * cb * moments[5, j])
            out[a * n + b] = out[b * n + a] = total


@kernel
def covary(
    target_ptr: Ints, group_ptr: Ints, node_of: Ints, kind: Ints, count: Floats,
    node_ptr: Ints, gap: Floats, least_node: Ints, mass: Floats, moments: Floats,
    profile: Floats, block_ptr: Ints, out: Floats,
) -> None:  # fmt: skip
    """Fill in one block of covariances per target, between the potentials of its rules."""
    bends = np.zeros((KINDS, gap.size))
    shape = np.empty((4, gap.size))
    for i in range(node_ptr.size - 1):
        first, last = node_ptr[i], node_ptr[i + 1] - 1
        for g in range(target_ptr[i], target_ptr[i + 1]):
            bends[:, first : last + 1] = 0.0
            for k in range(group_ptr[g], group_ptr[g + 1]):
                bends[kind[k], node_of[k]] += count[k]
            _shape(first, last, gap, bends, shape)
            _profile(first, last, least_node[i], shape, moments, profile, g - target_ptr[i])
        _block(
            mass[first:last], moments[:, first:last], profile,
            target_ptr[i + 1] - target_ptr[i], out[block_ptr[i] : block_ptr[i + 1]],
        )  # fmt: skip
