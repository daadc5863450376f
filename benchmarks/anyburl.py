"""AnyBURL on the same graph with the same CPU seconds, where its jar is at hand.

The environment variable `ANYBURL_JAR` names the jar; without it there is no row. AnyBURL's budget
is wall time, so it gets our CPU seconds divided by its threads, and more where other jobs kept it
from using as many CPU seconds as we did. It has no seed.
"""

from __future__ import annotations

import gzip
import os
import resource
import shutil
import subprocess
import tempfile
from dataclasses import dataclass
from pathlib import Path

THREADS = os.cpu_count() or 1
#: Runs of learning at most, each with a longer budget, until the CPU seconds are used.
TRIES = 4
#: Share of our CPU seconds that counts as the same.
ENOUGH = 0.9


@dataclass(frozen=True)
class AnyBURL:
    """Filtered MRR and Hits of AnyBURL, and the CPU seconds of learning and of predicting."""

    mrr: float
    hits_1: float
    hits_10: float
    learning: float
    predicting: float


def anyburl_jar() -> str | None:
    """The path of AnyBURL's jar, if it is named and there."""
    path = os.environ.get("ANYBURL_JAR")
    return path if path and Path(path).is_file() else None


def run_anyburl(jar: str, folder: Path, cpu: float) -> AnyBURL:
    """Learn from `train`, rank `test` with `valid` as a filter; files as in `folder`.

    Learning uses at least about `cpu` CPU seconds; predictions are put together by its default,
    the best confidence first (maxplus).
    """
    with tempfile.TemporaryDirectory() as name:
        work = Path(name)
        for part in ("train", "valid", "test"):
            _copy(folder, part, work)
        budget, learning = max(round(cpu / THREADS), 1), 0.0
        for _ in range(TRIES):
            keys = {"SNAPSHOTS_AT": budget, "PATH_OUTPUT": work / "rules"}
            learning, _ = _run(jar, "Learn", work, keys)
            if learning >= ENOUGH * cpu:
                break
            budget = max(round(1.1 * budget * cpu / learning), budget + 1)
        rules = max(work.glob("rules-[0-9]*"), key=lambda path: int(path.name.split("-")[1]))
        predictions = work / "predictions"
        keys = {
            "PATH_RULES": rules, "PATH_OUTPUT": predictions, "AGGREGATION_TYPE": "maxplus",
        }  # fmt: skip
        predicting, _ = _run(jar, "Apply", work, keys)
        _, said = _run(jar, "Eval", work, {"PATH_PREDICTIONS": predictions})
    hits_1, _, hits_10, mrr = (float(word) for word in said.splitlines()[-1].split())
    return AnyBURL(mrr, hits_1, hits_10, learning, predicting)


def _copy(folder: Path, part: str, to: Path) -> None:
    packed = folder / f"{part}.tsv.gz"
    if packed.exists():
        with gzip.open(packed) as source, (to / f"{part}.tsv").open("wb") as target:
            shutil.copyfileobj(source, target)
    else:
        shutil.copy(folder / f"{part}.tsv", to)


def _run(jar: str, what: str, work: Path, keys: dict[str, object]) -> tuple[float, str]:
    """CPU seconds and output of one of AnyBURL's programs; `Learn` exits with 1 on success, too."""
    common: dict[str, object] = {
        "PATH_TRAINING": work / "train.tsv", "PATH_VALID": work / "valid.tsv",
        "PATH_TEST": work / "test.tsv", "WORKER_THREADS": THREADS, "SAFE_PREFIX_MODE": "false",
    }  # fmt: skip
    settings = work / f"{what}.properties"
    settings.write_text("".join(f"{key} = {value}\n" for key, value in (common | keys).items()))
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    command = ["java", "-cp", jar, f"de.unima.ki.anyburl.{what}", str(settings)]
    run = subprocess.run(command, capture_output=True, text=True, check=what != "Learn")
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    used = after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime
    return used, run.stdout
