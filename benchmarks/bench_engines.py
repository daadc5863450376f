"""The three engines: equal results, memory under a limit, growth with the facts.

    python benchmarks/bench_engines.py equality          # every shared data set, random graphs
    python benchmarks/bench_engines.py growth            # 1, 10, 100 million facts an engine
    python benchmarks/bench_engines.py cluster           # Spark, two executors, one killed

`growth` writes the synthetic facts of `bench_scale.py` to Parquet in a temporary folder; each
engine starts in a fresh process, reads the file, and generates all clauses up to length 3 for 3,000
targets without keeping the table of counts. DuckDB has a limit of 2 GB. Memory is the largest
resident set of the process and its children together, looked at ten times per second.
"""

from __future__ import annotations

import argparse
import json
import os
import pickle
import resource
import signal
import sys
import tempfile
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import Any

import numpy as np

from bench_scale import MILLION, PREDICATES, SKEW, draw_targets
from common import DATA, Figures, finish, in_fresh_process, markdown
from hornbeam import read_facts, read_labels
from hornbeam.base.progress import SILENT
from hornbeam.counting.engine import Discovery, Engine
from hornbeam.counting.memory.memory_engine import MemoryEngine
from hornbeam.facts.folds import task_folds
from hornbeam.facts.table import ONE, Facts, Targets
from hornbeam.rules.candidates import RuleLimits
from tests.support.synthetic import planted, write_parquet

LANGUAGE = RuleLimits(max_length=3, min_coverage=1)
DUCKDB_LIMIT = "2GB"
CLUSTER = "local-cluster[2,1,1024]"
SECONDS = ("load", "load_cpu", "generate", "generate_cpu")
#: How the engines are named in the tables.
ENGINES = ("memory", "duckdb", "spark")


@contextmanager
def opened(engine: str, file: str, folder: str, master: str = "local[2]") -> Iterator[Engine]:
    """Open an engine on a Parquet file."""
    if engine == "memory":
        memory = MemoryEngine(read_facts(file), 2)
        _ = memory.graph
        yield memory
    elif engine == "duckdb":
        from hornbeam.counting.sql.duckdb_engine import open_duckdb

        with open_duckdb(file, memory_limit=DUCKDB_LIMIT, spill_dir=folder, threads=2) as made:
            yield made
    else:
        from hornbeam.counting.sql.spark_engine import open_spark

        conf = {
            "spark.driver.memory": "8g" if master.startswith("local[") else "2g",
            "spark.sql.shuffle.partitions": "32",
            "spark.eventLog.enabled": "true",
            "spark.eventLog.compress": "false",
            "spark.eventLog.dir": Path(folder).as_uri(),
        }
        with open_spark(file, master=master, conf=conf, spill_dir=folder) as made:
            yield made


class Watch(threading.Thread):
    """Looks at the memory of this process and all its children, ten times per second."""

    def __init__(self) -> None:
        super().__init__(daemon=True)
        self.largest = 0
        self.ended = threading.Event()

    def run(self) -> None:
        """Look until told to end."""
        while not self.ended.wait(0.1):
            self.largest = max(self.largest, sum(_resident(pid) for pid in family()))


def family() -> list[int]:
    """Find this process and everything that it started, however indirectly."""
    children: dict[int, list[int]] = {}
    for entry in Path("/proc").iterdir():
        if entry.name.isdigit():
            try:
                fields = (entry / "stat").read_text().rpartition(")")[2].split()
            except OSError:
                continue
            children.setdefault(int(fields[1]), []).append(int(entry.name))
    found, open_ = [], [os.getpid()]
    while open_:
        pid = open_.pop()
        found.append(pid)
        open_ += children.get(pid, [])
    return found


def _resident(pid: int) -> int:
    try:
        pages = int(Path(f"/proc/{pid}/statm").read_text().split()[1])
    except (OSError, IndexError):
        return 0
    return pages * os.sysconf("SC_PAGE_SIZE")


def cpu_seconds() -> float:
    """CPU time of this process and of all living and ended children."""
    total = 0.0
    tick = os.sysconf("SC_CLK_TCK")
    for pid in family():
        try:
            fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
        except OSError:
            continue
        total += sum(int(field) for field in fields[11:15]) / tick
    return total


def measure(engine: str, file: str, targets: Targets, master: str, kill: bool) -> Figures:
    """Open and discover in this process."""
    watch = Watch()
    watch.start()
    killer = Killer() if kill else None
    started, cpu = time.perf_counter(), cpu_seconds()
    with tempfile.TemporaryDirectory(prefix="hornbeam-", dir=Path(file).parent) as folder:
        with opened(engine, file, folder, master) as made:
            loaded, cpu_loaded = time.perf_counter(), cpu_seconds()
            extra = {} if killer is None else {"progress": killer}
            found = made.discover(targets, LANGUAGE, statistics=False, **extra)
            ended, cpu_ended = time.perf_counter(), cpu_seconds()
        shuffled = shuffle_bytes(Path(folder))
    watch.ended.set()
    return {
        "load": loaded - started,
        "load_cpu": cpu_loaded - cpu,
        "generate": ended - loaded,
        "generate_cpu": cpu_ended - cpu_loaded,
        "peak": max(watch.largest, resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024),
        "sequences": len(found.candidates),
        "paths": int(found.candidates.paths.sum()),
        "digest": digest(found),
        "killed": 0 if killer is None else killer.killed,
        "shuffled": shuffled,
    }


def shuffle_bytes(folder: Path) -> int:
    """Add up what the tasks of Spark's event logs wrote for other tasks to read."""
    total = 0
    for log in folder.rglob("*"):
        if log.is_file() and ("app-" in log.name or "local-" in log.name or "events_" in log.name):
            for line in log.read_text(errors="replace").splitlines():
                if '"Shuffle Bytes Written"' in line:
                    metrics = json.loads(line).get("Task Metrics") or {}
                    total += metrics.get("Shuffle Write Metrics", {}).get(
                        "Shuffle Bytes Written", 0
                    )
    return total


class Killer:
    """A progress that kills one executor in the middle of the search."""

    killed = 0

    def message(self, text: str) -> None:
        """Say nothing."""

    def advance(self, stage: str, done: int, total: int) -> None:
        """Kill an executor ten seconds into the longest level."""
        if stage == "Joining facts" and done == total - 1 and not self.killed:
            threading.Timer(10.0, self.kill).start()

    def kill(self) -> None:
        """Kill the first executor found."""
        for pid in family():
            try:
                command = Path(f"/proc/{pid}/cmdline").read_bytes()
            except OSError:
                continue
            if b"CoarseGrainedExecutorBackend" in command:
                os.kill(pid, signal.SIGKILL)
                self.killed = 1
                return


def digest(found: Discovery) -> str:
    """A fingerprint of every candidate with its figures."""
    import hashlib

    sums = hashlib.sha256()
    for candidate in found.candidates:
        sums.update(f"{candidate.text}\t{candidate.coverage}\t{candidate.coverage_true}\t"
                    f"{candidate.paths}\n".encode())  # fmt: skip
    return sums.hexdigest()[:12]


def fresh(engine: str, file: Path, targets: Path, *more: str) -> Figures:
    """Measure one engine in a process of its own."""
    arguments = ["measure", "--engine", engine, "--file", str(file), "--targets", str(targets)]
    return in_fresh_process(__file__, *arguments, *more)


def equality(options: argparse.Namespace) -> None:
    """Compare the engines with the one in memory, counts and all, on what fits."""
    from hornbeam.counting.sql.duckdb_engine import duckdb_engine

    rows = []
    others = [engine for engine in options.engines if engine != "memory"]
    with ExitStack() as stack:
        makers: dict[str, Callable[[Facts], Engine]] = {"duckdb": duckdb_engine}
        if "spark" in others:
            from hornbeam.counting.sql.spark_session import spark_session
            from tests.support.sparks import spark_engine

            conf = {"spark.sql.shuffle.partitions": "4", "spark.driver.memory": "4g"}
            session = stack.enter_context(spark_session("local[2]", conf, SILENT))
            makers["spark"] = lambda facts: spark_engine(session, facts)
        for name, facts, labels, language in worlds():
            expected, cpu = with_cpu(MemoryEngine(facts), labels, language)
            assert expected.statistics is not None
            row = [name, f"{len(facts):,}", f"{len(labels):,}", f"{len(expected.candidates):,}",
                   f"{len(expected.statistics.count):,}", f"{cpu:.1f}"]  # fmt: skip
            for engine in others:
                found, cpu = with_cpu(makers[engine](facts), labels, language)
                row += ["yes" if equal(found, expected) else "NO", f"{cpu:.1f}"]
            rows.append(row)
            print(row, file=sys.stderr, flush=True)
    header = ["data", "facts", "targets", "sequences kept", "counts", "memory, CPU s"]
    for engine in others:
        header += [f"{engine} equal", f"{engine}, CPU s"]
    print("\n## The engines agree\n")
    print(markdown(header, rows))


def with_cpu(engine: Engine, labels: Targets, language: RuleLimits) -> tuple[Discovery, float]:
    """Discover, and say how many CPU seconds that took."""
    before = cpu_seconds()
    return engine.discover(labels, language), cpu_seconds() - before


def equal(one: Discovery, other: Discovery) -> bool:
    """Whether candidates, figures and every count are the same."""
    assert one.statistics is not None
    assert other.statistics is not None
    return digest(one) == digest(other) and all(
        np.array_equal(getattr(one.statistics, part), getattr(other.statistics, part))
        for part in ("indptr", "target", "count", "body")
    )


def worlds() -> Iterator[tuple[str, Facts, Targets, RuleLimits]]:
    """Shared data sets with their training labels, and planted random graphs."""
    for folder in sorted(DATA.iterdir()):
        if (folder / "fold0").is_dir():
            fold = task_folds(folder)[0]
            yield (
                folder.name,
                read_facts(*fold.train_facts),
                read_labels(fold.train_labels),
                RuleLimits(),
            )
        for file in (folder / "train.tsv", folder / "train.tsv.gz"):
            if file.is_file():
                facts = read_facts(file)
                # where all are linked with all, three steps have a million kinds of paths
                length = 2 if len(facts) > 50 * len(facts.entities) else 3
                name = f"{folder.name}, sampled targets, length {length}"
                yield name, facts, sampled(facts), RuleLimits(max_length=length)
    for seed, length in ((1, 3), (2, 4)):
        data = planted(n_entities=2000, n_facts=12_000, n_targets=1000, seed=seed)
        name = f"random graph {seed}, length {length}"
        yield name, data.facts, data.labels, RuleLimits(length, 2, max_fanout=20)


def sampled(facts: Facts, size: int = 1000) -> Targets:
    """Draw facts as true targets, and as many random pairs of the same predicates."""
    rng = np.random.default_rng(0)
    atoms, n = facts.binary, len(facts.entities)
    rows = rng.choice(len(atoms), size // 2, replace=False)
    predicate = np.tile(atoms.predicate[rows].astype(np.int32), 2)
    subject, object_ = (
        np.concatenate([column[rows], rng.integers(n, size=len(rows), dtype=np.int32)])
        for column in atoms.arguments
    )
    label = np.repeat(np.array([ONE, 0], dtype=np.int32), len(rows))
    return Targets(facts.entities, facts.predicates, predicate, subject, object_, label)


def growth(options: argparse.Namespace) -> None:
    """Measure every engine on every size."""
    rows = []
    by_engine: dict[str, list[Any]] = {engine: [] for engine in options.engines}
    with tempfile.TemporaryDirectory(prefix="hornbeam-", dir=options.folder) as folder:
        for millions in options.millions:
            file, targets = Path(folder) / f"{millions}.parquet", Path(folder) / "targets.pickle"
            n = millions * MILLION
            write_parquet(file, n, n // 10, PREDICATES, skew=SKEW)
            in_fresh_process(__file__, "targets", "--file", str(file), "--targets", str(targets))
            digests = set()
            for engine in options.engines:
                if millions > options.most.get(engine, millions):
                    continue
                figures = fresh(engine, file, targets)
                digests.add(figures["digest"])
                by_engine[engine].append((n, figures))
                rows.append(growth_row(engine, n, figures))
                print(rows[-1], file=sys.stderr, flush=True)
            assert len(digests) == 1, "the engines disagree"
            file.unlink()
    header = ["facts", "engine", "load, wall s", "load, CPU s", "generate, wall s",
              "generate, CPU s", "peak memory, GB", "sequences", "paths", "CPU ns per path",
              "digest"]  # fmt: skip
    print("\n## Growth: synthetic facts from Parquet, 3,000 targets, clauses up to length 3\n")
    print(markdown(header, rows))
    if options.plot:
        plot(by_engine, options.plot)


def growth_row(engine: str, n: int, figures: Figures) -> list[str]:
    return [
        f"{n:,}",
        f"{engine}{f' ({DUCKDB_LIMIT} limit)' if engine == 'duckdb' else ''}",
        *(f"{figures[name]:.0f}" for name in SECONDS),
        f"{figures['peak'] / 1e9:.2f}",
        f"{figures['sequences']:,}",
        f"{figures['paths']:,}",
        f"{1e9 * figures['generate_cpu'] / figures['paths']:.0f}",
        figures["digest"],
    ]


def plot(by_engine: dict[str, list[tuple[int, Figures]]], path: Path) -> None:
    """CPU seconds and memory against facts, on logarithmic axes."""
    import matplotlib

    matplotlib.use("Agg")
    from matplotlib import pyplot

    figure, (left, right) = pyplot.subplots(1, 2, figsize=(9, 3.6), layout="constrained")
    for engine, points in by_engine.items():
        facts = [n for n, _ in points]
        cpu = [figures["load_cpu"] + figures["generate_cpu"] for _, figures in points]
        left.loglog(facts, cpu, "o-", label=engine)
        right.loglog(facts, [figures["peak"] / 1e9 for _, figures in points], "o-", label=engine)
    for axes, title in ((left, "CPU seconds, load and generate"), (right, "peak memory, GB")):
        axes.set_title(title)
        axes.set_xlabel("facts")
        axes.grid(visible=True, alpha=0.3)
        axes.legend()
    figure.savefig(path, dpi=130)


def cluster(options: argparse.Namespace) -> None:
    """Spark on two executors: undisturbed, and with one of them killed; a tenth of the targets."""
    rows = []
    with tempfile.TemporaryDirectory(prefix="hornbeam-", dir=options.folder) as folder:
        for millions in options.millions:
            file, targets = Path(folder) / "facts.parquet", Path(folder) / "targets.pickle"
            n = millions * MILLION
            write_parquet(file, n, n // 10, PREDICATES, skew=SKEW)
            in_fresh_process(
                __file__, "targets", "--file", str(file), "--targets", str(targets), "--every", "10"
            )
            expected = fresh("memory", file, targets)
            for kill in ([], ["--kill"]):
                figures = fresh("spark", file, targets, "--master", CLUSTER, *kill)
                rows.append([
                    f"{n:,}", "one killed" if figures["killed"] else "undisturbed",
                    *(f"{figures[k]:.0f}" for k in SECONDS),
                    f"{figures['peak'] / 1e9:.1f}",
                    f"{figures['shuffled'] / 1e9:.2f}",
                    "yes" if figures["digest"] == expected["digest"] else "NO",
                ])  # fmt: skip
                print(rows[-1], file=sys.stderr, flush=True)
    header = ["facts", "executors", "start and load, wall s", "CPU s", "generate, wall s", "CPU s",
              "memory of all, GB", "shuffled, GB", "equal to the memory engine"]  # fmt: skip
    print(f"\n## Spark, `{CLUSTER}`\n")
    print(markdown(header, rows))


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    kinds = ("equality", "growth", "cluster", "measure", "targets")
    parser.add_argument("kind", nargs="?", choices=kinds, default="equality")
    parser.add_argument("--millions", type=int, nargs="+", default=None)
    parser.add_argument("--engines", nargs="+", choices=ENGINES, default=list(ENGINES))
    parser.add_argument("--most", type=json.loads, default={}, help='{"spark": 10}: largest sizes')
    parser.add_argument("--folder", type=Path, help="where to put the temporary folder")
    parser.add_argument("--plot", type=Path, help="where a plot of the growth goes")
    for hidden in ("--engine", "--file", "--targets"):
        parser.add_argument(hidden, help=argparse.SUPPRESS)
    parser.add_argument("--every", type=int, default=1, help=argparse.SUPPRESS)
    parser.add_argument("--master", default="local[2]", help=argparse.SUPPRESS)
    parser.add_argument("--kill", action="store_true", help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.kind == "targets":
        drawn = draw_targets(read_facts(options.file))
        some = drawn.select(np.arange(0, len(drawn), options.every))
        Path(options.targets).write_bytes(pickle.dumps(some))
        print("{}")
        return
    if options.kind == "measure":
        targets = pickle.loads(Path(options.targets).read_bytes())
        figures = measure(options.engine, options.file, targets, options.master, options.kill)
        print(json.dumps(figures))
        return
    if options.kind == "equality":
        equality(options)
    elif options.kind == "growth":
        options.millions = options.millions or [1, 10, 100]
        growth(options)
    else:
        options.millions = options.millions or [10]
        cluster(options)
    finish()


if __name__ == "__main__":
    main()
