"""Settings of Spark, without starting it."""

from __future__ import annotations

from pathlib import Path

import pytest

from hornbeam.counting.sql.spark_session import SETTINGS, own_settings

DEFAULTS = """# spark.app.name commented
! spark.sql.adaptive.enabled true

spark.ui.enabled                 true
  spark.sql.session.timeZone=Europe/Paris
spark.sql.shuffle.partitions : 7
spark.executor.memory
"""
NAMED = {"spark.ui.enabled", "spark.sql.session.timeZone", "spark.sql.shuffle.partitions"}


@pytest.fixture(autouse=True)
def no_defaults(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("SPARK_CONF_DIR", "SPARK_HOME"):
        monkeypatch.delenv(name, raising=False)


@pytest.mark.parametrize(("variable", "folder"), [("SPARK_CONF_DIR", "."), ("SPARK_HOME", "conf")])
def test_settings_give_way_to_the_users_defaults(
    variable: str, folder: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    every = own_settings("local[2]")
    monkeypatch.setenv(variable, str(tmp_path))
    assert own_settings("local[2]") == every, "there is no such file"
    (tmp_path / folder).mkdir(exist_ok=True)
    (tmp_path / folder / "spark-defaults.conf").write_text(DEFAULTS)
    assert own_settings("local[2]").keys() == every.keys() - NAMED


def test_the_folder_of_settings_replaces_that_of_spark(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "conf").mkdir()
    (tmp_path / "conf" / "spark-defaults.conf").write_text(DEFAULTS)
    monkeypatch.setenv("SPARK_HOME", str(tmp_path))
    monkeypatch.setenv("SPARK_CONF_DIR", str(tmp_path))
    assert SETTINGS.keys() <= own_settings("yarn").keys()


def test_only_local_masters_have_a_number_of_tasks() -> None:
    local = {"spark.driver.host", "spark.sql.shuffle.partitions"}
    assert own_settings("local[2]").keys() - own_settings("spark://host:7077").keys() == local
