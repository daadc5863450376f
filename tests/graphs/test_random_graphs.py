"""On random graphs nothing can be learned, and the held-out figure of learning says so."""

from __future__ import annotations

import numpy as np
import pytest

from hornbeam.graph_learning import learn_graph
from hornbeam.graphs.graph_settings import Extent, GraphSettings

GRAPHS, ENTITIES, RELATIONS, TRAIN, OTHERS = 20, 30, 3, 320, 120
#: Two hidden folds are enough for links of one to be evidence for the queries of the other.
SETTINGS = GraphSettings(extent=Extent(hidden=2))


def random_links(seed: int, n: int) -> list[tuple[str, str, str]]:
    """Distinct triples, uniformly drawn."""
    numbers = np.random.default_rng(seed).choice(ENTITIES**2 * RELATIONS, n, replace=False)
    relation, ends = np.divmod(numbers, ENTITIES**2)
    subject, object_ = np.divmod(ends, ENTITIES)
    rows = zip(subject.tolist(), relation.tolist(), object_.tolist(), strict=True)
    return [(f"e{s}", f"r{r}", f"e{o}") for s, r, o in rows]


@pytest.mark.slow
@pytest.mark.parametrize("judge", ["train", "valid"])
def test_the_held_out_mrr_is_that_of_a_test(judge: str) -> None:
    """It is too high where judged links chose, or were evidence for what weights were fitted to."""
    found = []
    for seed in range(GRAPHS):
        links = random_links(seed, TRAIN + 2 * OTHERS)
        train, valid, test = links[:TRAIN], links[TRAIN:-OTHERS], links[-OTHERS:]
        held = valid if judge == "valid" else None
        model = learn_graph(train, held, max_length=1, seed=seed, threads=1, settings=SETTINGS)
        assert model.chosen["held_out"] == judge
        mrr = model.evaluate_ranks(train, test, filter=held).mrr
        found.append(float(model.chosen["held_out_mrr"] or 0.0) - mrr)
    assert abs(np.mean(found)) < 2 * np.std(found, ddof=1) / np.sqrt(GRAPHS)
