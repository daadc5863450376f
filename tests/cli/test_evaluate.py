"""`hornbeam evaluate`: from files to metrics, held to scikit-learn's."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.support.commands import EVIDENCE, HOSTILE, TEST, hornbeam_, write


def test_the_json_has_the_keys_of_the_design(countries_model: Path) -> None:
    ended = hornbeam_("evaluate", countries_model, *EVIDENCE, *TEST, "--json")
    assert {"auc_roc", "auc_pr", "n", "positives"} <= set(ended.json)
    assert ended.stdout.count("\n") == 1
    assert ended.told == []


def test_a_test_of_other_relations_is_told_by_a_few_names(tmp_path: Path) -> None:
    model = tmp_path / "many.psl"
    model.write_text("".join(f"1: p(A, B) -> t{i}(A, B)\n" for i in range(7)))
    rows = write(tmp_path / "facts.tsv", [("a", "p", "b")])
    ended = hornbeam_("evaluate", model, "--facts", rows, "--test", rows)
    assert ended.code == 2
    assert "the test has no fact of t0, t1, t2, t3, t4, ..., which" in ended.stderr


@pytest.mark.slow
@pytest.mark.parametrize("score", ["mean", "map"])
def test_metrics_are_those_of_scikit_learn(countries_model: Path, score: str) -> None:
    from sklearn import metrics

    words = (countries_model, *EVIDENCE, "--score", score, "--json")
    found = hornbeam_("evaluate", *words, *TEST).json
    predicted = hornbeam_("predict", *words, "--pairs", TEST[1]).json["predictions"]
    scores = [row["score"] for row in predicted]
    truth = [int(line.split("\t")[3]) for line in TEST[1].read_text().splitlines()]
    assert found["auc_roc"] == pytest.approx(metrics.roc_auc_score(truth, scores))
    assert found["auc_pr"] == pytest.approx(metrics.average_precision_score(truth, scores))
    assert found["brier"] == pytest.approx(metrics.brier_score_loss(truth, scores))
    if score == "mean":
        assert found["log_loss"] == pytest.approx(metrics.log_loss(truth, scores))
    assert (found["n"], found["positives"]) == (len(truth), sum(truth))


def test_the_screen_shows_the_figures(countries_model: Path) -> None:
    ended = hornbeam_("evaluate", countries_model, *EVIDENCE, *TEST)
    assert ended.code == 0
    assert ended.stdout.startswith("AUC-ROC    0.99")
    assert "120 pairs, 40 true" in ended.stdout


def test_labels_of_one_class_have_no_auc(tmp_path: Path, countries_model: Path) -> None:
    labels = write(tmp_path / "labels.tsv", [("peru", "located_in", "americas", 1)])
    words = ("evaluate", countries_model, *EVIDENCE, "--labels", labels)
    found = hornbeam_(*words, "--json").json
    assert found["auc_roc"] is None
    assert found["auc_pr"] is None
    assert found["log_loss"] > 0
    assert "AUC-ROC    undefined (one class only)" in hornbeam_(*words).stdout


TRIPLES = [("ann", "knows", "ben"), ("ben", "works_in", "oslo"), ("cleo", "works_in", "rome")]
RANKED_TEST = [("ann", "works_in", "oslo"), ("cleo", "works_in", "oslo")]


@pytest.fixture
def graph(tmp_path: Path) -> dict[str, Path]:
    """A model, train, test and valid triples."""
    model = tmp_path / "model.psl"
    model.write_text("1.5: knows(A, B) & works_in(B, C) -> works_in(A, C)\n0.5: !works_in(A, B)\n")
    return {
        "model": model,
        "train": write(tmp_path / "train.tsv", TRIPLES),
        "test": write(tmp_path / "test.tsv", RANKED_TEST),
        "valid": write(tmp_path / "valid.tsv", [("ann", "works_in", "rome")]),
    }


def test_true_triples_are_ranked(graph: dict[str, Path]) -> None:
    words = ("evaluate", graph["model"], "--facts", graph["train"], "--test", graph["test"])
    found = hornbeam_(*words, "--filter", graph["valid"], "--json").json
    named = {"mrr", "hits_1", "hits_3", "hits_10", "queries", "relations", "seconds"}
    assert named <= set(found)
    assert found["queries"] == 4
    # (ann, works_in, ?) and (?, works_in, oslo) have oslo and ann as the only proposals; cleo is
    # proposed nowhere: of (cleo, works_in, ?) ann, ben, cleo and oslo tie, of (?, works_in, oslo)
    # rome, oslo and cleo
    ranks = [1, 2.5, 1, 2]
    assert found["mrr"] == pytest.approx(sum(1 / rank for rank in ranks) / 4)
    assert {(row["relation"], row["direction"], row["queries"]) for row in found["relations"]} == {
        ("works_in", "object", 2), ("works_in", "subject", 2),
    }  # fmt: skip
    shown = hornbeam_(*words)
    assert shown.stdout.startswith("MRR        0.")
    assert "works_in" in shown.stdout
    assert shown.told == []


def test_any_k_and_every_query_are_shown(graph: dict[str, Path], tmp_path: Path) -> None:
    words = ("evaluate", graph["model"], "--facts", graph["train"], "--test", graph["test"])
    found = hornbeam_(*words, "--hits", "2", "--json").json
    assert (found["hits_2"], found["mean_rank"]) == (0.75, 6.5 / 4)
    assert "Hits@2     0.7500\nmean rank  1.6\n" in hornbeam_(*words, "--hits", "2").stdout
    written = tmp_path / "ranks.csv"
    assert hornbeam_(*words, "--each-query", "-o", written).code == 0
    header, *rows = [line.split(",") for line in written.read_text().splitlines()]
    assert header == ["subject", "relation", "object", "asks", "rank", "ties", "candidates"]
    assert ["ann", "works_in", "oslo", "object", "1", "0"] in [row[:-1] for row in rows]
    assert len(rows) == 4


@pytest.mark.parametrize(
    ("words", "problem"),
    [
        (["--labels", "FACTS", "--hits", "2"], "give --test"),
        (["--test", "FACTS", "--each-query"], "give -o FILE"),
        (["--test", "FACTS", "--hits", "0"], "greater than or equal to 1"),
    ],
)
def test_options_of_ranks_are_checked(
    graph: dict[str, Path], words: list[str], problem: str
) -> None:
    words = [str(graph["test"]) if word == "FACTS" else word for word in words]
    ended = hornbeam_("evaluate", graph["model"], "--facts", graph["train"], *words)
    assert ended.code == 2
    assert problem in " ".join(ended.stderr.split())


def test_relations_may_have_any_name(tmp_path: Path, graph: dict[str, Path]) -> None:
    train = write(tmp_path / "odd.tsv", [("a", name, "b") for name in HOSTILE])
    test = write(tmp_path / "odd_test.tsv", [("b", name, "a") for name in HOSTILE])
    words = ("evaluate", graph["model"], "--facts", graph["train"], "--facts", train, "--test")
    ended = hornbeam_(*words, test, "--test", graph["test"])
    assert ended.code == 0
    assert ended.told == [
        f"{len(HOSTILE)} test facts are of relations that the model has no rules for; they are "
        "left out."
    ]


@pytest.mark.parametrize(
    ("words", "problem"),
    [
        ((), "give either --labels (pairs with 0 or 1) or --test (true triples)"),
        (("--labels", "x", "--test", "y"), "give either --labels"),
        (("--labels", "x", "--filter", "y"), "--filter is for --test"),
        (("--test", "EMPTY"), "is empty; expected at least one fact"),
        (("--test", "no.tsv"), "no.tsv: no such file"),
        (("--test", "OTHER"), "the test has no fact of works_in, which the model has rules for"),
        (("--test", "OTHER", "--engine", "duckdb"), "--engine duckdb scores given pairs"),
    ],
)
def test_what_cannot_be_ranked_is_said(
    tmp_path: Path, graph: dict[str, Path], words: tuple[str, ...], problem: str
) -> None:
    files = {
        "EMPTY": write(tmp_path / "empty.tsv", []),
        "OTHER": write(tmp_path / "other.tsv", [("ben", "knows", "ann")]),
    }
    given = [files.get(word, word) for word in words]
    ended = hornbeam_("evaluate", graph["model"], "--facts", graph["train"], *given)
    assert ended.code == 2
    assert problem in ended.stderr
    assert ended.stdout == ""


def test_a_test_that_is_known_already_is_said(graph: dict[str, Path]) -> None:
    words = ("evaluate", graph["model"], "--facts", graph["train"], "--test", graph["train"])
    ended = hornbeam_(*words, "--test", graph["test"], "--json")
    assert ended.json["in_facts"] == 2
    assert any("2 test facts are among the facts too" in line for line in ended.told)
    ended = hornbeam_(*words[:5], graph["test"], "--filter", graph["test"])
    assert any("the filter has the same facts as the test" in line for line in ended.told)


def test_a_damaged_graph_model_is_told(tmp_path: Path, graph: dict[str, Path]) -> None:
    model = tmp_path / "graph.hornbeam"
    model.write_text("# hornbeam-graph: {}\n")
    ended = hornbeam_("evaluate", model, "--facts", graph["train"], "--test", graph["test"])
    assert ended.code == 2
    assert "line 1: has a damaged header" in ended.stderr


def test_rules_are_shown_with_the_figures_without_them(tmp_path: Path) -> None:
    model = tmp_path / "m.psl"
    model.write_text("2.0: p(A, B) -> t(A, B)\n0.1: q(A, B) -> t(A, B)\n1.0: !t(A, B)\n")
    facts = write(tmp_path / "facts.tsv", [("a", "p", "b"), ("c", "q", "d"), ("e", "p", "f")])
    rows = [("a", "t", "b", "1"), ("c", "t", "d", "0"), ("e", "t", "f", "1")]
    given = ("evaluate", model, "--facts", facts, "--labels", write(tmp_path / "l.tsv", rows))
    found = hornbeam_(*given, "--rules", "--json").json
    plain = hornbeam_(*given, "--json").json
    assert {name: found[name] for name in plain} == plain
    assert [row["rule"] for row in found["rules"]] == [
        "p(A, B) -> t(A, B)", "q(A, B) -> t(A, B)", "!t(A, B)",
    ]  # fmt: skip
    first, second, _ = found["rules"]
    assert plain["auc_roc"] == second["auc_roc_without"] == 1.0
    assert first["auc_roc_without"] == 0.0
    shown = hornbeam_(*given, "--rules").stdout
    assert shown.index("p(A, B) -> t(A, B)") < shown.index("q(A, B) -> t(A, B)")
    refused = hornbeam_(*given[:-2], "--test", facts, "--rules")
    assert (refused.code, refused.told) == (
        2, ["hornbeam: --rules is for rule models and --labels: leave it out"],
    )  # fmt: skip
