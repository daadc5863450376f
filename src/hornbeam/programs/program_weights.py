"""Learning the weights of a program's rules from the truth of its targets.

By exact pseudolikelihood, for logical rules: given the truth of all other atoms, a ground rule is a
hinge in the remaining atom (`hornbeam.hlmrf.potentials`), of power 1 or 2.

* joint: maximise sum_i log p(y_i | all other y) over all weights at once;
* ppll: the same for each rule alone, as if it were the only rule (piecewise).

Both objectives are concave, with a Gaussian prior on the weights, and are maximised by Newton's
method. By MAP states, for rules of every kind:

* map: the truth has less energy than any other state, by a margin (`hornbeam.hlmrf.max_margin`);
  an evaluator chooses how far the weights are mixed with equal weights, or keeps the given ones;
* search: weights are tried, and an evaluator compares MAP states with the truth
  (`hornbeam.hlmrf.weight_search`).

Hard rules have no weight and are left out. Targets without truth get their MAP state, given the
truth of the others and the weights so far, and weights are learned again until both settle.
"""

from __future__ import annotations

import os
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import asdict, dataclass
from typing import Any, NamedTuple

import numpy as np

from hornbeam.base.arrays import Floats
from hornbeam.base.choices import WeightMethod
from hornbeam.base.compiled import announced
from hornbeam.base.files import save_text
from hornbeam.base.machine import MAX_NUMBER
from hornbeam.base.progress import SILENT, Progress, as_progress
from hornbeam.errors import InfeasibleError, InputError, warn
from hornbeam.hlmrf.max_margin import MaxMargin
from hornbeam.hlmrf.weight_search import WeightSearch
from hornbeam.language.arithmetic_rules import ArithmeticRule, PslRule, unweighted
from hornbeam.language.syntax import LogicalRule, error_at
from hornbeam.programs.program import Program, read_program
from hornbeam.programs.program_likelihood import fit_weights, ground_problem
from hornbeam.programs.truth_score import TruthScore, truth_score
from hornbeam.programs.weight_problem import WeightProblem, refuse_unknown, weight_problem

#: What to do about targets without truth.
UNKNOWN_ADVICE = '; `latent=True` takes their MAP states for it, `method="search"` needs none'
#: Largest strength of all learned rules, per target, that counts as nearly nothing.
EMPTY = 0.01
#: Maximum number of turns of learning and of MAP states of targets without truth, and the largest
#: change of a weight, relative to the largest weight, at which they end.
LATENT_ROUNDS, SETTLED = 10, 0.01
#: Shares of equal weights in the weights by MAP states, among which the evaluator chooses.
EQUAL_SHARES = (0.0, 0.25, 0.5, 0.75)


@dataclass(frozen=True, eq=False)
class LearnedWeights:
    """A program's rules with learned weights, and figures of the learning.

    Learners by pseudolikelihood report the log pseudolikelihoods of the truth, of all rules
    together with the old and the new weights. Learners by MAP states report scores.
    """

    rules: tuple[PslRule, ...]
    before: tuple[PslRule, ...]
    targets: int
    seconds: dict[str, float]
    method: WeightMethod = WeightMethod.JOINT
    log_likelihood_before: float | None = None
    log_likelihood: float | None = None
    score: WeightScore | None = None
    unknown: int = 0  #: number of targets without truth
    #: Whether the learned weights are (nearly) 0, so that the model says hardly anything.
    nearly_empty: bool = False

    @property
    def text(self) -> str:
        """The rules as a `.psl` file."""
        return "".join(f"{rule}\n" for rule in self.rules)

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write the rules to a file; if that fails, an existing file is left as it was."""
        save_text(path, self.text)

    def as_dict(self) -> dict[str, Any]:
        """Rules, weights and figures, ready for JSON."""
        return {
            "rules": [
                {"rule": unweighted(rule), "weight": rule.weight, "before": old.weight}
                for rule, old in zip(self.rules, self.before, strict=True)
            ],
            "method": self.method.value,
            "log_likelihood": {"before": self.log_likelihood_before, "after": self.log_likelihood},
            "score": None if self.score is None else asdict(self.score),
            "targets": self.targets,
            "unknown": self.unknown,
            "nearly_empty": self.nearly_empty,
            "seconds": self.seconds,
        }


@dataclass(frozen=True)
class WeightScore:
    """The evaluator's score of the MAP states of the given and of the learned weights.

    Figures of which less is better, such as MSE, are negated.
    """

    evaluator: str
    before: float
    after: float
    trials: int  #: number of MAP states that were made


def learn_weights(
    program: Program | str | os.PathLike[str],
    *,
    method: WeightMethod | str = WeightMethod.JOINT,
    split: str | None = None,
    weight_variance: float = 100.0,
    fix: Sequence[str | int] = (),
    latent: bool = False,
    evaluator: str | None = None,
    trials: int = 50,
    seed: int = 0,
    max_ground_rules: int | None = None,
    threads: int | None = None,
    progress: Progress | bool = SILENT,
) -> LearnedWeights:
    """Learn the weights of a program's rules from the truth of its targets.

    Parameters
    ----------
    program
        A program, or the path of one.
    method
        "joint" (pseudolikelihood, all weights together), "ppll" (each rule alone), "search" (guided
        random search, scored by an evaluator) or "map" (the energy of the truth against that of MAP
        states, with a margin). Weighted arithmetic rules need "search" or "map".
    split
        The split to learn from, in addition to the data of all splits; "learn" by default.
    weight_variance
        Variance of the Gaussian prior on weights; not for "search".
    fix
        Rules that keep their weights: numbers in the program's order from 1, or texts.
    latent
        Whether targets may lack truth: they get their MAP state given the truth of the others, in
        turns with learning. "search" needs no truth of them.
    evaluator
        PSL's name of the evaluator that scores "search" and "map"; by default the program's
        primary evaluator, or AUC-ROC.
    trials, seed
        Number of weights that "search" tries, and the seed of its random numbers.
    progress
        Callback that is given the progress of the work, or True for a bar on stderr.
    """
    method = WeightMethod(method)
    if not weight_variance >= 1 / MAX_NUMBER:
        raise InputError(f"`weight_variance` is {weight_variance:g}; expected a number above 0")
    if trials < 1:
        raise InputError(f"`trials` is {trials}; expected at least 1")
    clock = time.perf_counter()
    seconds = {}
    if not isinstance(program, Program):
        program = read_program(program, split or "learn")
    by_likelihood = method in (WeightMethod.JOINT, WeightMethod.PPLL)
    if by_likelihood:
        _refuse_arithmetic(program)
    data = program.load()
    if not latent and method is not WeightMethod.SEARCH:
        refuse_unknown(program, data, UNKNOWN_ADVICE)
    score = None if by_likelihood else truth_score(program, data, evaluator)
    seconds["load"] = time.perf_counter() - clock
    clock = time.perf_counter()
    with as_progress(progress) as shown, announced(shown):
        problem = weight_problem(program, data, fix, max_ground_rules, threads, shown)
        seconds["ground"] = time.perf_counter() - clock
        clock = time.perf_counter()
        with _explained_conflicts(program):
            if score is None:
                learned = _by_likelihood(problem, method, weight_variance)
            elif method is WeightMethod.MAP:
                learned = _by_map_states(problem, score, weight_variance, shown)
            else:
                learned = _by_search(problem, score, WeightSearch(trials, seed), shown)
    seconds["learn"] = time.perf_counter() - clock
    limit = 0.0 if method is WeightMethod.SEARCH else EMPTY
    empty = _is_nearly_empty(problem, learned.weights, limit)
    if empty:
        warn(_advice(method))
    return LearnedWeights(
        program.reweighted_rules(learned.weights.tolist()),
        program.rules,
        len(problem.truth),
        seconds,
        method,
        *learned.log_likelihoods,
        score=learned.score,
        unknown=int(np.count_nonzero(~problem.known)),
        nearly_empty=empty,
    )


class _Learned(NamedTuple):
    """Learned weights, and the figures of the learner's kind."""

    weights: Floats
    log_likelihoods: tuple[float | None, float | None] = (None, None)
    score: WeightScore | None = None


@contextmanager
def _explained_conflicts(program: Program) -> Iterator[None]:
    """Say where constraints come from that contradict each other during learning."""
    try:
        yield
    except InfeasibleError as error:
        raise InputError(
            f"{program.name}: the hard rules contradict each other, or the truth of targets that "
            "share a hard rule with targets without truth breaks it; `hornbeam infer` names ground "
            "rules that contradict each other"
        ) from error


def _by_likelihood(problem: WeightProblem, method: WeightMethod, variance: float) -> _Learned:
    weights = problem.given
    for _ in range(LATENT_ROUNDS):
        truth = problem.completed(weights)
        hinges = ground_problem(problem.rules, problem.ground.unit, truth)
        found = fit_weights(hinges, method, variance, problem.given, problem.free)
        moved = float(np.abs(found - weights).max())
        weights = found
        if problem.known.all() or moved <= SETTLED * float(weights.max(initial=0.0)):
            break
    return _Learned(weights, (hinges.log_likelihood(problem.given), hinges.log_likelihood(weights)))


def _by_map_states(
    problem: WeightProblem, score: TruthScore, variance: float, progress: Progress
) -> _Learned:
    weights, made = problem.given, 0
    for _ in range(LATENT_ROUNDS):
        found = MaxMargin(variance).fit(
            problem.ground,
            problem.completed(weights),
            problem.known,
            problem.given,
            problem.free,
            progress,
        )
        made += found.rounds
        moved = float(np.abs(found.weights - weights).max())
        weights = found.weights
        if problem.known.all() or moved <= SETTLED * float(weights.max(initial=0.0)):
            break
    choices = [*_mixtures(problem, weights), problem.given]
    scores = [score.of(_map_state(problem, tried)) for tried in choices]
    best = int(np.argmax(scores))  # of equal scores the first: learned weights before the given
    figures = _score(score, scores[-1], scores[best], made)
    return _Learned(choices[best], score=figures)


def _mixtures(problem: WeightProblem, weights: Floats) -> list[Floats]:
    """Learned weights, then mixed with equal weights by `EQUAL_SHARES`.

    The margin gives weight 0 to rules that only smooth MAP states, such as priors, which ranks
    targets worse.
    """
    equal = float(weights[problem.free].mean())
    mixed = [(1.0 - share) * weights + share * equal for share in EQUAL_SHARES]
    return [np.where(problem.free, one, problem.given) for one in mixed]


def _by_search(
    problem: WeightProblem, score: TruthScore, search: WeightSearch, progress: Progress
) -> _Learned:
    starts = []
    weighted = (rule for rule in problem.rules if rule.weight is not None)
    if problem.known.all() and not any(isinstance(rule, ArithmeticRule) for rule in weighted):
        hinges = ground_problem(problem.rules, problem.ground.unit, problem.truth)
        joint = fit_weights(hinges, WeightMethod.JOINT, 100.0, problem.given, problem.free)
        starts = [joint] if joint[problem.free].any() else []
    found = search.run(
        lambda weights: score.of(_map_state(problem, weights)),
        problem.given,
        problem.free,
        starts,
        progress,
    )
    figures = _score(score, found.score_given, found.score, found.trials)
    return _Learned(found.weights, score=figures)


def _score(score: TruthScore, before: float, after: float, trials: int) -> WeightScore:
    """The scores; refuse figures that the truth leaves undefined."""
    if not np.isfinite([before, after]).all():
        raise InputError(
            f"{score.name} has no figure for this truth, such as AUC-ROC without true and false "
            "targets; choose another `evaluator`"
        )
    return WeightScore(score.name, before, after, trials)


def _map_state(problem: WeightProblem, weights: Floats) -> Floats:
    return problem.ground.map_state(weights, np.ones(len(problem.truth))).state


def _is_nearly_empty(problem: WeightProblem, weights: Floats, limit: float) -> bool:
    """Whether the strength of the learned rules is at most `limit` per target.

    The strength of a rule is its weight times the number of its ground rules. Priors are left
    aside if other rules were learned, too.
    """
    others = problem.free & np.array([not _is_prior(rule) for rule in problem.rules])
    unit = problem.ground.unit
    strength = weights * np.bincount(unit.rule, unit.weight, len(weights))
    learned = strength[others if others.any() else problem.free]
    return float(learned.sum()) <= limit * len(problem.truth)


def _is_prior(rule: PslRule) -> bool:
    return isinstance(rule, LogicalRule) and len(rule.body) + len(rule.head) == 1


def _advice(method: WeightMethod) -> str:
    """What to try when a model comes back nearly empty."""
    rules = "all learned weights, those of priors aside, are (nearly) 0"
    if method is WeightMethod.SEARCH:
        return f"{rules}: no trial with rules scores better; try more `trials`, or other rules"
    if method is WeightMethod.MAP:
        why = "no weights tell the truth from other states by their energy"
        return f'{rules}: {why}; try `method="search"`, or keep rules that you trust by `fix`'
    return (
        f"{rules}: given the truth of all other targets, the truth of a target is likelier without "
        'the rules; try `method="map"` or `method="search"`, which compare MAP states with the '
        "truth instead, or keep rules that you trust by `fix`"
    )


def _refuse_arithmetic(program: Program) -> None:
    for rule, source in zip(program.rules, program.sources, strict=True):
        if isinstance(rule, ArithmeticRule) and rule.weight is not None:
            problem = f"pseudolikelihoods learn weights of logical rules only, not of {rule}"
            advice = 'use `method="search"` or `method="map"`, make it a hard rule or leave it out'
            raise error_at(rule.place, source, f"{problem}; {advice}")
