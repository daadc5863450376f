"""The most rows of a join, against the rows it has."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from hornbeam.language.syntax import Atom, Constant, Term, Variable
from hornbeam.programs.grounding.forecasts import most_rows
from hornbeam.programs.grounding.ground_queries import AtomTables, Joins, atom_tables
from tests.support.brute_grounding import World
from tests.support.ground_worlds import ARITIES, CONSTANTS, program_data, worlds

TERMS: st.SearchStrategy[Term] = st.sampled_from(
    [*map(Variable, "ABCD"), *map(Constant, [*CONSTANTS, "unknown"])]
)


@st.composite
def atoms(draw: st.DrawFn) -> Atom:
    predicate = draw(st.sampled_from(sorted(ARITIES)))
    arity = ARITIES[predicate]
    return Atom(predicate, tuple(draw(st.lists(TERMS, min_size=arity, max_size=arity))))


def rows(listed: list[Atom], tables: AtomTables) -> int:
    joins = Joins(tables)
    for atom in listed:
        joins.inner(atom)
    [(found,)] = tables.connection.execute(f"SELECT count(*) {joins.text()}").fetchall()
    return int(found)


@given(worlds(), st.lists(atoms(), min_size=1, max_size=4))
@settings(max_examples=60, deadline=None)
def test_no_join_has_more_rows(world: World, listed: list[Atom]) -> None:
    with atom_tables(program_data(world), set()) as tables:
        assert rows(listed, tables) <= most_rows(listed, tables)


@given(worlds(), st.permutations([("Q", "AB"), ("R", "BC"), ("T", "BD"), ("U", "E")]))
@settings(max_examples=40, deadline=None)
def test_the_rows_of_a_tree_are_counted_exactly(
    world: World, listed: list[tuple[str, str]]
) -> None:
    tree = [Atom(predicate, tuple(map(Variable, names))) for predicate, names in listed]
    with atom_tables(program_data(world), set()) as tables:
        assert most_rows(tree, tables) == rows(tree, tables)


def test_a_hub_does_not_count_for_all() -> None:
    """A node with many edges raises the bound by its own rows only."""
    spokes = [f"n{i}" for i in range(50)]
    edges = {("Q", ("hub", spoke)) for spoke in spokes} | {
        ("Q", (spoke, "end")) for spoke in spokes
    }
    world = World(["hub", "end", *spokes], dict.fromkeys(edges, 1.0), frozenset(), {})
    path = [Atom("Q", (Variable("A"), Variable("B"))), Atom("Q", (Variable("B"), Variable("C")))]
    with atom_tables(program_data(world), set()) as tables:
        assert most_rows(path, tables) == 50
        closed = [*path, Atom("Q", (Variable("A"), Variable("C")))]
        assert most_rows(closed, tables) == 50
        assert most_rows([Atom("Q", (Constant("hub"), Variable("B")))], tables) == 50
        assert most_rows([Atom("Q", (Constant("end"), Variable("B")))], tables) == 0
        assert most_rows([*path[:1], Atom("Q", (Variable("C"), Variable("D")))], tables) == 10_000


def test_a_bound_beyond_all_integers_is_still_a_number() -> None:
    world = World(CONSTANTS, {("P", (c,)): 1.0 for c in CONSTANTS}, frozenset(), {})
    many = [Atom("P", (Variable(f"V{i}"),)) for i in range(60)]
    with atom_tables(program_data(world), set()) as tables:
        assert most_rows(many, tables) == pytest.approx(3.0**60)
