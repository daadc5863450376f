"""`learn_weights` by every method: fixed rules, targets without truth, arithmetic, empty models."""

from __future__ import annotations

import json
import warnings
from pathlib import Path

import numpy as np
import pytest

import hornbeam as hb
from hornbeam.base.choices import WeightMethod
from hornbeam.errors import DataError, HornbeamWarning, InputError
from hornbeam.programs.program import read_program
from hornbeam.programs.program_likelihood import fit_weights, ground_problem
from hornbeam.programs.truth_score import truth_score
from hornbeam.programs.weight_problem import weight_problem

PEOPLE = [f"p{i}" for i in range(8)]
#: Friends of the first four smoke, those of the others do not; wealth says nothing.
FRIENDS = [(a, b) for group in (PEOPLE[:4], PEOPLE[4:]) for a in group for b in group if a != b]
RULES = [
    "0.01: Friend(A, B) & Smokes(B) -> Smokes(A) ^2",
    "5: Rich(A) -> Smokes(A) ^2",
    "1: !Smokes(A) ^2",
]


def written(folder: Path, rules: list[str] = RULES, **likes: object) -> Path:
    """A program of smokers: p0 is known to smoke, p4 is known not to."""
    smokes: dict[str, object] = {
        "observations": [["p0", 1], ["p4", 0]],
        "targets": [[p] for p in PEOPLE if p not in ("p0", "p4")],
        "truth": [[p, int(p < "p4")] for p in PEOPLE if p not in ("p0", "p4")],
        **likes,
    }
    predicates = {
        "Friend/2": {"observations": FRIENDS},
        "Rich/1": {"observations": [["p2"], ["p5"], ["p6"]]},
        "Smokes/1": smokes,
    }
    path = folder / "smokers.json"
    path.write_text(json.dumps({"rules": rules, "predicates": predicates}))
    return path


@pytest.mark.parametrize("method", WeightMethod)
def test_every_method_prefers_the_rule_that_holds(tmp_path: Path, method: WeightMethod) -> None:
    learned = hb.learn_weights(written(tmp_path), method=method)
    friends, rich, _ = (rule.weight for rule in learned.rules)
    assert friends is not None
    assert rich is not None
    assert friends >= rich  # for equal weights, all ranks are right already
    figures = learned.as_dict()
    assert figures["method"] == method
    assert (figures["targets"], figures["unknown"], figures["nearly_empty"]) == (6, 0, False)
    by_states = method in (WeightMethod.SEARCH, WeightMethod.MAP)
    assert (figures["score"] is not None) == by_states
    assert (figures["log_likelihood"]["after"] is None) == by_states
    if by_states:
        assert figures["score"]["after"] >= figures["score"]["before"]
        assert figures["score"]["after"] == 1.0
        assert figures["score"]["evaluator"] == "AUCEvaluator (auc_roc) of Smokes"


@pytest.mark.parametrize("method", WeightMethod)
@pytest.mark.parametrize("fix", [[2], ["2"], ["Rich(A) >> Smokes(A) ^2"], [RULES[1]]])
def test_fixed_rules_keep_their_weights(
    tmp_path: Path, method: WeightMethod, fix: list[str | int]
) -> None:
    rules = [RULES[0], "3.5: rich(A) -> smokes(A) ^2", RULES[2]]
    learned = hb.learn_weights(written(tmp_path, rules), method=method, fix=fix)
    weights = [rule.weight for rule in learned.rules]
    assert weights[1] == 3.5
    assert weights[0] != 0.01
    assert weights[2] != 1.0


def test_joint_weights_are_the_best_next_to_fixed_ones(tmp_path: Path) -> None:
    program = read_program(written(tmp_path, [RULES[0], "3.5: Rich(A) -> Smokes(A) ^2", RULES[2]]))
    problem = weight_problem(program, program.load(), fix=[2])
    hinges = ground_problem(problem.rules, problem.ground.unit, problem.truth)
    joint = WeightMethod.JOINT
    found = fit_weights(hinges, joint, 10.0, problem.given, problem.free)

    def objective(weights: np.ndarray) -> float:
        return hinges.log_likelihood(weights) - float((weights[problem.free] ** 2).sum()) / 20.0

    best = objective(found)
    assert found[1] == 3.5
    rng = np.random.default_rng(0)
    for size in (0.01, 0.3, 3.0):
        for _ in range(20):
            moved = np.maximum(found + problem.free * rng.normal(0.0, size, 3), 0.0)
            assert objective(moved) <= best + 1e-9
    # and the fixed weight does matter: free of it, the others are not the best
    alone = fit_weights(hinges, joint, 10.0, np.zeros(3), problem.free)
    assert objective(np.where(problem.free, alone, 3.5)) < best - 1e-3


@pytest.mark.parametrize(
    ("fix", "says"),
    [
        ([4], "`fix` names rule 4; expected 1 to 3"),
        (["0"], "`fix` names rule 0; expected 1 to 3"),
        (["Rich(A) -> Smokes(A)"], "`fix` names the rule Rich(A) -> Smokes(A), which"),
        (["Rich(A) ->"], "`fix` names 'Rich(A) ->', which is no rule; expected a rule"),
        (["-1"], "`fix` names '-1', which is no rule; expected .* a number from 1 to 3"),
        (["1.5"], "`fix` names '1.5', which is no rule"),
        ([""], "`fix` names '', which is no rule"),
        ([1, 2, 3], "no weight to learn"),
    ],
)
def test_wrong_fixed_rules_are_refused(tmp_path: Path, fix: list[str | int], says: str) -> None:
    with pytest.raises(InputError, match=says.replace("(", r"\(").replace(")", r"\)")):
        hb.learn_weights(written(tmp_path), fix=fix)


def test_an_empty_model_is_said_to_be_empty_with_what_to_try(tmp_path: Path) -> None:
    rules = ["1: Friend(A, B) & Smokes(B) -> !Smokes(A) ^2", RULES[1]]
    program = written(tmp_path, rules)
    with pytest.warns(HornbeamWarning, match=r'nearly\) 0: given the truth .*`method="search"`'):
        learned = hb.learn_weights(program)
    assert learned.nearly_empty
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert not hb.learn_weights(written(tmp_path)).nearly_empty


@pytest.mark.parametrize("method", ["search", "map"])
def test_weights_of_arithmetic_rules_are_learned_by_map_states(tmp_path: Path, method: str) -> None:
    rules = [
        "0.01: Friend(A, B) + Smokes(B) - Smokes(A) <= 1 ^2",
        "5: Rich(A) - Smokes(A) <= 0 ^2",
        "1: Smokes(A) <= 0.1",
        "0.1: Smokes(A) = 1",
    ]
    program = written(tmp_path, rules)
    with pytest.raises(DataError, match='`method="search"` or `method="map"`'):
        hb.learn_weights(program)
    learned = hb.learn_weights(program, method=method)
    assert learned.score is not None
    assert learned.score.after == 1.0
    assert learned.score.before < 1.0
    assert (learned.rules[0].weight or 0.0) >= (learned.rules[1].weight or 0.0)


@pytest.mark.parametrize(("method", "trials"), [("search", 1), ("map", 50)])
def test_the_given_weights_stay_where_no_others_score_better(
    tmp_path: Path, method: str, trials: int
) -> None:
    """No rule tells this truth from chance; the margin then pulls all values below 0.5."""
    truth = [["p1", 0], ["p2", 0], ["p3", 0], ["p5", 1], ["p6", 0], ["p7", 1]]
    rules = [f"1:{RULES[0].split(':')[1]}", *RULES[1:], "1: Smokes(A) <= 0.5"]
    program = written(tmp_path, rules, truth=truth)
    learned = hb.learn_weights(program, method=method, evaluator="DiscreteEvaluator", trials=trials)
    assert learned.rules == learned.before
    assert learned.score is not None
    assert learned.score.after == learned.score.before == pytest.approx(0.4)
    f1 = hb.infer(program).evaluations["Smokes"].f1
    assert f1 == pytest.approx(learned.score.after)


@pytest.mark.parametrize("method", WeightMethod)
def test_targets_without_truth_get_their_map_state(tmp_path: Path, method: WeightMethod) -> None:
    truth = [["p1", 1], ["p2", 1], ["p5", 0], ["p6", 0]]  # p3 and p7 are latent
    program = written(tmp_path, truth=truth)
    if method is not WeightMethod.SEARCH:
        with pytest.raises(DataError, match=r"2 targets of Smokes have no truth.*`latent=True`"):
            hb.learn_weights(program, method=method)
    learned = hb.learn_weights(program, method=method, latent=True)
    assert learned.unknown == 2
    assert (learned.rules[0].weight or 0.0) >= (learned.rules[1].weight or 0.0)


def test_latent_targets_take_the_state_that_their_neighbours_ask_for(tmp_path: Path) -> None:
    truth = [["p1", 1], ["p2", 1], ["p5", 0], ["p6", 0]]
    program = read_program(written(tmp_path, truth=truth))
    problem = weight_problem(program, program.load())
    completed = problem.completed(np.array([10.0, 0.0, 0.1]))
    known = problem.known
    assert known.tolist() == [True, True, False, True, True, False]  # p1 p2 p3 p5 p6 p7
    np.testing.assert_array_equal(completed[known], problem.truth[known])
    assert completed[2] > 0.9
    assert completed[5] < 0.1


def test_the_chosen_evaluator_scores(tmp_path: Path) -> None:
    options = {"discreteevaluator.threshold": 0.9}
    listed = [{"evaluator": "DiscreteEvaluator", "options": options}]
    program = read_program(written(tmp_path, evaluations=listed))
    data = program.load()
    state = np.array([0.95, 0.8, 0.95, 0.1, 0.1, 0.2])
    assert truth_score(program, data).of(state) == pytest.approx(0.8)  # F1 at 0.9
    assert truth_score(program, data, "AUCEvaluator").of(state) == 1.0
    continuous = truth_score(program, data, "ContinuousEvaluator")
    expected = -np.mean([0.05**2, 0.2**2, 0.05**2, 0.1**2, 0.1**2, 0.2**2])
    assert continuous.of(state) == pytest.approx(expected)
    assert continuous.name == "ContinuousEvaluator (mse) of Smokes"
    with pytest.raises(InputError, match="unknown `evaluator` 'AUC'; expected one of Continuous"):
        truth_score(program, data, "AUC")


def test_a_truth_without_contrast_has_no_ranking(tmp_path: Path) -> None:
    truth = [[p, 1] for p in PEOPLE if p not in ("p0", "p4")]
    for method in ("search", "map"):
        with pytest.raises(InputError, match="choose another `evaluator`"):
            hb.learn_weights(written(tmp_path, truth=truth), method=method, trials=3)


def test_a_truth_that_breaks_hard_rules_with_latent_targets_is_refused(tmp_path: Path) -> None:
    truth = [["p1", 1], ["p2", 1], ["p5", 0], ["p6", 0]]
    rules = [*RULES, "Smokes('p1') + Smokes('p3') + Smokes('p2') <= 1 ."]
    with pytest.raises(InputError, match="the hard rules contradict each other, or the truth"):
        hb.learn_weights(written(tmp_path, rules, truth=truth), latent=True)


def test_no_truth_at_all_is_refused(tmp_path: Path) -> None:
    for method in WeightMethod:
        with pytest.raises(InputError, match="truth"):
            hb.learn_weights(written(tmp_path, truth=[]), method=method, latent=True)
