"""The command as a process: quick help, Ctrl-C, closed pipes."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest

import hornbeam as hb
from tests.support.commands import (
    COUNTRIES,
    EVIDENCE,
    PATIENCE,
    TRAIN,
    command,
    hornbeam_,
    listing,
    write,
)
from tests.support.synthetic import random_facts

pytestmark = pytest.mark.slow

#: Takes half a second or more to import, and is of no use for help.
HEAVY = ("numpy", "scipy", "numba", "duckdb", "lark", "pandas", "pyarrow", "sklearn", "matplotlib")

HELP = """
import sys
from hornbeam.cli.main import run
sys.argv = ["hornbeam", *{words}]
try:
    run()
finally:
    print([name for name in {heavy} if name in sys.modules], file=sys.stderr)
"""


@pytest.mark.parametrize("words", [["--help"], ["learn", "--help"], ["--version"]], ids=" ".join)
def test_help_imports_nothing_heavy(words: list[str]) -> None:
    done = subprocess.run(
        [sys.executable, "-c", HELP.format(words=words, heavy=HEAVY)],
        capture_output=True, text=True, timeout=PATIENCE, check=False,
    )  # fmt: skip
    assert done.returncode == 0
    assert "hornbeam" in done.stdout
    assert done.stderr == "[]\n"


def test_no_command_imports_anything_heavy_before_it_runs() -> None:
    code = (
        "import sys; from hornbeam.cli.commands import COMMANDS, load; "
        "names = [name for group in COMMANDS.values() for name in group]; "
        "found = [load(name).name for name in names]; "
        f"print(found == names, [name for name in {(*HEAVY, 'pydantic')} if name in sys.modules])"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout == "True []\n"


def test_importing_the_package_imports_nothing_heavy() -> None:
    code = f"import sys, hornbeam; print([name for name in {HEAVY} if name in sys.modules])"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout == "[]\n"


def test_no_words_at_all_show_help() -> None:
    ended = hornbeam_()
    assert "hornbeam demo" in ended.stdout + ended.stderr


@pytest.fixture(scope="module")
def long_search(tmp_path_factory: pytest.TempPathFactory) -> list[str]:
    """Words of long work: every pair of a dense graph is connected by every sequence."""
    folder = tmp_path_factory.mktemp("long")
    facts = random_facts(300, 120_000, 4, skew=0.0, seed=0)
    atoms = facts.binary
    columns = (
        facts.entities.take(atoms.arguments[0]),
        facts.predicates.take(atoms.predicate),
        facts.entities.take(atoms.arguments[1]),
    )
    names = list(facts.entities)
    labels = [(s, "t", names[i - k], k % 2) for i, s in enumerate(names) for k in range(1, 21)]
    return [
        "--facts", str(write(folder / "facts.tsv", zip(*columns, strict=True))),
        "--labels", str(write(folder / "labels.tsv", labels)),
    ]  # fmt: skip


def test_ctrl_c_leaves_cleanly(tmp_path: Path, scratch: Path, long_search: list[str]) -> None:
    words = ["learn", *long_search, "-o", str(tmp_path / "model.psl")]
    with subprocess.Popen(
        command(*words), stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, cwd=tmp_path
    ) as running:
        assert running.stderr is not None
        told = ""
        # the forecast comes when the files are read and the search begins
        while "paths to count" not in told:
            line = running.stderr.readline()
            assert line, told
            told += line
        running.send_signal(signal.SIGINT)
        out, err = running.communicate(timeout=PATIENCE)
    assert running.returncode == 130
    assert out == ""
    assert err == "hornbeam: interrupted\n"
    assert listing(tmp_path) == []
    assert listing(scratch) == []


@pytest.mark.parametrize("unbuffered", ["", "1"])
@pytest.mark.parametrize(("form", "lines"), [("--json", 0), ("--quiet", 1)])
def test_a_reader_that_goes_away_is_no_error(form: str, lines: int, unbuffered: str) -> None:
    """As in `hornbeam candidates ... | head -1`: the pipe breaks while writing, or at the end."""
    with subprocess.Popen(
        command("candidates", *EVIDENCE, *TRAIN, "--quiet", form),
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        env={**os.environ, "PYTHONUNBUFFERED": unbuffered},
    ) as writer:
        assert writer.stdout is not None
        assert writer.stderr is not None
        for _ in range(lines):
            assert writer.stdout.readline()
        writer.stdout.close()
        assert writer.stderr.read() == b""
        assert writer.wait(timeout=PATIENCE) == 0


def test_a_reader_of_much_output_goes_away(tmp_path: Path) -> None:
    model = tmp_path / "model.psl"
    model.write_text("1.0: p(A, B) -> t(A, B)\n")
    facts = write(tmp_path / "facts.tsv", [("s", "p", f"{'o' * 100}{i}") for i in range(5000)])
    shell = f"{' '.join(command('predict', model, '--facts', facts, '--top', 5000))} | head -1"
    done = subprocess.run(
        ["bash", "-c", f"set -o pipefail; {shell}"], capture_output=True, text=True, check=False
    )
    assert done.returncode == 0
    assert done.stdout.count("\n") == 1
    assert done.stderr == ""


def test_output_is_utf8_whatever_the_locale(tmp_path: Path) -> None:
    model = tmp_path / "model.psl"
    model.write_text("1.0: p(A, B) -> t(A, B)\n")
    facts = write(tmp_path / "facts.tsv", [("né", "p", "\N{SNAKE}")])
    done = subprocess.run(
        command("predict", model, "--facts", facts, "--json"),
        capture_output=True, env={**os.environ, "LC_ALL": "C", "LANG": "C"}, check=True,
    )  # fmt: skip
    [link] = json.loads(done.stdout.decode("utf-8"))["predictions"]
    assert (link["subject"], link["object"]) == ("né", "\N{SNAKE}")


def test_facts_may_come_through_a_pipe(countries_model: Path, tmp_path: Path) -> None:
    """`-` is the standard input."""
    facts = (COUNTRIES / "observed.tsv").read_bytes() + (COUNTRIES / "fold0/obs.tsv").read_bytes()
    pairs = write(tmp_path / "pairs.tsv", [("algeria", "located_in", "africa")])
    done = subprocess.run(
        command("predict", countries_model, "--facts", "-", "--pairs", pairs),
        input=facts, capture_output=True, check=True,
    )  # fmt: skip
    direct = hornbeam_("predict", countries_model, *EVIDENCE, "--pairs", pairs)
    assert done.stdout.decode() == direct.stdout


def test_the_readme_of_python_works(countries_model: Path) -> None:
    facts = hb.read_facts(*(word for word in EVIDENCE if word != "--facts"))
    model = hb.learn(facts, hb.read_labels(TRAIN[1]))
    assert model.text == countries_model.read_text()
    assert "located_in" in model._repr_html_()
