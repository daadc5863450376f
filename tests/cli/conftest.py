"""A model of the bundled countries, learned once, and a folder where temporary files show."""

from __future__ import annotations

import tempfile
from pathlib import Path

import pytest

from tests.support.commands import EVIDENCE, TRAIN, hornbeam_


@pytest.fixture(scope="session")
def countries_model(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Path of a learned model."""
    path = tmp_path_factory.mktemp("countries") / "model.psl"
    ended = hornbeam_("learn", *EVIDENCE, *TRAIN, "-o", path, "--quiet")
    assert ended.code == 0, ended.stderr
    return path


@pytest.fixture
def scratch(tmp_path_factory: pytest.TempPathFactory, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Give temporary files a folder of their own, which must be empty in the end."""
    folder = tmp_path_factory.mktemp("scratch")
    monkeypatch.setattr(tempfile, "tempdir", str(folder))
    monkeypatch.setenv("TMPDIR", str(folder))
    return folder
