"""The search for paths, table by table; `search_queries` has its selects."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np

from hornbeam.base.arrays import Array, Ids
from hornbeam.base.progress import Progress
from hornbeam.counting.sql import search_queries as queries
from hornbeam.counting.sql.database import Database
from hornbeam.counting.sql.found_bodies import FoundBodies, candidates_of
from hornbeam.counting.sql.search_queries import Search
from hornbeam.facts.names import Names
from hornbeam.facts.table import Targets
from hornbeam.rules.candidates import RuleLimits
from hornbeam.rules.codes import from_subject, reversed_sequence

#: Tables that the search leaves behind.
PATH_TABLES = ("known", "prefixes", "suffixes", "longer_suffixes", "wanted", "sides", "counts")

#: Codes of a sequence by its length: two of the prefix, two of the suffix.
PLACES = {1: (0,), 2: (0, 2), 3: (0, 1, 2), 4: (0, 1, 2, 3)}


def count_paths(database: Database, search: Search, min_coverage: int, progress: Progress) -> None:
    """Join level by level, up to the table `counts`; rare first and last steps are dropped."""
    create = database.create
    database.view("steps", search.steps())
    database.view("sources", search.sources())
    total = 3 + (search.max_length > 2) + (search.max_length > 3)
    done = 0

    def level(table: str, select: str, column: str = "", frequent: str = "") -> None:
        nonlocal done
        create(table, select)
        if min_coverage > 1 and frequent:
            database.view("frequent", frequent)
            create(table, queries.kept(table, column))
        done += 1
        progress.advance("Joining facts", done, total)

    level("prefixes", search.prefixes(), "prefix", search.frequent_firsts(min_coverage))
    level("suffixes", search.suffixes(), "suffix", search.frequent_lasts(min_coverage))
    if search.max_length > 3:
        level("longer_suffixes", search.longer_suffixes())
    if search.max_length > 2:
        create("wanted", search.wanted())
        level("sides", search.sides())
    level("counts", search.counts())


def paths_found(
    database: Database, search: Search, predicates: Names, targets: Targets, language: RuleLimits
) -> FoundBodies:
    """Every sequence of enough coverage."""
    found = database.fetch(search.figures(language.min_coverage))
    halves = (queries.unpacked(found[name], search.base) for name in queries.KEY)
    codes = np.stack([code for half in halves for code in half], axis=1).astype(np.uint32)
    steps = from_subject(codes, search.flipped)[:, : language.max_length]
    candidates = candidates_of(predicates, targets, steps, found, language)
    return FoundBodies(search, "known", queries.KEY, found, candidates)


def known_paths(paths: Mapping[int, Sequence[int]], heads: Ids, search: Search) -> dict[str, Array]:
    """The table `known` of sequences to count; `paths` has their codes by number."""
    h1, h2, t1, t2 = keys = np.zeros((4, len(paths)), dtype=np.int64)
    for column, codes in enumerate(paths.values()):
        walked = reversed_sequence(codes) if search.flipped else codes
        keys[PLACES[len(walked)], column] = walked
    numbers = np.array(list(paths), dtype=np.int32)
    return {
        "path": numbers,
        "predicate": heads[numbers],
        "first": h1,
        "last": np.where(t2 > 0, t2, t1),
        "prefix": queries.packed(h1, h2, search.base),
        "suffix": queries.packed(t1, t2, search.base),
    }
