"""What a mistyped name may have meant."""

from __future__ import annotations

import pytest

from hornbeam.base import texts
from hornbeam.base.texts import did_you_mean


@pytest.mark.parametrize("many", [1, 100])
@pytest.mark.parametrize(
    ("name", "expected"),
    [
        ("Ukraine", " Did you mean 'ukraine'?"),
        ("ukrane", " Did you mean 'ukraine'?"),
        ("spain", ""),
        ("", ""),
    ],
)
def test_near_names_are_suggested(
    monkeypatch: pytest.MonkeyPatch, many: int, name: str, expected: str
) -> None:
    monkeypatch.setattr(texts, "MAX_COMPARED_NAMES", many)
    assert did_you_mean(name, ["ukraine", "uganda", "peru"]) == expected


def test_at_most_three_and_printable() -> None:
    hint = did_you_mean("name", ["name1", "name2", "NAME", "name\x1b[31m"])
    assert hint == " Did you mean 'NAME' or 'name2' or 'name1'?"
    assert "\x1b" not in did_you_mean("name", ["name\x1b["])
