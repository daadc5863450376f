"""Synthetic facts by the million: loading, memory, and the cost of a counted path.

    python benchmarks/bench_scale.py

For each size random facts are written to Parquet in a temporary folder: ten facts per entity, 20
predicates, and degrees so skewed that the largest hubs have almost one fact in a hundred. A fresh
process loads them, builds the graph and generates all clauses up to length 3 for 3,000 targets,
half of them the ends of a walk of two steps. Memory is what that process holds beyond what it held
before loading.
"""

from __future__ import annotations

import argparse
import json
import tempfile
from pathlib import Path

import numpy as np

from common import Figures, finish, in_fresh_process, markdown, peak, resident, timed
from hornbeam import read_facts
from hornbeam.counting.memory.memory_engine import MemoryEngine
from hornbeam.facts.names import Names
from hornbeam.facts.table import ONE, Facts, Targets
from hornbeam.rules.candidates import RuleLimits
from tests.support.synthetic import random_facts, write_parquet

LANGUAGE = RuleLimits(max_length=3, min_coverage=1)
MILLION = 1_000_000
PREDICATES = 20
SKEW = 0.7
N_TARGETS = 3000


def draw_targets(facts: Facts, size: int = N_TARGETS, seed: int = 0) -> Targets:
    """Pairs of a new predicate: the ends of walks of two steps, and random pairs."""
    rng = np.random.default_rng(seed)
    atoms, n = facts.binary, len(facts.entities)
    first = rng.choice(len(atoms), size // 2, replace=False)
    middle = atoms.arguments[1][first]
    low, high = (np.searchsorted(atoms.arguments[0], middle, side=s) for s in ("left", "right"))
    second = np.where(high > low, rng.integers(low, np.maximum(high, low + 1)), 0)
    subject = np.concatenate([atoms.arguments[0][first], rng.integers(n, size=size // 2)])
    object_ = np.concatenate([atoms.arguments[1][second], rng.integers(n, size=size // 2)])
    used, ids = np.unique(np.concatenate([subject, object_]), return_inverse=True)
    return Targets(
        Names.of(facts.entities.take(used)),
        Names.of(["target"]),
        np.zeros(size, dtype=np.int32),
        ids[:size].astype(np.int32),
        ids[size:].astype(np.int32),
        np.repeat([ONE, 0], size // 2).astype(np.int32),
    )


def measure(file: str, threads: int) -> Figures:
    """Load the file in this process, then generate."""
    warm = random_facts(100, 500, PREDICATES)
    MemoryEngine(warm).discover(draw_targets(warm, 100), LANGUAGE)
    before = resident()
    facts, load = timed(lambda: read_facts(file))
    at_load, loaded = peak(), resident()
    engine = MemoryEngine(facts, threads)
    _, build = timed(lambda: engine.graph)
    built, at_build = resident(), peak()
    targets = draw_targets(facts)
    discovery, generate = timed(lambda: engine.discover(targets, LANGUAGE))
    return {
        "facts": len(facts),
        "entities": len(facts.entities),
        "load": load.wall,
        "load_cpu": load.cpu,
        "peak_load": at_load - before,
        "held": loaded - before,
        "build": build.wall,
        "peak_build": at_build - before,
        "held_built": built - before,
        "generate": generate.wall,
        "generate_cpu": generate.cpu,
        "sequences": discovery.found,
        "paths": int(discovery.candidates.paths.sum()),
        "peak": peak(),
    }


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--millions", type=int, nargs="+", default=[1, 10, 100], help="sizes")
    parser.add_argument("--threads", type=int, default=2)
    parser.add_argument("--folder", type=Path, help="where to put the temporary folder")
    parser.add_argument("--file", help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.file:
        print(json.dumps(measure(options.file, options.threads)))
        return
    rows = []
    with tempfile.TemporaryDirectory(prefix="hornbeam-", dir=options.folder) as folder:
        for millions in options.millions:
            file = Path(folder) / f"{millions}.parquet"
            n = millions * MILLION
            write_parquet(file, n, n // 10, PREDICATES, skew=SKEW)
            figures = in_fresh_process(
                __file__, "--file", str(file), "--threads", str(options.threads)
            )
            file.unlink()
            rows.append(row_of(figures))
    header = ["facts", "entities", "load, wall s", "load, CPU s", "peak of loading, bytes per fact",
              "loaded, bytes per fact", "graph, s", "with graph, bytes per fact",
              "peak, bytes per fact", "generate, wall s", "CPU s", "sequences", "paths",
              "CPU ns per path"]  # fmt: skip
    print("\n## Synthetic facts from Parquet, 3,000 targets, clauses up to length 3\n")
    print(markdown(header, rows))
    finish()


def row_of(figures: Figures) -> list[str]:
    n = figures["facts"]
    return [
        f"{n:,}",
        f"{figures['entities']:,}",
        f"{figures['load']:.1f}",
        f"{figures['load_cpu']:.1f}",
        f"{figures['peak_load'] / n:.1f}",
        f"{figures['held'] / n:.1f}",
        f"{figures['build']:.1f}",
        f"{figures['held_built'] / n:.1f}",
        f"{max(figures['peak_load'], figures['peak_build']) / n:.1f}",
        f"{figures['generate']:.2f}",
        f"{figures['generate_cpu']:.2f}",
        f"{figures['sequences']:,}",
        f"{figures['paths']:,}",
        f"{1e9 * figures['generate_cpu'] / figures['paths']:.0f}",
    ]


if __name__ == "__main__":
    main()
