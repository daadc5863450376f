"""Large graphs with planted rules: time, memory, rules found, and how fast a query is answered.

    python benchmarks/bench_large_graphs.py --facts 1000000 10000000
    python benchmarks/bench_large_graphs.py --facts 1000000 --engines memory duckdb
    python benchmarks/bench_large_graphs.py --facts 1000000 --engines duckdb --memory-limit 100MB

A synthetic graph has 100 relations and a tenth as many entities as facts. Eighty relations are
drawn at random; each of the other twenty follows a planted rule t(X, Y) <- p(X, A), q(A, Y) of two
of these, with a fifth of its links at random. Every graph is learned in a fresh process, after
compilation, with the same number of training queries per relation. Found is a planted rule that is
among the first three of its relation by confidence. Then single queries are asked of the model
in Python (`.rank`) and of an explorer (`serve`) over HTTP, one after the other.

DuckDB reads the graph from a Parquet file and holds no more of it than its limit; what Python holds
besides are the candidates of training queries, of which there are as many in any large graph. The
digest is that of the model's text: engines that agree to the last weight have the same. What spilt
is the most that DuckDB had in files at any time, beside the table of facts.
"""

from __future__ import annotations

import argparse
import json
import tempfile
import time
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass, field
from hashlib import sha256
from itertools import product
from pathlib import Path
from threading import Event, Thread
from typing import Self
from urllib.parse import urlencode

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

import hornbeam as hb
from common import Figures, finish, in_fresh_process, markdown, peak
from hornbeam.facts.names import Names
from hornbeam.facts.table import Atoms
from hornbeam.graphs.ranking_model import path_of
from hornbeam.ranking.queries import Direction
from hornbeam.rules.body import Step
from hornbeam.serve.graph_explorer import GraphExplorer
from tests.support.servers import serving

RELATIONS, PLANTED = 100, 20
#: Share of a planted relation's links that follow its rule.
FOLLOWING = 0.8
QUERIES = 300
BEST = 3


def planted_rules() -> dict[int, tuple[int, int]]:
    """Relation by relation the two that its rule walks."""
    first = RELATIONS - PLANTED
    return {first + k: (2 * k, 2 * k + 1) for k in range(PLANTED)}


def graph(n_facts: int, seed: int = 0) -> hb.Facts:
    """Draw a graph."""
    rng = np.random.default_rng(seed)
    n, each = n_facts // 10, n_facts // RELATIONS
    subject = rng.integers(n, size=(RELATIONS, each))
    object_ = rng.integers(n, size=(RELATIONS, each))
    for target, (p, q) in planted_rules().items():
        order = np.argsort(subject[q], kind="stable")
        starts = np.searchsorted(subject[q][order], object_[p])
        met = np.flatnonzero(starts < each)
        met = met[subject[q][order][starts[met]] == object_[p][met]]
        walked = rng.permutation(met)[: int(FOLLOWING * each)]
        subject[target, : len(walked)] = subject[p, walked]
        object_[target, : len(walked)] = object_[q][order][starts[walked]]
    predicate = np.repeat(np.arange(RELATIONS), each)
    keys = np.unique((subject.ravel() * RELATIONS + predicate) * n + object_.ravel())
    rows = (keys // (n * RELATIONS), keys // n % RELATIONS, keys % n)
    width = len(str(n))
    entities = Names.of(f"e{i:0{width}}" for i in range(n))
    predicates = Names.of(f"r{i:03}" for i in range(RELATIONS))
    ends = rows[0].astype(np.int32), rows[2].astype(np.int32)
    return hb.Facts(entities, predicates, {2: Atoms(rows[1].astype(np.uint16), ends)})


def write_graph(n_facts: int, path: str) -> Figures:
    """Write a graph to a Parquet file."""
    facts = graph(n_facts)
    atoms = facts.binary
    names = np.array(list(facts.entities), dtype=object)
    relations = np.array(list(facts.predicates), dtype=object)
    subject, object_ = (names[ids] for ids in atoms.arguments)
    columns = {"subject": subject, "predicate": relations[atoms.predicate], "object": object_}
    pq.write_table(pa.table(columns), path)
    return {"facts": len(atoms)}


def learned_rules(model: hb.GraphModel) -> Figures:
    """How many planted rules a model has found, and the digest of its text."""
    found = sum(
        (Step(f"r{p:03}"), Step(f"r{q:03}"))
        in [path_of(rule, Direction.OBJECT) for rule in part.rules[:BEST]]
        for part in model.relations
        if part.direction is Direction.OBJECT and int(part.relation[1:]) in planted_rules()
        for p, q in [planted_rules()[int(part.relation[1:])]]
    )
    return {"found": found, "digest": sha256(model.text.encode()).hexdigest()[:12]}


def measure_duckdb(path: str, memory_limit: str) -> Figures:
    """Learn one graph that stays in DuckDB."""
    hb.learn_graph(graph(2_000), max_length=2)  # compiles
    before, clock = peak(), time.process_time()
    with (
        tempfile.TemporaryDirectory() as folder,
        Spilt(Path(folder)) as spilt,
        hb.open_duckdb(path, memory_limit=memory_limit, spill_dir=folder) as engine,
    ):
        model = hb.learn_graph(engine, max_length=2)
    learned = time.process_time() - clock
    figures = {"facts": model.chosen["facts"], "learn": learned, "gigabytes": peak() / 1e9}
    return {**figures, "before": before / 1e9, "spilt": spilt.most, **learned_rules(model)}


@dataclass
class Spilt:
    """Watches how many bytes DuckDB has spilt to a folder: the most at any time."""

    folder: Path
    most: int = 0
    _done: Event = field(default_factory=Event)

    def __enter__(self) -> Self:
        self._thread = Thread(target=self._watch, daemon=True)
        self._thread.start()
        return self

    def __exit__(self, *failed: object) -> None:
        self._done.set()
        self._thread.join()

    def _watch(self) -> None:
        while not self._done.wait(0.1):
            sizes = []
            for file in self.folder.rglob("duckdb_temp*"):
                with suppress(FileNotFoundError):
                    sizes.append(file.stat().st_blocks * 512)
            self.most = max(self.most, sum(sizes))


def measure(n_facts: int) -> Figures:
    """Learn one graph in memory and ask it."""
    hb.learn_graph(graph(2_000), max_length=2)  # compiles
    facts = graph(n_facts)
    loaded, clock = peak(), time.process_time()
    model = hb.learn_graph(facts, max_length=2)
    learned, most = time.process_time() - clock, peak()
    ranker = model.ranker(facts)
    in_python = milliseconds(facts, lambda s, r: ranker.rank([(s, r, "?")], top=10))
    explorer = GraphExplorer(facts, model)
    explorer.warm_up()
    with serving(explorer) as client:
        over_http = milliseconds(
            facts,
            lambda s, r: client.get(f"/query.json?{urlencode({'subject': s, 'relation': r})}"),
        )
    return {
        "facts": len(facts),
        "learn": learned,
        **learned_rules(model),
        "gigabytes": most / 1e9,
        "before": loaded / 1e9,
        "rank": in_python,
        "serve": over_http,
    }


def milliseconds(facts: hb.Facts, ask: Callable[[str, str], object]) -> list[float]:
    """How long a query takes, once the first ones are answered: median, 90 % quantile, mean CPU."""
    rng = np.random.default_rng(1)
    took, clock = [], []
    for _ in range(QUERIES):
        subject = facts.entities[int(rng.integers(len(facts.entities)))]
        relation = f"r{int(rng.integers(RELATIONS)):03}"
        began, used = time.perf_counter(), time.process_time()
        ask(subject, relation)
        took.append(1e3 * (time.perf_counter() - began))
        clock.append(1e3 * (time.process_time() - used))
    later = slice(QUERIES // 3, None)
    quantiles = [float(np.quantile(took[later], share)) for share in (0.5, 0.9)]
    return [*quantiles, float(np.mean(clock[later]))]


def main() -> None:
    """Measure every size in a process of its own."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else "")
    parser.add_argument("--facts", type=int, nargs="+", default=[100_000, 1_000_000])
    parser.add_argument("--engines", nargs="+", choices=["memory", "duckdb"], default=["memory"])
    parser.add_argument("--memory-limit", default="500MB", help="of DuckDB")
    parser.add_argument("--one", type=int, help=argparse.SUPPRESS)
    parser.add_argument("--write", help=argparse.SUPPRESS)
    parser.add_argument("--read", help=argparse.SUPPRESS)
    given = parser.parse_args()
    if given.one:
        figures = write_graph(given.one, given.write) if given.write else measure(given.one)
        print(json.dumps(figures))
        return
    if given.read:
        print(json.dumps(measure_duckdb(given.read, given.memory_limit)))
        return
    rows = []
    for n_facts, engine in product(given.facts, given.engines):
        called = engine
        if engine == "memory":
            one = in_fresh_process(__file__, "--one", str(n_facts))
        else:
            called = f"{engine}, {given.memory_limit}"
            with tempfile.NamedTemporaryFile(suffix=".parquet") as file:
                in_fresh_process(__file__, "--one", str(n_facts), "--write", file.name)
                limit = ("--memory-limit", given.memory_limit)
                one = in_fresh_process(__file__, "--read", file.name, *limit)
        rows.append(
            [
                f"{one['facts']:,}", called, f"{one['learn']:.0f}", f"{one['gigabytes']:.1f}",
                f"{one['before']:.1f}", f"{one['spilt'] / 1e6:.0f}" if "spilt" in one else "",
                f"{one['found']} of {PLANTED}", one["digest"],
                *(f"{ms:.0f}" for key in ("rank", "serve") for ms in one.get(key, ())),
            ]
        )  # fmt: skip
    header = [
        "facts", "engine", "learn, CPU s", "peak GB", "of which before", "spilt, MB", "rules found",
        "digest", ".rank, median ms", "90 %", "CPU", "serve, median ms", "90 %", "CPU",
    ]  # fmt: skip
    print(markdown(header, rows))
    finish()


if __name__ == "__main__":
    main()
