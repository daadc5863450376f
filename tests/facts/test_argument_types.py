"""Types of arguments: of tables, or given; they limit negatives and proposals alike."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import hornbeam as hb
from hornbeam.errors import InputError
from hornbeam.facts.argument_types import ArgumentTypes
from hornbeam.facts.negatives import origins, with_negatives
from hornbeam.facts.table import Facts
from tests.support.commands import hornbeam_

PEOPLE, CITIES = [f"p{i}" for i in range(6)], [f"c{i}" for i in range(5)]
TYPES = dict.fromkeys(PEOPLE, "person") | dict.fromkeys(CITIES, "city")
ARGUMENTS = {"visits": ("person", "city")}


def typed(links: set[tuple[str, str]]) -> Facts:
    near = [(name, "near", name) for name in TYPES]
    facts = hb.read_facts([(a, "visits", b) for a, b in sorted(links)], near)
    return facts.with_types(TYPES, ARGUMENTS)


@given(
    st.sets(st.tuples(st.sampled_from(PEOPLE), st.sampled_from(CITIES)), min_size=1, max_size=8),
    st.sampled_from(["typed", "uniform"]),
    st.integers(0, 99),
)
def test_negatives_are_of_the_given_types(
    links: set[tuple[str, str]], sampling: str, seed: int
) -> None:
    facts = typed(links)
    pairs = with_negatives(facts, ["visits"], 2, sampling, rng=np.random.default_rng(seed))  # type: ignore[arg-type]
    negatives = {pairs.names_at(row)[::2] for row in np.flatnonzero(~pairs.positive).tolist()}
    assert negatives <= {(a, b) for a in PEOPLE for b in CITIES} - links
    # every pair that shares an end with a true one can be drawn
    reachable = {
        (a, b) for a in PEOPLE for b in CITIES if any(a == s or b == o for s, o in links)
    } - links
    assert len(negatives) == min(2 * len(links), len(reachable))
    origin = origins(pairs, sampling, np.random.default_rng(seed), facts)  # type: ignore[arg-type]
    for row, true in enumerate(origin.tolist()):
        assert pairs.positive[true]
        (a, _, b), (s, _, o) = pairs.names_at(row), pairs.names_at(true)
        assert a == s or b == o


def test_given_types_decide_who_may_stand_where() -> None:
    types = ArgumentTypes(typed({("p0", "c0")}))
    names = list(types.facts.entities)
    for place, expected in enumerate((PEOPLE, CITIES)):
        allowed, standing = types.allowed("visits", place), types.standing("visits", place)
        assert allowed is not None
        assert standing is not None
        for mask in (allowed, standing):
            assert [name for name, may in zip(names, mask, strict=True) if may] == expected
    wrong = types.facts.with_types(None, {"visits": ("persn", "city")})
    with pytest.raises(InputError, match=r"no entity has the type 'persn'.*Did you mean 'person'"):
        ArgumentTypes(wrong).allowed("visits", 0)


def test_types_stay_with_their_entities_where_facts_change() -> None:
    facts = typed({("p0", "c0"), ("p3", "c1")})
    grown = facts + hb.read_facts([("a", "visits", "zz"), ("c00", "near", "p0")])
    assert grown.types.arguments == ARGUMENTS
    kind = ArgumentTypes(grown).kind
    for number, name in enumerate(grown.entities):
        shown = grown.types.kinds[kind[number]] if kind[number] >= 0 else None
        assert shown == TYPES.get(name)


def test_a_table_is_the_type_of_its_entities(tmp_path: Path) -> None:
    """Both tables have a city, so rules lead from people to people; only shops are proposed."""
    people = {"id": [f"p{i}" for i in range(12)], "city": [f"c{i % 3}" for i in range(12)]}
    shops = {"id": [f"s{i}" for i in range(6)], "city": [f"c{i % 3}" for i in range(6)]}
    links = {"person": "people", "shop": "shops"}
    visits = {"person": [f"p{i}" for i in range(11)], "shop": [f"s{i % 3}" for i in range(11)]}
    tables = [
        hb.read_table(people, key="id", name="people"),
        hb.read_table(shops, key="id", name="shops"),
        hb.read_table(visits, name="visits", links=links),
    ]
    facts = hb.read_facts(*tables)
    assert facts.types.named() == {"people": 12, "shops": 6}
    assert (tables[0] + tables[1] + tables[2]).types.named() == facts.types.named()
    model = hb.Model.parse("2: city(A, B) & city(C, B) -> visits(A, C)\n1: !visits(A, B)\n")
    proposed = model.propose(facts, top=100, subjects=people["id"])
    assert len(proposed) == 13  # two shops for each of twelve people, without the known ones
    assert {str(name)[0] for name in proposed["object"]} == {"s"}


def test_types_on_the_command_line(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    links = [f"p{i}\tvisits\tc{i % 2}\n" for i in range(4)]
    near = [f"{name}\tnear\tc0\n" for name in TYPES]
    Path("facts.tsv").write_text("".join(links + near))
    Path("names.tsv").write_text(
        "".join(f"{name}\t{name}\t{kind}\n" for name, kind in TYPES.items())
    )
    given_types = ("--names", "names.tsv", "--arguments", "visits=person,city")
    learn = ("learn", "--facts", "facts.tsv", "--target", "visits", "-o", "m.psl", "-q")
    assert hornbeam_(*learn, *given_types, "--min-coverage", "1").code == 0
    Path("m.psl").write_text("1: near(A, X) -> visits(A, B)\n")
    wanted = ("predict", "m.psl", "--facts", "facts.tsv", "--subject", "p5", "--top", "9", "-q")
    told = hornbeam_(*wanted, *given_types)
    assert {row[2] for row in told.rows} == set(CITIES), told.stderr
    assert {row[2] for row in hornbeam_(*wanted).rows} == {"c0", "c1"}
    for wrong, problem in (
        ("visits=person,town", "--arguments: no entity has the type 'town'"),
        ("visits=a,b,c", "--arguments: 'visits' has 3 types; expected 1 or 2"),
        ("visits", "--arguments 'visits': expected"),
    ):
        said = hornbeam_(*learn, "--names", "names.tsv", "--arguments", wrong)
        assert (said.code, problem in said.stderr) == (2, True), said.stderr
    assert hornbeam_(*learn, *given_types, "--engine", "duckdb").code == 2


@pytest.mark.slow
def test_types_limit_a_whole_graph_on_the_command_line(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    visits = [f"p{i}\tvisits\tc{i % 2}\n" for i in range(4)]
    near = [f"{a}\tnear\t{b}\n" for a in TYPES for b in TYPES]
    Path("facts.tsv").write_text("".join(visits + near))
    Path("names.tsv").write_text("".join(f"{a}\t{a}\t{kind}\n" for a, kind in TYPES.items()))
    files = ("--facts", "facts.tsv", "--names", "names.tsv", "-q")
    learn = ("learn", *files, "--all-relations", "--max-length", "1", "-o", "g.hornbeam")
    told = hornbeam_(*learn, "--arguments", "visits=person,person")
    assert (told.code, told.stderr.count("\n")) == (2, 1), told.stderr
    assert "'c0' has the type 'city'; expected 'person' (4 pairs in all)" in told.stderr
    given_types = ("--arguments", "visits=person,city")
    assert hornbeam_(*learn, *given_types).code == 0
    Path("asked.tsv").write_text("p5\tvisits\t?\n")
    asked = ("predict", "g.hornbeam", *files, "--queries", "asked.tsv", "--top", "20")
    assert {row[2] for row in hornbeam_(*asked, *given_types).rows} == set(CITIES)
