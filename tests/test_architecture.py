"""The layout holds: folders import only from those above them, and one word is one thing."""

from __future__ import annotations

import ast
import os
import re
from concurrent.futures import ThreadPoolExecutor
from functools import cache
from graphlib import TopologicalSorter
from pathlib import Path

import pytest

import hornbeam

ROOT = Path(hornbeam.__file__).parent
#: Parsing all modules takes longer than any test of them, so one worker does it once.
pytestmark = pytest.mark.xdist_group("architecture")

#: Parts of the package in the order of the data flow. A part may import itself and those of the
#: lines above it, not those beside it: learning and scoring do not know each other.
LAYERS: list[set[str]] = [
    {"errors"},
    {"base"},
    {"facts", "language", "densities"},
    {"rules", "hlmrf"},
    {"graph"},
    {"counting"},
    {"learning", "scoring"},
    {"ranking", "programs"},
    {"explaining"},
    {"graphs"},
    {"reporting"},
    {"model"},
    {"graph_model"},
    {"opened_model", "two_step"},
    {"learning_plan"},
    {"labelled_search"},
    {"flow", "graph_learning"},
    {"crossval", "datasets", "sklearn"},
    {"serve"},
    {"cli"},
]
#: Imports that are decided otherwise: errors quote texts, and a rule model knows of whole graphs
#: only how their files begin.
EXCEPTIONS = {("errors", "base"): True, ("model", "graphs"): False}
RANK = {part: rank for rank, parts in enumerate(LAYERS) for part in parts}
#: The public names load on demand from anywhere; bundled data have no code of their own.
OUTSIDE = {"__init__", "examples"}
#: An option of the command line.
FLAG = re.compile(r"(?<![\w-])--[a-z][a-z-]+")

#: An import from a module of tests.
OF_A_TEST = re.compile(r"^ *(from|import) tests(\.\w+)*(\.| import )test_\w+", re.MULTILINE)

MODULES = sorted(ROOT.rglob("*.py"))
#: Modules by their full names; packages import nothing themselves.
NAMES = {
    ".".join(("hornbeam", *path.relative_to(ROOT).with_suffix("").parts)): path
    for path in MODULES
    if path.stem != "__init__"
}
#: Imports against the direction of all others: of types, and of how a thing shows itself.
BACKWARDS = {
    ("hornbeam.counting.sql.spark_reading", "hornbeam.counting.sql.spark_engine"),
    ("hornbeam.explaining.explanation_views", "hornbeam.explaining.explanation"),
    ("hornbeam.facts.table", "hornbeam.facts.growth"),
    ("hornbeam.scoring.evaluation_plots", "hornbeam.scoring.evaluation"),
}


@cache
def tree_of(path: Path) -> ast.Module:
    """What a module says, parsed once for all tests.

    In a thread of its own: where a browser's tests run in the same worker, their event loop has
    changed the depth of the main thread's stack, at which Python's parser takes offence.
    """
    with ThreadPoolExecutor(1) as apart:
        return apart.submit(ast.parse, path.read_text(encoding="utf-8")).result()


@cache
def nodes_of(path: Path) -> list[ast.AST]:
    """All nodes of a module, found once for all tests."""
    return list(ast.walk(tree_of(path)))


def part_of(path: Path) -> str:
    """The part of the package that a module belongs to."""
    return path.relative_to(ROOT).with_suffix("").parts[0]


def imported_parts(path: Path) -> set[str]:
    """Parts of the package that a module imports, wherever in its text; "" is the package."""
    found = set()
    for node in nodes_of(path):
        if isinstance(node, ast.Import):
            names = [alias.name for alias in node.names]
        elif isinstance(node, ast.ImportFrom):
            assert node.level == 0, f"{path}: imports are absolute, so that they can be read alone"
            module = node.module or ""
            if module == "hornbeam":
                names = [f"hornbeam.{alias.name}" for alias in node.names]
            else:
                names = [module]
        else:
            continue
        for name in names:
            words = name.split(".")
            if words[0] == "hornbeam":
                found.add(words[1] if len(words) > 1 else "")
    return found


def test_every_part_has_its_place() -> None:
    parts = {part_of(path) for path in MODULES}
    assert parts - OUTSIDE == set(RANK), "put the new part into LAYERS"


def test_a_part_imports_only_from_above() -> None:
    public = set(hornbeam.__all__) | {"__version__"}
    wrong = []
    for path in MODULES:
        part = part_of(path)
        if part in OUTSIDE or path == ROOT / "counting" / "__init__.py":
            continue  # public names load on demand from anywhere
        for imported in imported_parts(path):
            if imported == "" or (imported in public and imported not in RANK):
                # `import hornbeam as hb` is for the command line, the outermost user
                allowed = part == "cli"
            else:
                ordered = imported == part or RANK[imported] < RANK[part]
                allowed = EXCEPTIONS.get((part, imported), ordered)
            if not allowed:
                wrong.append(f"{path} imports {imported or 'the public names'}")
    assert not wrong


def imported_modules(path: Path) -> set[str]:
    """Modules of the package that a module imports, wherever in its text, for types as well."""
    found = set[str]()
    for node in nodes_of(path):
        if isinstance(node, ast.Import):
            found |= {alias.name for alias in node.names}
        elif isinstance(node, ast.ImportFrom) and node.module:
            found |= {node.module, *(f"{node.module}.{alias.name}" for alias in node.names)}
    return found & NAMES.keys()


def test_modules_import_each_other_in_one_direction() -> None:
    """A module can be read after those that it imports, and none has to be imported late."""
    graph = {name: imported_modules(path) for name, path in NAMES.items()}
    for importer, imported in BACKWARDS:
        graph[importer].discard(imported)
    TopologicalSorter(graph).prepare()  # raises the first cycle


def test_flags_are_for_the_command_line() -> None:
    """The library's messages name parameters, as in `max_length`, and never `--max-length`."""
    wrong = [
        f"{path}, line {node.lineno}: {node.value}"
        for path in MODULES
        if part_of(path) != "cli"
        for node in nodes_of(path)
        if isinstance(node, ast.Constant) and isinstance(node.value, str)
        if FLAG.search(node.value)
    ]
    assert not wrong


def test_one_worker_has_all_of_a_group(request: pytest.FixtureRequest) -> None:
    """What is expensive starts once; a pytest unknown to pytest-xdist hides groups from it."""
    if "PYTEST_XDIST_WORKER" in os.environ:
        assert request.node.nodeid.endswith("@architecture")


def test_tests_import_no_tests() -> None:
    """What several of them need is in `tests/support/`: any module of tests may be left out."""
    wrong = [
        f"{path}: {found.group()}"
        for path in sorted(Path(__file__).parent.rglob("*.py"))
        for found in OF_A_TEST.finditer(path.read_text(encoding="utf-8"))
    ]
    assert not wrong


def test_no_two_modules_have_one_name() -> None:
    """The commands are called as what they run, so that folder is left out."""
    places: dict[str, list[str]] = {}
    for path in MODULES:
        if path.stem != "__init__" and part_of(path) != "cli":
            places.setdefault(path.stem, []).append(str(path.relative_to(ROOT)))
    assert not {name: found for name, found in places.items() if len(found) > 1}


def test_no_two_public_classes_or_types_have_one_name() -> None:
    """One word, one thing. Type aliases are the assigned names in CamelCase."""
    places: dict[str, list[str]] = {}
    for path in MODULES:
        for node in tree_of(path).body:
            if isinstance(node, ast.ClassDef):
                names = [node.name]
            elif isinstance(node, ast.Assign):
                names = [target.id for target in node.targets if isinstance(target, ast.Name)]
            else:
                continue
            for name in names:
                if name[0].isupper() and not name.isupper():
                    places.setdefault(name, []).append(str(path.relative_to(ROOT)))
    assert not {name: found for name, found in places.items() if len(found) > 1}


#: Who opens engines: functions that users call, and the command line.
OPENING = {
    "flow.py",
    "labelled_search.py",
    "model.py",
    "graph_model.py",
    "opened_model.py",
    "crossval.py",
    "serve/pair_explorers.py",
    "cli/evidence.py",
}
#: Who makes them: the engines themselves, and the one place that knows their names.
MAKING = {
    "counting/opening.py",
    "counting/memory/memory_engine.py",
    "counting/sql/duckdb_engine.py",
    "counting/sql/spark_engine.py",
    "counting/sql/spark_reading.py",
}
OPENERS = {"open_engine", "open_in_memory", "open_duckdb", "open_spark"}
MAKERS = {"MemoryEngine", "SqlEngine", "duckdb_engine"}


def called_names(path: Path) -> set[str]:
    """Names of the functions and classes that a module calls."""
    calls = (node.func for node in nodes_of(path) if isinstance(node, ast.Call))
    return {
        called.id if isinstance(called, ast.Name) else called.attr
        for called in calls
        if isinstance(called, ast.Name | ast.Attribute)
    }


def test_engines_are_opened_at_the_top_and_handed_down() -> None:
    """What needs another engine asks the one that it has: `engine.over(facts)`."""
    wrong = []
    for path in MODULES:
        name, called = path.relative_to(ROOT).as_posix(), called_names(path)
        if name not in MAKING:
            found = called & (MAKERS if name in OPENING else MAKERS | OPENERS)
            wrong += [f"{name} calls {one}" for one in sorted(found)]
    assert not wrong


def test_an_engine_has_a_name_only_where_it_is_opened() -> None:
    wrong = [
        f"{path}, line {node.lineno}: {node.name}"
        for path in MODULES
        if path.relative_to(ROOT).as_posix() not in OPENING | MAKING
        for node in nodes_of(path)
        if isinstance(node, ast.FunctionDef)
        for argument in [*node.args.args, *node.args.kwonlyargs]
        if argument.arg == "engine" and ast.unparse(argument.annotation or node) == "str"
    ]
    assert not wrong
