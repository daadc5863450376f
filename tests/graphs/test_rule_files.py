"""Rules of AnyBURL and AMIE: what is read from them, what is written for them."""

from __future__ import annotations

import csv
import json
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from hornbeam.errors import DataError, InputError
from hornbeam.graph_model import GraphModel
from hornbeam.graphs.ranking_model import (
    Calibration,
    LinkedShares,
    RelationRules,
)
from hornbeam.graphs.rule_files import CONSTANTS, NO_PATH, UNKNOWN, read_imported_rules
from hornbeam.ranking.queries import Direction
from hornbeam.reporting.rule_tables import save_rules
from hornbeam.rules.body import Step
from tests.support.graph_rules import constant_rule, path_rule

RELATIONS = ("treats", "contains", "a(b),c", "part of")


def read(folder: Path, text: str, max_length: int = 3) -> dict[str, tuple[tuple[Step, ...], ...]]:
    file = folder / "rules.txt"
    file.write_text(text, encoding="utf-8")
    return dict(read_imported_rules(file, RELATIONS, max_length).paths)


def test_anyburls_rules_become_paths_from_subject_to_object(tmp_path: Path) -> None:
    text = (
        "103\t77\t0.7475\ttreats(X,Y) <= contains(X,A), treats(A,Y)\n"
        "12\t9\t0.75\ttreats(X,Y) <= contains(A,X), part of(Y,A)\n"
        "12\t9\t0.75\tcontains(Y,X) <= treats(X,Y)\n"
        "12\t9\t0.75\ta(b),c(X,Y) <= part of(Y,X)\n"
    )
    assert read(tmp_path, text) == {
        "a(b),c": ((Step("part of", True),),),
        "contains": ((Step("treats", True),),),
        "treats": (
            (Step("contains"), Step("treats")),
            (Step("contains", True), Step("part of", True)),
        ),
    }


def test_amies_rules_in_any_order_of_atoms_and_with_what_it_says_besides(tmp_path: Path) -> None:
    text = (
        "Starting the mining phase... \n"
        "Rule\tHead Coverage\tStd Confidence\n"
        "?c  <treats>  ?b  ?a  <contains>  ?c   => ?a  <treats>  ?b\t0.2\t0.7\n"
        "?a  part of  ?b   => ?b  <contains>  ?a\t0.2\t0.7\n"
        "Mining done in 0.1s\n"
    )
    assert read(tmp_path, text) == {
        "contains": ((Step("part of", True),),),
        "treats": ((Step("contains"), Step("treats")),),
    }


def test_what_is_left_out_is_counted(tmp_path: Path) -> None:
    file = tmp_path / "rules.txt"
    file.write_text(
        "9\t9\t1.0\ttreats(X,flu) <= contains(X,iron)\n"
        "9\t9\t1.0\ttreats(X,Y) <= contains(X,A), contains(A,B), contains(B,Y)\n"  # too long
        "9\t9\t1.0\ttreats(X,Y) <= contains(X,Y), contains(X,A)\n"  # a branch
        "9\t9\t1.0\ttreats(X,Y) <= treats(X,Y)\n"  # itself
        "9\t9\t1.0\ttreats(X,Y) <= heals(X,Y)\n"
        "9\t9\t1.0\ttreats(X,Y) <= contains(X,Y)\n",
        encoding="utf-8",
    )
    found = read_imported_rules(file, RELATIONS, 2)
    assert found.left_out == {CONSTANTS: 1, NO_PATH: 3, UNKNOWN: 1}
    assert len(found) == 1


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("", "has no rule"),
        ("nothing here\n", "has no rule"),
        ("9\t9\t1.0\ttreats(X,Y)\n", "line 1.*no arrow"),
        ("  9\t9\t1.0\ttreats(X,Y)\n", "line 1.*no arrow"),
        ("\n9\t9\t1.0\ttreats <= contains\n", "line 2.*is not a rule"),
        ("?a  <treats>   => ?a  <treats>  ?b\n", "line 1.*is not a rule"),
        ("?a  p  ?b   => ?a  treats  ?b  ?b  treats  ?a\n", "line 1.*is not a rule"),
    ],
)
def test_files_that_are_none(tmp_path: Path, text: str, message: str) -> None:
    with pytest.raises(DataError, match=message):
        read(tmp_path, text)
    with pytest.raises(DataError, match="cannot be read"):
        read_imported_rules(tmp_path / "missing.txt", RELATIONS, 2)


def model_of(*relations: RelationRules) -> GraphModel:
    return GraphModel(
        relations,
        ("path_best",),
        (1.0,),
        None,
        True,
        True,
        True,
        50,
        3,
        Calibration(),
        LinkedShares(0.1),
    )


STEPS = st.builds(Step, st.sampled_from(RELATIONS), st.booleans())
PATHS = st.lists(STEPS, min_size=1, max_size=3).map(tuple)


@given(st.sampled_from(RELATIONS), PATHS, st.sampled_from(Direction))
def test_what_is_written_for_anyburl_is_read_again(
    tmp_path_factory: pytest.TempPathFactory,
    relation: str,
    path: tuple[Step, ...],
    direction: Direction,
) -> None:
    file = tmp_path_factory.mktemp("rules") / "rules.anyburl"
    rules = (path_rule(relation, direction, path, 3, 4),)
    save_rules(model_of(RelationRules(relation, direction, 9, rules)), file)
    expected = path
    if direction is Direction.SUBJECT:
        expected = tuple(step.reversed() for step in path[::-1])
    if expected == (Step(relation),):
        assert len(read_imported_rules(file, RELATIONS, 3)) == 0
    else:
        assert read_imported_rules(file, RELATIONS, 3).paths == {relation: (expected,)}


def test_all_formats_have_all_rules(tmp_path: Path) -> None:
    path = (Step("contains"), Step("treats"))
    back = tuple(step.reversed() for step in path[::-1])
    forwards, backwards = ("treats", Direction.OBJECT), ("treats", Direction.SUBJECT)
    model = model_of(
        RelationRules(
            *forwards, 9, (path_rule(*forwards, path, 3, 5),),
            (constant_rule(*forwards, Step("contains"), "iron", 'a "cold"', 2, 2),),
        ),
        RelationRules(
            *backwards, 9, (path_rule(*backwards, back, 1, 5),),
            (constant_rule(*backwards, Step("part of", True), None, "aspirin", 2, 8),),
        ),
    )  # fmt: skip
    for name in ("rules.csv", "rules.jsonl", "rules.txt"):
        save_rules(model, tmp_path / name)
    assert (tmp_path / "rules.txt").read_text() == (
        '2\t2\t1.0\ttreats(X,a "cold") <= contains(X,iron)\n'
        "10\t4\t0.4\ttreats(X,Y) <= contains(X,A), treats(A,Y)\n"
        "8\t2\t0.25\ttreats(aspirin,Y) <= part of(A,Y)\n"
    )
    with open(tmp_path / "rules.csv", encoding="utf-8", newline="") as stream:
        rows = list(csv.DictReader(stream))
    records = [json.loads(line) for line in (tmp_path / "rules.jsonl").read_text().splitlines()]
    assert [{key: str(value) for key, value in record.items()} for record in records] == rows
    assert [record["kind"] for record in records] == ["path", "constant"] * 2
    assert records[0]["confidence"] == 3 / 10
    with pytest.raises(InputError, match=r"rules\.xls.*expected a name that ends in \.csv"):
        save_rules(model, tmp_path / "rules.xls")
