"""Models of whole graphs through the command line: learn, evaluate, predict, explain, report."""

from __future__ import annotations

import json
import re
from pathlib import Path

import numpy as np
import pytest

from hornbeam.graph_model import GraphModel
from tests.support.commands import HOSTILE, Ended, hornbeam_, write
from tests.support.kernels import compiles

Triple = tuple[str, str, str]

#: One model for all.
pytestmark = [pytest.mark.slow, compiles]


def triples() -> list[Triple]:
    """People live in towns and are citizens where these lie; two of them have hostile names."""
    rng = np.random.default_rng(3)
    rows = [(f"town{i}", "in", f"land{i % 3}") for i in range(9)]
    for i in range(40):
        name = HOSTILE[i] if i < 3 else f"p{i}"
        town = int(rng.integers(9))
        rows += [(name, "lives", f"town{town}"), (name, "citizen", f"land{town % 3}")]
    # a second home: people may live in several towns
    return [*rows, (name, "lives", f"town{(town + 3) % 9}")]


@pytest.fixture(scope="module")
def files(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Path]:
    """Facts, held-out triples and a model of them."""
    folder = tmp_path_factory.mktemp("graph")
    rows = triples()
    held = [row for i, row in enumerate(rows) if row[1] == "citizen" and i % 5 == 0]
    made = {
        "train": write(folder / "train.tsv", [row for row in rows if row not in held]),
        "valid": write(folder / "valid.tsv", held[::2]),
        "test": write(folder / "test.tsv", held[1::2]),
        "model": folder / "graph.hornbeam",
    }
    ended = learn(made, "--valid", made["valid"], "-o", made["model"])
    assert ended.code == 0, ended.stderr
    assert "2 relations" not in ended.stdout
    assert "3 relations" in ended.stdout
    assert "on facts of valid, where true answers that train and valid lack" in ended.stdout
    return made


def learn(files: dict[str, Path], *words: object) -> Ended:
    return hornbeam_("learn", "--facts", files["train"], "--all-relations", *words)


def asked(command: str, files: dict[str, Path], *words: object) -> Ended:
    return hornbeam_(command, files["model"], "--facts", files["train"], *words)


def test_the_same_seed_gives_the_same_model_and_json_has_all_rules(
    files: dict[str, Path], tmp_path: Path
) -> None:
    again = tmp_path / "again.hornbeam"
    ended = learn(files, "--valid", files["valid"], "--threads", "1", "-o", again, "--json")
    assert again.read_text() == files["model"].read_text()
    found = ended.json
    assert found["relations"] == 3
    assert {"rule", "confidence", "hits", "predicted"} <= set(found["rules"][0])
    assert any(rule["rule"] == "lives(X, A) & in(A, Y) -> citizen(X, Y)" for rule in found["rules"])


def test_a_database_learns_the_same_rules(files: dict[str, Path], tmp_path: Path) -> None:
    words = ("--valid", files["valid"], "--max-length", "2", "--json", "-o")
    expected = learn(files, *words, tmp_path / "memory.hornbeam").json
    engine = ("--engine", "duckdb", "--memory-limit", "100MB")
    ended = learn(files, *engine, *words, tmp_path / "duckdb.hornbeam")
    assert ended.json["rules"] == expected["rules"]
    assert "Constants are not fitted together" in ended.stderr
    model = {**files, "model": tmp_path / "duckdb.hornbeam"}
    test = ("--test", files["test"], "--filter", files["valid"], "--json")
    in_memory, found = asked("evaluate", model, *test), asked("evaluate", model, *test, *engine)
    assert {**found.json, "seconds": 0} == {**in_memory.json, "seconds": 0}
    assert found.json["hits_10"] > 0.5
    queries = tmp_path / "queries.tsv"
    queries.write_text(f"?\tcitizen\tland1\np5\tcitizen\t?\n{HOSTILE[0]}\tlives\t?\nx\tlives\t?\n")
    in_memory = asked("predict", model, "--queries", queries)
    found = asked("predict", model, "--queries", queries, *engine)
    assert found.stdout == in_memory.stdout
    assert len(found.stdout.splitlines()) > 20


def test_evaluate(files: dict[str, Path]) -> None:
    words = ("--test", files["test"], "--filter", files["valid"])
    found = asked("evaluate", files, *words, "--json").json
    assert {"mrr", "hits_1", "hits_3", "hits_10", "queries", "relations", "seconds"} <= set(found)
    assert found["hits_10"] > 0.5
    assert [one["direction"] for one in found["relations"]] == ["object", "subject"]
    both = asked("evaluate", files, *words, "--leave-out-linked", "--json").json
    assert {**both, "seconds": 0, "leave_out_linked": 0} == {
        **found, "seconds": 0, "leave_out_linked": 0,
    }  # fmt: skip
    assert both["leave_out_linked"]["queries"] == found["queries"]
    shown = asked("evaluate", files, *words, "--leave-out-linked").stdout
    assert shown.index("MRR ") < shown.index("which knows how the split was made")


def test_predict_answers_queries_and_lists_new_facts(
    files: dict[str, Path], tmp_path: Path
) -> None:
    queries = write(
        tmp_path / "queries.tsv",
        [("p5", "lives", "?"), ("?", "citizen", "land1"), (HOSTILE[0], "lives", "?")],
    )
    found = asked("predict", files, "--queries", queries, "--top", "2", "--json").json
    rows = found["predictions"]
    assert [row["query"] for row in rows] == [1, 1, 2, 2, 3, 3]
    assert rows[4]["subject"] == HOSTILE[0]
    assert all(0 < row["probability"] < 1 for row in rows)
    names = write(tmp_path / "names.tsv", [("land1", "Land\x85One"), ("p5", "Ann")])
    named = asked("predict", files, "--queries", queries, "--names", names, "--json").json
    assert named["predictions"][0]["subject_name"] == "Ann"
    write(
        queries,
        [("Ann", "lives", "?"), ("?", "citizen", "Land\x85One"), (HOSTILE[0], "lives", "?")],
    )
    by_name = asked("predict", files, "--queries", queries, "--names", names, "--json").json
    assert by_name == named
    every = asked("predict", files, "--queries", queries, "--names", names, "--top", "5000")
    assert len(every.rows) > len(named["predictions"])
    assert "Rules propose fewer than 5,000 answers to 3 of 3 queries." in every.told
    new = asked("predict", files, "--target", "citizen", "--top", "3").rows
    assert len(new) == 3
    assert {row[1] for row in new} == {"citizen"}
    likely = [float(row[3]) for row in new]
    assert likely == sorted(likely, reverse=True)
    known = set(triples())
    one = asked("predict", files, "--subject", "p7", "--top", "2", "--json").json["predictions"]
    assert {row["subject"] for row in one} == {"p7"}
    assert not {(row["subject"], row["relation"], row["object"]) for row in one} & {
        row for row in known if row[1] != "citizen"
    }


def test_predict_scores_triples_as_their_queries_do(files: dict[str, Path], tmp_path: Path) -> None:
    rows = [line.split("\t") for line in files["test"].read_text().splitlines()]
    asked_for = [*rows, ["p5", "owns", "land1"], ["nobody", "lives", "x"]]
    pairs = write(tmp_path / "pairs.tsv", asked_for)
    ended = asked("predict", files, "--pairs", pairs, "--json")
    found = ended.json["predictions"]
    assert [[row["subject"], row["predicate"], row["object"]] for row in found] == asked_for
    queries = write(tmp_path / "queries.tsv", [(s, r, "?") for s, r, _ in rows])
    ranked = asked("predict", files, "--queries", queries, "--top", "1000", "--json").json
    answers = {(row["subject"], row["object"]): row for row in ranked["predictions"]}
    for row in found[: len(rows)]:
        answer = answers[row["subject"], row["object"]]
        assert (row["score"], row["probability"]) == (answer["score"], answer["probability"])
    assert [(row["score"], row["probability"]) for row in found[len(rows) :]] == [(None, 0.0)] * 2
    assert f"2 of {len(found)} triples name an entity or a relation that" in ended.stderr
    assert "the model has no rules for 'owns'" in ended.stderr
    labels = write(tmp_path / "labels.tsv", [[*row, str(int(row in rows))] for row in asked_for])
    judged = asked("evaluate", files, "--labels", labels, "--json").json
    assert (judged["n"], judged["positives"], judged["auc_roc"]) == (len(found), len(rows), 1.0)


def test_each_subject_gets_its_new_links(files: dict[str, Path]) -> None:
    each = asked("predict", files, "--target", "citizen", "--top", "1", "--per-subject", "--json")
    rows = each.json["predictions"]
    assert len(rows) == len({row["subject"] for row in rows}) > 3
    assert all(row["rank"] == 1 for row in rows)


def test_explain(files: dict[str, Path]) -> None:
    subject, relation, object_ = files["test"].read_text().splitlines()[0].split("\t")
    ended = asked("explain", files, subject, relation, object_)
    assert "lives(X, A) & in(A, Y) -> citizen(X, Y)" in ended.stdout
    assert " -in-> land" in ended.stdout
    found = asked("explain", files, subject, object_, "--target", relation, "--json").json
    assert found["rank"] == found["directions"][0]["rank"]
    assert {"rule", "confidence", "hits", "predicted", "groundings"} <= set(found["reasons"][0])
    assert asked("explain", files, subject, object_).code == 2
    assert asked("explain", files, subject).code == 2


def test_report(files: dict[str, Path], tmp_path: Path) -> None:
    page = tmp_path / "page.html"
    words = ("--test", files["test"], "--filter", files["valid"], "-o", page)
    assert asked("report", files, *words, "--json").json["bytes"] == len(page.read_bytes())
    text = page.read_text()
    assert "<script>alert" not in text
    assert "If X lives A and A in Y, then X citizen Y." in re.sub("<[^>]+>", "", text)
    assert "Reliability of probabilities" in text


@pytest.mark.parametrize("filters", [[], ["--filter", "{valid}"]])
def test_a_report_and_an_evaluation_filter_by_the_files_they_name(
    files: dict[str, Path], tmp_path: Path, filters: list[str]
) -> None:
    page = tmp_path / "page.html"
    words = ["--test", files["test"], *(word.format(**files) for word in filters)]
    named = [str(files["train"]), str(files["test"])] + [str(files["valid"])] * bool(filters)
    found = asked("evaluate", files, *words, "--json").json
    assert found["filtered_by"] == named
    shown = asked("evaluate", files, *words)
    assert f"filtered by {', '.join(named)}, in" in shown.stdout
    assert ("count as wrong answers here: give them as --filter" in shown.stderr) is (not filters)
    assert asked("report", files, *words, "-o", page).code == 0
    text = re.sub("<[^>]+>", "", page.read_text())
    assert f"{found['mrr']:.3f}mean of 1 / rank, filtered by {', '.join(named)}" in text


def test_a_report_writes_whole_ranks_as_such(files: dict[str, Path], tmp_path: Path) -> None:
    page = tmp_path / "page.html"
    assert asked("report", files, "--test", files["train"], "-o", page).code == 0
    ranks = re.findall("rank <b>([^<]+)</b>", page.read_text())
    assert ranks
    assert not [rank for rank in ranks if rank.endswith(".0")]


def test_report_without_a_test_says_what_was_learned(
    files: dict[str, Path], tmp_path: Path
) -> None:
    page = tmp_path / "page.html"
    assert asked("report", files, "-o", page).code == 0
    text = re.sub("<[^>]+>", "", page.read_text())
    assert "If X lives A and A in Y, then X citizen Y." in text
    held_out = GraphModel.load(files["model"]).chosen["held_out_mrr"]
    assert f"{held_out:.3f}internal validation: facts of valid, where true answers that" in text
    assert f"\n# MRR {held_out:.3f} on facts of valid, where" in files["model"].read_text()
    assert "Hits@10" not in text
    assert "Where it fails" not in text


def test_rules_go_out_and_come_in_again(files: dict[str, Path], tmp_path: Path) -> None:
    for suffix in ("csv", "jsonl", "anyburl"):
        ended = hornbeam_("export", files["model"], "-o", tmp_path / f"rules.{suffix}", "--json")
        assert ended.json == {"rules": str(tmp_path / f"rules.{suffix}")}
    lines = (tmp_path / "rules.jsonl").read_text().splitlines()
    paths = sum(json.loads(line)["kind"] == "path" for line in lines)
    again = tmp_path / "again.hornbeam"
    ended = learn(files, "--rules", tmp_path / "rules.anyburl", "-o", again, "--json")
    assert "path rules read" in ended.stderr
    found = [rule for rule in ended.json["rules"] if rule["kind"] == "path"]
    assert len(found) >= paths


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["learn", "--labels", "{test}"], "--labels is for single targets"),
        (["learn", "--method", "ppll"], "--method is for single targets"),
        (["learn", "--max-rules", "3"], "--max-rules is for single targets"),
        (["evaluate", "--test", "{test}", "--engine", "spark"], "spark takes no whole graphs"),
        (["evaluate", "--test", "{test}", "--engine", "duckdb"], "learn it there"),
        (
            ["evaluate", "--test", "{test}", "--leave-out-linked", "--engine", "duckdb"],
            "--leave-out-linked needs facts in memory",
        ),
        (["predict", "--engine", "duckdb"], "duckdb looks for no new facts: give --queries"),
        (["predict", "--engine", "spark"], "spark takes no whole graphs"),
        (["learn", "--engine", "spark"], "spark takes no whole graphs"),
        (["learn", "--memory-limit", "1GB"], "--memory-limit is for --engine duckdb"),
        (["learn", "--max-length", "9"], "9, expected 1 to 5"),
        (["learn", "--target", "owns"], "the facts have no relation 'owns'"),
        (["learn", "--valid", "{none}"], "no such file"),
        (["learn", "--rules", "{test}"], "has no rule"),
        (["evaluate", "--labels", "{test}"], "no labels found"),
        (["evaluate", "--test", "{empty}"], "empty"),
        (["predict", "--pairs", "{test}", "--score", "map"], "one kind of score"),
        (["predict", "--pairs", "{empty}"], "empty"),
        (["predict", "--queries", "{test}"], "line 1"),
        (["predict", "--target", "owns"], "no rules for the relation 'owns'"),
        (["predict", "--subject", "nobody"], "no fact has the subject 'nobody'"),
        (["explain", "nobody", "citizen", "land1"], "no fact has the entity 'nobody'"),
        (["explain", "p5", "owns", "land1"], "unknown target predicate 'owns'"),
        (["predict", "--queries", "{test}", "--subject", "p5"], "--subject is for new links"),
        (["predict", "--queries", "{test}", "--target", "in"], "--target is for new links"),
        (["report", "--labels", "{test}", "-o", "{out}"], "give --test"),
        (["report", "--filter", "{test}", "-o", "{out}"], "--filter needs --test"),
    ],
)
def test_mistakes_are_told(
    files: dict[str, Path], tmp_path: Path, words: list[str], message: str
) -> None:
    out = tmp_path / "out"
    empty = write(tmp_path / "empty.tsv", [])
    places = {"test": files["test"], "none": tmp_path / "none.tsv", "empty": empty, "out": out}
    command, *rest = (word.format(**places) for word in words)
    ended = learn(files, *rest, "-o", out) if command == "learn" else asked(command, files, *rest)
    assert ended.code == 2
    assert message in ended.stderr
    assert "Traceback" not in ended.stderr
    assert not out.exists()


def test_progress_is_in_percent(
    files: dict[str, Path], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("hornbeam.base.terminal_progress.LINE_EVERY_SECONDS", 0.0)
    told = learn(files, "-o", tmp_path / "graph.hornbeam").stderr
    assert re.search(r"Learning the graph: \d+ %", told)
    assert "of 1,000" not in told


def test_queries_without_an_answer_say_why(files: dict[str, Path], tmp_path: Path) -> None:
    queries = write(tmp_path / "queries.tsv", [("p5", "citzen", "?"), ("land1", "owned_by", "?")])
    told = asked("predict", files, "--queries", queries)
    assert (told.code, told.stdout) == (2, "")
    said = "no fact has 'citzen', which query 1 names: no query can be answered. Did you mean"
    assert f"{said} 'citizen'?" in told.stderr
    write(queries, [("p5", "lives", "?"), ("pp5", "lives", "?")])
    told = asked("predict", files, "--queries", queries)
    assert told.code == 0
    said = "no fact has 'pp5', which query 2 names; it gets no answer. Did you mean 'p5'"
    assert said in told.stderr


def test_a_model_of_another_graph_is_called_that(files: dict[str, Path], tmp_path: Path) -> None:
    other = write(tmp_path / "other.tsv", [("a", "eats", "b"), ("b", "eats", "c")])
    elsewhere = {**files, "train": other}
    queries = write(tmp_path / "queries.tsv", [("a", "eats", "?")])
    for words in (("predict",), ("report", "-o", tmp_path / "r.html")):
        told = asked(words[0], elsewhere, *words[1:])
        assert "the facts have none of the model's 3 relations (citizen, in, lives)" in told.stderr
    told = asked("predict", elsewhere, "--queries", queries)
    assert told.code == 0
    assert "the model has no rules for 'eats', of which 1 query asks." in told.stderr
    assert (
        "No rule reaches a link that is not a fact already." in asked("predict", elsewhere).stderr
    )


def test_what_is_for_graphs_needs_them(files: dict[str, Path], tmp_path: Path) -> None:
    words = ("learn", "--facts", files["train"], "--target", "citizen", "-o", tmp_path / "m.psl")
    ended = hornbeam_(*words, "--valid", files["valid"])
    assert ended.code == 2
    assert "--valid is for --all-relations" in ended.stderr
    assert hornbeam_(*words, "--max-length", "5").code == 2
