"""What is said about rules that the facts cannot ground."""

from __future__ import annotations

import pytest

import hornbeam as hb
from hornbeam.counting.opening import open_engine
from hornbeam.errors import HornbeamWarning, InputError
from hornbeam.scoring.model_checks import warn_of_missing_names

FACTS = hb.read_facts([("ada", "knows", "ben"), ("ben", "likes", "tea")])
PAIRS = hb.read_labels([("ada", "likes", "tea", 1.0)])


def test_unknown_constants_warn_and_have_no_groundings() -> None:
    text = """
    5: knows(A, 'cleo') -> likes(A, B)
    5: (B == 'coffee') & knows(A, X) -> likes(A, B)
    """
    model = hb.Model.parse(text)
    with pytest.warns(HornbeamWarning, match="no fact has 'cleo', 'coffee'; conditions on such"):
        scores = model.predict(FACTS, PAIRS)["score"]
    assert scores.tolist() == [0.5]


@pytest.mark.parametrize("engine", ["memory", "duckdb"])
def test_engines_are_asked_for_constants(engine: str) -> None:
    model = hb.Model.parse("1: knows(A, 'cleo') & knows(A, 'ben') -> likes(A, B)")
    with pytest.warns(HornbeamWarning, match="no fact has 'cleo'; conditions") as caught:
        warn_of_missing_names(model, open_engine(FACTS, engine))
    assert len(caught) == 1


def test_known_constants_do_not_warn(recwarn: pytest.WarningsRecorder) -> None:
    model = hb.Model.parse("5: knows(A, 'ben') & (B == 'tea') -> likes(A, B)\n1: !likes(A, B)")
    [score] = model.predict(FACTS, PAIRS)["score"]
    assert score == pytest.approx(0.9820138)
    assert not recwarn.list


def test_a_long_list_of_unknown_constants_is_cut() -> None:
    rules = "\n".join(f"1: knows(A, 'x{i:02}') -> likes(A, B)" for i in range(20))
    with pytest.warns(HornbeamWarning, match=r"'x09', \.\.\.; conditions"):
        hb.Model.parse(rules).predict(FACTS, PAIRS)


@pytest.mark.filterwarnings("ignore:the facts have no predicate")
@pytest.mark.parametrize(
    "rule",
    [
        "knows(A, X) -> likes(A, B)",
        "knows(A, 'ben') -> likes(A, B)",
        "(A == 'ada') -> likes(A, B)",
        "tall(A) -> likes(A, B)",
        "knows(A, X) & likes(Y, B) -> likes(A, B)",
        "(knows(A, X) & likes(X, B)) [n >= 2] -> likes(A, B)",
        "knows(A, X) & likes(X, B) -> likes(A, B) [log]",
        "sold(A, X, B) -> likes(A, B)",
    ],
)
def test_collective_models_take_plain_paths_only(rule: str) -> None:
    text = f'# hornbeam: {{"collective": true}}\n1: {rule}\n1: !likes(A, B)\n'
    model = hb.Model.parse(text)
    with pytest.raises(InputError, match="takes rules of one path between the two arguments"):
        model.predict(FACTS, PAIRS)
    with pytest.raises(InputError, match="takes rules of one path between the two arguments"):
        model.explain(FACTS, ("ada", "tea"), pairs=PAIRS)
