from __future__ import annotations

import pytest

from hornbeam.rules.body import Body, Step
from hornbeam.rules.clause import Clause, prior

CITES, MENTIONS = Step("cites"), Step("mentions")


@pytest.mark.parametrize(
    ("steps", "text"),
    [
        ((CITES,), "cites(A, B) -> t(A, B)"),
        ((CITES.reversed(),), "cites(B, A) -> t(A, B)"),
        ((CITES, MENTIONS), "cites(A, B) & mentions(B, C) -> t(A, C)"),
        (
            (CITES.reversed(), CITES, MENTIONS.reversed()),
            "cites(B, A) & cites(B, C) & mentions(D, C) -> t(A, D)",
        ),
        (
            (CITES, CITES.reversed(), CITES, MENTIONS),
            "cites(A, B) & cites(C, B) & cites(C, D) & mentions(D, E) -> t(A, E)",
        ),
    ],
)
def test_text(steps: tuple[Step, ...], text: str) -> None:
    path = Body(steps, "t")
    assert str(Clause(path)) == text
    assert str(Clause(path, negated=True)) == text.replace("-> t", "-> !t")


def test_distinct_variables_are_written_out() -> None:
    path = Body((CITES, MENTIONS.reversed()), "t")
    assert Clause(path, negated=True).text({}, distinct=True) == (
        "cites(A, B) & mentions(C, B) & (A != B) & (A != C) & (B != C) -> !t(A, C)"
    )
    longest = Clause(Body((CITES,) * 4, "t")).text({}, distinct=True)
    assert longest.count("!=") == 10


def test_identifiers_stand_for_names() -> None:
    names = {"cites": "cites_2", "/t": "t"}
    path = Body((CITES, MENTIONS), "/t")
    text = Clause(path).text(names)
    assert text == "cites_2(A, B) & mentions(B, C) -> t(A, C)"
    assert prior("/t").text(names) == "!t(A, B)"


def test_prior() -> None:
    assert str(prior("knows")) == "!knows(A, B)"
    assert str(prior("knows", negated=False)) == "knows(A, B)"
    assert prior("knows").text({}, distinct=True) == "!knows(A, B)"
    assert prior("knows").is_prior
    assert not Clause(Body((CITES,), "knows")).is_prior


def test_paths_are_values() -> None:
    assert Body((CITES,), "t") == Body((Step("cites", inverse=False),), "t")
    assert len({Body((CITES,), "t"), Body((CITES,), "t"), Body((CITES,), "s")}) == 2
    assert CITES.reversed().reversed() == CITES
    assert len(Body((CITES, MENTIONS), "t")) == 2
