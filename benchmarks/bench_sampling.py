"""Which negatives to draw: how well models from facts alone rank facts that they have not seen.

    python benchmarks/bench_sampling.py --data ../shared/data

On every graph of the shared data sets, for the relations with the most facts in `valid.tsv`, a
model is learned from `train.tsv` alone with each way of drawing negatives. It then ranks all
entities as the object, and as the subject, of some facts of `valid.tsv`; other known answers are
left out, ties are averaged. `test.tsv` is not read: a default is chosen here.
"""

from __future__ import annotations

import argparse
import sys
import time
import warnings
from collections import Counter
from pathlib import Path
from typing import get_args

import numpy as np

import hornbeam as hb
from common import DATA, finish, markdown
from hornbeam.base.choices import Sampling

#: Graphs, and how long paths may be: where facts are dense, longer ones say nothing new.
GRAPHS = {"umls": 2, "kinship": 2, "nations": 2, "countries_s1": 3, "wn18rr": 3, "fb15k237": 2}
#: Bodies of widest coverage that rules are made of.
BODIES = 300
Triple = tuple[str, str, str]


def triples(data: Path, graph: str, part: str) -> list[Triple]:
    """Read the facts of one part of a graph as names."""
    [path] = (data / graph).glob(f"{part}.tsv*")
    facts = hb.read_facts(str(path))
    atoms = facts.binary
    entities, predicates = list(facts.entities), list(facts.predicates)
    return [
        (entities[s], predicates[p], entities[o])
        for p, s, o in zip(atoms.predicate, *atoms.arguments, strict=True)
    ]


def row(data: Path, graph: str, relations: int, facts_per_relation: int, seed: int) -> list[str]:
    """The mean reciprocal rank of every way of drawing on one graph, relations alike."""
    train, valid = (triples(data, graph, part) for part in ("train", "valid"))
    facts, also_true = hb.read_facts(train), hb.read_facts(valid)
    many = Counter(p for _, p, _ in valid).most_common(relations)
    rng = np.random.default_rng(seed)
    language = hb.RuleLimits(max_length=GRAPHS[graph], top=BODIES)
    found: dict[Sampling, list[float]] = {sampling: [] for sampling in get_args(Sampling)}
    for relation, _ in many:
        mine = [fact for fact in valid if fact[1] == relation]
        chosen = rng.permutation(len(mine))[:facts_per_relation]
        asked = hb.read_facts([mine[k] for k in chosen])
        for sampling, values in found.items():
            clock = time.process_time()
            model = hb.learn(
                facts, target=relation, language=language, negative_sampling=sampling, seed=seed
            )
            values.append(model.evaluate_ranks(facts, asked, filter=also_true).mrr)
            print(
                graph, relation, sampling, f"{values[-1]:.3f}",
                f"{time.process_time() - clock:.0f} s", file=sys.stderr, flush=True,
            )  # fmt: skip
    return [graph, str(len(many)), *(f"{np.mean(values):.3f}" for values in found.values())]


def main() -> None:
    """Print the table."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else "")
    parser.add_argument("--data", type=Path, default=DATA)
    parser.add_argument("--graphs", default=",".join(GRAPHS))
    parser.add_argument("--relations", type=int, default=5, help="relations per graph")
    parser.add_argument("--facts", type=int, default=50, help="facts to rank per relation")
    parser.add_argument("--seed", type=int, default=0)
    given = parser.parse_args()
    warnings.simplefilter("ignore", hb.errors.HornbeamWarning)
    rows = [
        row(given.data, graph, given.relations, given.facts, given.seed)
        for graph in given.graphs.split(",")
    ]
    print(markdown(["graph", "relations", *get_args(Sampling)], rows))
    finish()


if __name__ == "__main__":
    main()
