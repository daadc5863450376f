"""The container of `docs/howto/nightly.md`: its steps, run in a clean environment."""

from __future__ import annotations

import json
import re
import shlex
import shutil
import socket
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from urllib.error import URLError
from urllib.request import Request, urlopen

import pytest

ROOT = Path(__file__).parents[1]
SOURCES = ("src", "pyproject.toml", "README.md", "LICENSE", "CHANGELOG.md")
MODEL = "2: knows(A, B) & trusts(B, C) -> trusts(A, C)\n1: !trusts(A, B)\n"


def steps() -> list[tuple[str, str]]:
    """The instructions of the container, each with its words."""
    page = (ROOT / "docs" / "howto" / "nightly.md").read_text()
    [text] = re.findall(r"```dockerfile\n(.*?)```", page, re.S)
    lines = text.splitlines()
    assert len(lines) <= 15
    return [(line.partition(" ")[0], line.partition(" ")[2]) for line in lines]


def test_the_container_has_one_of_each_step() -> None:
    words = [word for word, _ in steps()]
    assert set(words) == {"FROM", "COPY", "RUN", "USER", "VOLUME", "EXPOSE", "CMD"}
    assert words.index("USER") > max(k for k, word in enumerate(words) if word == "RUN")
    assert json.loads(dict(steps())["CMD"])[:2] == ["hornbeam", "serve"]


@pytest.fixture(scope="module")
def installed(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    """An environment of its own, in which the steps that install were run."""
    folder = tmp_path_factory.mktemp("container")
    for name in SOURCES:
        copy = shutil.copytree if (ROOT / name).is_dir() else shutil.copy
        copy(ROOT / name, folder / name)
    subprocess.run([sys.executable, "-m", "venv", folder / "venv"], check=True)
    for step, words in steps():
        if step == "RUN" and words.startswith("pip"):
            command = shlex.split(words.replace("/src", str(folder)))
            run = subprocess.run(
                [folder / "venv" / "bin" / command[0], *command[1:]],
                capture_output=True, text=True, check=False,
            )  # fmt: skip
            if "Connection" in run.stderr or "No matching distribution" in run.stderr:
                pytest.skip("no package index can be reached")
            assert run.returncode == 0, run.stderr
    yield folder
    shutil.rmtree(folder / "venv")


@pytest.mark.slow
def test_the_steps_of_the_container_serve_a_model(installed: Path) -> None:
    (installed / "model.psl").write_text(MODEL)
    (installed / "facts.tsv").write_text("ann\tknows\tbob\nbob\ttrusts\tdora\n")
    (installed / "token").write_text("a-token-of-many-letters\n")
    (installed / "token").chmod(0o600)
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    command = [word.replace("/srv", str(installed)) for word in json.loads(dict(steps())["CMD"])]
    words = [installed / "venv" / "bin" / command[0], *command[1:], "--port", str(port)]
    with subprocess.Popen(words, stdout=subprocess.PIPE, text=True, cwd=installed) as server:
        try:
            body = json.dumps({"pairs": [["ann", "dora"]]}).encode()
            request = Request(
                f"http://127.0.0.1:{port}/api/v1/predict", body,
                {
                    "authorization": "Bearer a-token-of-many-letters",
                    "content-type": "application/json",
                },
            )  # fmt: skip
            for _ in range(300):
                try:
                    with urlopen(request) as answer:
                        scores = json.load(answer)["scores"]
                    break
                except URLError:
                    assert server.poll() is None
                    time.sleep(0.2)
            assert scores[0]["score"] == pytest.approx(0.7310585786)
        finally:
            server.terminate()
