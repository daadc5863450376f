"""Graphs in a database: the same draws, paths, counts, features and models as in memory."""

from __future__ import annotations

import importlib
import inspect
import pkgutil
import subprocess
import sys
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import get_args, get_type_hints

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import hornbeam as hb
import hornbeam.graphs
from hornbeam.counting.sql.duckdb_engine import DuckDB, duckdb_engine
from hornbeam.errors import InputError
from hornbeam.facts.names import Names
from hornbeam.facts.table import Atoms, Facts
from hornbeam.graph.link_hashes import ASKING, COUNTING
from hornbeam.graph_learning import learn_graph
from hornbeam.graphs import path_rules
from hornbeam.graphs.graph_counter import GraphCounter
from hornbeam.graphs.graph_settings import Extent, GraphPlan, GraphSettings
from hornbeam.graphs.memory_graph import MemoryGraph
from hornbeam.graphs.path_rules import PathRules, reversed_paths
from hornbeam.graphs.sql import evidence_queries, sql_graph, walk_queries
from hornbeam.graphs.sql.sql_graph import SqlGraph
from hornbeam.graphs.workload import Portion, Workload
from hornbeam.ranking.queries import Triples
from hornbeam.rules.codes import step_code
from tests.support.brute_graphs import ENTITIES, RELATIONS, Triple, triples_with_equal_steps
from tests.support.recorded_progress import RecordedProgress

#: A database does not fit constants together.
SETTINGS = GraphSettings(ridge=False)
STEPS = [int(step_code(p, inverse)) for p in range(RELATIONS) for inverse in (False, True)]
PORTION = Portion(Workload(), 1.0)


def facts_of(some: set[Triple], entities: int = ENTITIES, relations: int = RELATIONS) -> Facts:
    rows = np.array(sorted(some), dtype=np.int32).reshape(-1, 3)
    names = Names.of(f"e{i:04}" for i in range(entities))
    predicates = Names.of(f"r{i}" for i in range(relations))
    atoms = Atoms(rows[:, 1].astype(np.uint16), (rows[:, 0], rows[:, 2]))
    return Facts(names, predicates, {2: atoms})


def both(facts: Facts) -> tuple[MemoryGraph, SqlGraph]:
    engine = duckdb_engine(facts, threads=1)
    return MemoryGraph.of(facts, SETTINGS), SqlGraph.of(engine, SETTINGS)


def same_rules(found: dict[int, PathRules], expected: dict[int, PathRules]) -> None:
    for step, rules in expected.items():
        if len(rules):
            assert found[step].paths.tolist() == rules.paths.tolist()
            assert found[step].hits.tolist() == rules.hits.tolist()
            assert found[step].predicted.tolist() == rules.predicted.tolist()


@pytest.mark.slow
@settings(max_examples=12)
@given(triples_with_equal_steps, st.integers(2, 3), st.integers(2, 6), st.integers(0, 3))
def test_every_stage_is_the_same(some: set[Triple], length: int, most: int, seed: int) -> None:
    memory, database = both(facts_of(some))
    assert database.size == memory.size
    assert database.links_by_predicate.tolist() == memory.links_by_predicate.tolist()
    assert database.holders_by_step.tolist() == memory.holders_by_step.tolist()
    ends = np.array([0, 1, 2], dtype=np.int32), np.array([3, 1, 4], dtype=np.int32)
    triples = Triples(np.array([0, 1, 0], dtype=np.int32), *ends)
    assert database.linked_shares() == memory.linked_shares()
    assert database.linked_shares(triples) == memory.linked_shares(triples)
    assert database.holds(triples).tolist() == memory.holds(triples).tolist()
    extent = Extent(sampled=most, folds=3, hidden=2)
    present = [step for step in STEPS if memory.links_by_predicate[step // 2 - 1]]
    forward = present[::2]
    canonical = memory.canonical_steps
    assert database.canonical_steps.tolist() == canonical.tolist()
    plan = GraphPlan(length, canonical, extent, seed)
    paths = memory.discover(forward, plan, PORTION)
    found = database.discover(forward, plan, PORTION)
    assert {s: p.tolist() for s, p in found.items()} == {s: p.tolist() for s, p in paths.items()}
    paths |= {step ^ 1: reversed_paths(some) for step, some in paths.items()}
    folds = zip(memory.hidden_folds(plan), database.hidden_folds(plan), strict=True)
    for number, ((rest, hidden), (other, other_hidden)) in enumerate(folds):
        asked = rest.sampled(present, most, seed, COUNTING)
        drawn = other.sampled(present, most, seed, COUNTING)
        for step in present:
            for name in ("sources", "offsets", "answers"):
                one, another = getattr(drawn[step], name), getattr(asked[step], name)
                assert np.array_equal(one, another), name
        rules = rest.count(paths, asked, PORTION)
        same_rules(other.count(paths, drawn, PORTION), rules)
        same_pools(rest, other, rules, hidden, other_hidden, present, number)


def same_pools(
    memory: GraphCounter,
    database: GraphCounter,
    rules: dict[int, PathRules],
    hidden: GraphCounter,
    other_hidden: GraphCounter,
    steps: Sequence[int],
    number: int,
) -> None:
    asked = hidden.sampled(steps, None, 0, ASKING)
    drawn = other_hidden.sampled(steps, None, 0, ASKING)
    expected = memory.pools(rules, asked, 4, number, PORTION)
    pools = database.pools(rules, drawn, 4, number, PORTION)
    assert len(pools) == len(expected)
    for one, another in zip(pools, expected, strict=True):
        assert one.entity.tolist() == another.entity.tolist()
        assert one.feature.tobytes() == another.feature.tobytes()
        for name in ("step", "source", "offsets", "truth", "missed", "fold"):
            assert np.array_equal(getattr(one, name), getattr(another, name)), name
        step = int(one.step[0])
        fired, firings = database.firings(rules[step], one), memory.firings(rules[step], another)
        assert fired.start.tolist() == firings.start.tolist()
        assert fired.rule.tolist() == firings.rule.tolist()
    assert database.best_constants(steps, PORTION) == memory.best_constants(steps, PORTION)


@pytest.mark.slow
def test_entities_with_very_many_links() -> None:
    """A rule that proposes more than 500 answers says nothing, and neither do those behind it."""
    links = {(0, 0, 10 + k) for k in range(500)} | {(1, 0, 10 + k) for k in range(501)}
    links |= {(2, 0, 10 + k) for k in range(300)} | {(3, 0, 310 + k) for k in range(300)}
    links |= {(4, 1, 2), (4, 1, 3), (5, 1, 0), (6, 1, 1), (7, 1, 2)}
    links |= {(k, 2, 40) for k in range(8)} | {(40, 1, 700), (700, 2, 6), (12, 2, 5)}
    memory, database = both(facts_of(links, 701))
    p, q, t = (int(step_code(k)) for k in range(3))
    rows = [[p, 0, 0], [q, p, 0], [q, p, t], [p, p ^ 1, t], [t ^ 1, q, p], [q, p, p ^ 1]]
    paths = {step: np.array(rows, dtype=np.int32) for step in (t, t ^ 1, q)}
    asked = memory.sampled(list(paths), None, 0, COUNTING)
    same_rules(database.count(paths, asked, PORTION), memory.count(paths, asked, PORTION))


@pytest.mark.slow
@pytest.mark.parametrize("symmetric", [False, True])
@pytest.mark.parametrize("length", [2, 3, 4, 5])
def test_a_search_that_ends_early_ends_where_that_in_memory_ends(
    length: int, symmetric: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    rng = np.random.default_rng(length)
    some = {(int(s), int(p), int(o)) for s, p, o in rng.integers((12, 3, 12), size=(60, 3))}
    some |= {(o, p, s) for s, p, o in some if symmetric and p < 2}
    memory, database = both(facts_of(some, 12))
    for most in (3, 10, 30):
        monkeypatch.setattr(path_rules, "MAX_VISITED_LINKS", most)
        monkeypatch.setattr(walk_queries, "MAX_VISITED_LINKS", most)
        monkeypatch.setattr(walk_queries, "ROWS_OF_PART", 20 * most)
        plan = GraphPlan(length, memory.canonical_steps, Extent(sampled=8), 0)
        expected = memory.discover(STEPS[::2], plan, PORTION)
        found = database.discover(STEPS[::2], plan, PORTION)
        assert [found[s].tolist() for s in STEPS[::2]] == [expected[s].tolist() for s in STEPS[::2]]


@pytest.fixture(scope="module")
def mixed(tmp_path_factory: pytest.TempPathFactory) -> tuple[list[str], Path]:
    """Files of doubtful facts, facts of one and of three arguments; and held-out ones."""
    folder = tmp_path_factory.mktemp("mixed")
    rng = np.random.default_rng(3)
    lines, held = [f"e{i}\tnoted" for i in range(4)], list[str]()
    for i in range(70):
        town, value = int(rng.integers(8)), float(rng.choice([1.0, 0.7, 0.3]))
        lines.append(f"p{i}\tlives\ttown{town}\t{value}")
        citizen = f"p{i}\tcitizen\tland{town % 3}\t1.0"
        (held if i % 6 == 0 else lines).append(citizen)
    lines += [f"town{k}\tin\tland{k % 3}\t1.0" for k in range(8)]
    (folder / "facts.tsv").write_text("\n".join(lines) + "\n")
    (folder / "held.tsv").write_text("\n".join(held) + "\n")
    (folder / "seen.tsv").write_text("p1\ttown1\tland1\np2\ttown2\tland2\n")
    return [str(folder / "facts.tsv"), f"a_seen={folder / 'seen.tsv'}"], folder / "held.tsv"


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore:no fact has 'nobody'")
@pytest.mark.parametrize("with_valid", [False, True])
def test_models_have_the_same_text(
    mixed: tuple[list[str], Path], with_valid: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    inputs, held = mixed
    asked = [("p0", "citizen", "land1"), ("nobody", "citizen", "land0"), ("p1", "lives", "nowhere"),
             ("p6", "owns", "land1"), ("p6", "citizen", "land2")]  # fmt: skip
    queries = [("?", "citizen", "land1"), ("p3", "lives", "?"), ("nobody", "in", "?")]
    valid = str(held) if with_valid else None
    chosen = replace(SETTINGS, extent=Extent(folds=3, hidden=1))
    expected = learn_graph(hb.read_facts(*inputs), valid, seed=2, settings=chosen)
    for module, name, size in (
        (evidence_queries, "ROWS", 500), (sql_graph, "PAIRS", 500), (sql_graph, "SOURCES", 20),
        (sql_graph, "LINKS", 50),
    ):  # fmt: skip
        monkeypatch.setattr(module, name, size)
    with hb.open_duckdb(*inputs, memory_limit="100MB") as engine:
        model = learn_graph(engine, valid, seed=2, settings=chosen)
        found = model.evaluate_ranks(engine, asked, filter=str(held))
        answers = model.rank(engine, queries, top=4)
        every = model.rank(engine, queries, top=10**6)
    in_memory = expected.evaluate_ranks(hb.read_facts(*inputs), asked, filter=str(held))
    assert {**found.as_dict(), "seconds": 0} == {**in_memory.as_dict(), "seconds": 0}
    assert found.ranks.rank.tolist() == in_memory.ranks.rank.tolist()
    facts = hb.read_facts(*inputs)
    assert list(answers) == list(expected.rank(facts, queries, top=4))
    assert list(every) == list(expected.rank(facts, queries, top=10**6))
    assert model.text == expected.text
    assert any(part.rules for part in model.relations)


def typed_links() -> list[tuple[str, ...]]:
    """Drugs and genes; only a link of "same" is a loop."""
    rng = np.random.default_rng(1)
    drugs, genes = ([f"{kind}::{i}" for i in range(9)] for kind in ("Drug", "Gene"))
    links = {(drugs[i % 9], "binds", genes[int(rng.integers(9))]) for i in range(18)}
    links |= {(genes[i], "near", genes[(i + k) % 9]) for i in range(9) for k in (1, 2)}
    links |= {(genes[i], "near", drugs[i]) for i in range(2)} | {(genes[0], "same", genes[0])}
    return sorted(links | {(genes[i], "same", genes[i + 1]) for i in range(5)})


@pytest.fixture(scope="module")
def small_pool() -> hb.GraphModel:
    """A model that describes three answers per query; others follow."""
    quick = replace(SETTINGS, extent=Extent(folds=2, hidden=1))
    return replace(learn_graph(hb.read_facts(typed_links()), settings=quick, max_length=2), pool=3)


@pytest.mark.slow
@pytest.mark.parametrize("typing", ["prefix", "rdf:type", "class"])
def test_types_and_loops_are_those_of_the_database(
    small_pool: hb.GraphModel, typing: str, tmp_path: Path
) -> None:
    """Every way to know types leaves out the same answers, of the pool and beyond it."""
    mark = "::" if typing == "prefix" else "-"
    rows: list[tuple[str, ...]] = [
        tuple(cell.replace("::", mark) for cell in row) for row in typed_links()
    ]
    entities = sorted({end for row in rows for end in (row[0], row[2])})
    if typing == "rdf:type":
        rows += [(entity, "rdf:type", entity[:4]) for entity in entities]
    if typing == "class":
        rows += [(entity, f"http://x.org/{entity[:4]}") for entity in entities]
    file = tmp_path / "facts.tsv"
    file.write_text("".join("\t".join(row) + "\n" for row in rows))
    drug, gene = f"Drug{mark}1", f"Gene{mark}1"
    queries = [(drug, "binds", "?"), ("?", "binds", gene), (gene, "near", "?"), (gene, "same", "?")]
    expected = small_pool.rank(hb.read_facts(str(file)), queries, top=50)
    with hb.open_duckdb(str(file)) as engine:
        assert list(small_pool.rank(engine, queries, top=50)) == list(expected)
    binds = [row for row in expected.dicts() if row["relation"] == "binds"]
    assert {(row["subject"][:4], row["object"][:4]) for row in binds} == {("Drug", "Gene")}
    loops = {row["relation"] for row in expected.dicts() if row["subject"] == row["object"]}
    assert loops == {"same"}


@pytest.mark.slow
def test_models_are_the_same_without_assertions(tmp_path: Path) -> None:
    """Nothing that threads or queries need is made by an `assert`, which `python -O` leaves out."""
    rng, facts = np.random.default_rng(3), tmp_path / "facts.tsv"
    rows = {tuple(row) for row in rng.integers((20, 3, 20), size=(90, 3)).tolist()}
    facts.write_text("".join(f"e{s}\tr{p}\te{o}\n" for s, p, o in sorted(rows)))
    program = (
        "import sys, hornbeam as hb\n"
        "hb.learn_graph(sys.argv[1], max_length=2, threads=2).save(sys.argv[2])\n"
        "with hb.open_duckdb(sys.argv[1]) as engine:\n"
        "    hb.learn_graph(engine, max_length=2).save(sys.argv[3])\n"
    )
    saved = [tmp_path / "memory", tmp_path / "duckdb"]
    subprocess.run([sys.executable, "-O", "-c", program, facts, *saved], check=True)
    with hb.open_duckdb(facts) as engine:
        expected = [learn_graph(given, max_length=2) for given in (facts, engine)]
    assert [hb.GraphModel.load(path) for path in saved] == expected


@pytest.mark.slow
def test_a_database_says_what_it_leaves_out() -> None:
    with hb.open_duckdb([("a", "p", "b"), ("c", "p", "b"), ("a", "q", "c")]) as engine:
        progress = RecordedProgress()
        model = learn_graph(engine, progress=progress)
        assert model.ridge is None
        assert any("not fitted together" in said for said in progress.messages)
        with pytest.raises(InputError, match="the facts have no relation 'x'"):
            learn_graph(engine, relations=["x"])


def test_spark_takes_no_whole_graphs(monkeypatch: pytest.MonkeyPatch) -> None:
    """For learning and for answering."""
    rows = [("a", "p", "b"), ("c", "p", "b"), ("a", "q", "c")]
    model = learn_graph(rows, max_length=1)
    monkeypatch.setattr(DuckDB, "distributed", True)  # all that tells Spark's engine
    with hb.open_duckdb(rows) as engine:
        for use in (learn_graph, model.ranker):
            with pytest.raises(InputError, match="not for Spark"):
                use(engine)


def test_every_counter_is_compared() -> None:
    """Memory's with DuckDB's, in this file."""
    asked = {name for name in vars(GraphCounter) if not name.startswith("_")}
    found = {
        kind
        for module in pkgutil.walk_packages(hornbeam.graphs.__path__, "hornbeam.graphs.")
        for _, kind in inspect.getmembers(importlib.import_module(module.name), inspect.isclass)
        if kind is not GraphCounter
        and asked <= {*dir(kind), *getattr(kind, "__dataclass_fields__", ())}
    }
    assert found == set(get_args(get_type_hints(both)["return"]))
