"""`hornbeam diff`: what differs between two models."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

import hornbeam as hb
from hornbeam.reporting.model_diff import ModelDiff
from tests.support.commands import hornbeam_, write

FACTS = [
    ("a", "p", "x"), ("b", "p", "x"), ("c", "p", "y"), ("b", "q", "z"), ("<b>", "q", "[/]"),
]  # fmt: skip
LABELS = [("b", "t", "x", 1), ("c", "t", "y", 0), ("b", "t", "z", 0), ("<b>", "t", "[/]", 1)]
OLD = "1.5: p(A, B) -> t(A, B)\n1.0: !t(A, B)\n0.5: q(A, B) -> !t(A, B)\n"
NEW = "0.2: p(A, B) -> t(A, B)\n1.0: !t(A, B)\n3.0: q(A, B) -> t(A, B)\n"


@pytest.fixture
def files(tmp_path: Path) -> dict[str, Path]:
    """Two models, facts and labels."""
    found = {name: tmp_path / f"{name}.psl" for name in ("old", "new")}
    for name, text in (("old", OLD), ("new", NEW)):
        found[name].write_text(text)
    rows = [tuple(map(str, row)) for row in LABELS]
    return {
        **found,
        "facts": write(tmp_path / "facts.tsv", FACTS),
        "labels": write(tmp_path / "labels.tsv", rows),
    }


def judged(files: dict[str, Path]) -> tuple[object, ...]:
    return ("diff", files["old"], files["new"], "--facts", files["facts"],
            "--labels", files["labels"])  # fmt: skip


def test_rules_are_gone_new_or_changed(files: dict[str, Path]) -> None:
    found = hornbeam_("diff", files["old"], files["new"], "--json").json
    assert [(row["change"], row["rule"], row["old_weight"], row["new_weight"])
            for row in found["rules"]] == [
        ("gone", "q(A, B) -> !t(A, B)", 0.5, None),
        ("new", "q(A, B) -> t(A, B)", None, 3.0),
        ("changed", "p(A, B) -> t(A, B)", 1.5, 0.2),
    ]  # fmt: skip
    assert (found["same"], found["settings"], found["sides"]) == (1, {}, None)
    table = hornbeam_("diff", files["old"], files["new"], "--out-format", "tsv").rows
    assert [row[0] for row in table] == ["change", "gone", "new", "changed"]


def test_labels_judge_both_and_show_pairs_that_change_sides(files: dict[str, Path]) -> None:
    found = hornbeam_(*judged(files), "--json").json
    old, new = (hb.Model.parse(text) for text in (OLD, NEW))
    for name, model in (("old", old), ("new", new)):
        assert found[f"{name}_figures"] == model.evaluate(FACTS, LABELS).as_dict()
    sides = {
        tuple(row[:3])
        for row, before, after in zip(
            LABELS, old.predict(FACTS, LABELS)["score"], new.predict(FACTS, LABELS)["score"],
            strict=True,
        )
        if (before >= 0.5) != (after >= 0.5)
    }  # fmt: skip
    assert len(sides) == 4
    assert {(row["subject"], row["predicate"], row["object"]) for row in found["sides"]} == sides
    shown = hornbeam_(*judged(files)).stdout
    assert "4 of 4 labelled pairs change sides." in shown
    assert "<b>" in shown
    assert "[/]" in shown


def test_a_model_does_not_differ_from_itself(files: dict[str, Path]) -> None:
    shown = hornbeam_("diff", files["old"], files["old"]).stdout
    assert shown == "Rules: 0 gone, 0 new, 0 changed, 3 the same.\n"


def test_what_differs_is_named_value_by_value(tmp_path: Path) -> None:
    """A reviewer reads lines, not the dictionaries of a file's first line."""
    learned = {"hornbeam": "1", "method": "joint", "seed": 0, "rules": ""}
    for name, settings in (("old", {}), ("new", {"bodies": ["paths"], "exclude": ["p" * 200]})):
        head = {**learned, "settings": {"target": ["t"], **settings}}
        entry = f'"learned": {json.dumps(head)}, "threshold"'
        (tmp_path / name).write_text(hb.Model.parse(OLD).text.replace('"threshold"', entry))
    shown = hornbeam_("diff", tmp_path / "old", tmp_path / "new").stdout.splitlines()
    assert shown[-2:] == [
        "learned settings bodies: None before, now ['paths']",
        "learned settings exclude: differs (--json has both values)",
    ]


def test_settings_differ() -> None:
    text = hb.Model.parse(OLD).text.replace('"threshold": 0.5', '"threshold": 0.4')
    found = hb.Model.parse(OLD).diff(hb.Model.parse(text))
    assert isinstance(found, ModelDiff)
    assert found.settings == {"threshold": (0.5, 0.4)}
    assert found.same == 3


def test_what_cannot_be_compared_is_refused(files: dict[str, Path]) -> None:
    ended = hornbeam_("diff", files["old"], files["new"], "--facts", files["facts"])
    assert ended.code == 2
    assert ended.told == [
        "hornbeam: models are judged by labels over facts: give --facts and --labels"
    ]
