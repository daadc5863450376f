"""The best new links of a whole relation: `hornbeam predict --top 5`, by upper bounds on scores.

    python benchmarks/bench_proposals.py

A model of one relation of WN18RR (`learn --facts train.tsv --target _hypernym`), then `predict
--top 5` in fresh processes: cold (an empty cache of compiled code) and warm. How long it would take
to score every pair that rules reach is measured on some subjects, spread over all, and scaled up;
so is the search for the best five of every subject (`--per-subject`), on ten times as many.
"""

from __future__ import annotations

import argparse
import os
import resource
import subprocess
import sys
import tempfile
from pathlib import Path

import numpy as np

import hornbeam as hb
from common import DATA, finish, markdown, timed
from hornbeam.base.arrays import Ids
from hornbeam.counting.opening import open_in_memory
from hornbeam.facts.argument_types import ArgumentTypes
from hornbeam.scoring.proposals import Proposer, subjects_of

RUN = "from hornbeam.cli.main import run; run()"


def cpu_of(*arguments: str, cache: Path) -> float:
    """CPU seconds of a command in a process of its own."""
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    subprocess.run(
        [sys.executable, "-c", RUN, *arguments],
        check=True,
        stdout=subprocess.DEVNULL,
        env={**os.environ, "NUMBA_CACHE_DIR": str(cache)},
    )
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    return after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime


def cpu_of_everything(model: hb.Model, facts: hb.Facts, target: str, sample: int) -> float:
    """CPU seconds that scoring all reached pairs would take, by a sample of the subjects."""
    engine = open_in_memory(facts, threads=1)
    proposer = Proposer(model.of_target(target), engine, target, ArgumentTypes(facts))
    subjects = subjects_of(facts, target)
    some = subjects[np.linspace(0, len(subjects) - 1, sample).astype(np.int64)]
    list(proposer.links_from(some[:1]))  # compile
    _, seconds = timed(lambda: list(proposer.links_from(some)))
    return seconds.cpu * len(subjects) / sample


def cpu_of_each(model: hb.Model, facts: hb.Facts, target: str, sample: int) -> float:
    """CPU seconds that the best five of every subject would take, by a sample of the subjects."""
    engine, subjects = open_in_memory(facts, threads=1), subjects_of(facts, target)
    types = ArgumentTypes(facts)
    some = subjects[np.linspace(0, len(subjects) - 1, sample).astype(np.int64)]

    def found(starts: Ids) -> None:
        Proposer(model.of_target(target), engine, target, types).best_of_each(starts, 5)

    found(some[:64])  # compile
    _, seconds = timed(lambda: found(some))
    return seconds.cpu * len(subjects) / sample


def main() -> None:
    """Learn, then propose."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--facts", type=Path, default=DATA / "wn18rr" / "train.tsv")
    parser.add_argument("--target", default="_hypernym")
    parser.add_argument("--top", type=int, nargs="*", default=[5, 100])
    parser.add_argument("--sample", type=int, default=50, help="Subjects of which all is scored.")
    given = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        model, cache = Path(folder) / "model.psl", Path(folder) / "cache"
        facts = "--facts", str(given.facts)
        learned = cpu_of("learn", *facts, "--target", given.target, "-o", str(model), cache=cache)
        everything = cpu_of_everything(
            hb.Model.load(model), hb.read_facts(given.facts), given.target, given.sample
        )
        each = cpu_of_each(
            hb.Model.load(model), hb.read_facts(given.facts), given.target, 10 * given.sample
        )
        rows = []
        for top in given.top:
            command = "predict", str(model), *facts, "--top", str(top)
            cold = cpu_of(*command, cache=Path(folder) / f"cold{top}")
            warm = cpu_of(*command, cache=Path(folder) / f"cold{top}")
            rows.append([f"--top {top}", f"{cold:.1f}", f"{warm:.1f}"])
        n_rules = len(hb.Model.load(model).rules)
    print(f"{given.target}: {n_rules} rules, learned in {learned:.0f} CPU s; ", end="")
    print(f"scoring all reached pairs would take about {everything:,.0f} CPU s, ", end="")
    print(f"the best five of every subject about {each:,.0f}.\n")
    print(markdown(["`hornbeam predict`", "cold, CPU s", "warm, CPU s"], rows))
    finish()


if __name__ == "__main__":
    main()
