"""Models that every version since 0.1 wrote are read, and score what they scored then.

`written_by/` has a folder per minor version: models that it learned from the facts and labels
beside it, and its own scores of the same pairs, or answers to the queries. Every text is there
once: those of 0.6 are the bytes of 0.5, and those of 0.8 have the form of 0.7.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import hornbeam as hb

FOLDER = Path(__file__).parent / "written_by"
FACTS, LABELS, QUERIES = (FOLDER / f"{name}.tsv" for name in ("facts", "labels", "queries"))
SCORES: dict[Path, Any] = {
    listed.parent / name: scores
    for listed in sorted(FOLDER.glob("*/scores.json"))
    for name, scores in json.loads(listed.read_text()).items()
}
MODELS = [path for path in SCORES if path.suffix == ".psl"]
GRAPHS = [path for path in SCORES if path.suffix == ".hornbeam"]


def _name(path: Path) -> str:
    return str(path.relative_to(FOLDER))


def test_every_stored_model_has_scores() -> None:
    stored = {path for path in FOLDER.glob("*/*") if path.suffix in (".psl", ".hornbeam")}
    assert stored == set(SCORES)
    assert {path.parent.name for path in SCORES} == {
        "0.1",
        "0.2",
        "0.3",
        "0.4",
        "0.5",
        "0.7",
        "0.9",
        "0.10",
    }


@pytest.mark.quick_cases(20)
@pytest.mark.filterwarnings("ignore:the facts have no predicate 'trusts'")
@pytest.mark.parametrize("path", MODELS, ids=_name)
def test_models_score_the_same(path: Path) -> None:
    found = hb.Model.load(path).predict(FACTS, LABELS)["score"]
    np.testing.assert_allclose(found, SCORES[path], rtol=0, atol=1e-9)


@pytest.mark.parametrize("path", GRAPHS, ids=_name)
def test_models_of_whole_graphs_give_the_same_answers(path: Path) -> None:
    model, facts, queries = hb.GraphModel.load(path), hb.read_facts(FACTS), hb.read_queries(QUERIES)
    if path.stem == "events":
        facts = hb.read_facts(FOLDER / "events.tsv", time=4)
        queries = hb.read_queries(FOLDER / "event_queries.tsv", time=4)
    found = model.rank(facts, queries, top=5)
    assert [list(row[:3]) for row in found] == [row[:3] for row in SCORES[path]]
    expected = [row[3] for row in SCORES[path]]
    # the ridge is inverted in single precision, and processors round differently
    np.testing.assert_allclose(found["score"], expected, rtol=0, atol=1e-6)


LEARNING = """
import sys
import hornbeam as hb
facts, labels, threads = hb.read_facts(sys.argv[1]), hb.read_labels(sys.argv[2]), int(sys.argv[3])
hb.learn(facts, labels, threads=threads).save("joint.psl")
hb.learn(facts, labels, collective=True, threads=threads).save("collective.psl")
hb.learn_graph(facts, threads=threads).save("graph.hornbeam")
"""


@pytest.mark.slow
def test_any_process_learns_the_same_bytes(tmp_path: Path) -> None:
    """Neither the order of Python's sets and hashes nor the number of threads shows."""
    learned = []
    for seed, threads in ((0, 1), (1, 3)):
        folder = tmp_path / str(seed)
        folder.mkdir()
        subprocess.run(
            [sys.executable, "-c", LEARNING, str(FACTS), str(LABELS), str(threads)],
            cwd=folder, env={**os.environ, "PYTHONHASHSEED": str(seed)}, check=True,
        )  # fmt: skip
        names = ("joint.psl", "collective.psl", "graph.hornbeam")
        learned.append([(folder / name).read_bytes() for name in names])
    assert learned[0] == learned[1]
