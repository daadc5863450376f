"""The drug interactions of fold 0, where the number of sequences is known, against SciPy."""

from __future__ import annotations

from itertools import product
from pathlib import Path as File

import numpy as np
import pytest
from scipy.sparse import csr_array, hstack

from hornbeam import read_facts, read_labels
from hornbeam.counting.memory.memory_engine import MemoryEngine
from hornbeam.facts.table import Facts, Targets
from hornbeam.rules.candidates import RuleLimits

pytestmark = pytest.mark.shared

Codes = tuple[int, ...]


@pytest.fixture(scope="module")
def fold(shared_data: File) -> tuple[Facts, Targets]:
    folder = shared_data / "ddi_196"
    facts = read_facts(folder / "observed.tsv", folder / "fold0" / "obs.tsv")
    return facts, read_labels(folder / "fold0" / "train.tsv")


def steps_as_matrices(facts: Facts) -> dict[int, csr_array]:
    """Adjacency matrix of every predicate and its inverse."""
    atoms, n = facts.binary, len(facts.entities)
    matrices = {}
    for p in range(len(facts.predicates)):
        mine = atoms.predicate == p
        subject, object_ = (column[mine] for column in atoms.arguments)
        matrix = csr_array((np.ones(len(subject), dtype=np.int64), (subject, object_)), (n, n))
        matrices[2 * (p + 1)] = matrix
        matrices[2 * (p + 1) + 1] = csr_array(matrix.T)
    return matrices


def products(
    facts: Facts, subject: np.ndarray, object_: np.ndarray, labels: np.ndarray
) -> dict[Codes, tuple[int, int, int]]:
    """Coverage, coverage of true targets and paths of every sequence, by matrix products."""
    matrices = steps_as_matrices(facts)
    codes, n = list(matrices), len(facts.entities)
    last = csr_array(hstack(list(matrices.values())))
    places = np.arange(len(codes))[:, None] * n + object_
    used, row = np.unique(subject, return_inverse=True)
    start = csr_array(np.eye(n, dtype=np.int64)[used])
    found: dict[Codes, tuple[int, int, int]] = {}
    for length in (0, 1, 2):
        for head in product(codes, repeat=length):
            reached = start
            for code in head:
                reached = reached @ matrices[code]
            if reached.nnz == 0:
                continue
            counts = (reached @ last).toarray()[row, places]
            for code, of_code in zip(codes, counts, strict=True):
                if of_code.any():
                    hit = of_code > 0
                    figures = (hit.sum(), (hit & labels).sum(), of_code.sum())
                    found[(*head, code)] = tuple(int(figure) for figure in figures)  # type: ignore[assignment]
    return found


def test_every_figure_equals_the_matrix_products(fold: tuple[Facts, Targets]) -> None:
    facts, targets = fold
    discovery = MemoryEngine(facts).discover(targets, RuleLimits(3, 1))
    assert discovery.own_edges == 0
    node = targets.entities.translate(facts.entities)
    subject, object_ = node[targets.subject], node[targets.object]
    seen = (subject >= 0) & (object_ >= 0)
    expected = products(facts, subject[seen], object_[seen], targets.positive[seen])
    candidates = discovery.candidates
    figures = zip(candidates.coverage, candidates.coverage_true, candidates.paths, strict=True)
    found = {
        tuple(int(code) for code in steps if code): tuple(int(figure) for figure in row)
        for steps, row in zip(candidates.steps, figures, strict=True)
    }
    assert found == expected
    assert discovery.unseen == int((~seen).sum())


def test_sequences_that_connect_ten_targets(fold: tuple[Facts, Targets]) -> None:
    facts, targets = fold
    discovery = MemoryEngine(facts).discover(targets, RuleLimits(max_length=3, min_coverage=10))
    assert len(discovery.candidates) == 362
    assert discovery.statistics is not None
    covered = np.diff(discovery.statistics.indptr)
    np.testing.assert_array_equal(covered, discovery.candidates.coverage)
