"""One contract for every learner: what holds of its rules, whatever it maximises."""

from __future__ import annotations

import importlib
import inspect
import pkgutil
import warnings
from collections.abc import Callable
from dataclasses import dataclass, fields, is_dataclass, replace
from functools import cache
from typing import Any

import numpy as np
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

import hornbeam.learning
from hornbeam import Facts, Model, RuleLimits, Targets, learn, read_facts, read_labels
from hornbeam.base.choices import Relaxation
from hornbeam.errors import HornbeamWarning, InputError
from hornbeam.learning.boost import Boost
from hornbeam.learning.greedy import Greedy
from hornbeam.learning.joint import Joint
from hornbeam.learning.learner import Learner
from hornbeam.learning.ppll import Ppll
from hornbeam.learning.registry import BUNDLED
from hornbeam.learning.trace import Trace
from hornbeam.learning.trees import Booster
from hornbeam.rules.body import AnyBody, Body, Kind, Part, Step, simplest
from hornbeam.rules.clause import Clause
from hornbeam.rules.weighing import Counts
from tests.support.recorded_progress import RecordedProgress
from tests.support.synthetic import Planted, planted

#: Every learner, by its class, in the settings it is held to. A new learner adds a line here.
CONTRACT: dict[type, dict[str, Callable[[], Learner]]] = {
    Joint: {"joint": Joint, "joint-all": lambda: Joint(all_rules=True)},
    Boost: {
        "boost": lambda: Boost(trees=40),
        "boost-short": lambda: Boost(trees=40, max_rules=6),
    },
    Ppll: {
        "ppll": Ppll,
        "ppll-outside": lambda: Ppll(prior_inside=False, length_penalty=0.1),
        "ppll-gradient": lambda: Ppll("gradient", iterations=15, step_size=1e-3),
    },
    Greedy: {"greedy": lambda: Greedy(max_rules=4)},
}
every_setting = pytest.mark.parametrize(
    "make",
    [pytest.param(make, id=name) for kinds in CONTRACT.values() for name, make in kinds.items()],
)
every_learner = pytest.mark.parametrize(
    "make",
    [
        pytest.param(next(iter(kinds.values())), id=kind.__name__)
        for kind, kinds in CONTRACT.items()
    ],
)

#: In one worker: most tests hold something against the same few models.
pytestmark = pytest.mark.xdist_group("learners")

LANGUAGE = RuleLimits(max_length=2, min_coverage=8)
Triple = tuple[str, str, str]


def test_every_learner_is_held_to_the_contract() -> None:
    named = {point.load() for point in BUNDLED}
    found = set()
    for module in pkgutil.iter_modules(hornbeam.learning.__path__, "hornbeam.learning."):
        for _, kind in inspect.getmembers(importlib.import_module(module.name), inspect.isclass):
            # a learner has a prior on weights and learns, whatever else it has
            names = {field.name for field in fields(kind)} if is_dataclass(kind) else set()
            if "weight_variance" in names and hasattr(kind, "learn"):
                found.add(kind)
    assert found == set(CONTRACT), "add the learner to CONTRACT: it must pass this suite"
    assert named == set(CONTRACT), "add the learner to BUNDLED: it needs a name"
    assert {point.name for point in BUNDLED} == {
        make().name for kinds in CONTRACT.values() for make in kinds.values()
    }


@every_learner
def test_its_stage_is_what_its_progress_says(make: Callable[[], Learner]) -> None:
    """By it the command line knows how far learning is."""
    assert make().stage in {stage for stage, _, _ in plain(make).told}


@dataclass(frozen=True)
class World:
    """Triples, so that they can be renamed and permuted."""

    facts: tuple[Triple, ...]
    labels: tuple[tuple[str, str, str, float], ...]

    def read(self) -> tuple[Facts, Targets]:
        return read_facts(list(self.facts)), read_labels(list(self.labels))


@cache
def synthetic() -> Planted:
    return planted(n_entities=150, n_facts=1500, n_predicates=5, n_targets=300, noise=0.05, seed=7)


@cache
def world() -> World:
    data = synthetic()
    atoms, names = data.facts.binary, data.facts.predicates
    facts = zip(
        data.facts.entities.take(atoms.arguments[0]),
        names.take(atoms.predicate),
        data.facts.entities.take(atoms.arguments[1]),
        strict=True,
    )
    labels = zip(
        data.labels.entities.take(data.labels.subject),
        ["target"] * len(data.labels),
        data.labels.entities.take(data.labels.object),
        data.labels.truth.tolist(),
        strict=True,
    )
    return World(tuple(facts), tuple(labels))


def fitted(
    make: Callable[[], Learner],
    data: World | None = None,
    **settings: Any,  # noqa: ANN401
) -> Model:
    facts, labels = (synthetic().facts, synthetic().labels) if data is None else data.read()
    return learn(facts, labels, method=make(), language=LANGUAGE, **settings)


@dataclass(frozen=True)
class Fitted:
    """A model, and what was told while it was learned."""

    model: Model
    told: tuple[tuple[str, int, int], ...]


@cache
def plain(make: Callable[[], Learner]) -> Fitted:
    """What most tests hold something else against; none of them changes it."""
    progress = RecordedProgress()
    model = fitted(make, seed=5, threads=1, progress=progress)
    assert all(progress.messages)
    return Fitted(model, tuple(progress.reports))


@cache
def from_triples(make: Callable[[], Learner]) -> Model:
    """The model of the world as it is, read from triples; no test changes it."""
    return fitted(make, world())


def weights_of(model: Model) -> dict[str, float]:
    return {str(rule.clause): rule.weight for rule in model.rules}


def without_seconds(model: Model) -> Trace:
    assert model.trace is not None
    return replace(model.trace, seconds={})


@every_setting
def test_weights_are_finite_and_rules_of_weight_zero_leave(make: Callable[[], Learner]) -> None:
    model = plain(make).model
    assert len(model.rules) > 2
    for rule in model.rules:
        assert np.isfinite(rule.weight)
        assert rule.weight > 0 or (rule.clause.is_prior and rule.weight == 0)
    clauses = [rule.clause for rule in model.rules]
    assert len(clauses) == len(set(clauses))
    assert sum(clause.is_prior for clause in clauses) >= 1
    weights = [rule.weight for rule in model.rules]
    assert weights == sorted(weights, reverse=True)
    assert {clause.body.target for clause in clauses if not clause.is_prior} == {"target"}
    assert Model.parse(model.text).rules == model.rules


@every_learner
@pytest.mark.parametrize("relaxation", list(Relaxation))
@pytest.mark.parametrize("counts", [way for way in Counts if way is not Counts.Z])
def test_every_meaning_of_targets_and_counts_is_learned(
    make: Callable[[], Learner], relaxation: Relaxation, counts: Counts
) -> None:
    asks = counts in (Counts.LOG, Counts.SHARE) or relaxation is not Relaxation.BOOLEAN
    if isinstance(make(), Boost) and asks:
        with pytest.raises(InputError, match=r"^boost (learns with|needs the numbers)"):
            fitted(make, counts=counts, relaxation=relaxation)
        return
    model = fitted(make, counts=counts, relaxation=relaxation)
    assert model.semantics.relaxation is relaxation
    # a share has a median of its own, which stands with every rule
    assert model.semantics.counts is (Counts.RAW if counts is Counts.SHARE else counts)
    assert all(np.isfinite(rule.weight) and rule.weight >= 0 for rule in model.rules)
    score = model.predict(synthetic().facts, synthetic().labels)["score"]
    assert ((score >= 0) & (score <= 1)).all()
    assert model.evaluate(synthetic().facts, synthetic().labels).auc_roc > 0.6  # type: ignore[operator]


@pytest.mark.slow
@every_setting
def test_the_same_seed_gives_the_same_bytes_on_any_threads(make: Callable[[], Learner]) -> None:
    one, three = plain(make).model, fitted(make, seed=5, threads=3)
    assert one.text == three.text
    assert without_seconds(one) == without_seconds(three)


@every_setting
@pytest.mark.slow
def test_names_of_entities_and_orders_do_not_matter(make: Callable[[], Learner]) -> None:
    """Whatever the new names' order, and that of facts and labels: the same rules and weights."""
    data, rng = world(), np.random.default_rng(3)
    names = sorted({name for s, _, o in data.facts for name in (s, o)}
                   | {name for s, _, o, _ in data.labels for name in (s, o)})  # fmt: skip
    new = {name: f"{'née ' if place % 2 else ''}{place:05d} <b>" for name, place in
           zip(names, rng.permutation(len(names)).tolist(), strict=True)}  # fmt: skip
    facts = [(new[s], p, new[o]) for s, p, o in data.facts]
    labels = [(new[s], p, new[o], y) for s, p, o, y in data.labels]
    other = World(
        tuple(facts[i] for i in rng.permutation(len(facts))),
        tuple(labels[i] for i in rng.permutation(len(labels))),
    )
    assert weights_of(fitted(make, other)) == pytest.approx(
        weights_of(from_triples(make)), rel=1e-6, abs=1e-9
    )


@every_setting
@pytest.mark.slow
def test_names_of_predicates_do_not_matter(make: Callable[[], Learner]) -> None:
    """Ties are broken by text, so the new names keep the order of the old."""
    data = world()
    new = {f"p{i}": f"/p{i}: knows" for i in range(5)} | {"target": "ziel [x]"}
    renamed = World(
        tuple((s, new[p], o) for s, p, o in data.facts),
        tuple((s, new[p], o, y) for s, p, o, y in data.labels),
    )

    def renamed_body(body: Body) -> Body:
        steps = tuple(Step(new[step.predicate], step.inverse) for step in body.steps)
        return replace(body, steps=steps, target=new[body.target])

    expected = {}
    for rule in from_triples(make).rules:
        clause = rule.clause
        parts = [Part(renamed_body(one.body), one.threshold) for one in clause.body.parts]
        body = simplest(parts) if parts else Body((), new[clause.target])
        expected[str(replace(clause, body=body))] = rule.weight
    assert weights_of(fitted(make, renamed)) == pytest.approx(expected, rel=1e-9, abs=1e-12)


@every_learner
@pytest.mark.slow
def test_planted_rules_are_recovered(make: Callable[[], Learner]) -> None:
    data = planted(n_entities=400, n_facts=3000, n_predicates=6, n_targets=600, noise=0.02, seed=3)
    language = RuleLimits(max_length=3, min_coverage=10, bodies=(Kind.PATH,))
    model = learn(data.facts, data.labels, method=make(), language=language, counts="raw")
    learned = {rule.clause: rule.weight for rule in model.rules}
    for rule in data.rules:
        path = Body(tuple(Step(p, inverse) for p, inverse in rule.body), "target")
        if isinstance(make(), Boost):  # its clauses ask how many paths there are
            assert any(path == part.body for clause in learned for part in clause.body.parts)
            continue
        assert learned.get(Clause(path, negated=not rule.positive), 0.0) > 0, str(rule)
        assert Clause(path, negated=rule.positive) not in learned
    assert model.evaluate(data.facts, data.labels).auc_roc > 0.9  # type: ignore[operator]
    # on pairs it has not seen the model tells true from false by the same rules
    fresh = planted(
        n_entities=400, n_facts=3000, n_predicates=6, n_targets=900, noise=0.0, seed=3,
        rules=data.rules,
    )  # fmt: skip
    assert model.evaluate(fresh.facts, fresh.labels).auc_roc > 0.9  # type: ignore[operator]


@pytest.mark.slow
@every_learner
def test_a_strong_prior_on_weights_makes_them_small(make: Callable[[], Learner]) -> None:
    def tight() -> Learner:
        learner = replace(make(), weight_variance=1e-8)
        # trees shrink by their own rate; the prior is for the clauses of a short model
        return replace(learner, max_rules=5) if isinstance(learner, Boost) else learner

    model = fitted(tight)
    assert all(rule.weight < 1e-3 for rule in model.rules)


@pytest.mark.slow
@pytest.mark.parametrize("make", [Joint, Ppll, Greedy])
def test_a_strong_prior_on_lengths_leaves_the_prior_alone(make: Callable[[], Learner]) -> None:
    def short() -> Learner:
        return replace(make(), length_penalty=1e4)

    lengths = {len(rule.clause.body) for rule in fitted(short).rules
               if not rule.clause.is_prior}  # fmt: skip
    # the joint learner's strength follows the penalty down, and keeps short rules only
    assert lengths <= ({1, 2} if isinstance(make(), Joint) else set())


@every_learner
@pytest.mark.slow
def test_several_targets_are_learned_at_once(make: Callable[[], Learner]) -> None:
    data = world()
    both = World(
        data.facts,
        data.labels + tuple((s, "other", o, 1.0 - y) for s, _, o, y in data.labels),
    )
    if isinstance(make(), Boost):
        with pytest.raises(InputError, match="one target at a time"):
            fitted(make, both)
        return
    model = fitted(make, both)
    assert model.targets == ["other", "target"]
    facts, labels = both.read()
    score = model.predict(facts, labels)["score"]
    truth = labels.truth
    half = len(data.labels)
    assert score[:half][truth[:half] > 0.5].mean() > score[:half][truth[:half] < 0.5].mean() + 0.1
    assert score[half:][truth[half:] > 0.5].mean() > score[half:][truth[half:] < 0.5].mean() + 0.1


@pytest.mark.slow
@every_learner
def test_sequences_with_the_same_counts_count_once_where_rules_are_fitted_together(
    make: Callable[[], Learner],
) -> None:
    """Of a symmetric relation both directions count the same; the first stands for both.

    Learned one by one they cannot crowd out each other, and both stay.
    """
    data = world()
    both = {(s, "p0", o) for s, p, o in data.facts if p == "p0"}
    both |= {(o, "p0", s) for s, _, o in both}
    symmetric = World(tuple(sorted({*data.facts, *both})), data.labels)
    clauses = [rule.clause for rule in fitted(make, symmetric).rules]
    forwards = {replace(clause, body=_forwards(clause.body)) for clause in clauses}
    if isinstance(make(), Ppll):
        assert len(forwards) < len(clauses)
    else:
        assert forwards == set(clauses)


def _forwards(body: AnyBody) -> AnyBody:
    """The body with all steps along p0 walked forwards."""
    if not body.parts:
        return body
    return simplest(
        [
            replace(
                part,
                body=replace(
                    part.body,
                    steps=tuple(
                        Step("p0") if step.predicate == "p0" else step for step in part.body.steps
                    ),
                ),
            )
            for part in body.parts
        ]
    )


@pytest.mark.slow
@every_learner
def test_refitting_the_survivors_fits_better(make: Callable[[], Learner]) -> None:
    whole, refit = plain(make).model, fitted(make, seed=5, threads=1, refit=True)
    kept = {rule.clause for rule in whole.rules if not rule.clause.is_prior}
    assert {r.clause for r in refit.rules if not r.clause.is_prior} <= kept
    data = synthetic()
    before, after = (model.evaluate(data.facts, data.labels).log_loss for model in (whole, refit))
    assert after <= before + 0.02


@pytest.mark.slow
@every_learner
def test_progress_is_told_and_ends(make: Callable[[], Learner]) -> None:
    told = plain(make).told
    assert all(0 < done <= total for _, done, total in told)
    assert {stage for stage, _, _ in told} - {"Counting paths"}


@st.composite
def tiny_worlds(draw: st.DrawFn) -> World:
    """Up to 12 labels on pairs of few entities: hard or soft, of one class, one or two hubs."""
    entity = st.integers(0, draw(st.integers(1, 5))).map("e{}".format)
    facts = draw(st.sets(st.tuples(entity, st.sampled_from("pq"), entity), min_size=1, max_size=12))
    truth = draw(st.sampled_from([st.sampled_from([0.0, 1.0]), st.floats(0, 1), st.just(1.0)]))
    subject = draw(st.sampled_from([entity, st.just("e0")]))
    pairs = draw(st.sets(st.tuples(subject, entity), min_size=1, max_size=12))
    labels = ((s, "t", o, round(draw(truth), 3)) for s, o in sorted(pairs))
    return World(tuple(sorted(facts)), tuple(labels))


@pytest.mark.slow
@given(
    data=tiny_worlds(),
    make=st.sampled_from(
        [make for kinds in CONTRACT.values() for make in kinds.values()]
        + [lambda: Boost(trees=5, booster=Booster(least=1), max_rules=2)]
    ),
    options=st.sampled_from([{}, {"cross_evidence": True}, {"collective": True}, {"refit": True}]),
)
@example(World((("a", "p", "b"),), (("a", "t", "b", 1.0), ("a", "t", "a", 0.0))), Boost, {})
@example(
    World((("a", "p", "b"),), tuple((f"e{i}", "t", "b", float(i > 0)) for i in range(9))), Boost, {}
)
@settings(max_examples=60)
def test_few_labels_give_a_model_or_a_sentence(
    data: World, make: Callable[[], Learner], options: dict[str, Any]
) -> None:
    facts, labels = data.read()
    language = RuleLimits(max_length=2, min_coverage=1)
    one_class = len({y >= 0.5 for *_, y in data.labels}) == 1
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", HornbeamWarning)
        try:
            model = learn(facts, labels, method=make(), language=language, **options)
        except InputError as refused:
            reason = str(refused)
        else:
            score = model.predict(facts, labels)["score"]
            assert ((score >= 0) & (score <= 1)).all()
            assert not one_class
            return
    assert ("learning needs both true and false targets" if one_class else "no body of") in reason
