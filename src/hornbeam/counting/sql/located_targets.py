"""Targets for a search in a database: ids of their entities, degrees, own edges."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from hornbeam.base.arrays import Array, Floats, Ids
from hornbeam.counting.sql.database import Database
from hornbeam.facts.names import Names
from hornbeam.facts.table import Targets
from hornbeam.rules.codes import inverse_code, step_code, step_code_sql

#: Nodes of the pairs in `pairs` with their degrees, 0 where no binary fact has them.
PAIR_DEGREES = (
    "SELECT p.target, coalesce(s.degree, 0) AS subject_degree, coalesce(o.degree, 0) AS "
    "object_degree FROM pairs AS p LEFT JOIN degrees AS s ON s.node = p.subject "
    "LEFT JOIN degrees AS o ON o.node = p.object"
)
#: Pairs that are facts of their own predicate.
OWN_PAIRS = (
    "SELECT p.target FROM facts AS f JOIN pairs AS p "
    "ON f.subject = p.subject AND f.object = p.object AND f.predicate = p.own"
)
#: Degrees of the nodes of the pairs in `pairs` along their own edge, of those that are facts.
OWN_DEGREES = (
    "SELECT p.target, s.degree AS subject_degree, o.degree AS object_degree FROM pairs AS p "  # noqa: S608
    f"JOIN code_degrees AS s ON s.node = p.subject AND s.code = {step_code_sql('p.own', False)} "
    f"JOIN code_degrees AS o ON o.node = p.object AND o.code = {step_code_sql('p.own', True)}"
)
#: Ids of the names in `wanted_names`.
LOCATED = "SELECT w.number, e.id FROM wanted_names AS w JOIN entity_ids AS e ON e.name = w.name"
#: Names of the entities in `wanted_ids`.
NAMED = "SELECT e.id, e.name FROM entity_ids AS e JOIN wanted_ids AS w ON w.id = e.id"


@dataclass(frozen=True, eq=False)
class LocatedTargets:
    """Targets whose entities have facts: rows, predicates, nodes, own codes (0 if not a fact).

    With shares, `subject_gain` and `object_gain` are the factors by which a step weighs more at a
    node whose degree does not count the target's own edge; otherwise they are 1.
    """

    target: Ids
    predicate: Ids
    subject: Ids
    object: Ids
    positive: Ids
    label: Ids
    own_code: Ids
    subject_degree: Array
    object_degree: Array
    subject_gain: Floats
    object_gain: Floats

    def __len__(self) -> int:
        return len(self.target)

    @property
    def owned(self) -> int:
        """Number of targets that are facts."""
        return int(np.count_nonzero(self.own_code))

    def frontiers(self, flipped: bool) -> tuple[int, int]:
        """Rows of the first frontiers: steps of each distinct source, and of each target's sink."""
        source, from_source, from_sink = (
            (self.object, self.object_degree, self.subject_degree)
            if flipped
            else (self.subject, self.subject_degree, self.object_degree)
        )
        _, first = np.unique(source, return_index=True)
        return int(from_source[first].sum()), int(from_sink.sum())

    def columns(self, flipped: bool) -> dict[str, Array]:
        """The table `targets` of a search that starts at the subjects or, `flipped`, objects."""
        ends = [(self.subject, self.subject_gain), (self.object, self.object_gain)]
        (source, source_gain), (sink, sink_gain) = ends[::-1] if flipped else ends
        forth = inverse_code(self.own_code) if flipped else self.own_code
        return {
            "target": self.target,
            "predicate": self.predicate,
            "source": source,
            "sink": sink,
            "positive": self.positive,
            "label": self.label,
            "forth": forth,
            "back": inverse_code(forth),
            "source_gain": source_gain,
            "sink_gain": sink_gain,
        }


def locate_targets(
    database: Database, predicates: Names, targets: Targets, node: Ids, shares: bool
) -> LocatedTargets:
    """The targets whose entities have facts, and which of them are facts themselves.

    `node` has the ids of the targets' entities, -1 where no fact has them.
    """
    subject, object_ = node[targets.subject], node[targets.object]
    seen = np.flatnonzero((subject >= 0) & (object_ >= 0)).astype(np.int32)
    own = predicates.find(targets.predicates)[targets.predicate[seen]].astype(np.int32)
    if not len(seen):
        return LocatedTargets(*(seen,) * 9, np.empty(0), np.empty(0))
    pairs = {"target": seen, "subject": subject[seen], "object": object_[seen], "own": own}
    database.upload("pairs", pairs)
    facts = np.isin(seen, database.fetch(OWN_PAIRS)["target"])
    degrees = database.fetch(PAIR_DEGREES)
    order = np.argsort(degrees["target"])
    gains = np.ones((2, len(seen)))
    if shares and facts.any():
        along = database.fetch(OWN_DEGREES)
        place = np.searchsorted(seen, along["target"])
        gains[:, place] = [_gain(along[name]) for name in ("subject_degree", "object_degree")]
        gains[:, ~facts] = 1.0
    database.drop("pairs")
    return LocatedTargets(
        seen,
        targets.predicate[seen].astype(np.int32),
        pairs["subject"],
        pairs["object"],
        targets.positive[seen].astype(np.int32),
        np.zeros_like(seen) if targets.millionths is None else targets.millionths[seen],
        np.where(facts, step_code(own), 0).astype(np.int32),
        degrees["subject_degree"][order],
        degrees["object_degree"][order],
        *gains,
    )


def _gain(degree: Array) -> Floats:
    """Factor by which 1 / sqrt(degree) grows without one edge; 1 where no edge is left."""
    return np.asarray(np.sqrt(degree / np.maximum(degree - 1.0, 1.0)))
