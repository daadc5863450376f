from __future__ import annotations

import pytest

from hornbeam.rules.clause import Path, PathClause, Prior, Step, clause_text, prior_text

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
    path = Path(steps, "t")
    assert str(PathClause(path)) == text
    assert str(PathClause(path, negated=True)) == text.replace("-> t", "-> !t")


def test_distinct_variables_are_written_out() -> None:
    path = Path((CITES, MENTIONS.reversed()), "t")
    assert str(PathClause(path, negated=True, distinct=True)) == (
        "cites(A, B) & mentions(C, B) & (A != B) & (A != C) & (B != C) -> !t(A, C)"
    )
    longest = str(PathClause(Path((CITES,) * 4, "t"), distinct=True))
    assert longest.count("!=") == 10


def test_identifiers_stand_for_names() -> None:
    names = {"cites": "cites_2", "/t": "t"}
    path = Path((CITES, MENTIONS), "/t")
    text = clause_text(path, False, False, names)
    assert text == "cites_2(A, B) & mentions(B, C) -> t(A, C)"
    assert prior_text(Prior("/t"), names) == "!t(A, B)"


def test_prior() -> None:
    assert str(Prior("knows")) == "!knows(A, B)"
    assert str(Prior("knows", negated=False)) == "knows(A, B)"


def test_paths_are_values() -> None:
    assert Path((CITES,), "t") == Path((Step("cites", inverse=False),), "t")
    assert len({Path((CITES,), "t"), Path((CITES,), "t"), Path((CITES,), "s")}) == 2
    assert CITES.reversed().reversed() == CITES
    assert len(Path((CITES, MENTIONS), "t")) == 2
