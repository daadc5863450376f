"""Whole graphs: learn, then evaluate; filtered MRR, CPU seconds and memory, beside floors.

    python benchmarks/bench_graphs.py                     five public graphs
    python benchmarks/bench_graphs.py --ablations         and without parts of the design
    python benchmarks/bench_graphs.py --graphs umls
    HORNBEAM_DATA=folder python benchmarks/bench_graphs.py --graphs name      folder/name/train.tsv
    ANYBURL_JAR=AnyBURL-23-1.jar python benchmarks/bench_graphs.py

Each graph runs in a fresh process, after compilation: train and valid are read, a model is learned
from train (valid decides on features and penalties), written, read again, and ranks the answers of
test in both directions among all entities. CPU seconds are those of learning and evaluating.

Where no pair of valid has a further link in train, as in FB15k-237, leaving out linked candidates
lifts the figures: that is knowledge of how the set was made. Its row stands second.

Where `ANYBURL_JAR` names AnyBURL's jar, it learns from the same files for as many CPU seconds as
ours took for everything, and its row stands last; predicting comes on top of these seconds.
"""

from __future__ import annotations

import argparse
import json
import tempfile
import time
from dataclasses import replace
from pathlib import Path

import numpy as np

from anyburl import anyburl_jar, run_anyburl
from common import DATA, Figures, finish, in_fresh_process, markdown, peak
from hornbeam.facts.reading.readers import read_facts
from hornbeam.facts.table import Facts
from hornbeam.graph_learning import learn_graph
from hornbeam.graph_model import GraphModel
from hornbeam.graphs.graph_settings import Extent, GraphSettings
from hornbeam.graphs.linked_graph import LinkedGraph

#: MRR at least, CPU seconds at most, GB at most.
LIMITS = {
    "umls": (0.976, 25, 1),
    "kinship": (0.865, 45, 1),
    "nations": (0.835, 12, 1),
    "wn18rr": (0.530, 100, 2),
    "fb15k237": (0.360, 650, 4),
}
WHOLE = GraphSettings()
#: What is left out, by name.
ABLATIONS = {
    "paths only": replace(WHOLE, constants=False, backward=False, ridge=False),
    "without constants": replace(WHOLE, constants=False, backward=False),
    "without the ridge": replace(WHOLE, ridge=False),
    "global weights only": replace(WHOLE, per_relation=False, rule_weights=False),
}
#: As many folds as links, so that a link is hidden alone or with one or two others, the rules being
#: those of the whole graph; for small graphs, and so many folds of them.
LEAVE_ONE_OUT, SMALL, ONE_BY_ONE = "leave-one-out", 10_000, 2_000


def read(graph: str) -> tuple[Facts, Facts, Facts]:
    """Train, valid and test."""
    folder = DATA / graph
    train = folder / "train.tsv"
    if not train.exists():
        train = folder / "train.tsv.gz"
    return read_facts(train), read_facts(folder / "valid.tsv"), read_facts(folder / "test.tsv")


def ablations_of(graph: str) -> list[str]:
    """Names of what is left out or done otherwise for comparison."""
    small = len(read(graph)[0]) <= SMALL
    return [*ABLATIONS, *([LEAVE_ONE_OUT] if small else ())]


def compile_all() -> None:
    """Learn and ask a random graph, so that kernels are there."""
    rng = np.random.default_rng(0)
    pairs = np.unique(rng.integers((40, 2, 40), size=(400, 3)), axis=0)
    rows = [(f"e{s}", f"r{p}", f"e{o}") for s, p, o in rng.permutation(pairs).tolist()]
    facts, held = read_facts(rows[50:]), read_facts(rows[:50])
    for ridge in (True, False):
        model = learn_graph(facts, held, settings=replace(WHOLE, ridge=ridge), max_length=3)
        model.evaluate_ranks(facts, held)


def settings_of(name: str, train: Facts) -> GraphSettings:
    """The settings of an ablation, the whole without one."""
    if name != LEAVE_ONE_OUT:
        return ABLATIONS.get(name, WHOLE)
    size = LinkedGraph.of(train).size
    hidden = min(size.facts, ONE_BY_ONE)
    one_by_one = replace(Extent.of(size), folds=size.facts, hidden=hidden, rediscover=False)
    return replace(WHOLE, extent=one_by_one)


def measure(graph: str, ablation: str, seed: int) -> Figures:
    """Learn and evaluate one graph."""
    compile_all()
    train, valid, test = read(graph)
    settings = settings_of(ablation, train)
    began, started = time.process_time(), time.perf_counter()
    learned = learn_graph(train, valid, seed=seed, settings=settings)
    learning = time.process_time() - began
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "graph.hornbeam"
        learned.save(path)
        size = path.stat().st_size
        model = GraphModel.load(path)
    ranker = model.ranker(train)
    found = ranker.evaluate(test, valid)
    cpu, wall = time.process_time() - began, time.perf_counter() - started
    figures: Figures = {
        "mrr": found.mrr,
        "hits_1": found.hits_1,
        "hits_10": found.hits_10,
        "cpu": cpu,
        "learning": learning,
        "wall": wall,
        "gb": peak() / 1e9,
        "mb": size / 1e6,
        "rules": sum(len(part.rules) for part in model.relations),
        "chosen": dict(model.chosen),
    }
    linked = model.linked
    if linked.caution:
        figures["linked"] = [linked.train, linked.valid]
        unlinked = model.evaluate_ranks(train, test, filter=valid, leave_out_linked=True)
        figures["mrr_unlinked"] = unlinked.mrr
    return figures


def row_of(name: str, figures: Figures) -> list[str]:
    """One row of the table."""
    return [
        name,
        *(f"{figures[key]:.3f}" for key in ("mrr", "hits_1", "hits_10")),
        *(f"{figures[key]:.0f}" for key in ("cpu", "wall")),
        f"{figures['gb']:.1f}",
        f"{figures['rules']:,}",
        f"{figures['mb']:.1f}",
    ]


def anyburl_row(graph: str, jar: str, cpu: float) -> list[str]:
    """What AnyBURL reaches with so many CPU seconds of learning."""
    found = run_anyburl(jar, DATA / graph, cpu)
    figures = (f"{value:.3f}" for value in (found.mrr, found.hits_1, found.hits_10))
    spent = f"{found.learning:.0f} + {found.predicting:.0f}"
    return [f"{graph}, AnyBURL", *figures, spent, "", "", "", ""]


def verdict(graph: str, figures: Figures) -> str:
    """What a graph's limits say."""
    mrr, cpu, gb = LIMITS.get(graph, (0.0, np.inf, np.inf))
    wrong = [
        text
        for text, fine in (
            (f"MRR {figures['mrr']:.3f} < {mrr}", figures["mrr"] >= mrr),
            (f"{figures['cpu']:.0f} CPU s > {cpu}", figures["cpu"] <= cpu),
            (f"{figures['gb']:.1f} GB > {gb}", figures["gb"] <= gb),
        )
        if not fine
    ]
    return f"{graph}: {'within its limits' if not wrong else '; '.join(wrong)}"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--graphs", default=",".join(LIMITS), help="names, with commas")
    parser.add_argument("--ablations", action="store_true", help="also without parts")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--one", nargs=2, metavar=("GRAPH", "ABLATION"), help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.one:
        graph, name = options.one
        print(json.dumps(measure(graph, name, options.seed)))
        return
    header = ["", "MRR", "Hits@1", "Hits@10", "CPU s", "wall s", "GB", "path rules", "MB of text"]
    rows, verdicts, spent, jar = [], [], 0.0, anyburl_jar()
    for graph in options.graphs.split(","):
        for name in ["", *(ablations_of(graph) if options.ablations else ())]:
            figures = in_fresh_process(
                __file__, "--seed", str(options.seed), "--one", graph, name or "all"
            )
            rows.append(row_of(f"{graph}, {name}" if name else graph, figures))
            if "mrr_unlinked" in figures and not name:
                alone = dict(figures, mrr=figures["mrr_unlinked"], hits_1=np.nan, hits_10=np.nan)
                rows.append(row_of(f"{graph}, linked candidates left out", alone))
            if not name:
                spent = figures["cpu"]
                verdicts.append(verdict(graph, figures))
            print(rows[-1], flush=True)
        if jar is not None:
            rows.append(anyburl_row(graph, jar, spent))
            print(rows[-1], flush=True)
    print(markdown(header, rows))
    print("\n".join(["", *verdicts]))
    finish()


if __name__ == "__main__":
    main()
