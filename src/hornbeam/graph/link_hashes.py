"""Random choices among links by hashes of their ids, the same in every engine.

A link (s, o) of a relation has the hash

    h = (d u^2 + e u) mod P,    u = (a s + b o + c) mod P,    P = 2^31 - 1,

with five random coefficients per relation and purpose. A sample has the links of the smallest
hashes, and a link's fold is its hash modulo the number of folds. So a database chooses the same
links as memory (`hornbeam.graphs.sql.link_tables` has the same formula), in any order of rows.
Adding facts does not change the folds of other facts. No product here needs more than 63 bits.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from hornbeam.base.arrays import Ids, Ints, Positions
from hornbeam.rules.codes import inverse_code, is_inverse, predicate_of, step_code

PRIME = 2**31 - 1
#: Purposes of random choices: each has its own coefficients, so that choices are independent.
HIDING, DISCOVERING, JUDGING, COUNTING, ASKING, CHOOSING, FITTING, REPORTING, COMPARING = range(9)


@dataclass(frozen=True)
class LinkHash:
    """The coefficients of one relation and purpose."""

    a: int
    b: int
    c: int
    d: int
    e: int

    @classmethod
    def of(cls, seed: int, purpose: int, predicate: int) -> LinkHash:
        """Draw the coefficients."""
        rng = np.random.default_rng([seed, purpose, predicate])
        a, b, c, d, e = rng.integers(1, PRIME, size=5).tolist()
        return cls(a, b, c, d, e)

    @classmethod
    def of_fold(cls, seed: int, predicate: int, canonical: Ids) -> LinkHash:
        """Coefficients of the hashes that assign links to folds.

        Links that state the same are hidden together. The links of a predicate are hashed as links
        of its canonical step (`hornbeam.graphs.linked_graph`). If that step is symmetric, a link
        has the hash of its inverse.
        """
        step = int(canonical[step_code(predicate)])
        found = cls.of(seed, HIDING, predicate_of(step))
        if canonical[inverse_code(step)] == step:
            return replace(found, b=found.a)
        return replace(found, a=found.b, b=found.a) if is_inverse(step) else found

    def of_links(self, subject: Ids, object_: Ids) -> Ints:
        """The hashes of links."""
        u = (self.a * subject.astype(np.int64)) % PRIME
        u = (u + (self.b * object_.astype(np.int64)) % PRIME + self.c) % PRIME
        return (self.d * (u * u % PRIME) + self.e * u) % PRIME

    def sample(self, subject: Ids, object_: Ids, most: int) -> Positions:
        """Sample of at most `most` links: the rows with the smallest hashes, ascending."""
        if len(subject) <= most:
            return np.arange(len(subject))
        number = self.of_links(subject, object_)
        few = np.flatnonzero(number <= np.partition(number, most - 1)[most - 1])
        order = np.lexsort((object_[few], subject[few], number[few]))
        return np.sort(few[order[:most]])
