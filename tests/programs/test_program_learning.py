"""Rules are learned beside those of a PSL program; the result is a program that inference runs."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from scipy.integrate import quad
from scipy.optimize import minimize_scalar

import hornbeam as hb
from hornbeam.errors import DataError, HornbeamWarning, InputError
from hornbeam.flow import learn_program
from hornbeam.programs.extended_program import ExtendedProgram
from hornbeam.rules.body import Kind
from tests.support.commands import hornbeam_

GIVEN = "1.0: Cand(A, C) & P(A, B) & Q(B, C) & (A != C) -> T(A, C) ^2"
PRIOR = "1.0: !T(A, B) ^2"
RECURSIVE = "1.0: Cand(A, C) & T(A, B) & S(B, C) & (A != C) -> T(A, C) ^2"
LIMITS = hb.RuleLimits(max_length=2, min_coverage=5)


def program(folder: Path, rules: list[str], n: int = 24, **changes: Any) -> Path:  # noqa: ANN401
    """A program whose targets mostly follow P then Q, or Q then R."""
    rng = np.random.default_rng(5)
    edges = {name: {(int(a), int(b)) for a, b in rng.integers(0, n, (2 * n, 2))} for name in "PQRS"}

    def walked(first: str, second: str) -> set[tuple[int, int]]:
        return {(a, d) for a, b in edges[first] for c, d in edges[second] if b == c}

    true = walked("P", "Q") | walked("Q", "R")
    some = [sorted(true)[i] for i in rng.choice(len(true), 60)]
    pairs = sorted({(a, b) for a, b in [*some, *rng.integers(0, n, (80, 2)).tolist()] if a != b})
    labels = [(a, b, int(((a, b) in true) != (rng.random() < 0.05))) for a, b in pairs]
    data = folder / "data"
    data.mkdir(parents=True)
    for name, rows in {**edges, "Cand": pairs, "Truth": labels, "Targets": pairs}.items():
        lines = ["\t".join(f"e{x}" if k < 2 else str(x) for k, x in enumerate(row)) for row in
                 (sorted(rows) if isinstance(rows, set) else rows)]  # fmt: skip
        (data / f"{name}.txt").write_text("\n".join(lines) + "\n")
    observed = {f"{name}/2": {"observations": [f"data/{name}.txt"]} for name in (*edges, "Cand")}
    target = {"targets": ["data/Targets.txt"], "truth": ["data/Truth.txt"]}
    document = {"rules": rules, "predicates": {**observed, "T/2": target}, **changes}
    path = folder / "program.json"
    path.write_text(json.dumps(document))
    return path


def weights(extended: ExtendedProgram) -> dict[str, float | None]:
    return {row["rule"]: row["weight"] for row in extended.as_dict()["rules"]}


def bare(rule: str) -> str:
    return rule.split(": ", 1)[1]


@pytest.mark.parametrize("method", ["joint", "ppll", "greedy"])
def test_given_rules_stay_and_what_they_leave_unexplained_is_learned(
    tmp_path: Path, method: str
) -> None:
    path = program(tmp_path, [GIVEN, RECURSIVE, PRIOR])
    found = learn_program(path, guard="Cand", method=method, language=LIMITS)
    assert [bare(str(rule)) for rule in found.given] == [bare(r) for r in (GIVEN, RECURSIVE, PRIOR)]
    learned = [bare(str(rule)) for rule in found.learned]
    assert "Cand(A, B) & Q(A, C) & R(C, B) -> T(A, B) ^2" in learned
    assert "Cand(A, B) & P(A, C) & Q(C, B) -> T(A, B) ^2" not in learned
    assert not any("T(" in rule.split("->")[0] for rule in learned)
    assert "!T(A, B) ^2" not in learned


def test_without_candidates_the_weights_are_those_of_weight_learning(tmp_path: Path) -> None:
    path = program(tmp_path, [GIVEN, RECURSIVE, PRIOR])
    limits = hb.RuleLimits(min_coverage=100_000)
    found = learn_program(path, guard="Cand", language=limits)
    expected = hb.learn_weights(path)
    assert found.learned == ()
    ours, theirs = ([rule.weight for rule in one.rules] for one in (found, expected))
    np.testing.assert_allclose(np.array(ours), np.array(theirs), rtol=1e-3, atol=1e-3)


def test_kept_weights_and_hard_rules_are_as_they_were(tmp_path: Path) -> None:
    rules = ["0.25: P(A, B) -> T(A, B)", "T(A, A) = 0 .", "0.125: !T(A, B)"]
    path = program(tmp_path, rules, options={"pam.throw": "false"})
    found = learn_program(path, keep=True, language=LIMITS)
    assert [rule.weight for rule in found.given] == [0.25, None, 0.125]
    assert found.learned
    assert all(not rule.squared for rule in found.learned)


def test_an_arithmetic_rule_is_fitted_as_hinges(tmp_path: Path) -> None:
    """Against the maximum of the log pseudolikelihood, found by integrating numerically."""
    rows = {"a": 1, "b": 0, "c": 1, "d": 0}
    path = tmp_path / "program.json"
    document = {
        "rules": ["1.0: 2 * T(A, B) - 0.5 * P(A, B) <= 0.75"],
        "predicates": {
            "P/2": {"observations": [["a", "x", "0.5"], ["b", "x", "1"], ["c", "x", "0.25"]]},
            "T/2": {
                "targets": [[name, "x"] for name in rows],
                "truth": [[name, "x", str(y)] for name, y in rows.items()],
            },
        },
        "options": {"pam.throw": "false"},
    }
    path.write_text(json.dumps(document))
    found = learn_program(path, language=hb.RuleLimits(min_coverage=100_000))
    observed = {"a": 0.5, "b": 1.0, "c": 0.25}

    def loss(w: float) -> float:
        total = 0.5 * w * w / 100.0
        for name, p in observed.items():

            def potential(y: float, p: float = p) -> float:
                return w * max(0.0, 2.0 * y - 0.5 * p - 0.75)

            total += potential(rows[name])
            total += np.log(quad(lambda y: np.exp(-potential(y)), 0, 1, points=[0.5])[0])
        # the prior is fitted too, and hardly matters for targets of either truth
        return float(total)

    best = minimize_scalar(loss, bounds=(0.0, 50.0), method="bounded").x
    [rule] = found.given
    assert rule.weight == pytest.approx(best, abs=0.05)


def test_inference_runs_the_result_wherever_it_is_written(tmp_path: Path) -> None:
    path = program(tmp_path / "here", [GIVEN, PRIOR])
    found = learn_program(path, guard="Cand", language=LIMITS)
    (tmp_path / "there").mkdir()
    before = hb.infer(path).evaluations["T"].auc_roc
    values = []
    for output in ("here/more.json", "there/more.json", "here/more.psl", "there/more.psl"):
        found.save(tmp_path / output)
        inferred = hb.infer(tmp_path / output)
        values.append(inferred.values("T"))
        assert [str(rule) for rule in inferred.ground.rules] == [str(rule) for rule in found.rules]
        after = inferred.evaluations["T"].auc_roc
        assert after is not None and before is not None and after > before + 0.05  # noqa: PT018
    for other in values[1:]:
        np.testing.assert_array_equal(values[0], other)


def test_inference_runs_a_result_without_a_guard(tmp_path: Path) -> None:
    """Learned rules lead to pairs that are no targets, which change no value."""
    path = program(tmp_path, [GIVEN, PRIOR])
    found = learn_program(path, language=LIMITS)
    assert found.learned
    values = []
    for output in ("more.json", "more.psl"):
        found.save(tmp_path / output)
        values.append(hb.infer(tmp_path / output).values("T"))
    assert values[0].tolist() == values[1].tolist()
    document = json.loads((tmp_path / "more.json").read_text())
    document["options"] = {"pam.throw": "true"}
    (tmp_path / "strict.json").write_text(json.dumps(document))
    with pytest.raises(InputError, match="is neither observed nor among the targets of T"):
        hb.infer(tmp_path / "strict.json")


def test_rules_of_an_extended_program_are_not_learned_again(tmp_path: Path) -> None:
    path = program(tmp_path, [GIVEN, PRIOR])
    first = learn_program(path, guard="Cand", language=LIMITS)
    first.save(tmp_path / "more.json")
    again = learn_program(tmp_path / "more.json", guard="Cand", language=LIMITS)
    meanings = {
        tuple(sorted(bare(str(rule)).split(" -> ")[0].split(" & "))) for rule in first.rules
    }
    assert len(again.given) == len(first.rules)
    assert not meanings & {
        tuple(sorted(bare(str(rule)).split(" -> ")[0].split(" & "))) for rule in again.learned
    }


def test_targets_of_one_argument(tmp_path: Path) -> None:
    names = [f"n{i}" for i in range(40)]
    path = tmp_path / "program.json"
    document = {
        "rules": ["1.0: !Good(A) ^2"],
        "predicates": {
            "Likes/2": {
                "observations": [[a, names[(i * 7) % 40]] for i, a in enumerate(names)]
                + [[a, "cake"] for a in names[::2]]
            },
            "Good/1": {
                "targets": [[a] for a in names],
                "truth": [[a, str(int(i % 2 == 0))] for i, a in enumerate(names)],
            },
        },
    }
    path.write_text(json.dumps(document))
    found = learn_program(path, language=hb.RuleLimits(min_coverage=5))
    assert any("Likes(A, 'cake') -> Good(A)" in str(rule) for rule in found.learned)
    found.save(tmp_path / "more.psl")
    assert hb.infer(tmp_path / "more.psl").evaluations["Good"].auc_roc == 1.0


def test_mistakes(tmp_path: Path) -> None:
    path = program(tmp_path, [GIVEN, PRIOR])
    for settings, message in (
        ({"method": "boost"}, "thresholds, which PSL does not have"),
        ({"relaxation": "boolean"}, "lie between 0 and 1"),
        ({"guard": "Nothing"}, "no fact has the predicate 'Nothing', which `guard` names"),
        ({"target": "Nothing"}, "unknown target predicate 'Nothing'"),
        ({"language": hb.RuleLimits(bodies=(Kind.OPEN,))}, "both variables of a head"),
    ):  # fmt: skip
        with pytest.raises(InputError, match=message):
            learn_program(path, **settings)
    with pytest.raises(DataError, match="is a PSL program"):
        hb.learn(str(path), str(path), rules=path)
    with pytest.warns(HornbeamWarning, match="all given rules have the condition Cand"):
        learn_program(path, language=LIMITS)


# --- the command ----------------------------------------------------------------------------------


def test_the_command_returns_a_program(tmp_path: Path) -> None:
    path = program(tmp_path, [GIVEN, PRIOR])
    words = ("learn", "--facts", path, "--labels", path, "--rules", path, "--guard", "Cand")
    ended = hornbeam_(*words, "--max-length", "2", "-o", tmp_path / "more.psl", "--json")
    assert ended.code == 0, ended.stderr
    given = [rule for rule in ended.json["rules"] if rule["own"]]
    assert [rule["rule"] for rule in given] == [bare(GIVEN), bare(PRIOR)]
    assert len(ended.json["rules"]) > len(given)
    assert {"candidates", "seconds"} <= ended.json.keys()
    inferred = hornbeam_("infer", tmp_path / "more.psl", "--json")
    assert inferred.code == 0, inferred.stderr
    assert inferred.json["ground_rules"] > 0


def test_two_files_are_a_program_too(tmp_path: Path) -> None:
    path = program(tmp_path, [GIVEN, PRIOR])
    hornbeam_("learn", "--facts", path, "--labels", path, "--rules", path, "--guard", "Cand",
              "--max-length", "2", "-o", tmp_path / "two.psl")  # fmt: skip
    two, data = tmp_path / "two.psl", tmp_path / "two.data"
    ended = hornbeam_("learn", "--facts", data, "--labels", data, "--rules", two, "--guard", "Cand",
                      "--max-length", "2", "-o", tmp_path / "three.psl", "-q")  # fmt: skip
    assert ended.code == 0, ended.stderr
    assert hornbeam_("infer", tmp_path / "three.psl").code == 0


def test_data_of_other_making_are_not_overwritten(tmp_path: Path) -> None:
    path = program(tmp_path, [GIVEN, PRIOR])
    words = ("learn", "--facts", path, "--labels", path, "--rules", path, "--guard", "Cand")
    (tmp_path / "more.data").write_text("predicates:\n  P/2: closed\n")
    ended = hornbeam_(*words, "--max-length", "2", "-o", tmp_path / "more.psl")
    assert ended.code == 2
    assert "more.data: is not a file that `learn` wrote" in ended.stderr
    assert (tmp_path / "more.data").read_text() == "predicates:\n  P/2: closed\n"
    assert not (tmp_path / "more.psl").exists()


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (("--counts", "log"), "leave out --counts"),
        (("--collective",), "`collective`|--collective has no meaning in PSL"),
        (("--cross-evidence",), "--cross-evidence has no meaning in PSL"),
        (("--engine", "duckdb"), "learned in memory"),
        (("--guard", "Nothing"), "which --guard names"),
        (("--facts", "other.tsv"), "from its own data"),
    ],
)
def test_options_without_a_meaning_in_psl_are_refused(
    tmp_path: Path, words: tuple[str, ...], message: str
) -> None:
    path = program(tmp_path, [GIVEN, PRIOR])
    ended = hornbeam_("learn", "--facts", path, "--labels", path, "--rules", path, *words,
                      "-o", tmp_path / "more.psl")  # fmt: skip
    assert ended.code == 2
    assert any(part in ended.stderr for part in message.split("|")), ended.stderr
    assert not (tmp_path / "more.psl").exists()
    assert not (tmp_path / "more.data").exists()
