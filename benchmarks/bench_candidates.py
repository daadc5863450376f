"""Clause generation on real knowledge graphs: seconds, memory, cost of a counted path.

    HORNBEAM_DATA=../shared/data python benchmarks/bench_candidates.py

* `fb15k237`, 3,000 targets of one relation (1,500 facts, 1,500 random pairs), all clauses up to
  length 3 with the whole table of counts;
* `fb15k237` and `wn18rr`, all distinct subject-object pairs as targets of a predicate without
  facts, coverage and totals of all clauses up to length 3.

Each case runs in a fresh process and is measured after loading and compilation. Two references
count the same clauses for the same targets: SciPy's sparse products, and a breadth-first search in
plain Python. Both run on a sample, are checked against our counts, and are scaled up.
"""

from __future__ import annotations

import argparse
import json
import random
from collections import Counter, defaultdict
from dataclasses import dataclass
from functools import cached_property

import numpy as np
import numpy.typing as npt
from scipy.sparse import csr_array

from common import DATA, Figures, finish, in_fresh_process, markdown, peak, timed
from hornbeam import read_facts
from hornbeam.counting.memory.memory_engine import MemoryEngine
from hornbeam.counting.statistics import Statistics
from hornbeam.facts.names import Names
from hornbeam.facts.table import ONE, Facts, Targets
from hornbeam.rules.candidates import Candidates, RuleLimits
from tests.support.dense_counts import dense
from tests.support.kernels import kernels_are

LANGUAGE = RuleLimits(max_length=3, min_coverage=1)
SEED = 20180703


@dataclass(frozen=True)
class Case:
    """One line of the table, with the most CPU seconds and memory that are allowed."""

    title: str
    file: str
    all_pairs: bool
    cpu_limit: float
    memory_limit: float = np.inf

    def targets(self, facts: Facts) -> Targets:
        """Draw the targets."""
        return pairs_of(facts) if self.all_pairs else targets_of_one_relation(facts)


CASES = {
    "fb15k237-targets": Case("fb15k237, 3,000 targets", "fb15k237/train.tsv.gz", False, 0.5),
    "fb15k237-pairs": Case("fb15k237, all pairs", "fb15k237/train.tsv.gz", True, 30, 4e9),
    "wn18rr-pairs": Case("wn18rr, all pairs", "wn18rr/train.tsv", True, 1),
}


def targets_of_one_relation(facts: Facts, size: int = 1500) -> Targets:
    """As many facts of the largest relation as random pairs, as a reader would give them."""
    rng = np.random.default_rng(SEED)
    atoms, entities = facts.binary, facts.entities
    relation = int(np.bincount(atoms.predicate).argmax())
    rows = rng.choice(np.flatnonzero(atoms.predicate == relation), size, replace=False)
    drawn = rng.integers(len(entities), size=(2, size))
    subject, object_ = (
        np.concatenate([column[rows], other])
        for column, other in zip(atoms.arguments, drawn, strict=True)
    )
    used, ids = np.unique(np.concatenate([subject, object_]), return_inverse=True)
    return Targets(
        Names.of(entities.take(used)),
        Names.of([facts.predicates[relation]]),
        np.zeros(2 * size, dtype=np.int32),
        ids[: 2 * size].astype(np.int32),
        ids[2 * size :].astype(np.int32),
        np.repeat([ONE, 0], size).astype(np.int32),
    )


def pairs_of(facts: Facts) -> Targets:
    """Every distinct subject-object pair, as a target of a predicate that has no facts."""
    n = np.int64(len(facts.entities))
    subject, object_ = facts.binary.arguments
    keys = np.unique(subject * n + object_)
    return Targets(
        facts.entities,
        Names.of(["(any)"]),
        np.zeros(len(keys), dtype=np.int32),
        (keys // n).astype(np.int32),
        (keys % n).astype(np.int32),
        np.full(len(keys), ONE, dtype=np.int32),
    )


def measure(case: Case, threads: int, repeat: int) -> Figures:
    """Load, compile, then generate."""
    facts = read_facts(DATA / case.file)
    targets = case.targets(facts)
    engine = MemoryEngine(facts, threads)
    with kernels_are(compiled=True):  # two targets alone would be left to the interpreter
        engine.discover(targets.select(np.arange(2)), LANGUAGE)
    discovery, seconds = timed(
        lambda: engine.discover(targets, LANGUAGE, statistics=not case.all_pairs), repeat
    )
    return {
        "targets": len(targets),
        "sequences": discovery.found,
        "paths": int(discovery.candidates.paths.sum()),
        "rows": len(discovery.statistics.count) if discovery.statistics else 0,
        "cpu": seconds.cpu,
        "wall": seconds.wall,
        "peak": peak(),
    }


# --- references ----------------------------------------------------------------------------


@dataclass(frozen=True)
class Problem:
    """What a reference has to count: clauses and targets, with our answer beside them."""

    facts: Facts
    targets: Targets
    candidates: Candidates

    @classmethod
    def of(cls, case: Case) -> Problem:
        """All clauses that our engine finds."""
        facts = read_facts(DATA / case.file)
        targets = case.targets(facts)
        found = MemoryEngine(facts).discover(targets, LANGUAGE, statistics=False)
        return cls(facts, targets, found.candidates)

    @cached_property
    def ends(self) -> tuple[npt.NDArray[np.int32], npt.NDArray[np.int32]]:
        """Nodes of every target."""
        node = self.targets.entities.translate(self.facts.entities)
        return node[self.targets.subject], node[self.targets.object]

    def ours(self, rows: npt.NDArray[np.integer], targets: npt.NDArray[np.integer]) -> Statistics:
        """Our counts of some clauses for some targets."""
        paths = [self.candidates.body(int(row)) for row in rows]
        return MemoryEngine(self.facts).count(self.targets.select(targets), paths, LANGUAGE)

    @cached_property
    def own(self) -> npt.NDArray[np.bool_]:
        """Targets that are facts: there SciPy would count each one's own edge as evidence."""
        own_predicate = self.facts.predicates.index(self.targets.predicates[0])
        atoms, n = self.facts.binary, np.int64(len(self.facts.entities))
        mine = atoms.predicate == own_predicate
        edges = atoms.arguments[0][mine] * n + atoms.arguments[1][mine]
        return np.isin(self.ends[0] * n + self.ends[1], edges)


def scipy_reference(problem: Problem, clauses: int) -> Figures:
    """Sparse products, one per clause; clauses with the same beginning share its product."""
    facts, (subject, object_) = problem.facts, problem.ends
    atoms, n = facts.binary, len(facts.entities)
    ones = np.ones(len(atoms), dtype=np.int64)
    matrix = {}
    for p in range(len(facts.predicates)):
        mine = atoms.predicate == p
        step = csr_array((ones[mine], (atoms.arguments[0][mine], atoms.arguments[1][mine])), (n, n))
        matrix[2 * (p + 1)], matrix[2 * (p + 1) + 1] = step, csr_array(step.T)
    last = {code: csr_array(step.T) for code, step in matrix.items()}
    steps = problem.candidates.steps.astype(np.int64)
    begins = np.array([np.concatenate([[0, 0, 0], row[row > 0]])[-4:-1] for row in steps])
    order = random.Random(SEED).sample(range(len(steps)), len(steps))
    chosen: dict[tuple[int, ...], list[int]] = {}
    by_beginning = defaultdict(list)
    for row, begin in enumerate(map(tuple, begins.tolist())):
        by_beginning[begin].append(row)
    for row in order:
        begin = tuple(begins[row].tolist())
        if sum(len(rows) for rows in chosen.values()) >= clauses:
            break
        chosen[begin] = by_beginning[begin]
    rows = np.array([row for listed in chosen.values() for row in listed])
    starts, at = np.unique(subject, return_inverse=True)
    identity = csr_array(
        (np.ones(len(starts), dtype=np.int64), (range(len(starts)), starts)), (len(starts), n)
    )

    def count() -> list[npt.NDArray[np.int64]]:
        counts = []
        for begin, listed in chosen.items():
            reached = identity
            for code in begin:
                if code:
                    reached = reached @ matrix[code]
            by_target = reached[at]
            for row in listed:
                code = int(steps[row][steps[row] > 0][-1])
                counts.append(by_target.multiply(last[code][object_]).sum(axis=1))
        return counts

    counts, seconds = timed(count)
    others = np.flatnonzero(~problem.own)
    table = dense(problem.ours(rows, others))
    for column, found in enumerate(counts):
        np.testing.assert_array_equal(np.asarray(found)[others], table[:, column])
    scale = len(steps) / len(rows)
    return {
        "what": "SciPy sparse products",
        "sample": f"{len(rows):,} of {len(steps):,} clauses",
        "cpu": seconds.cpu,
        "scaled": seconds.cpu * scale,
    }


def python_reference(problem: Problem, targets: int) -> Figures:
    """Breadth-first search from every subject, with counts by node and sequence."""
    facts, (subject, object_) = problem.facts, problem.ends
    own_predicate = facts.predicates.index(problem.targets.predicates[0])
    leaving: dict[int, list[tuple[int, int]]] = defaultdict(list)
    between: dict[tuple[int, int], list[int]] = defaultdict(list)
    atoms = facts.binary
    for s, p, o in zip(
        atoms.arguments[0].tolist(),
        atoms.predicate.tolist(),
        atoms.arguments[1].tolist(),
        strict=True,
    ):
        for here, there, code in ((s, o, 2 * (p + 1)), (o, s, 2 * (p + 1) + 1)):
            leaving[here].append((there, code))
            between[here, there].append(code)
    rng = np.random.default_rng(SEED)
    rows = np.sort(rng.choice(len(subject), targets, replace=False))
    forth = 2 * (own_predicate + 1)

    def search(a: int, b: int) -> Counter[tuple[int, ...]]:
        found: Counter[tuple[int, ...]] = Counter()
        own = {(a, b, forth), (b, a, forth ^ 1)} if own_predicate >= 0 else set()
        frontier: Counter[tuple[int, tuple[int, ...]]] = Counter({(a, ()): 1})
        for depth in range(3):
            reached: Counter[tuple[int, tuple[int, ...]]] = Counter()
            for (node, sequence), n in frontier.items():
                for code in between.get((node, b), ()):
                    if (node, b, code) not in own:
                        found[*sequence, code] += n
                if depth < 2:
                    for there, code in leaving[node]:
                        if (node, there, code) not in own:
                            reached[there, (*sequence, code)] += n
            frontier = reached
        return found

    found, seconds = timed(lambda: [search(int(subject[i]), int(object_[i])) for i in rows])
    engine = MemoryEngine(facts)
    check = engine.discover(problem.targets.select(rows), LANGUAGE)
    assert check.statistics is not None
    for path, codes in enumerate(check.candidates.steps.tolist()):
        part = check.statistics.column(path)
        expected = {i: found[i][*filter(None, codes)] for i in range(targets)}
        ours = dict(
            zip(
                check.statistics.target[part].tolist(),
                check.statistics.count[part].tolist(),
                strict=True,
            )
        )
        assert ours == {i: n for i, n in expected.items() if n}
    assert check.found == len({sequence for counts in found for sequence in counts})
    return {
        "what": "Python breadth-first search",
        "sample": f"{targets:,} of {len(subject):,} targets",
        "cpu": seconds.cpu,
        "scaled": seconds.cpu * len(subject) / targets,
    }


# --- report --------------------------------------------------------------------------------


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--repeat", type=int, default=3, help="runs, of which the fastest counts")
    parser.add_argument("--clauses", type=int, default=300, help="clauses in the sample for SciPy")
    parser.add_argument("--targets", type=int, default=100, help="targets in the sample for Python")
    parser.add_argument("--only", choices=CASES, action="append", help="run these cases only")
    parser.add_argument("--case", choices=CASES, help=argparse.SUPPRESS)
    parser.add_argument("--threads", type=int, default=0, help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.case and options.threads:
        print(json.dumps(measure(CASES[options.case], options.threads, options.repeat)))
    elif options.case:
        problem = Problem.of(CASES[options.case])
        references = [
            scipy_reference(problem, options.clauses),
            python_reference(problem, options.targets),
        ]
        print(json.dumps({"references": references}))
    else:
        report(options.only or list(CASES), options)


def report(names: list[str], options: argparse.Namespace) -> None:
    rows, references = [], []
    for name in names:
        case = CASES[name]
        for threads in (1, 2):
            arguments = ["--case", name, "--threads", str(threads), "--repeat", str(options.repeat)]
            figures = in_fresh_process(__file__, *arguments)
            if threads == 1:
                ours = figures["cpu"]
            allowed = f"{case.cpu_limit:g} s" + (
                f", {case.memory_limit / 1e9:g} GB" if np.isfinite(case.memory_limit) else ""
            )
            rows.append([
                case.title, threads, f"{figures['targets']:,}", f"{figures['sequences']:,}",
                f"{figures['paths']:,}", f"{figures['cpu']:.2f}", f"{figures['wall']:.2f}",
                allowed, f"{figures['peak'] / 1e6:,.0f}",
                f"{1e9 * figures['cpu'] / figures['paths']:.1f}",
            ])  # fmt: skip
        sample = ["--clauses", str(options.clauses), "--targets", str(options.targets)]
        measured = in_fresh_process(__file__, "--case", name, *sample)["references"]
        references += [
            [case.title, reference["what"], reference["sample"], f"{reference['cpu']:.1f}",
             f"{reference['scaled']:,.0f}", f"{reference['scaled'] / ours:,.0f}"]
            for reference in measured
        ]  # fmt: skip
    print("## Clause generation up to length 3, after loading and compilation\n")
    header = ["case", "threads", "targets", "sequences", "paths", "CPU s", "wall s", "at most",
              "peak MB", "ns per path"]  # fmt: skip
    print(markdown(header, rows))
    print("\n## References: the same clauses for the same targets, scaled up from a sample\n")
    header = ["case", "reference", "sample", "CPU s", "scaled, CPU s", "times ours"]
    print(markdown(header, references))
    finish()


if __name__ == "__main__":
    main()
