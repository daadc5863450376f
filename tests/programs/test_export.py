"""Exported programs say what the model says: by our own solver, and by PSL's."""

from __future__ import annotations

import json
import subprocess
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import hornbeam as hb
from hornbeam.base.choices import CollectiveMethod, Relaxation, Score
from hornbeam.counting.opening import open_in_memory
from hornbeam.errors import InputError
from hornbeam.programs.export import export_program
from hornbeam.programs.exported_rules import MAX_VALUES, RuleNotPlainError, addends_of
from hornbeam.rules.body import Body, Conjunction, Kind, Part, Step
from hornbeam.rules.clause import Clause, prior
from hornbeam.rules.rule_model import Rule, RuleModel, Semantics
from hornbeam.rules.weighing import Counts, Threshold, Weighing
from hornbeam.scoring.scored_links import pair_scores
from tests.conftest import JAVA_OPTIONS
from tests.support.further_atoms import with_atoms
from tests.support.path_bodies import path

MAP = CollectiveMethod.MAP

ENTITIES = ["a", "b", " b", "b ", "c", "#c", "'d'", "entity_1"]
PREDICATES = ["t", "T", "film/genre", "film genre", "t_pairs"]


def clause(*steps: str, negated: bool = False) -> Clause:
    return Clause(path(*steps), negated)


def on(argument: int, step: Step | None, constant: str | None = None) -> Body:
    """A condition on one argument."""
    if step is not None and step.arity == 1:
        return Body((step,), "t", Kind.UNARY, argument)
    kind = Kind.OPEN if constant is None else Kind.ANCHORED
    return Body(() if step is None else (step,), "t", kind, argument, constant)


def chain(argument: int, *steps: Step, constant: str | None = None) -> Body:
    """A chain from one argument."""
    return Body(steps, "t", Kind.CHAIN, argument, constant)


STUDENT, BACK = Step("student", arity=1), Step("t", inverse=True)

#: Paths, as the paper has them.
PATHS = (
    Rule(1.5, clause("film/genre", "-film genre")),
    Rule(0.7, clause("t", "-t", "t")),
    Rule(0.4, clause("-t", "T")),
    Rule(0.9, clause("t_pairs", "t", negated=True)),
    Rule(0.3, clause("-t", negated=True)),
    Rule(0.6, prior("t")),
)
#: Conditions, which PSL can say as well.
CONDITIONS = (
    Rule(0.11, Clause(on(0, Step("T")))),
    Rule(0.07, Clause(on(1, Step("T", inverse=True)), negated=True)),
    Rule(0.13, Clause(on(0, Step("t")))),
    Rule(0.17, Clause(on(0, BACK), negated=True)),
    Rule(0.12, Clause(on(1, Step("t")))),
    Rule(0.16, Clause(on(1, BACK), negated=True)),
    Rule(0.5, Clause(on(0, STUDENT))),
    Rule(0.6, Clause(on(1, STUDENT), negated=True)),
    *(Rule(0.4, Clause(on(0, Step("t"), name))) for name in ENTITIES),
    *(Rule(0.3, Clause(on(1, BACK, name), negated=True)) for name in ENTITIES),
    Rule(0.2, Clause(on(0, BACK, "a"))),
    Rule(0.25, Clause(on(1, Step("film/genre"), "nobody"))),
    *(Rule(0.35, Clause(on(0, None, name), negated=True)) for name in ENTITIES[1:7]),
    Rule(0.45, Clause(on(1, None, "b "))),
    Rule(0.55, Clause(on(1, None, "stranger"))),
    Rule(0.15, Clause(Conjunction((Part(path("T", "-t")), Part(on(0, STUDENT)))))),
    Rule(0.05, Clause(Conjunction((Part(on(0, Step("t"))), Part(on(1, BACK)))), negated=True)),
    *(
        Rule(0.1 + 0.02 * k, Clause(body, negated=k % 2 == 0))
        for k, body in enumerate(
            (
                chain(0, Step("t"), Step("T")),
                chain(1, BACK, Step("film/genre"), Step("T", inverse=True)),
                chain(0, Step("film genre"), STUDENT),
                chain(1, Step("T"), BACK, STUDENT),
                *(chain(k % 2, Step("t"), BACK, constant=name) for k, name in enumerate(ENTITIES)),
            )
        )
    ),
    Rule(0.31, prior("t", negated=False)),
)
#: What plain PSL has no words for.
BRACKETS = (
    Rule(0.8, Clause(path("film/genre", "-film genre"), weighing=Weighing(Counts.LOG))),
    Rule(0.5, Clause(path("T", "t"), True, Weighing(Counts.SHARE, 0.123))),
    Rule(0.7, Clause(on(0, Step("t")), True, Weighing(Counts.EXISTS))),
    Rule(0.6, Clause(on(1, BACK), weighing=Weighing(Counts.LOG))),
    Rule(0.9, Clause(Conjunction((Part(on(0, Step("t")), Threshold(2)),)))),
    Rule(
        0.4,
        Clause(
            Conjunction(
                (
                    Part(path("T", "-T"), Threshold(0.05, share=True)),
                    Part(path("t", "-t"), Threshold(2)),
                    Part(on(1, Step("T"))),
                )
            ),
            weighing=Weighing(Counts.LOG),
        ),
    ),
)
ALL = (*PATHS, *CONDITIONS, *BRACKETS)


def evidence(seed: int, *, soft: bool = False) -> tuple[hb.Facts, hb.Targets]:
    rng = np.random.default_rng(seed)

    def some(names: list[str], n: int) -> list[tuple[str, str, str]]:
        return [
            (ENTITIES[rng.integers(8)], names[rng.integers(len(names))], ENTITIES[rng.integers(8)])
            for _ in range(n)
        ]

    atoms = sorted(set(some(PREDICATES, 60)))
    values = rng.integers(1, 5, len(atoms)) / 4 if soft else np.ones(len(atoms))
    facts = hb.read_facts([(*atom, float(x)) for atom, x in zip(atoms, values, strict=True)])
    strange = [("a", "t", "stranger"), ("stranger", "t", "a")]
    pairs = hb.read_pairs([*some(["t"], 30), *strange])
    return with_atoms(facts, "student", *((name,) for name in ENTITIES[::3])), pairs


def inferred(program: Path) -> dict[tuple[str, ...], float]:
    found = hb.infer(program, solver="exact")
    spelt = json.loads((program.parent / "names.json").read_text())["predicates"]
    [name] = [identifier for identifier, name in spelt.items() if name == "t"]
    return dict(zip(found.atoms(name), found.values(name).tolist(), strict=True))


def original(folder: Path, atoms: dict[tuple[str, ...], float]) -> dict[tuple[str, ...], float]:
    names = json.loads((folder / "names.json").read_text())["entities"]
    return {tuple(names.get(a, a) for a in key): value for key, value in atoms.items()}


def same_map(
    model: hb.Model, facts: hb.Facts, pairs: hb.Targets, found: dict[tuple[str, ...], float],
    within: float,
) -> None:  # fmt: skip
    """Whether a state is the model's own; linear ties, also of rounded sums, have no one answer."""
    engine = open_in_memory(facts)
    scores, means = (pair_scores(model, engine, pairs, score) for score in (Score.MAP, Score.MEAN))
    squared = model.semantics.relaxation is Relaxation.SQUARED
    for row, (score, mean) in enumerate(zip(scores, means, strict=True)):
        subject, _, object_ = pairs.names_at(row)
        if squared or abs(mean - 0.5) > 1e-9:
            assert found[subject, object_] == pytest.approx(score, abs=within)


@pytest.mark.slow
@settings(max_examples=12)
@given(
    seed=st.integers(0, 10**6),
    distinct=st.booleans(),
    relaxation=st.sampled_from(Relaxation),
    fanout=st.sampled_from([None, None, 2]),
)
def test_map_states_agree(
    tmp_path_factory: pytest.TempPathFactory,
    seed: int,
    distinct: bool,
    relaxation: Relaxation,
    fanout: int | None,
) -> None:
    facts, pairs = evidence(seed)
    semantics = Semantics(relaxation=relaxation, distinct_variables=distinct, max_fanout=fanout)
    model = hb.Model(ALL, semantics)
    folder = tmp_path_factory.mktemp("export") / "program"
    atoms = original(folder, inferred(model.export(facts, pairs, folder)))
    same_map(model, facts, pairs, atoms, 1e-4)


@pytest.mark.slow
def test_boolean_targets_over_soft_facts_are_computed(tmp_path: Path) -> None:
    facts, pairs = evidence(1, soft=True)
    model = hb.Model(ALL, Semantics())
    program = model.export(facts, pairs, tmp_path / "program")
    same_map(model, facts, pairs, original(program.parent, inferred(program)), 1e-4)


@pytest.mark.slow
@pytest.mark.parametrize("relaxation", [Relaxation.LINEAR, Relaxation.SQUARED])
def test_soft_facts_are_plain_psl_where_counts_are_raw(
    tmp_path: Path, relaxation: Relaxation
) -> None:
    facts, pairs = evidence(1, soft=True)
    for rules, plain in (((*PATHS, *CONDITIONS), True), (ALL, False)):
        model = hb.Model(rules, Semantics(relaxation=relaxation))
        program = model.export(facts, pairs, tmp_path / "program", plain=plain)
        if relaxation is Relaxation.SQUARED:
            same_map(model, facts, pairs, original(program.parent, inferred(program)), 1e-4)


@pytest.mark.java
def test_psl_gives_the_same_map(psl_runtime: Path, java: str, tmp_path: Path) -> None:
    facts, pairs = evidence(3)
    model = hb.Model(ALL, Semantics(relaxation=Relaxation.SQUARED))
    program = model.export(facts, pairs, tmp_path / "program")
    ran = subprocess.run(
        [java, *JAVA_OPTIONS, "-jar", str(psl_runtime), program.name],
        cwd=program.parent, capture_output=True, text=True, timeout=300, check=True,
    )  # fmt: skip
    found = json.loads(ran.stdout[ran.stdout.index("{\n") :])
    # PSL writes a quote in a name with a backslash
    theirs = {
        tuple(name.replace("\\'", "'") for name in atom["arguments"]): atom["value"]
        for atom in found["atoms"]
    }
    assert set(theirs) == set(inferred(program))
    same_map(model, facts, pairs, original(program.parent, theirs), 1e-3)


@pytest.mark.slow
@pytest.mark.parametrize("brackets", [False, True])
def test_atoms_of_three_arguments_are_exported(tmp_path: Path, brackets: bool) -> None:
    facts, pairs = evidence(5)
    rng = np.random.default_rng(5)
    rows = {tuple(ENTITIES[k] for k in rng.integers(0, 8, 3)) for _ in range(60)}
    facts = with_atoms(facts, "ta", *rows)
    ends, tail = Step("ta", places=(0, 2), arity=3), Step("ta", places=(1, 2), arity=3)
    bodies = [
        Body((ends,), "t"),
        Body((ends, tail.reversed()), "t"),
        Body((Step("T"), tail), "t"),
        on(0, Step("ta", places=(0, 1), arity=3)),
        on(1, tail.reversed(), "c"),
    ]
    way = Weighing(Counts.LOG) if brackets else None
    rules = [Rule(0.2 + 0.1 * k, Clause(body, k == 1, way)) for k, body in enumerate(bodies)]
    model = hb.Model((*rules, Rule(0.5, prior("t"))), Semantics(relaxation=Relaxation.SQUARED))
    program = model.export(facts, pairs, tmp_path / "program", plain=not brackets)
    text = (program.parent / "rules.psl").read_text()
    assert ("t_2_located(A, B) & ta(A, C, D)" in text) == (not brackets)
    same_map(model, facts, pairs, original(program.parent, inferred(program)), 1e-4)


def test_rules_without_brackets_are_written_as_they_are(tmp_path: Path) -> None:
    facts = hb.read_facts([("a", "p", "b"), ("b", "p", "c")])
    pairs = hb.read_pairs([("a", "t", "c"), ("c", "t", "a")])
    text = "2: p(A, B) & p(B, C) -> t(A, C)\n1: p(A, 'b') -> t(A, B)\n0.5: !t(A, B)\n"
    program = hb.Model.parse(text).export(facts, pairs, tmp_path / "program", plain=True)
    assert (program.parent / "rules.psl").read_text() == (
        "2.0: t_pairs(A, C) & p(A, B) & p(B, C) -> t(A, C)\n"
        "1.0: t_pairs(A, B) & p(A, 'b') -> t(A, B)\n"
        "0.5: !t(A, B)\n"
    )


@pytest.mark.parametrize(
    "text", ["0: p(A, B) -> t(A, B)\n0: !t(A, B)", "1: p(A, B) -> t(A, B) [exists]"]
)
def test_a_model_that_pulls_at_no_pair_is_a_program_that_runs(tmp_path: Path, text: str) -> None:
    """Its rules have no weights, or no groundings and predicates of their own."""
    facts = hb.read_facts([("a", "p", "b")])
    pairs = hb.read_pairs([("a", "t", "c"), ("c", "t", "a")])
    model = hb.Model.parse(text)
    program = model.export(facts, pairs, tmp_path / "program")
    assert (program.parent / "rules.psl").read_text() == "0.0: !t(A, B)\n"
    assert hb.infer(program).found.objective == 0.0
    assert set(inferred(program)) == {("a", "c"), ("c", "a")}


def test_computed_predicates_say_which_rule_they_stand_for(tmp_path: Path) -> None:
    facts = hb.read_facts([("a", "p", "b"), ("a", "p", "c"), ("b", "p", "c"), ("c", "p", "d")])
    pairs = hb.read_pairs([("a", "t", "c"), ("b", "t", "c"), ("d", "t", "a"), ("a", "t", "c")])
    text = "2: p(A, C) -> t(A, B) [log]\n1: p(A, C) [n >= 2] -> !t(A, B)\n"
    program = hb.Model.parse(text).export(facts, pairs, tmp_path / "program")
    assert (program.parent / "rules.psl").read_text() == (
        "2.0: rule_1(A, B, '1.0') -> t(A, B)\n"
        "3.169925001442312: rule_1(A, B, '1.584962500721156') -> t(A, B)\n"
        "1.0: rule_2(A, B) -> !t(A, B)\n"
    )
    data = program.parent / "data"
    assert (data / "rule_1_observations.txt").read_text() == (
        "b\tc\t1.0\na\tc\t1.584962500721156\n"
    )
    assert (data / "rule_2_observations.txt").read_text() == "a\tc\n"
    assert json.loads((program.parent / "names.json").read_text())["rules"] == {
        "rule_1": "p(A, C) -> t(A, B) [log]",
        "rule_2": "p(A, C) [n >= 2] -> !t(A, B)",
    }


@given(st.lists(st.floats(1e-6, 1e6), min_size=1, max_size=300))
def test_addends_add_up(numbers: list[float]) -> None:
    x = np.array(numbers)
    found = addends_of(x)
    total = np.zeros(len(x))
    for value, some in found.items():
        assert len(np.unique(some)) == len(some) > 0
        total[some] += value
    few = len(np.unique(x)) <= MAX_VALUES
    np.testing.assert_allclose(total, x, rtol=0 if few else 2.0**-17)
    assert len(found) <= max(MAX_VALUES, 18 + np.log2(x.max() / x.min()))


def test_many_whole_numbers_are_exact() -> None:
    x = np.arange(1.0, 1000.0)
    found = addends_of(x)
    assert list(found) == [2.0**k for k in range(10)]
    total = np.zeros(len(x))
    for value, some in found.items():
        total[some] += value
    np.testing.assert_array_equal(total, x)


@pytest.mark.parametrize(
    ("rule", "semantics", "why"),
    [
        (PATHS[0], Semantics(counts=Counts.LOG), "counts them by log"),
        (PATHS[0], Semantics(counts=Counts.EXISTS), "counts them by exists"),
        (PATHS[0], Semantics(max_fanout=3), "no limit on the fan-out"),
        (CONDITIONS[0], Semantics(distinct_variables=True), "only paths are the same in plain PSL"),
        (BRACKETS[0], Semantics(), "counts them by log"),
        (BRACKETS[1], Semantics(), "counts them by share"),
        (BRACKETS[4], Semantics(), "no thresholds"),
    ],
)
def test_what_plain_psl_cannot_say_is_refused(
    tmp_path: Path, rule: Rule, semantics: Semantics, why: str
) -> None:
    facts, pairs = evidence(0)
    model = RuleModel((Rule(1.0, prior("t")), rule), semantics)
    with pytest.raises(RuleNotPlainError, match=rf'{why}: learn with `counts="raw"`') as refused:
        export_program(model, open_in_memory(facts), pairs, tmp_path / "program", plain=True)
    assert refused.value.place == 1
    assert list(tmp_path.iterdir()) == []


def test_collective_models_are_plain_or_refused(tmp_path: Path) -> None:
    facts, pairs = evidence(0)
    model = RuleModel((BRACKETS[0],), Semantics(collective=MAP))
    with pytest.raises(InputError, match="what a collective model counts depends on its scores"):
        export_program(model, open_in_memory(facts), pairs, tmp_path / "program")
    assert list(tmp_path.iterdir()) == []


def test_other_peoples_files_stay(tmp_path: Path) -> None:
    facts, pairs = evidence(0)
    (tmp_path / "mine.txt").write_text("mine")
    with pytest.raises(InputError, match="holds other files"):
        export_program(RuleModel(PATHS), open_in_memory(facts), pairs, tmp_path)
    assert [path.name for path in tmp_path.iterdir()] == ["mine.txt"]


@pytest.mark.parametrize("mine", ["notes.txt", "data/mine.tsv", "inferred-predicates/T.txt"])
def test_an_export_with_other_peoples_files_stays(tmp_path: Path, mine: str) -> None:
    facts, pairs = evidence(0)
    folder = tmp_path / "program"
    export_program(RuleModel(ALL), open_in_memory(facts), pairs, folder)
    (folder / mine).parent.mkdir(exist_ok=True)
    (folder / mine).write_text("mine")
    with pytest.raises(InputError, match=f"holds '{mine.split('/T')[0]}', which is not a part"):
        export_program(RuleModel(PATHS), open_in_memory(facts), pairs, folder)
    assert (folder / mine).read_text() == "mine"


def test_a_program_of_somebody_else_stays(tmp_path: Path) -> None:
    facts, pairs = evidence(0)
    (tmp_path / "data").mkdir()
    (tmp_path / "data" / "knows.txt").write_text("a\tb\n")
    program = {"rules": [], "predicates": {"Knows/2": {"observations": ["data/knows.txt"]}}}
    (tmp_path / "program.json").write_text(json.dumps(program))
    with pytest.raises(InputError, match="holds other files than an export"):
        export_program(RuleModel(PATHS), open_in_memory(facts), pairs, tmp_path)
    left = sorted(path.name for path in tmp_path.rglob("*"))
    assert left == ["data", "knows.txt", "program.json"]


def test_an_older_export_gives_way(tmp_path: Path) -> None:
    facts, pairs = evidence(0)
    folder = tmp_path / "program"
    export_program(RuleModel(ALL), open_in_memory(facts), pairs, folder)
    before = sorted(path.name for path in folder.rglob("*"))
    export_program(RuleModel(ALL), open_in_memory(facts), pairs, folder)
    assert sorted(path.name for path in folder.rglob("*")) == before
    assert [path.name for path in tmp_path.iterdir()] == ["program"]
