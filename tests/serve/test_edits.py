"""Edits survive their cookie, and nothing else in a cookie does any harm."""

from __future__ import annotations

import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from hornbeam.base.files import fingerprint
from hornbeam.errors import InputError
from hornbeam.rules.clause import prior
from hornbeam.rules.rule_model import Rule
from hornbeam.serve.edits import MAX_WEIGHT, Edits

N_RULES = 9
RULES = st.integers(0, N_RULES - 1)
EDITS = st.builds(
    Edits,
    st.dictionaries(RULES, st.floats(0, MAX_WEIGHT), max_size=6),
    st.frozensets(RULES, max_size=6),
)


@given(EDITS)
def test_a_cookie_gives_back_the_same_edits(edits: Edits) -> None:
    text = edits.encoded("0a1b")
    assert Edits.decoded(text, "0a1b", N_RULES) == edits
    assert re.fullmatch(r"[A-Za-z0-9_.+-]+", text), "nothing that a cookie must quote"


@given(EDITS)
def test_edits_of_one_model_are_not_taken_for_anothers(edits: Edits) -> None:
    assert Edits.decoded(edits.encoded("aaaa"), "bbbb", N_RULES) == Edits()


@given(st.text(max_size=60) | st.text("0123456789wx_.e+-", max_size=60).map("aaaa_".__add__))
def test_whatever_stands_in_a_cookie(text: str) -> None:
    edits = Edits.decoded(text, "aaaa", N_RULES)
    assert all(0 <= rule < N_RULES for rule in edits.rules)
    assert all(0 <= weight <= MAX_WEIGHT for weight in edits.weights.values())


@pytest.mark.parametrize(
    "item", ["9x", "0w-1", "0winf", "0wnan", "0w1e9", "0w", "x", "0w1e999", "0x0x", "-1x"]
)
def test_wrong_items_make_no_edits(item: str) -> None:
    assert Edits.decoded(f"aaaa_{item}", "aaaa", N_RULES) == Edits()


@pytest.mark.parametrize("weight", [-0.1, float("nan"), float("inf"), MAX_WEIGHT * 2])
def test_weights_that_are_none(weight: float) -> None:
    with pytest.raises(InputError, match="a number from 0"):
        Edits().with_weight(0, weight)


def test_more_edits_than_a_cookie_holds() -> None:
    edits = Edits(dict.fromkeys(range(1000), 0.1234567))
    with pytest.raises(InputError, match="download the edited model"):
        edits.encoded("aaaa")
    assert Edits.decoded("aaaa" + "_1x" * 2000, "aaaa", N_RULES) == Edits()


def test_what_edits_do_to_rules() -> None:
    rules = [Rule(float(i), prior(f"t{i}")) for i in range(3)]
    edits = Edits().with_weight(2, 0.25).switched(1, on=False).with_weight(1, 7.0)
    assert [rule.weight for rule in edits.scoring(rules)] == [0.0, 0.0, 0.25]
    assert [(rule.weight, rule.clause) for rule in edits.kept(rules)] == [
        (0.0, prior("t0")),
        (0.25, prior("t2")),
    ]
    assert edits.switched(1, on=True).scoring(rules)[1].weight == 7.0
    assert not edits.without(1).without(2)


def test_fingerprints_tell_models_apart() -> None:
    assert fingerprint("a") != fingerprint("b")
