"""Traces: written, then read, they are the same."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

import hornbeam as hb
from hornbeam.base.files import fingerprint
from hornbeam.errors import DataError, HornbeamWarning
from hornbeam.learning.trace import FitReport, Screening, Trace, Validation, trace_of


@pytest.fixture(scope="module")
def model() -> hb.Model:
    facts = hb.read_facts([(f"s{i}", "p", f"o{i}") for i in range(0, 40, 2)])
    labels = hb.read_labels([(f"s{i}", "t", f"o{i}", float(i % 2 == 0)) for i in range(40)])
    return hb.learn(facts, labels, language=hb.RuleLimits(min_coverage=1))


def test_written_then_read_it_is_the_same(model: hb.Model, tmp_path: Path) -> None:
    trace = model.trace
    assert trace is not None
    assert trace.fit.choice is not None
    unknown = replace(trace, found=None, sampled_negatives="typed", fit=FitReport())
    screened = FitReport(screening=Screening("ppll", 30, 4), histogram_groups=9)
    for one in (trace, unknown, replace(trace, fit=screened)):
        path = tmp_path / "model.trace.json"
        path.write_text(one.text, encoding="utf-8")
        model.save(tmp_path / "model.psl")
        assert trace_of(tmp_path / "model.psl") == one


@pytest.mark.parametrize("n", range(5))
def test_the_standard_error_is_that_of_the_mean_over_folds(n: int) -> None:
    losses = np.random.default_rng(n).random(n)
    expected = losses.std(ddof=1) / np.sqrt(n) if n > 1 else 0.0
    found = Validation((1.0,), (0.5,), tuple(losses.tolist())).standard_error
    assert found == pytest.approx(expected)


def test_the_trace_of_another_model_is_left_out(model: hb.Model, tmp_path: Path) -> None:
    assert model.trace is not None
    path = tmp_path / "model.psl"
    (tmp_path / "model.trace.json").write_text(model.trace.text, encoding="utf-8")
    path.write_text(f"{model.text}0.5: !t(A, B)\n")
    with pytest.warns(HornbeamWarning, match="is the trace of another model"):
        assert trace_of(path) is None


@pytest.mark.slow
def test_it_has_the_fingerprint_of_the_models_text(model: hb.Model) -> None:
    assert model.trace is not None
    assert model.trace.model == fingerprint(model.text)


def test_no_file_is_no_trace(tmp_path: Path) -> None:
    assert trace_of(tmp_path / "model.psl") is None


@pytest.mark.slow
@pytest.mark.parametrize("key", ["method", "counts", "targets", "found", "candidates", "seconds"])
def test_what_is_no_trace_is_refused(model: hb.Model, key: str, tmp_path: Path) -> None:
    assert model.trace is not None
    written = json.loads(model.trace.text)
    del written[key]
    with pytest.raises(KeyError):
        Trace.from_dict(written)
    path = tmp_path / "model.trace.json"
    path.write_text(json.dumps(written))
    model.save(tmp_path / "model.psl")
    with pytest.raises(DataError, match="is not a trace that `learn` wrote"):
        trace_of(tmp_path / "model.psl")


def test_a_trace_with_one_validation_per_way_of_counting_is_of_another_time(
    model: hb.Model, tmp_path: Path
) -> None:
    assert model.trace is not None
    written = json.loads(model.trace.text)
    written["validation"] = {"log": written["validation"], "raw": written["validation"]}
    path = tmp_path / "model.trace.json"
    path.write_text(json.dumps(written))
    model.save(tmp_path / "model.psl")
    with pytest.raises(DataError, match="delete it, or learn the model again"):
        trace_of(tmp_path / "model.psl")
