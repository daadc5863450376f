"""Random choices among links in SQL: the formula of `hornbeam.graph.link_hashes`."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

import numpy as np

from hornbeam.base.arrays import Array
from hornbeam.graph.link_hashes import PRIME, LinkHash

#: Links below a hash are sorted, on average TIMES as many as wanted plus MORE: fewer than wanted
#: among them is extremely unlikely, and detected.
TIMES, MORE = 4, 400


def hash_columns(predicates: Sequence[int], hashes: Sequence[LinkHash]) -> dict[str, Array]:
    """Coefficients of some relations, as the table `hashes`."""
    coefficients = {
        name: np.array([getattr(one, name) for one in hashes], dtype=np.int64) for name in "abcde"
    }
    return {"predicate": np.array(predicates, dtype=np.int32), **coefficients}


def numbered(triples: str) -> str:
    """Triples of the relations of `hashes` with their hashes, the column `number`."""
    return (
        "SELECT x.subject, x.predicate, x.object, "  # noqa: S608
        f"(x.d * ((x.u * x.u) % {PRIME}) + x.e * x.u) % {PRIME} AS number "
        "FROM (SELECT f.subject, f.predicate, f.object, h.d, h.e, "
        f"((h.a * f.subject) % {PRIME} + (h.b * f.object) % {PRIME} + h.c) % {PRIME} AS u "
        f"FROM {triples} AS f JOIN hashes AS h ON h.predicate = f.predicate) AS x"
    )


def sampled_links(triples: str) -> str:
    """The links of the smallest hashes, `most` of every relation, among those `below` a hash.

    `most` and `below` are in the table `draws`.
    """
    return (
        "SELECT subject, predicate, object FROM (SELECT n.subject, n.predicate, n.object, d.most, "  # noqa: S608
        "row_number() OVER (PARTITION BY n.predicate ORDER BY n.number, n.subject, n.object) "
        f"AS place FROM ({numbered(triples)}) AS n JOIN draws AS d "
        "ON d.predicate = n.predicate WHERE n.number < d.below) AS p WHERE place <= most"
    )


def sample_columns(
    predicates: Iterable[int], sizes: Iterable[int], most: int, everything: bool
) -> dict[str, Array]:
    """The table `draws`: sample size per relation, and the hash that its links are below."""
    shares = [1.0 if everything else (TIMES * most + MORE) / max(size, 1) for size in sizes]
    listed = list(predicates)
    return {
        "predicate": np.array(listed, dtype=np.int32),
        "most": np.full(len(listed), most, dtype=np.int64),
        "below": np.array([int(min(share, 1.0) * PRIME) for share in shares], dtype=np.int64),
    }


def of_fold(triples: str, folds: int, number: int, hidden: bool) -> str:
    """The triples of a fold, or all others."""
    sign = "=" if hidden else "<>"
    return (
        f"SELECT subject, predicate, object FROM ({numbered(triples)}) AS n "  # noqa: S608
        f"WHERE n.number % {folds} {sign} {number}"
    )
