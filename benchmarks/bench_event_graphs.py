"""Whole graphs whose facts have a time: how well the next facts are ranked, and how many may be.

    python benchmarks/bench_event_graphs.py icews14 --seeds 0 1 2
    python benchmarks/bench_event_graphs.py planted --facts 1000000 10000000

`icews14` learns from train, chooses by valid and evaluates on test, one process per seed; CPU
seconds and memory are of reading, learning and evaluating. `planted` makes a random graph of 100
relations in which every second relation follows another one between the same two, half of the
time, after a delay of its own, and says how many of these 50 rules are found.
"""

from __future__ import annotations

import argparse
import os
import tempfile
import time
from concurrent.futures import ProcessPoolExecutor
from multiprocessing import get_context
from pathlib import Path

import duckdb

import hornbeam as hb
from common import peak

#: Relations of a planted graph, its facts per entity, its times, and the probability of an effect.
RELATIONS, FACTS_PER_ENTITY, TIMES, EFFECT = 100, 100, 1000, 50


def icews14(seed: int) -> str:
    """Learn and evaluate ICEWS14; a row of the table."""
    folder = Path(os.environ["HORNBEAM_DATA"]) / "icews14"
    began = time.process_time()
    train, valid, test = (
        hb.read_facts(folder / name, time=4) for name in ("train.tsv.gz", "valid.tsv", "test.tsv")
    )
    model = hb.learn_graph(train, valid, seed=seed)
    learned = time.process_time() - began
    found = model.evaluate_ranks(train, test, filter=valid)
    cpu, gb = time.process_time() - began, peak() / 1e9
    fixed = model.evaluate_ranks(train, test, filter=valid, history="fixed")
    assert found.seen is not None
    assert found.new is not None
    figures = (
        found.mrr, found.hits_1, found.hits_3, found.hits_10, found.seen.mrr, found.new.mrr,
        fixed.mrr,
    )  # fmt: skip
    texts = [*(f"{figure:.4f}" for figure in figures), f"{learned:.0f}", f"{cpu:.0f}", f"{gb:.2f}"]
    return f"| {seed} | {' | '.join(texts)} |"


def write_planted(path: Path, facts: int) -> None:
    """Write a planted graph of about so many facts as Parquet."""
    entities, causes = facts // FACTS_PER_ENTITY, facts * 100 // (100 + EFFECT)
    duckdb.sql("SET enable_progress_bar = false")
    duckdb.sql(
        f"""COPY (
            WITH causes AS (
                SELECT hash(i) % {entities} AS s, hash(i + 1000000007) % {entities} AS o,
                    hash(i + 2000000011) % {RELATIONS // 2} AS k,
                    (hash(i + 3000000019) % {TIMES})::BIGINT AS t,
                    hash(i + 4000000007) % 100 < {EFFECT} AS effect
                FROM range({causes}) AS r(i))
            SELECT 'e' || s AS subject, 'cause' || k AS predicate, 'e' || o AS object, t AS time
            FROM causes UNION ALL
            SELECT 'e' || s, 'effect' || k, 'e' || o, t + 1 + k::BIGINT % 20
            FROM causes WHERE effect) TO '{path}' (FORMAT parquet)"""
    )


def planted(facts: int) -> str:
    """Learn a planted graph; a row of the table."""
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "planted.parquet"
        write_planted(path, facts)
        began = time.process_time()
        known = hb.read_facts(path, time="time")
    read = time.process_time() - began
    model = hb.learn_graph(known)
    cpu = time.process_time() - began
    assert known.events is not None
    right = 0
    for part in model.relations:
        if part.direction == "object" and part.relation.startswith("effect") and part.rules:
            best = max(part.rules, key=lambda rule: rule.confidence)
            right += best.clause.body.predicates == {part.relation.replace("effect", "cause")}
    mrr = model.chosen["held_out_mrr"]
    return (
        f"| {len(known.events):,} | {right} of {RELATIONS // 2} | {mrr:.3f} | {read:.0f} | "
        f"{cpu:.0f} | {peak() / 1e9:.2f} |"
    )


def main() -> None:
    """Print a table."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("what", choices=["icews14", "planted"])
    parser.add_argument("--seeds", type=int, nargs="+", default=[0, 1, 2])
    parser.add_argument("--facts", type=int, nargs="+", default=[1_000_000, 10_000_000])
    given = parser.parse_args()
    work, items = (icews14, given.seeds) if given.what == "icews14" else (planted, given.facts)
    print(
        "| seed | MRR | Hits@1 | Hits@3 | Hits@10 | MRR, seen | MRR, new | MRR, fixed history | "
        "CPU s, learn | CPU s | GB |"
        if given.what == "icews14"
        else "| facts | planted rules found | MRR, held out | CPU s, read | CPU s | GB |"
    )
    for item in items:
        with ProcessPoolExecutor(1, mp_context=get_context("spawn")) as apart:
            print(apart.submit(work, item).result(), flush=True)


if __name__ == "__main__":
    main()
