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
from hornbeam.errors import InputError
from hornbeam.programs.export import export_program
from hornbeam.rules.body import Body, Step
from hornbeam.rules.clause import Clause, prior
from hornbeam.rules.rule_model import Relaxation, Rule, RuleModel, Semantics
from hornbeam.rules.weighing import Counts

ENTITIES = ["a", "b", " b", "b ", "c", "#c", "'d'", "entity_1"]
PREDICATES = ["t", "T", "film/genre", "film genre", "t_pairs"]


def clause(*steps: str, negated: bool = False) -> Clause:
    walked = tuple(Step(name.removeprefix("-"), name.startswith("-")) for name in steps)
    return Clause(Body(walked, "t"), negated)


RULES = (
    Rule(1.5, clause("film/genre", "-film genre")),
    Rule(0.7, clause("t", "-t", "t")),
    Rule(0.4, clause("-t", "T")),
    Rule(0.9, clause("t_pairs", "t", negated=True)),
    Rule(0.3, clause("-t", negated=True)),
    Rule(0.6, prior("t")),
)


def evidence(seed: int) -> tuple[hb.Facts, hb.Targets]:
    rng = np.random.default_rng(seed)

    def some(names: list[str], n: int) -> list[tuple[str, str, str]]:
        return [
            (ENTITIES[rng.integers(8)], names[rng.integers(len(names))], ENTITIES[rng.integers(8)])
            for _ in range(n)
        ]

    facts = hb.read_facts(sorted(set(some(PREDICATES, 60))))
    return facts, hb.read_pairs(some(["t"], 20))


def inferred(program: Path) -> dict[tuple[str, ...], float]:
    found = hb.infer(program, solver="exact")
    spelt = json.loads((program.parent / "names.json").read_text())["predicates"]
    [name] = [identifier for identifier, name in spelt.items() if name == "t"]
    return dict(zip(found.atoms(name), found.values(name).tolist(), strict=True))


def original(folder: Path, atoms: dict[tuple[str, ...], float]) -> dict[tuple[str, ...], float]:
    names = json.loads((folder / "names.json").read_text())["entities"]
    return {tuple(names.get(a, a) for a in key): value for key, value in atoms.items()}


@pytest.mark.slow
@settings(max_examples=8)
@given(seed=st.integers(0, 10**6), distinct=st.booleans(), squared=st.booleans())
def test_map_states_agree(
    tmp_path_factory: pytest.TempPathFactory, seed: int, distinct: bool, squared: bool
) -> None:
    facts, pairs = evidence(seed)
    relaxation = Relaxation.SQUARED if squared else Relaxation.LINEAR
    model = hb.Model(RULES, Semantics(relaxation=relaxation, distinct_variables=distinct))
    folder = tmp_path_factory.mktemp("export") / "program"
    atoms = original(folder, inferred(model.export(facts, pairs, folder)))
    scores = model.predict(facts, pairs, score="map")
    for subject, object_, score in zip(pairs.subject, pairs.object, scores, strict=True):
        value = atoms[pairs.entities[int(subject)], pairs.entities[int(object_)]]
        if squared or score in (0.0, 1.0):  # linear ties have no one answer
            assert value == pytest.approx(score, abs=1e-5)


@pytest.mark.java
def test_psl_gives_the_same_map(psl_runtime: Path, java: str, tmp_path: Path) -> None:
    facts, pairs = evidence(3)
    model = hb.Model(RULES, Semantics(relaxation=Relaxation.SQUARED))
    program = model.export(facts, pairs, tmp_path / "program")
    ran = subprocess.run(
        [java, "-jar", str(psl_runtime), program.name],
        cwd=program.parent, capture_output=True, text=True, timeout=300, check=True,
    )  # fmt: skip
    found = json.loads(ran.stdout[ran.stdout.index("{\n") :])
    theirs = {tuple(a["arguments"]): a["value"] for a in found["atoms"]}
    ours = inferred(program)
    # PSL writes a quote in a name with a backslash
    assert {tuple(a.replace("\\'", "'") for a in key) for key in theirs} == set(ours)
    for key, value in theirs.items():
        assert value == pytest.approx(ours[tuple(a.replace("\\'", "'") for a in key)], abs=5e-3)


@pytest.mark.quick_cases(1)
@pytest.mark.parametrize(
    ("semantics", "advice"),
    [
        (Semantics(counts=Counts.LOG), '`counts="raw"`'),
        (Semantics(counts=Counts.EXISTS), '`counts="raw"`'),
        (Semantics(max_fanout=3), "without it"),
    ],
)
def test_what_plain_psl_cannot_say_is_refused(
    tmp_path: Path, semantics: Semantics, advice: str
) -> None:
    facts, pairs = evidence(0)
    with pytest.raises(InputError, match=advice):
        export_program(RuleModel(RULES, semantics), facts, pairs, tmp_path / "program")
    assert list(tmp_path.iterdir()) == []


def test_other_peoples_files_stay(tmp_path: Path) -> None:
    facts, pairs = evidence(0)
    (tmp_path / "mine.txt").write_text("mine")
    with pytest.raises(InputError, match="holds other files"):
        export_program(RuleModel(RULES), facts, pairs, tmp_path)
    assert [path.name for path in tmp_path.iterdir()] == ["mine.txt"]


def test_an_older_export_gives_way(tmp_path: Path) -> None:
    facts, pairs = evidence(0)
    folder = tmp_path / "program"
    export_program(RuleModel(RULES), facts, pairs, folder)
    before = sorted(path.name for path in folder.rglob("*"))
    export_program(RuleModel(RULES), facts, pairs, folder)
    assert sorted(path.name for path in folder.rglob("*")) == before
    assert [path.name for path in tmp_path.iterdir()] == ["program"]
