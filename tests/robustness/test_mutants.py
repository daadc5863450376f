"""The mutants themselves: what is changed in a module, and that excuses still have a mutant."""

from __future__ import annotations

import ast
from pathlib import Path

import pytest

from tests.robustness.mutants import FOLDERS, PACKAGE, ROOT, SeenTest, nearest, reasons, sample
from tests.support.code_mutants import mutants_of

SOURCE = '''"""A module."""
from dataclasses import dataclass

LIMIT = 3

@dataclass(frozen=True)
class Sum:
    terms: int = 0

    def of(self, é: list[int]) -> "int":
        total = 0
        for x in é[total:]:
            if not x or -x < LIMIT <= 7:
                continue
            total += max(x, 1) * 2
        total = abs(total)
        self.note(f"{total + 1}")
        return total
'''
CHANGED = {
    "LIMIT = 3 => LIMIT = 4",
    "terms: int = 0 => terms: int = 1",
    "total = 0 => total = 1",
    "for x in é[total:]: => for x in é[total + 1:]:",
    "if not x or -x < LIMIT <= 7: => if (not x and -x < LIMIT <= 7):",
    "if not x or -x < LIMIT <= 7: => if (x) or -x < LIMIT <= 7:",
    "if not x or -x < LIMIT <= 7: => if not x or (-x <= LIMIT <= 7):",
    "if not x or -x < LIMIT <= 7: => if not x or (-x < LIMIT < 7):",
    "if not x or -x < LIMIT <= 7: => if not x or (x) < LIMIT <= 7:",
    "if not x or -x < LIMIT <= 7: => if not x or -x < LIMIT <= 8:",
    "continue => break",
    "total += max(x, 1) * 2 => total -= max(x, 1) * 2",
    "total += max(x, 1) * 2 => total += (max(x, 1) / 2)",
    "total += max(x, 1) * 2 => total += min(x, 1) * 2",
    "total += max(x, 1) * 2 => total += max(x, 2) * 2",
    "total += max(x, 1) * 2 => total += max(x, 1) * 3",
    "total = abs(total) => pass",
    'self.note(f"{total + 1}") => pass',
}


def test_every_change_is_one_mutant(tmp_path: Path) -> None:
    """Annotations, decorators, docstrings and other texts are not changed."""
    path = tmp_path / "sums.py"
    path.write_text(SOURCE, encoding="utf-8")
    found = list(mutants_of(path, tmp_path))
    assert {f"{mutant.before} => {mutant.after}" for mutant in found} == CHANGED
    assert len(found) == len(CHANGED)
    for mutant in found:
        changed = ast.parse(mutant.source)
        assert ast.dump(changed) != ast.dump(ast.parse(SOURCE))
    assert {mutant.function for mutant in found} == {"", "Sum.of"}


def test_a_sample_depends_on_its_seed_alone() -> None:
    first, again, other = (sample(["hlmrf"], 20, seed) for seed in (3, 3, 4))
    assert [mutant.key for mutant in first] == [mutant.key for mutant in again]
    assert [mutant.key for mutant in first] != [mutant.key for mutant in other]


@pytest.mark.slow
def test_what_is_called_equivalent_is_a_mutant_and_has_a_reason() -> None:
    package = ROOT / PACKAGE
    paths = [path for folder in FOLDERS for path in (package / folder).rglob("*.py")]
    keys = {mutant.key for path in paths for mutant in mutants_of(path, package)}
    assert reasons().keys() <= keys
    assert all(reasons().values())


def test_the_nearest_tests_are_those_that_call_the_function() -> None:
    mutant = next(mutant for mutant in sample(["hlmrf"], 100, 0) if mutant.function)
    called = frozenset({f"{mutant.module} {mutant.function}"})
    far, dear, near, other = (
        SeenTest("tests/programs/test_a.py::far", 0.1, called),
        SeenTest("tests/hlmrf/test_b.py::dear", 4.0, called),
        SeenTest("tests/hlmrf/test_b.py::near", 0.2, called),
        SeenTest("tests/hlmrf/test_b.py::other", 0.1, frozenset({f"{mutant.module} another"})),
    )
    assert nearest(mutant, [far, dear, near, other]) == [near, far, dear]
