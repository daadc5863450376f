"""Symmetric relations: those in which t(a, b) implies t(b, a)."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from hornbeam.facts.atom_keys import contained, pair_keys
from hornbeam.facts.known import with_targets
from hornbeam.facts.reading.readers import Input, as_facts, as_labels
from hornbeam.facts.table import Facts, Targets

#: Share of a relation's edges that must have their mirror image.
SYMMETRIC_SHARE = 0.95
#: Minimum number of edges to judge symmetry by.
MIN_EDGES = 20


def is_symmetric(facts: Facts, labels: Targets) -> bool:
    """Whether nearly every edge of the one target has its mirror image.

    Judged by the target's facts, or by the true labels where it has few of them: labels often
    name an unordered pair once.
    """
    if len(labels.predicates) != 1:
        return False
    subject, object_ = facts.links(labels.predicates[0])
    n = len(facts.entities)
    if len(subject) < MIN_EDGES:
        subject, object_ = labels.subject[labels.positive], labels.object[labels.positive]
        n = len(labels.entities)
    if len(subject) < MIN_EDGES:
        return False
    edges = np.sort(pair_keys(subject, object_, n))
    mirrored = contained(pair_keys(object_, subject, n), edges)
    return bool(mirrored.mean() > SYMMETRIC_SHARE)


def with_mirror_images(pairs: Targets) -> Targets:
    """The pairs, then each of them with its subject and object exchanged."""
    twice = pairs.select(np.tile(np.arange(len(pairs)), 2))
    n = len(pairs)
    return replace(
        twice,
        subject=np.append(twice.subject[:n], twice.object[:n]),
        object=np.append(twice.object[:n], twice.subject[:n]),
    )


def with_known(facts: Input, known: Input) -> Facts:
    """Facts and the labelled pairs of at least 0.5, in both directions of symmetric relations.

    Both come as files, frames, tuples or what was read before.

    Examples
    --------
    >>> from hornbeam.facts.reading.readers import read_facts, read_labels
    >>> facts = read_facts([("a", "knows", "b")])
    >>> with_known(facts, read_labels([("b", "knows", "c", 1), ("a", "knows", "c", 0)]))
    Facts(2 facts, 3 entities, 1 predicates)
    """
    facts, known = as_facts(facts), as_labels(known)
    true = known.select(known.positive)
    return with_targets(facts, with_mirror_images(true) if is_symmetric(facts, known) else true)
