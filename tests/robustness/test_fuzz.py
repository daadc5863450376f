"""Mutated inputs: read as defined or refused with one message. `make fuzz` has many more."""

from __future__ import annotations

import random
from pathlib import Path

import pytest

from hornbeam.cli.commands import COMMANDS
from tests.robustness.fuzz import CORPUS, TARGETS, Fuzzed
from tests.support import strict_tables as strict
from tests.support.fuzz_commands import BASES, options_of
from tests.support.line_coverage import LineCoverage

#: Inputs per target in these tests: readers that `make fuzz` tries often are fast.
FEW, MANY = 15, 120
pytestmark = pytest.mark.filterwarnings("ignore::hornbeam.errors.HornbeamWarning")


@pytest.mark.slow
@pytest.mark.parametrize("target", TARGETS, ids=lambda target: target.name)
def test_mutated_inputs(target: Fuzzed, tmp_path: Path) -> None:
    rng, number = random.Random(15), MANY if target.often > 4 else FEW
    inputs = [target.mutated(rng, target.seeds) for _ in range(number)]
    accepted = sum(target.check(data, tmp_path) for data in inputs)
    assert accepted < number


@pytest.mark.slow
@pytest.mark.parametrize("target", TARGETS, ids=lambda target: target.name)
def test_what_is_mutated_is_valid(target: Fuzzed, tmp_path: Path) -> None:
    assert all(target.check(data, tmp_path) for data in target.seeds)


@pytest.mark.parametrize("path", sorted(CORPUS.glob("*-*")), ids=lambda path: path.name)
def test_past_findings(path: Path, tmp_path: Path) -> None:
    name = path.name.partition("-")[2]
    [target] = [one for one in TARGETS if one.name.replace(" ", "_") == name]
    target.check(path.read_bytes(), tmp_path)


def test_every_command_has_words_to_begin_with() -> None:
    commands = [name for group in COMMANDS.values() for name in group]
    assert list(BASES) == commands
    flags = {option.flag: option for option in options_of("learn")}
    assert {"--facts", "--method", "--threads", "-o", "--seed"} <= flags.keys()
    assert {"memory", "duckdb", "spark"} <= {*flags["--engine"].words}
    assert flags["--quiet"].is_flag


def test_the_first_input_that_reaches_a_line_is_known() -> None:
    coverage, seen = LineCoverage(), list[int]()
    for text in ("1 2 3", "1 2 3", "a\tb"):
        with coverage.watched():
            _ = [strict.rows_of(text.encode(), "\t"), COMMANDS]
        seen.append(coverage.reached)
    assert seen == [0, 0, 0]  # the oracle is no part of the package
    from hornbeam.base.texts import did_you_mean

    for wrong in ("facst", "facst", "facts"):
        with coverage.watched():
            did_you_mean(wrong, ["facts"])
        seen.append(coverage.reached)
    assert seen[3] == seen[4] > 0


def test_the_oracle_by_hand() -> None:
    def labels(data: bytes, delimiter: str) -> object:
        return strict.labels_in(strict.rows_of(data, delimiter))

    assert labels(b"a\tt\tb\t1\n", "\t") == {("a", "t", "b"): 1.0}
    assert labels(b'"a,b",t, "c""d" ,0.5\n', ",") == {("a,b", "t", 'c"d'): 0.5}
    for wrong in (b'"a" "b",t,c,1\n', b'"a"b,t,c,1\n', b'"a,t,c,1\n', b"a,t,c\n", b"a,t,,1\n"):
        assert labels(wrong, ",") is None
    for wrong in (b"a\tt\tb\t2\n", b"a\tt\tb\tx\n", b"a\tt\tb\t1\r\nb\tt\ta\t1\n", b"\xff\n"):
        assert labels(wrong, "\t") is None
    rows = [["a", "p", "b"], ["c", "u"]]
    assert strict.facts_in([["a", "p", "b", "0"], ["b", "p", "a", "1"]]) == {("b", "p", "a"): 1.0}
    assert strict.facts_in(rows) == {("a", "p", "b"): 1.0, ("c", "u"): 1.0}
    for row in (["a", "p"], ["a", "q", "b", "1"], ["", "q", "b"], ["a", "q", "b\r"]):
        assert strict.facts_in([*rows, row]) is None
    assert strict.pairs_in([*rows[:1], ["b", "p", "a", "x"]]) == [("a", "p", "b"), ("b", "p", "a")]
    assert strict.queries_in([["a", "p", "?"]]) == [("a", "p", "?")]
    assert strict.queries_in([["?", "p", "?"]]) is None
    assert strict.arguments_in([["a", "b"], ["c"]]) is None
    assert strict.names_in([["ID", "Name"], ["a", "Ann"], ["a", "Ann", ""]]) == {"a": "Ann"}
    assert strict.names_in([["a", "Ann"], ["a", "Bob"]]) is None
