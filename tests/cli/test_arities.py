"""Facts of one, two and three arguments through every command, as a user calls it."""

from __future__ import annotations

import json
import random
from pathlib import Path
from urllib.parse import urlencode

import pytest

import hornbeam as hb
from hornbeam.errors import InputError
from hornbeam.serve.pair_explorers import open_rule_explorer
from tests.support.commands import Ended, hornbeam_, listing, write
from tests.support.servers import serving

#: Rules with an atom of three arguments, a unary condition and an open one.
MODEL = """# hornbeam: {"counts": "raw"}
2.0: ta(B, A, D) & teaches(C, B) -> advised_by(A, C)
1.0: professor(A) -> !advised_by(A, B)
0.5: ta(C, A, D) -> advised_by(A, B)
1.0: !advised_by(A, B)
"""
FACTS = ("--facts", "facts.tsv", "--facts", "ta=ta.tsv")

Rows = list[tuple[str, ...]]


def college(seed: int = 0) -> tuple[Rows, Rows, Rows]:
    """Facts, rows of ta, labels: students assist in the courses of those who advise them."""
    rng = random.Random(seed)
    professors, students = [f"p{i}" for i in range(6)], [f"s{i}" for i in range(30)]
    courses = {f"c{i}": professors[i % 6] for i in range(12)}
    advisers = {student: rng.choice(professors) for student in students}
    facts: Rows = [(name, "professor") for name in professors]
    facts += [(name, "student") for name in students]
    facts += [(professor, "teaches", course) for course, professor in courses.items()]
    ta: Rows = []
    for student, adviser in advisers.items():
        known = [course for course, professor in courses.items() if professor == adviser]
        for season in ("spring", "autumn"):
            course = rng.choice(known if rng.random() < 0.8 else list(courses))
            ta.append((course, student, season))
    labels: Rows = [
        (student, "advised_by", professor, str(int(professor == adviser)))
        for student, adviser in advisers.items()
        for professor in professors
    ]
    labels += [(professor, "advised_by", rng.choice(students), "0") for professor in professors]
    rng.shuffle(facts)
    return facts, ta, labels


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A small college, its model, and no outputs."""
    facts, ta, labels = college()
    write(tmp_path / "facts.tsv", facts)
    write(tmp_path / "ta.tsv", ta)
    write(tmp_path / "labels.tsv", labels)
    (tmp_path / "model.psl").write_text(MODEL)
    monkeypatch.chdir(tmp_path)
    return tmp_path


def texts(ended: Ended) -> set[str]:
    return {row["clause"] for row in ended.json["candidates"]}


@pytest.mark.slow
def test_candidates_have_them(folder: Path) -> None:
    words = (*FACTS, "--labels", "labels.tsv", "--bodies", "paths,open,unary,anchored", "--json")
    found = hornbeam_("candidates", *words, "--max-length", 2)
    assert {
        "ta(B, A, D) & teaches(C, B) -> advised_by(A, C)",
        "student(A) -> advised_by(A, B)",
        "professor(B) -> advised_by(A, B)",
        "ta(C, A, D) -> advised_by(A, B)",
        "ta(C, A, 'spring') -> advised_by(A, B)",
        "teaches(B, C) -> advised_by(A, B)",
    } <= texts(found)
    listed = [row["clause"] for row in found.json["candidates"]]
    assert len(set(listed)) == len(listed)
    assert texts(hornbeam_("candidates", *words, "--max-length", 2, "--engine", "duckdb")) == {
        *listed
    }
    without = texts(hornbeam_("candidates", *words, "--exclude", "ta"))
    assert not any("ta(" in text for text in without)


@pytest.mark.slow
def test_learn_and_what_comes_after(folder: Path) -> None:
    """From facts to a report: every command takes the same files."""
    learn = hornbeam_("learn", *FACTS, "--labels", "labels.tsv", "-o", "learned.psl", "--json")
    assert any("ta(B, A, D) & teaches(C, B)" in row["rule"] for row in learn.json["rules"])
    after = (*FACTS, "--labels", "labels.tsv", "--json")
    assert hornbeam_("evaluate", "learned.psl", *after).json["auc_roc"] > 0.8
    for name in ("model.psl", "learned.psl"):
        in_memory, in_duckdb = (
            hornbeam_("evaluate", name, *after, "--engine", engine).json
            for engine in ("memory", "duckdb")
        )
        assert in_duckdb["log_loss"] == pytest.approx(in_memory["log_loss"], rel=1e-9)
        scores = hornbeam_("predict", name, *FACTS, "--pairs", "labels.tsv").rows
        assert len(scores) == in_memory["n"]
        new = hornbeam_("predict", name, *FACTS, "--top", 5, "--json").json["predictions"]
        assert len(new) == 5
        assert hornbeam_("explain", name, *FACTS, "s1", "p1").code == 0
        report = f"{name}.html"
        words = ("report", name, *FACTS, "--labels", "labels.tsv", "-o", report)
        assert hornbeam_(*words).code == 0
        assert "ta(B, A, D)" in Path(report).read_text()
        assert hornbeam_("export", name, *FACTS, "--pairs", "labels.tsv", "-o", "out").code == 0
        assert hornbeam_("infer", "out/program.json", "-o", f"inferred-{name}").code == 0
    folds = ("--folds", 2, "--methods", "ppll")
    assert hornbeam_("crossval", *FACTS, "--labels", "labels.tsv", *folds).code == 0


def test_scores_are_those_of_the_groundings(folder: Path) -> None:
    """By hand: 2 n + 0.5 degree for, 1 and 1 for professors against."""
    facts, ta, labels = college()
    teaches = {(s, o) for s, p, *rest in facts if p == "teaches" for o in rest}
    professors = {s for s, p, *_ in facts if p == "professor"}
    rows = hornbeam_("predict", "model.psl", *FACTS, "--pairs", "labels.tsv", "--json")
    for found, (subject, _, object_, _) in zip(rows.json["predictions"], labels, strict=True):
        mine = {row for row in ta if row[1] == subject}
        strength = 2.0 * sum((object_, course) in teaches for course, _, _ in mine)
        strength += 0.5 * len(mine) - 1.0 - 1.0 * (subject in professors)
        assert found["score"] == pytest.approx(1 / (1 + 2.718281828459045**-strength), abs=1e-6)


def test_an_explanation_names_all_arguments(folder: Path) -> None:
    _, ta, _ = college()
    course, student, season = ta[0]
    facts = hb.read_facts("facts.tsv", "ta=ta.tsv")
    teaches = facts.binary.predicate == facts.predicates.index("teaches")
    of_course = facts.binary.arguments[1] == facts.entities.index(course)
    [adviser] = facts.entities.take(facts.binary.arguments[0][teaches & of_course])
    told = hornbeam_("explain", "model.psl", *FACTS, student, adviser).stdout
    assert f"ta({course}, {student}, {season})" in told


def test_the_explorer_shows_them(folder: Path) -> None:
    explorer = open_rule_explorer(
        hb.read_facts("facts.tsv", "ta=ta.tsv"),
        hb.Model.load("model.psl"),
        labels=hb.read_labels("labels.tsv"),
        threads=1,
    )
    link = urlencode({"subject": "s1", "predicate": "advised_by", "object": "p1"})
    with serving(explorer) as client:
        for page in ("/", "/rules", "/pairs", "/search?q=s1", "/entity?name=s1", f"/link?{link}",
                     f"/flip?{link}"):  # fmt: skip
            assert client.get(page).status == 200, page


# What is refused ----------------------------------------------------------------------------------


def refused(folder: Path, *words: object) -> str:
    """Run a command that must fail and leave nothing behind; returns its one line."""
    before = listing(folder)
    ended = hornbeam_(*words, "--quiet")
    assert (ended.code, ended.stdout) == (2, ""), ended
    assert listing(folder) == before
    [line] = ended.stderr.splitlines()
    return line.removeprefix("hornbeam: ")


def every_command(*facts: object) -> list[tuple[object, ...]]:
    return [
        ("candidates", *facts, "--labels", "labels.tsv"),
        ("learn", *facts, "--labels", "labels.tsv", "-o", "out.psl"),
        ("learn", *facts, "--target", "teaches", "-o", "out.psl"),
        ("predict", "model.psl", *facts, "--pairs", "labels.tsv", "-o", "out.tsv"),
        ("predict", "model.psl", *facts, "-o", "out.tsv"),
        ("predict", "model.psl", *facts, "--pairs", "labels.tsv", "--engine", "duckdb"),
        ("evaluate", "model.psl", *facts, "--labels", "labels.tsv"),
        ("explain", "model.psl", *facts, "s1", "p1"),
        ("report", "model.psl", *facts, "--labels", "labels.tsv", "-o", "out.html"),
        ("export", "model.psl", *facts, "--pairs", "labels.tsv", "-o", "out"),
        ("crossval", *facts, "--labels", "labels.tsv", "--methods", "ppll"),
        ("serve", "model.psl", *facts, "--port", 0),
    ]


@pytest.mark.parametrize("number", range(12))
def test_every_command_names_the_line(folder: Path, number: int) -> None:
    write(folder / "more.tsv", [("s1", "knows", "s2"), ("s1", "student", "s2")])
    words = every_command(*FACTS, "--facts", "more.tsv")[number]
    told = refused(folder, *words)
    assert told.startswith("more.tsv, line 2: 'student' has 2 arguments here and 1 in facts.tsv, ")


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("s1\tknows\ts2\ns1\tta\ts2\n", "line 2: 'ta' has 2 arguments here and 3 in ta.tsv, line"),
        ("s1\tta\n", "line 1: 'ta' has 1 argument here and 3 in ta.tsv, line 1; expected the same"),
        ("s1\tteaches\n", "line 1: 'teaches' has 1 argument here and 2 in facts.tsv, line "),
        ("s1\tx\ns1\n", "line 2: expected subject, predicate, object[, value] (of a unary fact: "),
        ("s1\tx\ny\tx\n\tx\n", "line 3: the subject is empty; expected a name"),
        ("s1\tx\ts2\t1\t1\n", "line 1: expected subject, predicate, object"),
        ("s1\tx\t\n", "line 1: the object is empty; expected a name"),
    ],
)
def test_wrong_lines(folder: Path, text: str, said: str) -> None:
    (folder / "more.tsv").write_text(text)
    words = (*FACTS, "--facts", "more.tsv", "--labels", "labels.tsv", "-o", "out.psl")
    for engine in ("memory", "duckdb"):
        assert refused(folder, "learn", *words, "--engine", engine).startswith(f"more.tsv, {said}")


@pytest.mark.parametrize(
    ("table", "said"),
    [
        ("x=few.tsv", "few.tsv, line 2: expected 3 fields (argument 1, argument 2, argument 3), f"),
        ("x=none.tsv", "x=none.tsv: no such file, and no table 'none.tsv' of the predicate 'x'"),
        ("=ta.tsv", "=ta.tsv: the predicate before '=' is empty; expected a name"),
        ("x=model.json", "model.json: its name is not that of a table; expected a table of the"),
        ("x=wide.tsv", "wide.tsv, line 1: expected at most 8 arguments, found 9"),
        ("teaches=ta.tsv", "ta.tsv, line 1: 'teaches' has 3 arguments here and 2 in facts.tsv, li"),
    ],
)
def test_wrong_tables(folder: Path, table: str, said: str) -> None:
    (folder / "few.tsv").write_text("a\tb\tc\na\tb\n")
    (folder / "wide.tsv").write_text("\t".join("abcdefghi"))
    (folder / "model.json").write_text("{}")
    words = ("--facts", "facts.tsv", "--facts", table, "--labels", "labels.tsv")
    assert refused(folder, "candidates", *words).startswith(said)


@pytest.mark.slow
def test_targets_have_the_arity_of_their_facts(folder: Path) -> None:
    expected = {
        "student": "has 1 argument among the facts, and as a target it is a pair; expected the "
        "same number",
        "ta": "has 3 arguments among the facts; targets of three and more arguments are not "
        "offered: expected a target of one (an entity) or two (subject and object)",
    }
    for name, arity in expected.items():
        told = f"predicate {name!r} {arity}"
        write(folder / "other.tsv", [("s1", name, "p1", 1), ("s2", name, "p1", 0)])
        labels = (*FACTS, "--labels", "other.tsv")
        for engine in ("memory", "duckdb"):
            assert refused(folder, "learn", *labels, "--engine", engine, "-o", "x.psl") == told
        assert refused(folder, "candidates", *labels) == told
        collective = ("--collective", "--collective-method", "map")
        assert refused(folder, "learn", *labels, *collective, "-o", "x.psl") == told
        (folder / "model.psl").write_text(f"1.0: teaches(A, B) -> {name}(A, B)\n")
        for words in every_command(*FACTS)[3:5]:
            assert refused(folder, *words) == told
    assert refused(folder, "learn", *FACTS, "--target", "ta", "-o", "x.psl") == told
    (folder / "model.psl").write_text("1.0: teaches(A, B) -> advised_by(A, B)\n")
    for command, option in (("evaluate", "--labels"), ("predict", "--pairs")):
        write(folder / "one.tsv", [("s1", "advised_by", 1)[: 2 + (option == "--labels")]])
        told = refused(folder, command, "model.psl", *FACTS, option, "one.tsv")
        assert told == (
            "'advised_by' is about pairs in the model, and about one entity here; expected "
            "subject, predicate, object"
        )


@pytest.mark.parametrize("number", [*range(3, 10), 11])
def test_rules_with_another_number_of_arguments(folder: Path, number: int) -> None:
    (folder / "model.psl").write_text("1.0: student(A, B) -> advised_by(A, B)\n")
    assert refused(folder, *every_command(*FACTS)[number]) == (
        "'student' has 2 arguments in the rules and 1 in the facts; expected the same number"
    )


def test_a_program_of_psl_has_them_too(folder: Path) -> None:
    """Unary and ternary predicates of a PSL project are read as they are."""
    facts, _, labels = college()
    files = {"Professor/1": "professor", "Student/1": "student", "Teaches/2": "teaches"}
    for file in files.values():
        write(folder / file, [(s, *rest) for s, p, *rest in facts if p == file])
    write(folder / "truth", [(s, o, value) for s, _, o, value in labels])
    predicates: dict[str, dict[str, list[str]]] = {
        name: {"observations": [file]} for name, file in files.items()
    }
    predicates["Ta/3"] = {"observations": ["ta.tsv"]}
    predicates["AdvisedBy/2"] = {"truth": ["truth"]}
    (folder / "college.json").write_text(json.dumps({"predicates": predicates}))
    given = ("--facts", "college.json", "--labels", "college.json")
    found = hornbeam_("candidates", *given, "--bodies", "paths,unary", "--max-length", 2, "--json")
    assert {
        "Ta(B, A, D) & Teaches(C, B) -> AdvisedBy(A, C)",
        "Student(A) -> AdvisedBy(A, B)",
    } <= texts(found)


def test_arity_is_checked_in_python_too() -> None:
    facts = hb.read_facts([("a", "student"), ("a", "knows", "b")])
    pairs = hb.read_pairs([("a", "student", "b")])
    with pytest.raises(InputError, match="'student' has 1 argument among the facts"):
        hb.Model.parse("1.0: knows(A, B) -> student(A, B)\n").predict(facts, pairs)
