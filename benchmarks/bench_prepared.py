"""Prepared scoring over large facts, two facts more, and the first page about a link.

    python benchmarks/bench_prepared.py --facts 5000000

Random facts (ten per entity, 20 predicates, degrees so skewed that the largest hubs have almost one
fact in a hundred) are scored by the `mixed` rule model of `bench_serve.py` and by a model of the
whole graph with as many paths. Per model: the first prediction of ten pairs, which prepares; later
ones by the same scorer, and by `model.predict` with the same facts; two facts more, with a new
entity and a new relation, and the prediction after them; all in CPU seconds. The first page about a
link is asked of `hornbeam serve` in a process of its own, with the rule model.
"""

from __future__ import annotations

import argparse
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from urllib.parse import urlencode

import numpy as np

from bench_serve import LENGTHS, N_LABELS, PREDICATES, SKEW, models_of, serving, write_data
from common import finish, in_fresh_process, markdown, resident
from tests.support.synthetic import plant_targets, random_facts, random_rules

#: How often facts grow: the first time the system has to find the memory.
REPEATED = 5


def milliseconds(work: Callable[[], object], repeat: int = 20) -> float:
    """Median of some runs."""
    runs = []
    for _ in range(repeat):
        began = time.process_time()
        work()
        runs.append(1000 * (time.process_time() - began))
    return float(np.median(runs))


def figures(kind: str, n_facts: int) -> dict[str, float]:
    """Seconds, milliseconds and bytes of one kind of model; the last line of a fresh process."""
    facts = random_facts(n_facts // 10, n_facts, PREDICATES, skew=SKEW)
    rules = random_rules(facts, LENGTHS, 8, seed=1)
    models = models_of(plant_targets(facts, rules, 100, seed=2))
    model = models["mixed" if kind == "rules" else "graph"]
    target = model.targets[0]
    rng = np.random.default_rng(3)
    names = facts.entities.take(rng.integers(0, len(facts.entities), 4000))
    lists = iter(
        [
            [(names[k], target, names[k + 1]) for k in range(at, at + 20, 2)]
            for at in range(0, 4000, 20)
        ]
    )
    scorer = model.scorer(facts)
    np.asarray(scorer.predict([next(lists)[0]]))  # the graph itself, which every engine holds
    before, began = resident(), time.process_time()
    scorer.predict(next(lists))
    first, held = time.process_time() - began, resident()
    told = {
        "first, s": first,
        "later, ms": milliseconds(lambda: scorer.predict(next(lists))),
        "same facts, ms": milliseconds(lambda: model.predict(facts, next(lists))),
        "more memory, %": 100 * (held - before) / before,
    }
    for name, new in {
        "2 facts": [(names[0], "p01", names[1]), (names[2], "p02", names[3])],
        "2 with new names": [(names[0], "p01", "new entity"), ("new entity", "new one", names[3])],
    }.items():
        runs = []
        for _ in range(REPEATED):
            pairs, began = next(lists), time.process_time()
            more = scorer.with_facts(new)
            grown = time.process_time() - began
            more.predict(pairs)
            runs.append((grown, time.process_time() - began))
        told[f"{name}, s"], told[f"{name} and a prediction, s"] = np.median(runs, axis=0).tolist()
        told[f"{name} and a prediction, the first time, s"] = runs[0][1]
    return told


def first_link(n_facts: int) -> tuple[float, float]:
    """Seconds of the first and of the next page about a link."""
    with tempfile.TemporaryDirectory(prefix="hornbeam-") as name:
        folder = Path(name)
        entities = write_data(folder, n_facts)
        with serving(folder, "mixed") as explorer:
            time.sleep(2)
            seconds = []
            for k in range(2):
                link = {"subject": entities[k], "predicate": "target", "object": entities[-1 - k]}
                began = time.perf_counter()
                explorer.get("/link?" + urlencode(link))
                seconds.append(time.perf_counter() - began)
    return seconds[0], seconds[1]


def main() -> None:
    """Measure, and print a table."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--facts", type=int, default=5_000_000)
    parser.add_argument("--kind", choices=("rules", "graph"), help=argparse.SUPPRESS)
    parser.add_argument("--no-page", action="store_true", help="leave out the page about a link")
    options = parser.parse_args()
    if options.kind:
        import json

        print(json.dumps(figures(options.kind, options.facts)))
        return
    told = {
        kind: in_fresh_process(__file__, "--facts", str(options.facts), "--kind", kind)
        for kind in ("rules", "graph")
    }
    names = list(told["rules"])
    rows = [[name, *(f"{told[kind][name]:.3g}" for kind in told)] for name in names]
    print(f"{options.facts:,} facts, {len(LENGTHS)} bodies, labels {N_LABELS:,}\n")
    print(markdown(["", *told], rows))
    if not options.no_page:
        first, then = first_link(options.facts)
        print(f"\nFirst page about a link: {first:.2f} s, the next {1000 * then:.0f} ms")
    finish()


if __name__ == "__main__":
    main()
