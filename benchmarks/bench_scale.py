"""Loading synthetic facts from Parquet and generating clauses for 3,000 targets, at growing size.

Every size runs in a fresh process, so that its peak memory is its own.
"""

from __future__ import annotations

import argparse
import json
import subprocess
import sys
import tempfile
from pathlib import Path

import numpy as np

import hornbeam as hb
from common import peak_bytes, print_command, print_table, timed
from hornbeam.facts.names import Names
from hornbeam.facts.synthetic import write_parquet
from hornbeam.facts.table import ONE, Targets
from hornbeam.statistics.memory import MemoryEngine


def one_size(path: Path) -> dict[str, float]:
    """Load, build, search; figures of this process."""
    facts, load = timed(lambda: hb.read_facts(path))
    loaded = peak_bytes()
    engine = MemoryEngine(facts)
    _, build = timed(lambda: engine.graph)
    rng = np.random.default_rng(0)
    subject, object_ = facts.binary.arguments
    some = rng.choice(len(subject), 1500, replace=False)
    # half of them linked by a fact, half random, as targets of a relation of its own
    pairs = (
        np.concatenate([subject[some], rng.choice(subject, 1500)]),
        np.concatenate([object_[some], rng.choice(object_, 1500)]),
    )
    labels = np.repeat([ONE, 0], 1500).astype(np.int32)
    targets = Targets(
        facts.entities, Names.of(["linked"]), np.zeros(3000, dtype=np.int32), *pairs, labels
    )
    engine.discover(targets.select(np.arange(10)), hb.Language())
    found, search = timed(lambda: engine.discover(targets, hb.Language(min_coverage=1)))
    return {
        "facts": len(facts),
        "load": load.wall,
        "load_cpu": load.cpu,
        "loaded_bytes": loaded / len(facts),
        "build": build.wall,
        "peak_bytes": peak_bytes() / len(facts),
        "search_cpu": search.cpu,
        "paths": int(found.candidates.paths.sum()),
    }


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--sizes", default="1e6,1e7,1e8", help="numbers of facts")
    parser.add_argument("--one", type=Path, help=argparse.SUPPRESS)
    arguments = parser.parse_args()
    if arguments.one:
        print(json.dumps(one_size(arguments.one)))
        return
    rows = []
    with tempfile.TemporaryDirectory(prefix="hornbeam-bench-") as folder:
        for size in (int(float(text)) for text in arguments.sizes.split(",")):
            path = Path(folder) / "facts.parquet"
            write_parquet(path, n_facts=size, n_entities=size // 10, n_predicates=50, seed=0)
            output = subprocess.run(
                [sys.executable, __file__, "--one", str(path)],
                check=True, capture_output=True, text=True,
            ).stdout  # fmt: skip
            got = json.loads(output.splitlines()[-1])
            rows.append([
                f"{got['facts']:,.0f}", f"{got['load']:.1f}", f"{got['load_cpu']:.1f}",
                f"{got['loaded_bytes']:.0f}", f"{got['build']:.1f}", f"{got['peak_bytes']:.0f}",
                f"{got['search_cpu']:.2f}", f"{got['paths']:,.0f}",
                f"{got['search_cpu'] / max(got['paths'], 1) * 1e9:.0f}",
            ])  # fmt: skip
    header = [
        "facts", "load s", "load CPU s", "peak bytes a fact, loaded", "graph s",
        "peak bytes a fact, in all", "3,000 targets, CPU s", "paths", "ns a path",
    ]  # fmt: skip
    print_table(header, rows)
    print_command()


if __name__ == "__main__":
    main()
