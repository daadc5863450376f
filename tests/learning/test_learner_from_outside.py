"""A learner of another package, as docs/adding-a-learner.md says: by name, with its own options."""

from __future__ import annotations

import json
import os
import re
from pathlib import Path

import pytest

import hornbeam as hb
from tests.conftest import ROOT
from tests.support.commands import COUNTRIES, process
from tests.support.other_package import register_learner

PAGE = ROOT / "docs" / "adding-a-learner.md"
FACTS = [COUNTRIES / "observed.tsv", COUNTRIES / "fold0" / "obs.tsv"]
LABELS = COUNTRIES / "fold0" / "train.tsv"


@pytest.fixture
def widest(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The page's learner as an installed package."""
    code = re.search(r"^```python\n(.*?)^```", PAGE.read_text(encoding="utf-8"), re.M | re.S)
    assert code is not None
    folder = tmp_path / "package"
    folder.mkdir()
    register_learner(folder, monkeypatch, code[1], {"widest": "Widest"})
    return folder


def test_python_knows_it_by_name(widest: Path) -> None:
    facts, labels = hb.read_facts(*FACTS), hb.read_labels(LABELS)
    model = hb.learn(facts, labels, method="widest")
    paths = [rule for rule in model.rules if not rule.clause.is_prior]
    assert 0 < len(paths) <= 5
    assert model.semantics.counts == "log"
    assert model.trace is not None
    assert model.trace.method == "widest"
    assert model.trace.dropped[-1].outcome == "is not among the widest"
    assert model.report(facts, labels).count("is not among the widest") > 0
    assert (model.evaluate(facts, labels).auc_roc or 0) > 0.8


@pytest.mark.slow
def test_the_command_line_knows_it_and_its_options(widest: Path, tmp_path: Path) -> None:
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join([str(widest), *_python_path()])}
    evidence = [word for file in FACTS for word in ("--facts", file)]
    learn = ("learn", *evidence, "--labels", LABELS, "--method", "widest")
    model = tmp_path / "model.psl"
    ended = process(*learn, "--clauses", 2, "-o", model, "--json", "--verbose", env=environment)
    assert ended.code == 0, ended.stderr
    assert "Fitting the widest: 1 of 1." in ended.stderr
    assert len(json.loads(ended.stdout)["rules"]) <= 3
    report = ("report", model, *evidence, "--labels", LABELS, "-o", tmp_path / "report.html")
    assert process(*report, env=environment).code == 0
    assert "is not among the widest" in (tmp_path / "report.html").read_text(encoding="utf-8")
    ended = process(*learn, "--clauses", 0, "-o", tmp_path / "none.psl", env=environment)
    assert ended.code == 2
    assert "--clauses" in ended.stderr
    assert not (tmp_path / "none.psl").exists()


def _python_path() -> list[str]:
    return [part for part in os.environ.get("PYTHONPATH", "").split(os.pathsep) if part]
