"""New entities: learn in one graph, answer in another one, on GraIL's twelve inductive splits.

    GRAIL_DATA=grail/data python benchmarks/bench_inductive.py
    GRAIL_DATA=grail/data python benchmarks/bench_inductive.py --splits fb237_v1 --without-slots

The data are in the folder `data` of the public repository kkteru/grail: `fb237_v1` and so on to
learn in, `fb237_v1_ind` to answer in, whose entities training never saw. A model is learned from
train with valid, and ranks test of the other graph with its train as facts and its valid as filter.

*MRR* and *Hits@10* are filtered, among all entities of the other graph, in both directions.
*Hits@10 of 50* is the protocol of the literature: each true answer is ranked among 50 other
candidates of its query, drawn at random without replacement; the mean over ten draws by a seed.
Ties are averaged.
"""

from __future__ import annotations

import argparse
import json
import os
import time
from dataclasses import replace
from pathlib import Path

import numpy as np

from bench_graphs import WHOLE, compile_all
from common import Figures, finish, in_fresh_process, markdown, peak
from hornbeam.facts.reading.readers import read_facts
from hornbeam.facts.table import Facts
from hornbeam.graph_learning import learn_graph
from hornbeam.ranking.filtered_ranks import Ranks

#: Where the splits are.
DATA = Path(os.environ.get("GRAIL_DATA", "grail/data"))
SPLITS = [f"{graph}_v{n}" for graph in ("fb237", "WN18RR", "nell") for n in range(1, 5)]
#: Number of drawn candidates, and of draws.
DRAWN, DRAWS = 50, 10


def read(split: str) -> dict[str, Facts]:
    """Train, valid and test of a split."""
    return {name: read_facts(DATA / split / f"{name}.txt") for name in ("train", "valid", "test")}


def hits_among_drawn(ranks: Ranks, seed: int) -> float:
    """Mean Hits@10 of true answers among so many drawn candidates."""
    rng = np.random.default_rng(seed)
    worse = ranks.candidates - 1 - ranks.better - ranks.ties
    counts = np.stack([ranks.better, ranks.ties, worse], axis=1)
    hits = []
    for _ in range(DRAWS):
        drawn = np.array(
            [
                rng.multivariate_hypergeometric(some, min(DRAWN, some.sum()), method="marginals")
                for some in counts
            ]
        )
        hits.append(np.mean(1 + drawn[:, 0] + drawn[:, 1] / 2 <= 10))
    return float(np.mean(hits))


def measure(split: str, slots: bool, length: int | None, seed: int) -> Figures:
    """Learn in the split's first graph, and answer in the second."""
    compile_all()
    own, other = read(split), read(f"{split}_ind")
    began, started = time.process_time(), time.perf_counter()
    settings = replace(WHOLE, slots=slots)
    model = learn_graph(
        own["train"], own["valid"], seed=seed, settings=settings, max_length=length or "auto"
    )
    found = model.evaluate_ranks(other["train"], other["test"], filter=other["valid"])
    cpu, wall = time.process_time() - began, time.perf_counter() - started
    return {
        "mrr": found.mrr,
        "hits_10": found.hits_10,
        "drawn": hits_among_drawn(found.ranks, seed),
        "length": model.max_length,
        "cpu": cpu,
        "wall": wall,
        "gb": peak() / 1e9,
        "chosen": dict(model.chosen),
    }


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--splits", default=",".join(SPLITS), help="names, with commas")
    parser.add_argument("--without-slots", action="store_true", help="also without slots")
    parser.add_argument("--max-length", type=int, help="length of paths, instead of auto")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--one", nargs=2, metavar=("SPLIT", "SLOTS"), help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.one:
        split, slots = options.one
        print(json.dumps(measure(split, slots == "yes", options.max_length, options.seed)))
        return
    if not DATA.is_dir():
        parser.error(f"GRAIL_DATA is {DATA}, which is no folder")
    header = ["", "MRR", "Hits@10", f"Hits@10 of {DRAWN}", "length", "CPU s", "wall s", "GB"]
    rows, further = [], ["--seed", str(options.seed)]
    further += ["--max-length", str(options.max_length)] if options.max_length else []
    for split in options.splits.split(","):
        for slots in ("yes", "no") if options.without_slots else ("yes",):
            figures = in_fresh_process(__file__, *further, "--one", split, slots)
            name = split if slots == "yes" else f"{split}, without slots"
            row = [name, *(f"{figures[key]:.3f}" for key in ("mrr", "hits_10", "drawn"))]
            row += [str(figures["length"]), f"{figures['cpu']:.0f}", f"{figures['wall']:.0f}"]
            rows.append([*row, f"{figures['gb']:.1f}"])
            print(rows[-1], flush=True)
    print(markdown(header, rows))
    finish()


if __name__ == "__main__":
    main()
