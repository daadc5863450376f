"""The library's parameters become flags where the command line tells of them."""

from __future__ import annotations

import warnings
from pathlib import Path

import pytest

from hornbeam.cli.commands import load
from hornbeam.cli.flags import flags_of, in_flags, messages_in_flags
from hornbeam.errors import HornbeamWarning, InputError
from tests.support.commands import EVIDENCE, TRAIN, hornbeam_, write


def test_flags_of_a_command_have_the_names_of_the_library() -> None:
    flags = flags_of(load("predict"))
    assert flags["memory_limit"] == "--memory-limit"
    assert flags["subjects"] == flags["subject"] == "--subject"
    assert flags["objects"] == "--object"
    assert flags["conf"] == "--spark-conf"
    assert flags["output"] == "--output"
    assert "model" not in flags, "an argument has no flag"


@pytest.mark.parametrize(
    ("said", "told"),
    [
        ("try a lower `min_coverage`", "try a lower --min-coverage"),
        ('use `engine="memory"`', "use --engine memory"),
        ("use `engine='memory'`", "use --engine memory"),
        ('leave it out by `exclude=["knows"]`', "leave it out by --exclude knows"),
        ("try `max_length=3`, not `4`", "try --max-length 3, not `4`"),
        ("leave out `collective=True`", "leave out --collective"),
        ("name `target=PREDICATE`", "name --target PREDICATE"),
        (
            "`id` and `$HOME` stay, as does `max_length",
            "`id` and `$HOME` stay, as does `max_length",
        ),
    ],
)
def test_parameters_become_flags(said: str, told: str) -> None:
    assert in_flags(said, flags_of(load("learn"))) == told


def _unhappy_work() -> None:
    with messages_in_flags(lambda: {"top": "--top"}):
        warnings.warn("many: use `top`", HornbeamWarning, stacklevel=1)
        raise InputError("use `top=5`")


@pytest.mark.filterwarnings("default")
def test_warnings_and_errors_of_the_library(capsys: pytest.CaptureFixture[str]) -> None:
    shown = warnings.showwarning
    with pytest.raises(InputError, match=r"^use --top 5$"):
        _unhappy_work()
    assert capsys.readouterr().err == "hornbeam: warning: many: use --top\n"
    assert warnings.showwarning is shown


def test_a_command_tells_of_its_own_options(tmp_path: Path) -> None:
    ended = hornbeam_("learn", *EVIDENCE, "-o", tmp_path / "model.psl")
    assert ended.code == 2
    assert ended.told[-1].endswith("name the predicate to learn: --target PREDICATE")


@pytest.mark.slow
def test_a_command_tells_of_options_of_learn(tmp_path: Path) -> None:
    """What is wrong with a model is put right where it is learned."""
    model = tmp_path / "model.psl"
    assert hornbeam_("learn", *EVIDENCE, *TRAIN, "--counts", "exists", "-o", model, "-q").code == 0
    pairs = write(tmp_path / "pairs.tsv", [("ukraine", "located_in", "europe")])
    words = ("--pairs", pairs, "-o", tmp_path / "program", "--plain")
    ended = hornbeam_("export", model, *EVIDENCE, *words)
    assert ended.code == 2
    assert "learn with --counts raw and --bodies paths, or export without --plain" in ended.told[-1]
