"""Synthetic relational data with planted rules, of any size, for tests and benchmarks.

Facts are random edges with mildly skewed degrees. Targets are pairs of which the planted rules say
which are true: those that a positive rule connects and no negative one, up to some noise.
"""

from __future__ import annotations

import os
import tempfile
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import duckdb
import numpy as np
import numpy.typing as npt
from scipy.sparse import csr_array

from hornbeam.base.arrays import Ids
from hornbeam.errors import InputError
from hornbeam.facts.atom_keys import sort_atoms
from hornbeam.facts.names import Names
from hornbeam.facts.reading.sources import literal
from hornbeam.facts.table import ONE, Atoms, Facts, Targets, narrow_type

#: Facts drawn and written at once.
CHUNK = 1_000_000

#: What DuckDB may use while it writes.
MEMORY = "2GB"

Seed = int | np.random.Generator
Pairs = tuple[npt.NDArray[np.int64], npt.NDArray[np.int64]]


@dataclass(frozen=True)
class PlantedRule:
    """A path clause: steps of (predicate, inverse), and whether its head is positive.

    Examples
    --------
    >>> str(PlantedRule((("cites", False), ("mentions", True))))
    'cites(E1, E2) & mentions(E3, E2) -> target(E1, E3)'
    """

    body: tuple[tuple[str, bool], ...]
    positive: bool = True

    def __str__(self) -> str:
        atoms = []
        for i, (predicate, inverse) in enumerate(self.body, start=1):
            first, second = (i + 1, i) if inverse else (i, i + 1)
            atoms.append(f"{predicate}(E{first}, E{second})")
        head = f"{'' if self.positive else '!'}target(E1, E{len(self.body) + 1})"
        return f"{' & '.join(atoms)} -> {head}"


@dataclass(frozen=True, eq=False)
class Planted:
    """Facts, labelled targets, and what was planted in them.

    `connected` holds for every target which rule connects it; `ideal` is the label before noise.
    """

    facts: Facts
    labels: Targets
    rules: tuple[PlantedRule, ...]
    connected: npt.NDArray[np.bool_]
    ideal: npt.NDArray[np.bool_]


def planted(
    n_entities: int = 1000,
    n_facts: int = 10_000,
    n_predicates: int = 8,
    n_targets: int = 1000,
    *,
    rules: Sequence[PlantedRule] | None = None,
    noise: float = 0.05,
    skew: float = 0.2,
    seed: Seed = 0,
) -> Planted:
    """Draw facts and plant rules in labelled targets.

    Parameters
    ----------
    n_entities, n_facts, n_predicates, n_targets
        Sizes; duplicate facts are dropped, so there are somewhat fewer.
    rules
        What to plant; three positive and one negative rule of random steps by default.
    noise
        Share of labels that are turned round.
    skew
        How much degrees differ: 0 for none, towards 1 for a few hubs.
    seed
        A number or a generator; the same seed gives the same data.

    Examples
    --------
    >>> data = planted(n_entities=100, n_facts=500, n_targets=50, seed=1)
    >>> data.labels
    Targets(50 pairs of target, 27 true)
    """
    rng = np.random.default_rng(seed)
    facts = random_facts(n_entities, n_facts, n_predicates, skew=skew, seed=rng)
    chosen = tuple(random_rules(facts, seed=rng) if rules is None else rules)
    return plant_targets(facts, chosen, n_targets, noise=noise, seed=rng)


def random_facts(
    n_entities: int, n_facts: int, n_predicates: int, *, skew: float = 0.2, seed: Seed = 0
) -> Facts:
    """Draw distinct random binary facts between entities `e0`, `e1`, .. of predicates `p0`, .."""
    rng = np.random.default_rng(seed)
    chunks = list(_drawn(rng, n_entities, n_facts, n_predicates, skew))
    subject, predicate, object_ = (np.concatenate(column) for column in zip(*chunks, strict=True))
    entities, (subject, object_) = _named("e", n_entities, [subject, object_])
    predicates, (predicate,) = _named("p", n_predicates, [predicate])
    narrow: npt.NDArray[Any] = predicate.astype(narrow_type(len(predicates)))
    narrow, columns, _ = sort_atoms(narrow, [subject, object_], None)
    keep = np.ones(len(narrow), dtype=np.bool_)
    keep[1:] = narrow[1:] != narrow[:-1]
    for column in columns:
        keep[1:] |= column[1:] != column[:-1]
    atoms = Atoms(narrow[keep], (columns[0][keep], columns[1][keep]))
    return Facts(entities, predicates, {2: atoms})


def write_parquet(
    path: str | os.PathLike[str],
    n_facts: int,
    n_entities: int,
    n_predicates: int,
    *,
    skew: float = 0.2,
    seed: Seed = 0,
) -> None:
    """Write the facts of `random_facts` to Parquet in bounded memory.

    The columns are subject, predicate and object; duplicates stay in the file.
    """
    rng = np.random.default_rng(seed)
    target = Path(path).absolute()
    unfinished = target.with_name(target.name + ".part")
    with tempfile.TemporaryDirectory(prefix="hornbeam-") as folder:
        database = Path(folder) / "facts.duckdb"
        with duckdb.connect(database, config={"temp_directory": folder}) as connection:
            connection.execute("SET enable_progress_bar = false")
            connection.execute(f"SET memory_limit = '{MEMORY}'")
            connection.execute("CREATE TABLE facts (s INTEGER, p INTEGER, o INTEGER)")
            for columns in _drawn(rng, n_entities, n_facts, n_predicates, skew):
                connection.register("chunk", dict(zip("spo", columns, strict=True)))
                connection.execute("INSERT INTO facts SELECT s, p, o FROM chunk")
                connection.unregister("chunk")
            wanted = (
                f"{_padded('e', 's', n_entities)} AS subject, "
                f"{_padded('p', 'p', n_predicates)} AS predicate, "
                f"{_padded('e', 'o', n_entities)} AS object"
            )
            place = literal(os.fspath(unfinished))
            try:
                connection.execute(f"COPY (SELECT {wanted} FROM facts) TO {place} (FORMAT parquet)")
                unfinished.replace(target)
            finally:
                unfinished.unlink(missing_ok=True)


def random_rules(
    facts: Facts, lengths: Sequence[int] = (1, 2, 3, 2), negative: int = 1, *, seed: Seed = 0
) -> list[PlantedRule]:
    """Draw distinct rules of the given lengths; the last `negative` of them deny the target."""
    rng = np.random.default_rng(seed)
    bodies: list[tuple[tuple[str, bool], ...]] = []
    while len(bodies) < len(lengths):
        n = lengths[len(bodies)]
        steps = zip(rng.integers(len(facts.predicates), size=n), rng.random(n) < 0.5, strict=True)
        body = tuple((facts.predicates[int(p)], bool(inverse)) for p, inverse in steps)
        if body not in bodies:
            bodies.append(body)
    last = len(bodies) - negative
    return [PlantedRule(body, positive=i < last) for i, body in enumerate(bodies)]


def plant_targets(
    facts: Facts,
    rules: Sequence[PlantedRule],
    n_targets: int,
    *,
    noise: float = 0.05,
    seed: Seed = 0,
) -> Planted:
    """Choose pairs of `target` and label them by the rules.

    The positive rules connect about half of the pairs, the negative ones a quarter; the others are
    random.
    """
    rng = np.random.default_rng(seed)
    size = len(facts.entities)
    parts = []
    for sign, share in ((True, n_targets // 2), (False, n_targets // 4)):
        alike = [rule for rule in rules if rule.positive is sign]
        parts += [_connected_pairs(facts, rule, share // len(alike), rng) for rule in alike]
    parts.append((rng.integers(size, size=4 * n_targets), rng.integers(size, size=4 * n_targets)))
    subject, object_ = _distinct_pairs(parts, size, n_targets, rng)
    connected = np.stack([_connects(facts, rule, subject, object_) for rule in rules], axis=1)
    signs = np.array([rule.positive for rule in rules])
    denied = np.any(connected[:, ~signs], axis=1)
    ideal: npt.NDArray[np.bool_] = np.any(connected[:, signs], axis=1) & ~denied
    label = ideal ^ (rng.random(len(ideal)) < noise)
    used, rows = np.unique(np.concatenate([subject, object_]), return_inverse=True)
    ids = rows.astype(np.int32)
    labels = Targets(
        Names.of(facts.entities.take(used)),
        Names.of(["target"]),
        np.zeros(len(subject), dtype=np.int32),
        ids[: len(subject)],
        ids[len(subject) :],
        (label * ONE).astype(np.int32),
    )
    return Planted(facts, labels, tuple(rules), connected, ideal)


def _drawn(
    rng: np.random.Generator, n_entities: int, n_facts: int, n_predicates: int, skew: float
) -> Iterator[tuple[Ids, Ids, Ids]]:
    """Draw edges chunk by chunk: numbers of subject, predicate and object."""
    if min(n_entities, n_facts, n_predicates) < 1 or not 0 <= skew < 1:
        raise InputError("expected at least one entity, fact and predicate, and a skew in [0, 1)")
    # Hubs are spread over the numbers, so that no order by name betrays them.
    number = rng.permutation(n_entities).astype(np.int32)
    power = 1 / (1 - skew)
    for start in range(0, n_facts, CHUNK):
        size = min(CHUNK, n_facts - start)
        subject, object_ = ((rng.random(size) ** power * n_entities).astype(np.int32) for _ in "so")
        predicate = rng.integers(n_predicates, size=size, dtype=np.int32)
        yield number[subject], predicate, number[object_]


def _named(prefix: str, n: int, columns: list[Ids]) -> tuple[Names, list[Ids]]:
    """Name the numbers in use with leading zeros, and turn numbers into ids."""
    used = np.zeros(n, dtype=np.bool_)
    for column in columns:
        used[column] = True
    ids = np.cumsum(used, dtype=np.int32) - 1
    numbers = np.flatnonzero(used)
    width = len(str(n - 1))
    cells = np.zeros((len(numbers), width + 2), dtype=np.uint8)
    cells[:, 0] = ord(prefix)
    for place in range(width, 0, -1):
        cells[:, place] = ord("0") + numbers % 10
        numbers //= 10
    ends = np.arange(len(cells), dtype=np.int64) * (width + 2) + width + 1
    return Names(cells.tobytes(), ends), [ids[column] for column in columns]


def _padded(prefix: str, column: str, n: int) -> str:
    """Write the SQL of the same names."""
    return f"'{prefix}' || lpad(CAST({column} AS VARCHAR), {len(str(n - 1))}, '0')"


def _connected_pairs(facts: Facts, rule: PlantedRule, n: int, rng: np.random.Generator) -> Pairs:
    """Draw up to n random pairs that the rule connects, from random edges of its first step."""
    starts = np.unique(_step(facts, *rule.body[0]).nonzero()[0])
    starts = rng.permutation(starts)[: 4 * n + 1]
    rows, ends = _reach(facts, rule, starts).nonzero()
    if not len(rows):
        raise InputError(f"the rule {rule} connects nothing; expected more facts per entity")
    chosen = rng.permutation(len(rows))[:n]
    return starts[rows[chosen]], ends[chosen].astype(np.int64)


def _distinct_pairs(
    parts: Sequence[Pairs], size: int, n: int, rng: np.random.Generator
) -> tuple[npt.NDArray[np.int64], npt.NDArray[np.int64]]:
    """Keep the first n different pairs of two entities, in random order."""
    subject, object_ = (np.concatenate(column) for column in zip(*parts, strict=True))
    keys = (subject * size + object_)[subject != object_]
    _, first = np.unique(keys, return_index=True)
    keys = rng.permutation(keys[np.sort(first)[:n]])
    return keys // size, keys % size


def _connects(
    facts: Facts, rule: PlantedRule, subject: npt.NDArray[np.int64], object_: npt.NDArray[np.int64]
) -> npt.NDArray[np.bool_]:
    """Whether a path of the rule leads from each subject to its object."""
    starts, row = np.unique(subject, return_inverse=True)
    rows, ends = _reach(facts, rule, starts).nonzero()
    size = len(facts.entities)
    return np.isin(row * size + object_, rows.astype(np.int64) * size + ends)


def _reach(facts: Facts, rule: PlantedRule, starts: npt.NDArray[np.int64]) -> csr_array:
    """Give the entities (columns) that the rule reaches from each start (row)."""
    reached = _step(facts, *rule.body[0])[starts]
    for predicate, inverse in rule.body[1:]:
        reached = reached @ _step(facts, predicate, inverse)
    return reached


def _step(facts: Facts, predicate: str, inverse: bool) -> csr_array:
    """Give the adjacency matrix of one step."""
    atoms = facts.binary
    at = np.flatnonzero(atoms.predicate == facts.predicates.index(predicate))
    ends = [atoms.arguments[0][at], atoms.arguments[1][at]]
    shape = (len(facts.entities), len(facts.entities))
    first, second = reversed(ends) if inverse else ends
    return csr_array((np.ones(len(at), dtype=np.bool_), (first, second)), shape=shape)
