"""The layout holds: folders import only from those above them, and modules say what they are."""

from __future__ import annotations

import ast
import re
from pathlib import Path

import pytest

import hornbeam

# cheap, and every module is a case
pytestmark = pytest.mark.quick_cases(1_000_000)

ROOT = Path(hornbeam.__file__).parent

#: Parts of the package in the order of the data flow. A part may import itself and those above it.
LAYERS: list[set[str]] = [
    {"errors", "progress", "files", "arrays", "machine", "choices", "printable"},
    {"compiled", "result_table"},
    {"facts"},
    {"language"},
    {"rules"},
    {"counting"},
    {"densities"},
    {"learning"},
    {"hlmrf"},
    {"scoring"},
    {"graphs"},
    {"explaining"},
    {"reporting"},
    {"programs"},
    {"model"},
    {"opened_model"},
    {"flow"},
    {"crossval"},
    {"serve"},
    {"cli"},
]
RANK = {part: rank for rank, parts in enumerate(LAYERS) for part in parts}
#: The public names load on demand from anywhere; bundled data have no code of their own.
OUTSIDE = {"__init__", "examples"}
#: An option of the command line.
FLAG = re.compile(r"(?<![\w-])--[a-z][a-z-]+")

MODULES = sorted(ROOT.rglob("*.py"))
every_module = pytest.mark.parametrize(
    "path", MODULES, ids=[str(path.relative_to(ROOT)) for path in MODULES]
)


def part_of(path: Path) -> str:
    """The part of the package that a module belongs to."""
    return path.relative_to(ROOT).with_suffix("").parts[0]


def imported_parts(path: Path) -> set[str]:
    """Parts of the package that a module imports, wherever in its text; "" is the package."""
    found = set()
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
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


@every_module
def test_a_part_imports_only_from_above(path: Path) -> None:
    part = part_of(path)
    if part in OUTSIDE:
        return
    public = set(hornbeam.__all__) | {"__version__"}
    for imported in imported_parts(path):
        if imported == "" or (imported in public and imported not in RANK):
            # `import hornbeam as hb` is for the command line, the outermost user
            assert part == "cli", f"{path} imports the package's public names"
        else:
            assert RANK[imported] <= RANK[part], f"{part} imports {imported}, which is below it"


@every_module
def test_every_module_and_public_name_says_what_it_is(path: Path) -> None:
    tree = ast.parse(path.read_text(encoding="utf-8"))
    assert ast.get_docstring(tree), f"{path} has no docstring"
    for node in tree.body:
        if isinstance(node, ast.ClassDef | ast.FunctionDef) and not node.name.startswith("_"):
            assert ast.get_docstring(node), f"{path}: {node.name} has no docstring"


def test_print_is_for_the_command_line() -> None:
    """Results go to stdout from the commands alone; all else reports to a progress."""
    for path in MODULES:
        if part_of(path) == "cli":
            continue
        calls = [
            node.func.id
            for node in ast.walk(ast.parse(path.read_text(encoding="utf-8")))
            if isinstance(node, ast.Call) and isinstance(node.func, ast.Name)
        ]
        assert "print" not in calls, f"{path} prints"


@every_module
def test_flags_are_for_the_command_line(path: Path) -> None:
    """The library's messages name parameters, as in `max_length`, and never `--max-length`."""
    if part_of(path) == "cli":
        return
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, ast.Constant) and isinstance(node.value, str):
            assert not FLAG.search(node.value), f"{path}, line {node.lineno}: {node.value}"


def test_the_public_names_are_there() -> None:
    assert dir(hornbeam) == sorted(hornbeam.__all__)
    for name in hornbeam.__all__:
        assert getattr(hornbeam, name) is not None
    with pytest.raises(AttributeError, match="no attribute 'nothing'"):
        hornbeam.nothing  # noqa: B018


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
        for node in ast.parse(path.read_text(encoding="utf-8")).body:
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
