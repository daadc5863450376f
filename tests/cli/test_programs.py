"""`hornbeam infer`, `weights` and `export` as a user calls them."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from tests.support.commands import EVIDENCE, TEST, TRAIN, hornbeam_

RULES = ["2: Knows(A, B) & Likes(B, C) -> Likes(A, C) ^2", "1: !Likes(A, B) ^2"]
PREDICATES: dict[str, dict[str, object]] = {
    "Knows/2": {"observations": ["knows.txt"]},
    "Likes/2": {
        "observations": [["bob", "tea"]],
        "targets": [["ann", "tea"], ["cid", "tea"]],
        "truth": [["ann", "tea", 1], ["cid", "tea", 0]],
    },
}


@pytest.fixture
def program(tmp_path: Path) -> Path:
    """A program on disk: ann and cid may like tea, ann knows bob, who does."""
    (tmp_path / "knows.txt").write_text("ann\tbob\ncid\tann\n")
    path = tmp_path / "program.json"
    path.write_text(json.dumps({"rules": RULES, "predicates": PREDICATES}))
    return path


def test_infer_prints_the_keys_of_the_design(program: Path) -> None:
    ended = hornbeam_("infer", program, "--json")
    found = ended.json
    assert {"objective", "iterations", "atoms", "ground_rules"} <= set(found)
    assert (found["atoms"], found["ground_rules"]) == (2, 4)
    assert found["evaluations"]["Likes"]["auc_roc"] == 1.0
    assert ended.stdout.count("\n") == 1


@pytest.mark.parametrize("solver", ["auto", "admm", "exact"])
def test_all_solvers_write_the_same_values(program: Path, tmp_path: Path, solver: str) -> None:
    ended = hornbeam_("infer", program, "--solver", solver, "-o", tmp_path / "out")
    assert ended.code == 0
    assert "objective" in ended.stdout
    rows = [line.split("\t") for line in (tmp_path / "out/LIKES.txt").read_text().splitlines()]
    # 2 (1-a)^2 + a^2 + 2 max(0, a-c)^2 + c^2: a = 6/11, c = 4/11
    assert {row[0]: float(row[2]) for row in rows} == pytest.approx(
        {"ann": 6 / 11, "cid": 4 / 11}, abs=1e-4
    )


@pytest.mark.parametrize("command", ["infer", "weights"])
def test_brackets_of_models_are_refused(program: Path, tmp_path: Path, command: str) -> None:
    rules = [RULES[0], "1: !Likes(A, B) [log] ^2"]
    document = {"rules": rules, "predicates": PREDICATES}
    program.write_text(json.dumps(document, indent=1))
    line = program.read_text().split("[log]")[0].count("\n") + 1
    ended = hornbeam_(command, program, "-o", tmp_path / "out")
    assert ended.code == 2
    assert f"program.json, line {line}, column" in ended.stderr
    assert "'[' begins a way of counting or a threshold" in ended.stderr
    assert not (tmp_path / "out").exists()


def test_without_a_folder_the_values_are_shown(program: Path) -> None:
    ended = hornbeam_("infer", program)
    assert "0.5455  Likes(ann, tea)" in ended.stdout
    assert "Likes: AUC-ROC 1.0000" in ended.stdout


def test_evaluators_of_the_program_are_shown(program: Path, tmp_path: Path) -> None:
    listed = [{"evaluator": "DiscreteEvaluator", "options": {"discreteevaluator.threshold": 0.3}}]
    likes = {**PREDICATES["Likes/2"], "evaluations": listed}
    document = {"rules": RULES, "predicates": {**PREDICATES, "Likes/2": likes}}
    program.write_text(json.dumps(document))
    ended = hornbeam_("infer", program)
    # both values are above 0.3
    shown = "Likes, DiscreteEvaluator (discreteevaluator.threshold 0.3): F1 0.6667, accuracy 0.5000"
    assert shown in ended.stdout
    [found] = hornbeam_("infer", program, "--json").json["evaluations"]["Likes"]["evaluators"]
    assert found["options"] == {"discreteevaluator.threshold": "0.3"}
    assert found["figures"]["recall"] == 1.0
    program.write_text(json.dumps(document).replace("threshold", "treshold"))
    ended = hornbeam_("infer", program, "-o", tmp_path / "out")
    assert ended.code == 2
    assert "unknown option of DiscreteEvaluator 'discreteevaluator.treshold'" in ended.stderr
    assert not (tmp_path / "out").exists()


def test_what_is_read_otherwise_than_written_is_said(program: Path) -> None:
    document = {"rules": [*RULES, "5: !Likes(A, B) ^2"], "predicates": PREDICATES}
    program.write_text(json.dumps({**document, "options": {"sgd.x": 1, "pam.trow": "false"}}))
    (program.parent / "knows.txt").write_text("ann\tbob \ncid\tann\n01\t1\n")
    ended = hornbeam_("infer", program)
    assert ended.code == 0
    assert "stands twice; the first (line 1) is kept with its weight 1" in ended.stderr
    assert "the constants '01' and '1' are different here" in ended.stderr
    assert "Ignored options: sgd.x." in ended.stderr
    assert "Unknown option 'pam.trow'" in ended.stderr
    assert "Did you mean 'pam.throw'?" in ended.stderr
    assert "0.5455  Likes(ann, tea)" in ended.stdout


@pytest.mark.slow
@pytest.mark.parametrize("method", ["joint", "ppll", "search", "map"])
def test_weights_are_rules_that_infer_again(program: Path, tmp_path: Path, method: str) -> None:
    learned = tmp_path / "learned.psl"
    found = hornbeam_("weights", program, "--method", method, "-o", learned, "--json").json
    assert [row["before"] for row in found["rules"]] == [2.0, 1.0]
    figures = found["score"] or found["log_likelihood"]
    assert figures["after"] >= figures["before"]
    texts = learned.read_text().splitlines()
    assert [text.split(": ", 1)[1] for text in texts] == [row["rule"] for row in found["rules"]]
    program.write_text(json.dumps({"rules": texts, "predicates": PREDICATES}))
    assert hornbeam_("infer", program, "--json").json["atoms"] == 2


def change(program: Path, **parts: object) -> None:
    document = json.loads(program.read_text())
    program.write_text(json.dumps({**document, **parts}))


@pytest.mark.parametrize(
    ("parts", "says"),
    [
        ({"rules": ["1: Hates(A, B) -> Likes(A, B)"]}, "Hates"),
        ({"rules": ["1: Knows(A, B) -> Likes(A)"]}, "Likes"),
        ({"rules": ["1: Knows(A, B) -> Likes(A, C)"]}, "C"),
        ({"rules": ["-1: Knows(A, B) -> Likes(A, B)"]}, "negative"),
        ({"rules": ["1: Knows(A, B) -> Likes(B, A)"]}, "neither observed nor among the targets"),
        ({"rules": ["Likes(A, B) <= 0.2 .", "Likes('ann', +B) = 1 ."]}, "contradict each other"),
        ({"predicates": {**PREDICATES, "Knows/2": {"observations": ["no.txt"]}}}, "no.txt"),
        (
            {
                "predicates": {
                    **PREDICATES,
                    "Likes/2": {
                        "observations": [["ann", "tea"]],
                        "targets": [["ann", "tea"], ["cid", "tea"]],
                    },
                }
            },
            "ann",
        ),
    ],
)
def test_mistakes_exit_2_with_one_message(
    program: Path, tmp_path: Path, parts: dict[str, object], says: str
) -> None:
    change(program, **parts)
    ended = hornbeam_("infer", program, "-o", tmp_path / "out", "-q")
    assert ended.code == 2
    assert says in ended.stderr
    assert "Traceback" not in ended.stderr
    assert not (tmp_path / "out").exists()


def test_a_bad_value_is_named_with_its_line(program: Path) -> None:
    (program.parent / "knows.txt").write_text("ann\tbob\ncid\tann\t1.5\n")
    ended = hornbeam_("infer", program)
    assert ended.code == 2
    assert "knows.txt, line 2" in ended.stderr


def test_weights_need_the_truth_of_every_target(program: Path, tmp_path: Path) -> None:
    likes = {**PREDICATES["Likes/2"], "truth": [["cid", "tea", 0]]}
    change(program, predicates={**PREDICATES, "Likes/2": likes})
    ended = hornbeam_("weights", program, "-o", tmp_path / "learned.psl")
    assert ended.code == 2
    assert "1 targets of Likes have no truth, the first is Likes('ann', 'tea')" in ended.stderr
    assert not (tmp_path / "learned.psl").exists()


def test_weights_of_arithmetic_rules_need_map_states(program: Path, tmp_path: Path) -> None:
    change(program, rules=[*RULES, "1: Likes(A, +B) <= 1"])
    ended = hornbeam_("weights", program, "-o", tmp_path / "learned.psl")
    assert ended.code == 2
    assert "logical rules only" in ended.stderr
    assert "use --method search or --method map" in ended.stderr
    words = ("--method", "search", "--trials", "4", "--fix", "2", "--seed", "1")
    ended = hornbeam_("weights", program, *words, "-o", tmp_path / "learned.psl")
    assert "AUCEvaluator (auc_roc) of Likes, of the 2 targets with truth: " in ended.stdout
    assert "after 4 MAP states. Wrote" in ended.stdout
    assert "1.0: !Likes(A, B) ^2\n" in (tmp_path / "learned.psl").read_text()


def test_a_nearly_empty_model_is_announced_with_flags(program: Path, tmp_path: Path) -> None:
    change(program, rules=["1: Knows(A, B) & Likes(B, C) -> !Likes(A, C) ^2"])
    ended = hornbeam_("weights", program, "-o", tmp_path / "learned.psl")
    assert ended.code == 0
    assert "hornbeam: warning: all learned weights, those of priors aside, are" in ended.stderr
    assert "try --method map or --method search" in ended.stderr


@pytest.mark.parametrize(
    ("words", "says"),
    [
        (("--fix", "3"), "--fix names rule 3; expected 1 to 2"),
        (("--fix=-1",), "--fix names '-1', which is no rule; expected a rule of the program, or"),
        (("--method", "map", "--evaluator", "AUC"), "unknown --evaluator 'AUC'; expected one of"),
        (("--method", "search", "--trials", "0"), "--trials"),
    ],
)
def test_wrong_settings_of_weights_exit_2(
    program: Path, tmp_path: Path, words: tuple[str, ...], says: str
) -> None:
    ended = hornbeam_("weights", program, *words, "-o", tmp_path / "learned.psl")
    assert ended.code == 2
    assert says in ended.stderr
    assert not (tmp_path / "learned.psl").exists()


@pytest.mark.slow
@pytest.mark.parametrize(
    "words",
    [
        ("--counts", "raw", "--relaxation", "squared", "--method", "ppll"),
        ("--relaxation", "squared", "--bodies", "paths,open"),
    ],
)
def test_an_exported_model_infers_what_the_model_predicts(
    tmp_path: Path, words: tuple[str, ...]
) -> None:
    model, folder = tmp_path / "model.psl", tmp_path / "program"
    assert hornbeam_("learn", *EVIDENCE, *TRAIN, *words, "-q", "-o", model).code == 0
    pairs = ("--pairs", TEST[1])
    assert hornbeam_("export", model, *EVIDENCE, *pairs, "-o", folder).code == 0
    assert hornbeam_("infer", folder, "-o", tmp_path / "out").code == 0
    [written] = (tmp_path / "out").iterdir()
    inferred = {
        tuple(row[:2]): float(row[2]) for row in map(_cells, written.read_text().splitlines())
    }
    predicted = hornbeam_("predict", model, *EVIDENCE, *pairs, "--score", "map").rows
    assert len(predicted) == len(inferred)
    spoken_of = [row for row in predicted if float(row[-1]) != 0.5]  # elsewhere any value is a MAP
    assert len(spoken_of) > 20
    for row in spoken_of:
        assert inferred[row[0], row[2]] == pytest.approx(float(row[-1]), abs=1e-5)


@pytest.mark.slow
def test_plain_export_names_the_rule_that_psl_cannot_say(tmp_path: Path) -> None:
    model, folder = tmp_path / "model.psl", tmp_path / "program"
    model.write_text(
        "# rules\n1: neighbour(A, B) & located_in(B, C) -> located_in(A, C)\n\n"
        "0.5: neighbour(A, C) [n >= 3]\n  & speaks(B, D) -> located_in(A, B)\n"
    )
    words = ("export", model, *EVIDENCE, "--pairs", TEST[1], "-o", folder)
    ended = hornbeam_(*words, "--plain")
    assert (ended.code, ended.stdout) == (2, "")
    assert ended.told[-1] == (
        f"hornbeam: {model}, line 4: plain PSL has no thresholds: learn with --counts raw and "
        "--bodies paths, or export without --plain (the rule is: neighbour(A, C) [n >= 3] & "
        "speaks(B, D) -> located_in(A, B))"
    )
    assert not folder.exists()
    assert hornbeam_(*words).code == 0


def _cells(line: str) -> list[str]:
    return line.split("\t")


def test_names_with_leading_zeros_are_noted_once(tmp_path: Path) -> None:
    facts, labels = tmp_path / "facts.tsv", tmp_path / "labels.tsv"
    facts.write_text("a\tknows\t01\n1\tknows\ta\n")
    labels.write_text("a\tlikes\t01\t1\n1\tlikes\ta\t0\n")
    learned = tmp_path / "model.psl"
    ended = hornbeam_("learn", "--facts", facts, "--labels", labels, "-o", learned)
    assert ended.stderr.count("the names '01' and '1' are different entities") == 1
