"""Counts and fingerprints of facts and labelled pairs, which do not depend on the order of rows.

Ids follow sorted names. So rows have the same ids in any order and in any engine, and a fingerprint
is a hash of the sorted names and of sums over the rows:

    sum of x^3 mod p,  x = (a subject + b predicate + c object + d value) mod p,  p = 2^31 - 1

with two choices of a to d. A database adds them up by the same formula in SQL.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING

import numpy as np

from hornbeam.base.arrays import Array
from hornbeam.facts.names import Names
from hornbeam.facts.numbers import Numbers
from hornbeam.facts.table import Facts, Targets
from hornbeam.graph.adjacency import with_projections
from hornbeam.rules.provenance import DataSummary

if TYPE_CHECKING:
    from hornbeam.counting.sql.sql_engine import SqlEngine

#: The prime of the sums. Factors are below 2^29, so that a sum of four products fits into 63 bits.
PRIME = 2**31 - 1
FACTORS = (
    (402_653_189, 268_435_399, 469_762_049, 167_772_161),
    (377_487_359, 301_989_881, 530_120_641, 113_246_209),
)
#: Rows added up at a time.
BLOCK = 1_000_000


def summary_of_facts(facts: Facts | SqlEngine | None) -> DataSummary | None:
    """How many facts there are, and their fingerprint; None for facts that cannot be seen."""
    if facts is None:
        return None
    if not isinstance(facts, Facts):
        # imported late: facts are rarely in a database
        from hornbeam.counting.sql.fact_sums import summed_in_database

        found = summed_in_database(facts, FACTORS, PRIME)
        parts = [*found.names, b"\1", facts.predicates.blob, *_bytes_of(facts.numbers)]
        return DataSummary(found.number, _fingerprint(parts, found.sums))
    edges, sums = with_projections(facts), list[int]()
    for arity in (2, 1):
        table = edges.atoms.get(arity)
        columns = list[Array]([np.empty(0, np.int64)] * (arity + 2))
        if table is not None:
            subject, *object_ = table.arguments
            columns = [subject, table.predicate, *object_, table.all_millionths]
        sums += _sums(columns)
    if (events := facts.events) is not None:
        sums += _sums([events.subject, events.predicate, events.object, events.time % PRIME])
    parts = [edges.entities.blob, b"\1", edges.predicates.blob, *_bytes_of(facts.numbers)]
    return DataSummary(len(facts), _fingerprint(parts, sums))


def summary_of_labels(labels: Targets) -> DataSummary:
    """How many labelled pairs there are, how many of them true, and their fingerprint."""
    used = np.unique(np.concatenate([labels.subject, labels.object]))
    predicates = np.unique(labels.predicate)
    names = [Names.of(labels.entities.take(used)), Names.of(labels.predicates.take(predicates))]
    columns = [
        np.searchsorted(used, labels.subject),
        np.searchsorted(predicates, labels.predicate),
        np.searchsorted(used, labels.object),
        np.rint(labels.truth * 1e6).astype(np.int64),
    ]
    if labels.time is not None:
        columns[3] += labels.time % PRIME
    parts = [names[0].blob, b"\1", names[1].blob]
    true = int(labels.positive.sum())
    return DataSummary(len(labels), _fingerprint(parts, _sums(columns)), true)


def _fingerprint(parts: Iterable[bytes], sums: Sequence[int]) -> str:
    digest = hashlib.sha256()
    for part in parts:
        digest.update(part)
    digest.update(repr(sums).encode())
    return digest.hexdigest()[:16]


def _sums(columns: Sequence[Array]) -> list[int]:
    """The sums over rows that are in memory."""
    sums = []
    for factors in FACTORS:
        total = 0
        for start in range(0, len(columns[0]), BLOCK):
            x = np.zeros(min(BLOCK, len(columns[0]) - start), dtype=np.int64)
            for factor, column in zip(factors, columns, strict=False):
                x += factor * column[start : start + BLOCK].astype(np.int64)
            x %= PRIME
            total += int((x * x % PRIME * x % PRIME).sum())
        sums.append(total)
    return sums


def _bytes_of(numbers: Numbers) -> Iterable[bytes]:
    yield numbers.attributes.blob
    for column in (numbers.attribute, numbers.entity):
        yield column.astype("<i8").tobytes()
    yield numbers.value.astype("<f8").tobytes()
