"""The half of `docs/howto/mixing.md` that is for reading runs, too: with stand-ins for PyKEEN.

The stand-ins take what the page gives to PyKEEN and torch, by the same names, and rank as PyKEEN
does: the realistic rank is the mean of the optimistic and the pessimistic one.
"""

from __future__ import annotations

import re
import sys
from collections.abc import Sequence
from contextlib import chdir, nullcontext
from dataclasses import dataclass, field
from pathlib import Path
from types import ModuleType, SimpleNamespace
from typing import Any

import numpy as np
import pytest

from hornbeam.base.arrays import Array
from tests.conftest import ROOT
from tests.support.commands import hornbeam_

#: What stands in for PyKEEN on the page.
STAND_IN = "near, linked ="


class Tensor(np.ndarray[Any, Any]):
    """An array with the two methods that lead from torch to NumPy."""

    def cpu(self) -> Tensor:
        return self

    def numpy(self) -> Array:
        return np.asarray(self)


def as_tensor(values: Any) -> Tensor:  # noqa: ANN401
    return np.asarray(values).view(Tensor)


@dataclass
class TriplesFactory:
    """Ids of labels, which are sorted, as PyKEEN sorts them."""

    entity_to_id: dict[str, int]
    relation_to_id: dict[str, int]

    @classmethod
    def from_labeled_triples(cls, triples: Array) -> TriplesFactory:
        assert triples.shape[1] == 3
        entities, relations = np.unique(triples[:, [0, 2]]), np.unique(triples[:, 1])
        return cls(*({name: i for i, name in enumerate(of)} for of in (entities, relations)))


@dataclass
class Embeddings:
    """A model whose scores are random, the same for equal queries."""

    values: Array

    def predict_t(self, ids: Tensor) -> Tensor:
        assert ids.shape[1] == 2
        return as_tensor(self.values[ids[:, 0]])


def pipeline(training: TriplesFactory, testing: TriplesFactory, **settings: Any) -> SimpleNamespace:  # noqa: ANN401
    assert testing is training
    assert set(settings) == {"model", "training_kwargs"}
    n = len(training.entity_to_id)
    values = np.random.default_rng(0).normal(size=(n, n)).astype(np.float32)
    return SimpleNamespace(model=Embeddings(values))


@dataclass
class RankBasedEvaluator:
    """Realistic ranks of true scores among all that are not NaN."""

    ranks: list[float] = field(default_factory=list)

    def process_scores_(
        self, hrt_batch: Tensor, target: str, scores: Tensor, true_scores: Tensor
    ) -> None:
        assert (hrt_batch.shape, target) == ((len(scores), 3), "tail")
        assert true_scores.shape == (len(scores), 1)
        best, worst = (scores > true_scores).sum(axis=1) + 1, (scores >= true_scores).sum(axis=1)
        self.ranks += ((best + worst) / 2).tolist()

    def finalize(self) -> RankBasedEvaluator:
        return self

    def get_metric(self, name: str) -> float:
        assert name == "tail.realistic.inverse_harmonic_mean_rank"
        return float(np.mean(1 / np.array(self.ranks)))


def module(name: str, **values: object) -> ModuleType:
    made = ModuleType(name)
    vars(made).update(values)
    return made


STAND_INS: Sequence[ModuleType] = (
    module("torch", as_tensor=as_tensor, inference_mode=nullcontext),
    module("pykeen"),
    module("pykeen.pipeline", pipeline=pipeline),
    module("pykeen.triples", TriplesFactory=TriplesFactory),
    module("pykeen.evaluation", RankBasedEvaluator=RankBasedEvaluator),
)


def test_pykeen_ranks_mixed_scores_as_the_page_does(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    for made in STAND_INS:
        monkeypatch.setitem(sys.modules, made.__name__, made)
    page = (ROOT / "docs/howto/mixing.md").read_text()
    blocks = re.findall(r"^```python.*\n((?:.*\n)*?)```$", page, re.MULTILINE)
    assert sum("pykeen" in text for text in blocks) == 2
    names: dict[str, Any] = {}
    with chdir(tmp_path):
        assert hornbeam_("demo", "--keep", "countries", "-q").code == 0
        for text in blocks:
            if STAND_IN not in text:
                exec(text, names)
        wanted = names["mrr"](names["test"], names["best"])
    assert names["best"] > 0
    assert float(capsys.readouterr().out.split()[-1]) == pytest.approx(wanted, abs=1e-6)
