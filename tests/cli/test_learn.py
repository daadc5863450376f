"""`hornbeam learn`: from files to a model that reads back, and what it says on the way."""

from __future__ import annotations

import json
import shutil
from pathlib import Path

import pytest

import hornbeam as hb
from hornbeam.base.choices import Relaxation
from hornbeam.learning.registry import learner_names
from hornbeam.rules.weighing import Counts
from tests.support.commands import (
    COUNTRIES,
    EVIDENCE,
    HOSTILE,
    TEST,
    TRAIN,
    hornbeam_,
    listing,
    process,
    write,
)

LEARN = ("learn", *EVIDENCE, *TRAIN)


def test_the_json_has_the_keys_of_the_design(tmp_path: Path, scratch: Path) -> None:
    found = hornbeam_(*LEARN, "-o", tmp_path / "model.psl", "--json").json
    assert {"rules", "candidates", "seconds"} <= set(found)
    assert set(found["seconds"]) == {"load", "generate", "learn"}
    assert found["candidates"] == 15
    assert all(set(rule) == {"rule", "weight"} for rule in found["rules"])
    assert all(rule["weight"] >= 0 for rule in found["rules"])
    assert listing(tmp_path) == ["model.psl", "model.trace.json"]
    assert listing(scratch) == []
    model = hb.Model.load(tmp_path / "model.psl")
    assert [(str(rule.clause), rule.weight) for rule in model.rules] == [
        (rule["rule"], rule["weight"]) for rule in found["rules"]
    ]
    assert found["predicates"] == {}
    assert model.targets == ["located_in"]


def test_negatives_beside_labels_are_told_to_change_nothing(tmp_path: Path) -> None:
    words = (*LEARN, "--method", "ppll", "-o", tmp_path / "model.psl")
    assert "--negatives changes nothing" in hornbeam_(*words, "--negatives", "5").stderr
    assert "--negatives" not in hornbeam_(*words).stderr


def test_the_model_is_good_on_what_it_has_not_seen(countries_model: Path) -> None:
    found = hornbeam_("evaluate", countries_model, *EVIDENCE, *TEST, "--json").json
    assert found["auc_roc"] > 0.97
    assert (found["n"], found["positives"]) == (120, 40)


def test_the_trace_says_how_the_model_was_found(countries_model: Path) -> None:
    trace = json.loads(countries_model.with_name("model.trace.json").read_text())
    assert trace["method"] == "joint"
    assert set(trace["seconds"]) == {"load", "generate", "learn"}
    assert len(trace["candidates"]) == 15
    paths = [row for row in trace["candidates"] if "(C, B) -> " not in row["clause"]]
    assert len(paths) < 15, "open conditions are among them"
    assert {"clause", "coverage", "paths"} <= set(trace["candidates"][0])
    strengths = [step["strength"] for step in trace["path"]]
    assert strengths == sorted(strengths, reverse=True)
    assert trace["strength"] == strengths[-1]
    assert (trace["targets"], trace["positives"]) == (120, 40)


@pytest.mark.slow
def test_the_table_shows_rules_and_where_they_went(tmp_path: Path) -> None:
    ended = hornbeam_(*LEARN, "-o", tmp_path / "model.psl")
    assert ended.code == 0
    assert "neighbour(A, B) & located_in(B, C) -> located_in(A, C)" in ended.stdout
    assert "Wrote" in ended.stdout
    assert "candidate bodies" in ended.stdout
    assert ended.told == []


@pytest.mark.slow
@pytest.mark.parametrize("method", ["joint", "ppll", "greedy"])
def test_every_method_learns_a_good_model(tmp_path: Path, method: str) -> None:
    model = tmp_path / "model.psl"
    found = hornbeam_(*LEARN, "--method", method, "-o", model, "--json").json
    assert found["relaxation"] == ("boolean" if method == "joint" else "linear")
    assert hornbeam_("evaluate", model, *EVIDENCE, *TEST, "--json").json["auc_roc"] > 0.9
    assert json.loads((tmp_path / "model.trace.json").read_text())["method"] == method


@pytest.mark.slow
@pytest.mark.parametrize(
    "words",
    [
        ("--method", "ppll", "--solver", "gradient", "--iterations", "20", "--step-size", "0.001"),
        ("--method", "ppll", "--refit", "--relaxation", "squared"),
        ("--method", "greedy", "--max-rules", "2", "--tolerance", "0.1", "--iterations", "5"),
        ("--counts", "log", "--length-penalty", "0.5", "--weight-variance", "10"),
        ("--counts", "raw", "--relaxation", "linear", "--refit"),
        ("--distinct-variables", "--max-fanout", "6", "--top", "4", "--max-length", "2"),
    ],
    ids=lambda words: " ".join(words),
)
def test_options_reach_the_model(tmp_path: Path, words: tuple[str, ...]) -> None:
    path = tmp_path / "model.psl"
    found = hornbeam_(*LEARN, *words, "-o", path, "--json", "--min-coverage", "5").json
    model = hb.Model.load(path)
    rules = [rule.clause for rule in model.rules if not rule.clause.is_prior]
    given = dict(zip(words, [*words[1:], ""], strict=True))
    if "--counts" in given:
        assert model.semantics.counts is Counts(given["--counts"])
    if "--relaxation" in given:
        assert model.semantics.relaxation is Relaxation(given["--relaxation"])
        assert ("^2" in path.read_text()) == (given["--relaxation"] == "squared")
    if "--max-rules" in given:
        assert len(rules) <= 2
    if "--top" in given:
        assert found["candidates"] <= 4
        assert max((len(rule.body) for rule in rules), default=0) <= 2
        assert model.semantics.max_fanout == 6
        assert model.semantics.distinct_variables
    # what scoring needs is in the file: the loaded model scores alike
    facts = hb.read_facts(*(word for word in EVIDENCE if word != "--facts"))
    labels = hb.read_labels(TEST[1])
    assert model.predict(facts, labels)["score"].tolist() == pytest.approx(
        hb.Model.parse(model.text).predict(facts, labels)["score"].tolist(), rel=0, abs=0
    )


@pytest.mark.parametrize("sampling", ["uniform", "frequency", "typed"])
@pytest.mark.slow
def test_facts_alone_are_enough(tmp_path: Path, sampling: str) -> None:
    words = (
        "learn", "--facts", COUNTRIES / "observed.tsv", "--target", "neighbour", "--counts", "log",
        "--negatives", "2.0", "--negative-sampling", sampling, "--max-length", "2", "--json",
        "--method", "ppll",
    )  # fmt: skip
    found = hornbeam_(*words, "-o", tmp_path / "one.psl").json
    assert found["targets"] == pytest.approx(3 * found["positives"], abs=1)
    assert len(found["rules"]) > 1
    # neighbours have neighbours in common; the mirror image of a fact is no evidence for it
    texts = [rule["rule"] for rule in found["rules"]]
    assert any("neighbour(A, B) & neighbour(" in text for text in texts)
    assert "neighbour(B, A) -> neighbour(A, B)" not in texts
    hornbeam_(*words, "-o", tmp_path / "two.psl")
    assert (tmp_path / "one.psl").read_bytes() == (tmp_path / "two.psl").read_bytes()
    hornbeam_(*words, "--seed", "1", "-o", tmp_path / "three.psl")
    assert (tmp_path / "one.psl").read_bytes() != (tmp_path / "three.psl").read_bytes()


@pytest.mark.slow
def test_the_same_seed_writes_the_same_bytes(tmp_path: Path, countries_model: Path) -> None:
    path = tmp_path / "again.psl"
    ended = process(*LEARN, "-o", path, "--quiet", "--threads", "1", "--seed", "0")
    assert ended.code == 0
    assert ended.told == []
    assert path.read_bytes() == countries_model.read_bytes()


@pytest.mark.slow
def test_stdout_and_stderr_are_kept_apart(tmp_path: Path) -> None:
    """Own facts give a warning, entities never seen a message: both on stderr."""
    labels = write(
        tmp_path / "labels.tsv",
        [line.split("\t") for line in TRAIN[1].read_text().splitlines()]
        + [("atlantis", "located_in", "europe", 0), ("angola", "located_in", "africa", 1)],
    )
    ended = process("learn", *EVIDENCE, "--labels", labels, "-o", tmp_path / "m.psl", "--json")
    assert len(ended.json["rules"]) > 1
    assert ended.stdout.count("\n") == 1
    assert "hornbeam: warning: 1 labelled targets are also among the facts" in ended.stderr
    assert "1 targets name an entity that no fact has." in ended.stderr
    assert "Traceback" not in ended.stderr
    assert ".py" not in ended.stderr


@pytest.mark.slow
def test_the_model_can_go_to_a_pipe(tmp_path: Path) -> None:
    ended = process(*LEARN, "-o", "/dev/stdout", "--quiet", cwd=tmp_path)
    assert ended.code == 0
    assert ended.stdout.startswith("# hornbeam: {")
    assert listing(tmp_path) == []
    assert not Path("/dev/stdout.trace.json").exists()


def test_a_model_that_was_there_is_replaced(tmp_path: Path, countries_model: Path) -> None:
    path = shutil.copy(countries_model, tmp_path / "model.psl")
    found = hornbeam_(*LEARN, "--method", "greedy", "-o", path, "--json").json
    assert found["relaxation"] == "linear"
    assert hb.Model.load(path).semantics.relaxation is Relaxation.LINEAR
    assert listing(tmp_path) == ["model.psl", "model.trace.json"]


@pytest.mark.slow
def test_target_chooses_among_the_labels(tmp_path: Path) -> None:
    labels = write(
        tmp_path / "labels.tsv",
        [line.split("\t") for line in TRAIN[1].read_text().splitlines()]
        + [("albania", "other", "greece", 1), ("albania", "other", "peru", 0)],
    )
    words = ("learn", *EVIDENCE, "--labels", labels, "-o", tmp_path / "m.psl", "--json",
             "--method", "ppll")  # fmt: skip
    assert hornbeam_(*words, "--target", "located_in").json["targets"] == 120
    assert hb.Model.load(tmp_path / "m.psl").targets == ["located_in"]
    assert hornbeam_(*words).json["targets"] == 122


@pytest.mark.slow
def test_names_are_shown_unharmed(tmp_path: Path) -> None:
    """Every hostile name is a predicate, and part of entities' names and of the target's."""
    target = "".join(HOSTILE[:3])
    facts, labels = [], []
    for k, name in enumerate(HOSTILE):
        for i in range(10):
            subject, object_ = f"{name}{i}", f"{name}o{i % 3}"
            facts.append((subject, name, object_))
            labels.append((subject, target, object_, 1))
            labels.append((subject, target, f"{HOSTILE[k - 1]}o{i % 3}", 0))
    files = {
        "facts": write(tmp_path / "facts.tsv", facts),
        "labels": write(tmp_path / "labels.tsv", labels),
    }
    both = ("--facts", files["facts"], "--labels", files["labels"])
    model = tmp_path / "[bold]:smile: model.psl"
    expected = {f"{name}(A, B) -> {target}(A, B)" for name in HOSTILE}
    learning = ("learn", *both, "-o", model, "--method", "ppll", "--max-length", "1")
    found = hornbeam_(*learning, "--json").json
    # rules are shown as the model file has them, with what its identifiers stand for
    assert {*HOSTILE, target} <= set(found["predicates"].values())
    assert len({spelt.lower() for spelt in found["predicates"]}) == len(HOSTILE) + 1
    lines = [line.split(": ", 1)[1] for line in model.read_text().splitlines()[1:]]
    assert [row["rule"] for row in found["rules"]] == lines
    assert expected <= {str(rule.clause) for rule in hb.Model.load(model).rules}
    table = hornbeam_(*learning)
    assert table.code == 0, table.stderr
    assert f"Wrote {model}." in table.stdout
    # a table folds what is too wide: all that was printed is there all the same
    shown = "".join(table.stdout.split())
    assert [line for line in lines[:25] if "".join(line.split()) not in shown] == []
    scored = hornbeam_("predict", model, "--facts", files["facts"], "--pairs", files["labels"])
    assert [row[:3] for row in scored.rows] == [list(row[:3]) for row in labels]
    assert hornbeam_("evaluate", model, *both, "--json").json["auc_roc"] == 1.0


@pytest.mark.slow
def test_a_name_on_the_command_line_is_taken_as_it_is(tmp_path: Path) -> None:
    facts = write(tmp_path / "facts.tsv", [(name, "p", f"{name} o") for name in HOSTILE])
    model = tmp_path / "model.psl"
    model.write_text("1.0: p(A, B) -> t(A, B)\n")
    for name in HOSTILE:
        links = hornbeam_("predict", model, "--facts", facts, "--subject", name, "--json").json
        assert [(link["subject"], link["object"]) for link in links["predictions"]] == [
            (name, f"{name} o")
        ]


def test_long_names_are_whole_in_files_and_json(tmp_path: Path) -> None:
    name = "n" * 10_000
    facts = write(tmp_path / "facts.tsv", [(f"s{i}", name, f"{name}{i % 2}") for i in range(20)])
    labels = write(
        tmp_path / "labels.tsv",
        [(f"s{i}", f"{name} ?", f"{name}{k}", int(i % 2 == k)) for i in range(20) for k in (0, 1)],
    )
    found = hornbeam_(
        "learn", "--facts", facts, "--labels", labels, "-o", tmp_path / "m.psl", "--json",
        "--method", "ppll",
    ).json  # fmt: skip
    assert f"{name} ?" in found["predicates"].values()
    model = hb.Model.load(tmp_path / "m.psl")
    assert f"{name}(A, B) -> {name} ?(A, B)" in [str(rule.clause) for rule in model.rules]


@pytest.mark.slow
def test_what_scores_depend_on_is_said(tmp_path: Path) -> None:
    model = tmp_path / "model.psl"
    words = ("learn", *EVIDENCE, "--target", "located_in", "-o", model, "--method", "ppll")
    sampled = (*words, "--negatives", "2", "--negative-sampling")
    shown = hornbeam_(*sampled, "uniform").stdout
    assert "False pairs were sampled (uniform), 2 for every true one" in shown
    assert "rules learn which types of entities go together" in shown
    cautions = hornbeam_(*sampled, "typed", "--json").json["cautions"]
    assert any(one.startswith("False pairs were sampled (typed), 2 for") for one in cautions)
    assert not any("which types of entities" in one for one in cautions)


def test_a_positive_prior_is_told_of(tmp_path: Path) -> None:
    facts = write(tmp_path / "facts.tsv", [(f"s{i}", "p", f"o{i}") for i in range(8)])
    rows = [(f"s{i}", "t", f"o{i}", int(i > 1)) for i in range(20)]
    labels = write(tmp_path / "labels.tsv", rows)
    words = ("learn", "--facts", facts, "--labels", labels, "--min-coverage", "1")
    shown = hornbeam_(*words, "-o", tmp_path / "model.psl").stdout
    assert "The prior of t is positive" in shown
    assert "It learned from 20 pairs of which 18 are true." in shown


@pytest.mark.slow
def test_several_targets_make_one_model(tmp_path: Path) -> None:
    words = ("learn", "--facts", COUNTRIES / "observed.tsv", "--max-length", "2",
             "--method", "ppll")  # fmt: skip
    targets = ("--target", "neighbour", "--target", "in_subregion")
    both = tmp_path / "both.psl"
    found = hornbeam_(*words, *targets, "-o", both, "--json").json
    assert hb.Model.load(both).targets == ["in_subregion", "neighbour"]
    alone = [
        hornbeam_(*words, "--target", name, "-o", tmp_path / "one.psl", "--json").json
        for name in ("neighbour", "in_subregion")
    ]
    for figure in ("targets", "positives"):
        assert found[figure] == sum(one[figure] for one in alone)
    again = hornbeam_(*words, *targets[2:], *targets[:2], "-o", tmp_path / "again.psl", "--json")
    assert again.json["rules"] == found["rules"]
    assert both.read_bytes() == (tmp_path / "again.psl").read_bytes()


def test_an_unknown_one_of_several_targets_is_named(tmp_path: Path) -> None:
    words = ("learn", *EVIDENCE, "-o", tmp_path / "m.psl", "--target", "neighbour")
    for labels in ((), TRAIN):
        ended = hornbeam_(*words, *labels, "--target", "borders")
        assert ended.code == 2
        named = "neighbour" if labels else "borders"
        assert f"unknown target predicate {named!r}; expected one of: " in ended.stderr
    assert listing(tmp_path) == []


@pytest.mark.slow
@pytest.mark.parametrize("method", learner_names())
def test_one_two_or_three_labels_are_learned_from_or_refused(tmp_path: Path, method: str) -> None:
    facts = write(tmp_path / "facts.tsv", [("a", "p", "b"), ("b", "p", "c"), ("c", "q", "a")])
    pairs = [("a", "t", "b", 1), ("b", "t", "c", 0), ("c", "t", "a", 1)]
    for chosen, code in ((pairs[:1], 2), (pairs[::2], 2), (pairs[:2], 0), (pairs, 0)):
        labels = write(tmp_path / "labels.tsv", chosen)
        ended = hornbeam_(
            "learn", "--facts", facts, "--labels", labels, "--method", method,
            "--min-coverage", "1", "-o", tmp_path / "model.psl", "--quiet",
        )  # fmt: skip
        assert ended.code == code, ended.stderr
        if code == 2:
            assert "learning needs both true and false targets" in ended.stderr
