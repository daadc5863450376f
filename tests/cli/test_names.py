"""`--names` on every command that shows entities."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.support.commands import hornbeam_, write
from tests.support.pages import Page

FACTS = [("e1", "knows", "e2"), ("e2", "works_in", "e3"), ("e4", "knows", "e2")]
SCRIPT = "<script>alert('1')</script>"
NAMES = [("e1", "Ann", "person"), ("e2", "[bold]Ben[/bold]"), ("e3", SCRIPT)]
LABELS = [("e1", "works_in", "e3", 1), ("e4", "works_in", "e3", 0), ("e7", "works_in", "e3", 1)]


@pytest.fixture
def files(tmp_path: Path) -> dict[str, Path]:
    model = tmp_path / "model.psl"
    model.write_text(
        "1.5: knows(A, B) & works_in(B, C) -> works_in(A, C)\n"
        "0.5: knows(A, 'e2') -> works_in(A, B)\n0.5: !works_in(A, B)\n"
    )
    return {
        "model": model,
        "facts": write(tmp_path / "facts.tsv", FACTS),
        "names": write(tmp_path / "names.tsv", NAMES),
        "labels": write(tmp_path / "labels.tsv", LABELS),
        "queries": write(tmp_path / "queries.tsv", [("e1", "works_in", "?"),
                                                    ("?", "works_in", "e3")]),
    }  # fmt: skip


def words(files: dict[str, Path], command: str) -> list[object]:
    return [command, files["model"], "--facts", files["facts"], "--names", files["names"]]


def test_explain(files: dict[str, Path]) -> None:
    shown = hornbeam_(*words(files, "explain"), "e1", "e3")
    assert shown.stdout.startswith(f"Ann  works_in  {SCRIPT}\n")
    assert f"Ann -knows-> [bold]Ben[/bold] -works_in-> {SCRIPT}" in shown.stdout
    found = hornbeam_(*words(files, "explain"), "e1", "e3", "--json").json
    assert (found["subject"], found["object"]) == ("e1", "e3")
    assert found["names"] == {
        "e1": {"name": "Ann", "type": "person"},
        "e2": {"name": "[bold]Ben[/bold]", "type": None},
        "e3": {"name": SCRIPT, "type": None},
    }


def test_people_ask_by_name(files: dict[str, Path]) -> None:
    by_name = hornbeam_(*words(files, "explain"), "Ann", "e3", "--json").json
    assert by_name == hornbeam_(*words(files, "explain"), "e1", "e3", "--json").json


@pytest.mark.parametrize(
    ("typed", "meant"), [("Amn", "'Ann'"), ("alert", f"{SCRIPT!r}"), ("e33", "'e3'")]
)
def test_who_may_be_meant_is_asked_by_name_and_id(
    files: dict[str, Path], typed: str, meant: str
) -> None:
    asked = hornbeam_(*words(files, "explain"), typed, "e3")
    proposed = hornbeam_(*words(files, "predict"), "--subject", typed)
    for ended, place in ((asked, "entity"), (proposed, "subject")):
        assert ended.code == 2
        assert f"no fact has the {place} {typed!r}" in ended.stderr
        assert f"Did you mean {meant}" in ended.stderr


def test_labels_among_the_facts_are_names(files: dict[str, Path]) -> None:
    write(files["facts"], [*FACTS, ("e1", "rdfs:label", "Ann"), ("e2", "rdfs:label", "Ben")])
    shown = hornbeam_("explain", files["model"], "--facts", files["facts"], "Ann", "e3").stdout
    assert shown.startswith("Ann  works_in  e3\n")
    assert "Ann -knows-> Ben -works_in-> e3" in shown


@pytest.mark.slow
def test_predict(files: dict[str, Path], tmp_path: Path) -> None:
    rows = hornbeam_(*words(files, "predict"), "--pairs", files["labels"]).rows
    assert [[*row[:3], *row[4:]] for row in rows] == [
        ["e1", "works_in", "e3", "Ann", SCRIPT],
        ["e4", "works_in", "e3", "e4", SCRIPT],
        ["e7", "works_in", "e3", "e7", SCRIPT],
    ]
    [first, *_] = hornbeam_(*words(files, "predict"), "--subject", "e1", "--json").json[
        "predictions"
    ]
    assert (first["subject"], first["object_name"]) == ("e1", SCRIPT)
    import duckdb

    for suffix in ("parquet", "json", "csv", "jsonl"):
        output = tmp_path / f"answers.{suffix}"
        ended = hornbeam_(*words(files, "predict"), "--queries", files["queries"], "-o", output)
        assert (ended.code, ended.stdout) == (0, "")
    written = duckdb.read_parquet(str(tmp_path / "answers.parquet")).fetchall()
    assert [row[0] for row in written] == ["e1", "e1", "e4"]
    assert [row[-2] for row in written] == ["Ann", "Ann", "e4"]


def test_names_stand_for_ids(files: dict[str, Path], tmp_path: Path) -> None:
    """In queries, pairs and subjects; ambiguous and unknown names are said."""
    asked = write(tmp_path / "asked.tsv", [("Ann", "works_in", "?"), ("?", "works_in", SCRIPT)])
    by_id = hornbeam_(*words(files, "predict"), "--queries", files["queries"])
    by_name = hornbeam_(*words(files, "predict"), "--queries", asked)
    assert by_name.rows == by_id.rows != []
    pairs = [
        write(tmp_path / f"{pair[0]}.tsv", [pair])
        for pair in (("e1", "works_in", "e3"), ("Ann", "works_in", SCRIPT))
    ]
    scored = [hornbeam_(*words(files, "predict"), "--pairs", pair).rows for pair in pairs]
    assert scored[0] == scored[1]
    proposed = [
        hornbeam_(*words(files, "predict"), "--subject", name).rows for name in ("e1", "Ann")
    ]
    assert proposed[0] == proposed[1] != []
    write(asked, [("Amn", "works_in", "?"), ("e4", "works_in", "?")])
    told = hornbeam_(*words(files, "predict"), "--queries", asked)
    assert [row[-3] for row in told.rows] == ["2"]
    said = "no fact has 'Amn', which query 1 names; it gets no answer. Did you mean 'Ann'?"
    assert f"hornbeam: warning: {said}" in told.told
    write(asked, [("Amn", "works_in", "?")])
    told = hornbeam_(*words(files, "predict"), "--queries", asked)
    assert (told.code, told.stdout) == (2, "")
    assert "no query can be answered. Did you mean 'Ann'?" in told.stderr
    write(files["names"], [("e1", "Ann"), ("e4", "Ann")])
    for typed in (("--queries", write(asked, [("Ann", "works_in", "?")])),
                  ("--pairs", pairs[1]), ("--subject", "Ann")):  # fmt: skip
        told = hornbeam_(*words(files, "predict"), *typed)
        assert (told.code, told.stdout) == (2, "")
        assert "2 entities are called 'Ann': e1, e4" in told.stderr


def test_labels_in_the_facts_are_names(files: dict[str, Path], tmp_path: Path) -> None:
    write(files["facts"], [*FACTS, ("e1", "rdfs:label", "Ann")])
    asked = write(tmp_path / "asked.tsv", [("Ann", "works_in", "?")])
    words = ("predict", files["model"], "--facts", files["facts"])
    assert hornbeam_(*words, "--queries", asked).rows[0][:3] == ["e1", "works_in", "e3"]
    assert hornbeam_(*words, "--subject", "Ann").rows[0][:3] == ["e1", "works_in", "e3"]


def test_queries_are_answered(files: dict[str, Path], tmp_path: Path) -> None:
    asked = ("predict", files["model"], "--facts", files["facts"], "--queries", files["queries"])
    rows = hornbeam_(*asked).rows
    assert [[*row[:3], *row[4:]] for row in rows] == [
        ["e1", "works_in", "e3", "1", "1"],
        ["e1", "works_in", "e3", "1.5", "2"],
        ["e4", "works_in", "e3", "1.5", "2"],
    ]
    [first] = hornbeam_(*asked, "--top", "1", "--json").json["predictions"][:1]
    assert list(first) == ["subject", "relation", "object", "score", "rank", "query"]
    unknown = write(tmp_path / "unknown.tsv", [("nobody", "works_in", "?")])
    ended = hornbeam_(*asked[:-1], unknown)
    assert (ended.code, ended.stdout) == (2, "")
    assert ended.told == [
        "hornbeam: no fact has 'nobody', which query 1 names: no query can be answered."
    ]
    wrong = write(tmp_path / "wrong.tsv", [("e1", "works_in", "?"), ("?", "works_in", "?")])
    ended = hornbeam_(*asked[:-1], wrong)
    assert (ended.code, ended.stdout) == (2, "")
    assert f"{wrong}, line 2: two question marks" in ended.stderr
    ended = hornbeam_(*asked, "--pairs", files["labels"])
    assert ended.code == 2
    assert "give either --pairs (to score) or --queries (to answer)" in ended.stderr


def test_report(files: dict[str, Path], tmp_path: Path) -> None:
    page = tmp_path / "report.html"
    ended = hornbeam_(*words(files, "report"), "--labels", files["labels"], "-o", page)
    assert ended.code == 0
    text = page.read_text()
    assert SCRIPT not in text
    shown = Page.of(text).words
    assert f"For example Ann — knows → [bold]Ben[/bold] — works_in → {SCRIPT}" in shown
    # a constant in words
    assert "If A knows '[bold]Ben[/bold]', then A works_in B." in shown
    assert "e7" in shown


def test_candidates(files: dict[str, Path]) -> None:
    asked = (
        "candidates", "--facts", files["facts"], "--labels", files["labels"], "--names",
        files["names"], "--bodies", "anchored", "--min-coverage", "1",
    )  # fmt: skip
    assert "[bold]Ben[/bold])" in hornbeam_(*asked).stdout  # a table may break its lines
    found = hornbeam_(*asked, "--json").json
    assert found["names"]["e2"] == {"name": "[bold]Ben[/bold]", "type": None}
    assert any("knows(A, 'e2')" in one["clause"] for one in found["candidates"])


@pytest.mark.parametrize("command", ["explain", "predict", "report", "serve"])
def test_mistakes_in_names_are_told(files: dict[str, Path], tmp_path: Path, command: str) -> None:
    write(files["names"], [*NAMES, ("e9",)])
    further: dict[str, list[object]] = {
        "explain": ["e1", "e3"],
        "report": ["--labels", files["labels"], "-o", tmp_path / "page.html"],
        "serve": ["--port", "0"],
    }
    ended = hornbeam_(*words(files, command), *further.get(command, []))
    assert ended.code == 2
    assert f"{files['names']}, line 4: expected 2 or 3 fields" in ended.stderr


RELATIONS = [("works_in", "is employed <b>in</b>"), ("knows", "is a friend of")]


def test_relations_have_names_too(files: dict[str, Path], tmp_path: Path) -> None:
    write(files["names"], [*NAMES, *RELATIONS])
    employed = RELATIONS[0][1]
    shown = hornbeam_(*words(files, "explain"), "Ann", employed, "e3")
    assert shown.stdout.startswith(f"Ann  {employed}  {SCRIPT}\n")
    assert f"Ann -is a friend of-> [bold]Ben[/bold] -{employed}-> {SCRIPT}" in shown.stdout
    assert f"is a friend of '[bold]Ben[/bold]', then A {employed} B" in shown.stdout
    found = hornbeam_(*words(files, "explain"), "e1", "e3", "--target", employed, "--json").json
    assert (found["predicate"], found["names"]["works_in"]["name"]) == ("works_in", employed)
    for option, row in (("--queries", ("e1", "?")), ("--pairs", ("e1", "e3"))):
        rows = [
            hornbeam_(
                *words(files, "predict"), option,
                write(tmp_path / "asked.tsv", [(row[0], relation, row[1])]),
            ).rows
            for relation in ("works_in", employed)
        ]  # fmt: skip
        assert rows[0] == rows[1] != []
    proposed = [
        hornbeam_(*words(files, "predict"), "--target", relation, "--subject", "Ann").rows
        for relation in ("works_in", employed)
    ]
    assert proposed[0] == proposed[1] != []
    write(files["names"], [*NAMES, ("works_in", "same"), ("knows", "same")])
    again = hornbeam_(*words(files, "explain"), "Ann", "same", "e3")
    assert again.stdout.startswith(f"Ann  same (works_in)  {SCRIPT}\n"), "it is the only target"


@pytest.mark.slow
def test_the_report_names_relations(files: dict[str, Path], tmp_path: Path) -> None:
    write(files["names"], [*NAMES, *RELATIONS])
    page = tmp_path / "report.html"
    ended = hornbeam_(*words(files, "report"), "--labels", files["labels"], "-o", page)
    assert ended.code == 0
    text = page.read_text()
    assert "is employed &lt;b&gt;in&lt;/b&gt;" in text
    assert "is a friend of" in text
    assert "is employed <b>" not in text


def test_targets_are_given_by_name(tmp_path: Path) -> None:
    rows = [(f"a{i}", relation, f"b{i % 3}") for i in range(12) for relation in ("P1", "P2")]
    facts = write(tmp_path / "facts.tsv", rows)
    names = write(tmp_path / "names.tsv", [("P1", "lives in"), ("P2", "was born in")])
    models = []
    for target in ("P1", "lives in"):
        model = tmp_path / f"{target}.psl"
        given = ("--facts", facts, "--names", names, "--target", target)
        assert hornbeam_("learn", *given, "-o", model, "--seed", 1).code == 0
        models.append(model.read_text())
        listed = hornbeam_("candidates", *given, "--min-coverage", 2, "--json").json
        assert listed["targets"] > 0
    assert models[0] == models[1]
    # labels among the facts are names, too
    labelled = write(tmp_path / "labelled.tsv", [*rows, ("P1", "rdfs:label", "lives in")])
    for target in ("P1", "lives in"):
        model = tmp_path / f"{target}.psl"
        words = ("learn", "--facts", labelled, "--target", target, "-o", model, "--seed", 1)
        assert hornbeam_(*words).code == 0
        models.append(model.read_text())
    assert models[2] == models[3]
