"""The tables of one graph in a database, created at first use.

    triples  subject, predicate, object
    links    entity, step, other: every triple, walked forwards and backwards
    runs     entity, step, size: how many links an entity has along a step
    properties    holder, step, entity: every link, and every run as a link to ANY (-1)
    degrees  entity, degree: how many links an entity has in all
    holders  step, holders: how many entities have links along a step
    walks    the links that paths take: a run that is longer than any rule may propose is one link
             to TOO_MANY (-1)
    pair_weights  step, target, weight: of the step for the target, in millionths
    slot_weights  the same of steps of one entity (`hornbeam.graphs.slots`)
    slot_answers  step, entity: the candidates that slots propose for answers along a step

The names of a graph's tables end in its suffix. The tables contain ids only. In a select, @links
stands for the table `links` of the graph that the select is run on, and so on.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field

import numpy as np

from hornbeam.base.arrays import Array, Ids, Ints
from hornbeam.counting.sql.database import Database, TableColumns, every_step
from hornbeam.graph.link_hashes import PRIME, LinkHash
from hornbeam.graphs.evidence_kernels import MAX_PROPOSED
from hornbeam.graphs.linked_pairs import MAX_STEPS, NO_WEIGHTS, pair_weights
from hornbeam.graphs.ranking_model import LinkedShares
from hornbeam.graphs.slots import SLOT_PENALTY, proposed_by_step, slot_weights
from hornbeam.ranking.queries import Triples
from hornbeam.rules.codes import code_limit

#: The end of a link that replaces a run to too many entities, and the entity of a property (s, _).
TOO_MANY = ANY = -1
#: A sample sorts only links of small hashes: on average TIMES as many as wanted, plus MORE. If
#: fewer links than wanted have small hashes, which is extremely unlikely, all links are sorted.
TIMES, MORE = 4, 400
#: Number of ids whose runs are fetched at a time.
ENTITIES = 20_000
#: The select that creates each table but `triples`, the tables of weights and `slot_answers`.
SELECTS = {
    "links": every_step("@triples", ("entity", "step", "other")),
    "runs": "SELECT entity, step, count(*) AS size FROM @links GROUP BY entity, step",
    "properties": (
        "SELECT entity AS holder, step, other AS entity FROM @links "
        f"UNION ALL SELECT entity AS holder, step, {ANY} AS entity FROM @runs"
    ),
    "degrees": "SELECT entity, CAST(sum(size) AS BIGINT) AS degree FROM @runs GROUP BY entity",
    "holders": "SELECT step, count(*) AS holders FROM @runs GROUP BY step",
    "long_runs": f"SELECT entity, step FROM @runs WHERE size > {MAX_PROPOSED}",
    "walks": (
        "SELECT l.entity, l.step, l.other FROM @links AS l WHERE NOT EXISTS "
        "(SELECT 1 FROM @long_runs AS x WHERE x.entity = l.entity AND x.step = l.step) "
        f"UNION ALL SELECT entity, step, {TOO_MANY} AS other FROM @long_runs"
    ),
}
#: Tables that are views and not stored.
VIEWS = {"properties", "walks"}


@dataclass(frozen=True, eq=False)
class LinkTables:
    """Tables of a graph; `suffix` distinguishes the tables of several graphs."""

    database: Database
    suffix: str
    n_predicates: int
    _made: set[str] = field(default_factory=set)

    def sql(self, select: str) -> str:
        """A select with the names of this graph's tables; missing tables are created."""
        return re.sub(r"@(\w+)", lambda match: self._name(match[1]), select)

    def create(self, table: str, select: str) -> None:
        """Create or replace a table whose name has no suffix of a graph."""
        self.database.create(table, self.sql(select))

    def fetch(self, select: str) -> dict[str, Array]:
        """Run a select and return its columns."""
        return self.database.fetch(self.sql(select))

    def number(self, select: str) -> int:
        """The one number `n` that a select returns."""
        return int(self.fetch(select)["n"][0])

    def without_steps(self, dropped: Sequence[int]) -> LinkTables:
        """Tables of the same graph without the links along the `dropped` steps."""
        if not len(dropped):
            return self
        others = LinkTables(self.database, f"{self.suffix}_searched", self.n_predicates)
        listed = ", ".join(map(str, dropped))
        others.make("links", self.sql(f"SELECT * FROM @links AS l WHERE step NOT IN ({listed})"))
        return others

    def _name(self, table: str) -> str:
        if table not in self._made:
            uploaded = {
                "pair_weights": lambda: _weight_columns(self.pair_weights()),
                "slot_weights": lambda: _weight_columns(self.slot_weights()),
                "slot_answers": self._slot_answers,
            }
            if table in uploaded:
                self.database.upload(f"{table}_{self.suffix}", uploaded[table]())
                self._made.add(table)
            else:
                self.make(table, self.sql(SELECTS[table]), table not in VIEWS)
        return f"{table}_{self.suffix}"

    def make(self, table: str, select: str, stored: bool = True) -> None:
        """Create one of this graph's tables, such as `triples`, by a given select."""
        make = self.database.create if stored else self.database.view
        make(f"{table}_{self.suffix}", select)
        self._made.add(table)

    def pair_weights(self) -> Ints:
        """Weights of a pair's links for each other; none if there are too many relations."""
        return self._weights("@links", "o.other = l.other", pair_weights)

    def slot_weights(self) -> Ints:
        """Weights of an entity's steps for each other; none if there are too many relations."""
        return self._weights("@runs", "TRUE", lambda shared: slot_weights(shared, SLOT_PENALTY))

    def _weights(self, table: str, same: str, weights: Callable[[Ints], Ints]) -> Ints:
        """Weights made of the counts of steps that rows of a table's entities share."""
        step_limit = code_limit(self.n_predicates)
        if step_limit > MAX_STEPS:
            return NO_WEIGHTS
        counts = self.fetch(
            f"SELECT l.step, o.step AS other, count(*) AS n FROM {table} AS l "
            f"JOIN {table} AS o ON o.entity = l.entity AND {same} GROUP BY l.step, o.step"
        )
        shared = np.zeros((step_limit, step_limit), dtype=np.int64)
        shared[counts["step"], counts["other"]] = counts["n"]
        return weights(shared)

    def _slot_answers(self) -> TableColumns:
        proposed = proposed_by_step(self._runs(), self.slot_weights())
        sizes = [len(ids) for ids in proposed.values()]
        none = np.empty(0, dtype=np.int32)
        return {
            "step": np.repeat(np.array(list(proposed), dtype=np.int64), sizes),
            "entity": np.concatenate([none, *proposed.values()]),
        }

    def _runs(self) -> Iterator[tuple[Ids, Ids]]:
        """All runs in parts of `ENTITIES` ids."""
        last = self.number("SELECT coalesce(max(entity), -1) AS n FROM @runs")
        for low in range(0, last + 1, ENTITIES):
            runs = self.fetch(
                "SELECT entity, step FROM @runs "
                f"WHERE entity >= {low} AND entity < {low + ENTITIES}"
            )
            yield runs["entity"].astype(np.int32), runs["step"].astype(np.int32)

    # --- pairs with several links -----------------------------------------------------------------

    def linked_shares(self, facts: int, held: Triples | None = None) -> LinkedShares:
        """Same as `hornbeam.graphs.linked_pairs.linked_shares`; the graph has `facts` facts."""
        pairs = (
            "SELECT LEAST(subject, object) AS low, GREATEST(subject, object) AS high, "
            "count(*) AS links FROM @triples "
            "GROUP BY LEAST(subject, object), GREATEST(subject, object)"
        )
        twice = self.number(
            "SELECT CAST(coalesce(sum(links), 0) AS BIGINT) AS n "
            f"FROM ({pairs}) AS p WHERE links > 1"
        )
        train = float(twice / max(facts, 1))
        if held is None or not len(held):
            return LinkedShares(train)
        low, high = np.minimum(held.subject, held.object), np.maximum(held.subject, held.object)
        self.database.upload("held_pairs", {"low": low, "high": high})
        linked = self.number(
            f"SELECT count(*) AS n FROM ({pairs}) AS p JOIN held_pairs AS h "
            "ON h.low = p.low AND h.high = p.high"
        )
        return LinkedShares(train, float(linked / len(held)))

    # --- random choices ---------------------------------------------------------------------------

    def sample(
        self, hashes: Mapping[int, LinkHash], sizes: Sequence[int], most: int
    ) -> dict[str, Array]:
        """Per relation, which has `sizes` links, the `most` links of the smallest hashes."""
        numbered, wanted = self._numbered(hashes), sum(min(size, most) for size in sizes)
        for sorted_links in (TIMES * most + MORE, max(sizes, default=0)):
            below = [int(min(sorted_links / max(size, 1), 1.0) * PRIME) for size in sizes]
            draws = {"predicate": np.array(list(hashes), np.int32), "below": np.array(below)}
            self.database.upload("draws", draws)
            links = self.fetch(
                "SELECT subject, predicate, object FROM (SELECT n.subject, n.predicate, n.object, "
                "row_number() OVER "
                "(PARTITION BY n.predicate ORDER BY n.number, n.subject, n.object) AS place "
                f"FROM ({numbered}) AS n JOIN draws AS d ON d.predicate = n.predicate "
                f"WHERE n.number < d.below) AS p WHERE place <= {most}"
            )
            if len(links["subject"]) == wanted:
                break
        return links

    def of_fold(
        self, suffix: str, hashes: Mapping[int, LinkHash], folds: int, number: int, hidden: bool
    ) -> LinkTables:
        """Tables of the graph of a fold's triples (with `hidden`), or of all other triples."""
        triples = (
            f"SELECT subject, predicate, object FROM ({self._numbered(hashes)}) AS n "
            f"WHERE n.number % {folds} {'=' if hidden else '<>'} {number}"
        )
        part = LinkTables(self.database, suffix, self.n_predicates)
        part.make("triples", self.sql(triples))
        return part

    def _numbered(self, hashes: Mapping[int, LinkHash]) -> str:
        """A select of the relations' triples with their hashes, in the column `number`.

        The coefficients of the relations are uploaded as the table `hashes`.
        """
        coefficients = {
            name: np.array([getattr(relation, name) for relation in hashes.values()], np.int64)
            for name in "abcde"
        }
        predicates = np.array(list(hashes), np.int32)
        self.database.upload("hashes", {"predicate": predicates, **coefficients})
        return (
            "SELECT x.subject, x.predicate, x.object, "
            f"(x.d * ((x.u * x.u) % {PRIME}) + x.e * x.u) % {PRIME} AS number "
            "FROM (SELECT f.subject, f.predicate, f.object, h.d, h.e, "
            f"((h.a * f.subject) % {PRIME} + (h.b * f.object) % {PRIME} + h.c) % {PRIME} AS u "
            "FROM @triples AS f JOIN hashes AS h ON h.predicate = f.predicate) AS x"
        )


def _weight_columns(weights: Ints) -> TableColumns:
    """Weights without weights of 0, as columns."""
    step, target = np.nonzero(weights)
    return {"step": step, "target": target, "weight": weights[step, target]}
