"""`hornbeam show`, and the report without facts, on models of both kinds and of old versions."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.support.commands import hornbeam_

WRITTEN = Path(__file__).parents[1] / "rules" / "written_by"


def refused(*words: object) -> str:
    """What a command that must be refused says."""
    result = hornbeam_(*words)
    assert result.code == 2, result.stdout
    return result.stderr


def test_the_card_of_a_learned_model(countries_model: Path) -> None:
    shown = hornbeam_("show", countries_model)
    assert shown.code == 0, shown.stderr
    for words in ("Learned by Hornbeam", "method joint", "fingerprint", "Internal validation"):
        assert words in shown.stdout
    card = hornbeam_("show", countries_model, "--json").json
    assert card["kind"] == "rules"
    assert not card["edited"]
    assert card["learned"]["labels"]["true"] > 0
    assert {rule["weight"] for rule in card["heaviest"]}
    assert "neighbour" in card["needs"]["predicates"]


TIMED = '# hornbeam: {"version": 1, "time": "day"}\n'


@pytest.mark.parametrize(
    ("rule", "needs"),
    [
        ("(age(A) - age(B) >= 3) -> t(A, B)", ["Facts that mention", "Numbers or dates of age."]),
        ("(B == 'rome') -> t(A, B)", ["Facts that mention the entities."]),
        ("!t(A, B)", ["No facts: it has priors only."]),
        ("p(A, B) [ever] -> t(A, B)", ["Facts of p.", "A time of every fact and pair, in days."]),
    ],
)
def test_what_rules_without_relations_need(tmp_path: Path, rule: str, needs: list[str]) -> None:
    (tmp_path / "model.psl").write_text(f"{TIMED if 'ever' in rule else ''}1: {rule}\n")
    shown = hornbeam_("show", tmp_path / "model.psl").stdout.partition("What it needs\n")[2]
    lines = shown.strip().splitlines()
    assert len(lines) == len(needs)
    assert all(line.strip().startswith(start) for line, start in zip(lines, needs, strict=True))


OLD = [WRITTEN / "0.1" / "joint.psl", WRITTEN / "0.9" / "joint.psl"]
OLD += [WRITTEN / "0.4" / "graph.hornbeam", WRITTEN / "0.9" / "graph.hornbeam"]


@pytest.mark.parametrize("path", OLD, ids=lambda path: f"{path.parent.name}-{path.name}")
def test_old_models_have_cards_and_pages(path: Path, tmp_path: Path) -> None:
    shown = hornbeam_("show", path)
    assert shown.code == 0, shown.stderr
    assert "The file does not say" in shown.stdout
    page = tmp_path / "page.html"
    assert hornbeam_("report", path, "-o", page, "-q").code == 0
    text = page.read_text()
    assert "Where it comes from" in text
    assert "known links</dt>" not in text


def test_what_is_no_model(tmp_path: Path) -> None:
    assert "cannot be read" in refused("show", tmp_path / "none.psl")
    (tmp_path / "facts.tsv").write_text("a\tp\tb\n")
    assert "looks like a table of facts" in refused("show", tmp_path / "facts.tsv")


def test_a_judged_report_needs_facts(countries_model: Path, tmp_path: Path) -> None:
    words = ("report", countries_model, "--labels", "labels.tsv", "-o", tmp_path / "r.html")
    assert "give --facts" in refused(*words)
