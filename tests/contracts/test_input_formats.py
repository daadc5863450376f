"""One contract for every format: the same few facts, from whatever they are read."""

from __future__ import annotations

import ast
import inspect
import json
from collections.abc import Callable
from pathlib import Path

import duckdb
import networkx as nx
import pandas as pd
import pytest

from hornbeam import read_facts
from hornbeam.facts.reading import readers
from hornbeam.facts.reading.readers import Input
from hornbeam.facts.table import ONE
from tests.support.fact_tables import as_dict, write

FACTS = [("a", "knows", "b"), ("b", "knows", "c"), ("c", "likes", "a")]
HEADER = ["subject", "predicate", "object"]
PROGRAM = {
    "predicates": {
        "knows/2": {"observations": [["a", "b"], ["b", "c"]]},
        "likes/2": {"observations": [["c", "a"]]},
    }
}


def _table(path: Path, between: str) -> Path:
    return write(path, "".join(between.join(row) + "\n" for row in FACTS))


def _database(path: Path) -> Path:
    with duckdb.connect(str(path)) as connection:
        connection.execute("CREATE TABLE facts (subject TEXT, predicate TEXT, object TEXT)")
        connection.executemany("INSERT INTO facts VALUES (?, ?, ?)", FACTS)
    return path


def _parquet(path: Path) -> Path:
    pd.DataFrame(FACTS, columns=HEADER).to_parquet(path)
    return path


def _data_file(path: Path) -> Path:
    """As PSL's command line has it: names of files below the predicates."""
    for name in ("knows", "likes"):
        pairs = [f"{s}\t{o}\n" for s, predicate, o in FACTS if predicate == name]
        write(path.parent / f"{name}.txt", "".join(pairs))
    lines = ["predicates:", "  knows/2: closed", "  likes/2: closed", "observations:"]
    return write(path, "\n".join([*lines, "  knows: knows.txt", "  likes: likes.txt", ""]))


def _graphml(path: Path) -> Path:
    edges = ((s, o, {"relation": p}) for s, p, o in FACTS)
    nx.write_graphml(nx.DiGraph(edges), path)
    return path


def _neo4j(path: Path) -> Path:
    rows = [":START_ID,:TYPE,:END_ID", *map(",".join, FACTS)]
    return write(path, "\n".join(rows) + "\n")


def _graph() -> nx.MultiDiGraph:
    graph = nx.MultiDiGraph()
    for subject, predicate, object_ in FACTS:
        graph.add_edge(subject, object_, predicate)
    return graph


def _triples(path: Path) -> Path:
    pytest.importorskip("pyoxigraph")
    return write(path, "".join(f"<urn:{s}> <urn:{p}> <urn:{o}> .\n" for s, p, o in FACTS))


def _arguments(folder: Path) -> list[Input]:
    """A table per predicate, which is named before it."""
    return [
        f"{name}={write(folder / f'{name}.tsv', text)}"
        for name, text in (("knows", "a\tb\nb\tc\n"), ("likes", "c\ta\n"))
    ]


#: What writes the facts to a file of each suffix; "" is any other.
BY_SUFFIX: dict[str, Callable[[Path], Path]] = {
    "": lambda path: _table(path, "\t"),
    ".csv": lambda path: _table(path, ","),
    ".parquet": _parquet,
    ".pq": _parquet,
    ".duckdb": _database,
    ".json": lambda path: write(path, json.dumps(PROGRAM)),
    ".yaml": _data_file,
    ".yml": _data_file,
    ".data": _data_file,
    ".graphml": _graphml,
    ".nt": _triples,
    ".nq": _triples,
    ".ttl": _triples,
}


def _is_read(*inputs: Input) -> None:
    found = as_dict(read_facts(*inputs))
    # RDF has absolute names only
    plain = {tuple(name.removeprefix("urn:") for name in atom) for atom in found}
    assert plain == set(FACTS)
    assert list(found.values()) == [ONE] * len(FACTS)


def test_every_suffix_is_held_to_the_contract() -> None:
    source = ast.parse(inspect.getsource(readers._file_sources))
    suffixes = {
        ast.literal_eval(node.value)
        for node in ast.walk(source)
        if isinstance(node, ast.MatchValue)
    }
    assert suffixes | {""} == set(BY_SUFFIX), "write the same facts to a file of the new suffix"


@pytest.mark.quick_cases(12)
@pytest.mark.parametrize("suffix", BY_SUFFIX)
def test_every_file_has_the_same_facts(suffix: str, tmp_path: Path) -> None:
    _is_read(BY_SUFFIX[suffix](tmp_path / f"facts{suffix}"))


def test_whatever_is_no_single_file_has_the_same_facts(tmp_path: Path) -> None:
    _is_read(*_arguments(tmp_path))
    _is_read(FACTS)
    _is_read(_graph())
    _is_read(_neo4j(tmp_path / "relationships.csv"))
    _is_read(pd.DataFrame(FACTS, columns=HEADER))
    _is_read(dict(zip(HEADER, map(list, zip(*FACTS, strict=True)), strict=True)))
