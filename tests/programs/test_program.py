from __future__ import annotations

import json
import re
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from hornbeam.errors import DataError, HornbeamWarning, InputError
from hornbeam.facts.reading.psl_data import AtomList
from hornbeam.facts.reading.text import trimmed
from hornbeam.facts.reading.workspace import File
from hornbeam.language.syntax import Place
from hornbeam.programs.program import Program, read_program
from hornbeam.programs.program_data import AtomTable, ProgramData, load_partitions
from hornbeam.programs.program_declarations import ProgramPredicate
from hornbeam.programs.program_options import InferenceOptions

RULES = [
    "1.0: Knows(A, B) & Likes(B, C) -> Likes(A, C) ^2",
    "0.1: !Likes(A, B)",
    "Likes(A, +B) <= 3 . {B: Thing(B) & (B != 'hat')}",
]
PREDICATES: dict[str, Any] = {
    "Knows/2": {"observations": ["knows.txt"]},
    "Thing": {"arity": 1, "observations": [["tea"], ["jam", 0.25]]},
    "Likes/2": {
        "observations": {"all": ["likes.txt"], "learn": [["x", "y"]]},
        "targets": {"infer": ["targets.txt"], "learn": [["b", "tea"]]},
        "truth": ["truth.txt"],
        "evaluations": ["AUCEvaluator", {"evaluator": "DiscreteEvaluator", "primary": True,
                                         "options": {"discreteevaluator.threshold": 0.3}}],
    },
}  # fmt: skip


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    (tmp_path / "knows.txt").write_text("a\tb\t1\nb\tc\t0.5\n")
    (tmp_path / "likes.txt").write_text("c\ttea\t0.123456789012345\n")
    (tmp_path / "targets.txt").write_text("a\ttea\t1\nb\ttea\t0.7\n")
    (tmp_path / "truth.txt").write_text("b\ttea\t1\na\ttea\t0\n")
    (tmp_path / "empty.txt").write_text("")
    return tmp_path


def write(folder: Path, name: str = "program.json", **changes: object) -> Path:
    content = {"rules": RULES, "predicates": PREDICATES} | changes
    path = folder / name
    path.write_text(json.dumps(content, indent=1))
    return path


def atoms(data: ProgramData, table: AtomTable) -> dict[tuple[str, ...], float]:
    values = np.ones(len(table)) if table.value is None else table.value
    rows = zip(*(data.names.take(column) for column in table.arguments), strict=True)
    return dict(zip(rows, values.tolist(), strict=True))


def test_a_json_program(folder: Path) -> None:
    path = write(folder, options={"Random.Seed": 4, "runtime.inference": True, "nothing": None})
    program = read_program(path)
    assert program.name == str(path)
    assert list(map(str, program.rules)) == [
        "1.0: Knows(A, B) & Likes(B, C) -> Likes(A, C) ^2",
        "0.1: !Likes(A, B)",
        "Likes(A, +B) <= 3.0 . {B: Thing(B) & (B != 'hat')}",
    ]
    assert [rule.place for rule in program.rules] == [Place(3, 4), Place(4, 4), Place(5, 4)]
    assert set(program.sources) == {str(path)}
    assert [(one.name, one.arity, one.closed) for one in program.predicates] == [
        ("Knows", 2, True),
        ("Thing", 1, True),
        ("Likes", 2, False),
    ]
    assert program.closed == {"Knows", "Thing"}
    knows, thing, likes = program.predicates
    assert knows.observations == AtomList((str(folder / "knows.txt"),))
    assert thing.observations == AtomList((), (("tea",), ("jam", "0.25")))
    assert likes.targets == AtomList((str(folder / "targets.txt"),))
    assert program.options == {"random.seed": "4", "runtime.inference": "true"}


def test_the_atoms_of_a_program(folder: Path) -> None:
    data = read_program(write(folder)).load()
    assert list(data.names) == ["a", "b", "c", "hat", "jam", "tea"]
    likes, knows = data.predicates["Likes"], data.predicates["Knows"]
    assert atoms(data, knows.observed) == {("a", "b"): 1.0, ("b", "c"): 0.5}
    assert atoms(data, data.predicates["Thing"].observed) == {("jam",): 0.25, ("tea",): 1.0}
    assert atoms(data, likes.observed) == {("c", "tea"): 0.123456789012345}
    assert atoms(data, likes.targets) == {("a", "tea"): 1.0, ("b", "tea"): 0.7}
    assert atoms(data, likes.truth) == {("a", "tea"): 0.0, ("b", "tea"): 1.0}
    assert len(knows.targets) == len(knows.truth) == 0
    assert knows.observed.arguments[0].dtype == np.int32


def test_the_split_is_chosen(folder: Path) -> None:
    path = write(
        folder,
        learn={"rules": ["2: Knows(A, B) -> Likes(A, B)"], "options": {"random.seed": "2"}},
        options={"random.seed": "1", "pam.throw": "false"},
    )
    learn = read_program(path, "learn")
    assert [rule.weight for rule in learn.rules] == [1.0, 0.1, None, 2.0]
    assert learn.options == {"random.seed": "2", "pam.throw": "false"}
    data = learn.load()
    assert set(atoms(data, data.predicates["Likes"].targets)) == {("b", "tea")}
    assert ("x", "y") in atoms(data, data.predicates["Likes"].observed)
    assert [rule.weight for rule in read_program(path).rules] == [1.0, 0.1, None]
    with pytest.raises(
        InputError, match="unknown `split` 'test'; expected learn, validation, infer"
    ):
        read_program(path, "test")


def test_a_yaml_program(folder: Path) -> None:
    (folder / "program.yaml").write_text(
        """\
rules:
  - '1.0: Knows(A, B) -> Likes(A, B)'
  - "2: !Likes(A, B)"
  - 3: !Likes(A, B) ^2
  - |
    4: Knows(A, B)
      -> !Likes(A, B)
  - >-
    5: Knows(A, B)
    -> !Likes(B, A)
predicates:
  Knows/2: {observations: [knows.txt]}
  Likes/2: {targets: [targets.txt]}
""".replace("- 3: !", "- '3: !").replace(" ^2", " ^2'")
    )
    program = read_program(folder / "program.yaml")
    assert [rule.weight for rule in program.rules] == [1, 2, 3, 4, 5]
    places = [rule.place for rule in program.rules]
    assert places == [Place(2, 6), Place(3, 6), Place(4, 6), Place(6, 5), Place(9, 5)]


def test_json_may_have_comments_and_commas(folder: Path) -> None:
    path = folder / "program.json"
    path.write_text(
        """{ // of PSL
  "rules": [ # as its runtime reads them
    "1: Knows(A, B) -> Likes(A, B)", /* and
    more */ "2: !Likes(A, '#,]')", // said
  ],
  "predicates": {
    "Knows/2": {"observations": ["knows.txt",]},
    "Likes/2": {"targets": [["a", "b",],],},
  },
}"""
    )
    program = read_program(path)
    assert [str(rule) for rule in program.rules] == [
        "1.0: Knows(A, B) -> Likes(A, B)",
        "2.0: !Likes(A, '#,]')",
    ]
    assert [rule.place for rule in program.rules] == [Place(3, 6), Place(4, 14)]
    assert len(program.load().predicates["Likes"].targets) == 1


DATA = """\
predicates:
  KNOWS/2: closed
  Likes/2: open
observations:
  Knows: knows.txt
  Likes: likes.txt
targets:
  Likes: targets.txt
truth:
  Likes: truth.txt
"""


@pytest.mark.parametrize("data", ["p.data", "p-eval.data", "p-infer.data"])
@pytest.mark.parametrize("given", ["p.psl", "data", "p", ""])
def test_a_pair_of_files(folder: Path, data: str, given: str) -> None:
    (folder / "p.psl").write_text("1: knows(A, B) -> likes(A, B)\nlikes(A, B) -> knows(A, B) .\n")
    (folder / data).write_text(DATA)
    program = read_program(folder / (data if given == "data" else given))
    assert list(map(str, program.rules)) == [
        "1.0: KNOWS(A, B) -> Likes(A, B)",
        "Likes(A, B) -> KNOWS(A, B) .",
    ]
    assert program.sources == (str(folder / "p.psl"),) * 2
    assert program.closed == {"KNOWS"}
    assert len(program.load().predicates["Likes"].targets) == 2


def test_rules_may_stand_in_a_file_of_their_own(folder: Path) -> None:
    (folder / "rules.psl").write_text("\n1: knows(A, B) -> likes(A, B)\n")
    program = read_program(write(folder, rules="rules.psl"))
    assert program.sources == (str(folder / "rules.psl"),)
    assert program.rules[0].place == Place(2, 1)


def test_rules_are_brought_to_the_form_in_which_psl_takes_them(folder: Path) -> None:
    rules = [
        "1: KNOWS(A, B) & knows(A, B) -> likes(A, B) | !KNOWS(A, B) | likes(A, B)",
        "LIKES(A, +B) = 1 . {B: thing(B) & (knows(A, B) | knows(B, A))}",
    ]
    assert list(map(str, read_program(write(folder, rules=rules)).rules)) == [
        "1.0: Knows(A, B) -> Likes(A, B)",
        "Likes(A, +B) = 1.0 . {B: Thing(B) & Knows(A, B)}",
        "Likes(A, +B) = 1.0 . {B: Thing(B) & Knows(B, A)}",
    ]


def test_an_empty_file_holds_no_atoms(folder: Path) -> None:
    changed = PREDICATES | {"Knows/2": {"observations": ["empty.txt"]}}
    data = read_program(write(folder, predicates=changed)).load()
    assert len(data.predicates["Knows"].observed) == 0


def test_predicates_may_be_forced_open(folder: Path) -> None:
    changed = PREDICATES | {"Knows/2": {"force-open": True, "observations": ["knows.txt"]}}
    rules = ["1: Knows(A, B) -> Likes(A, B)"]
    assert read_program(write(folder, predicates=changed, rules=rules)).closed == {"Thing"}


#: A rule, the column of the mistake in it, and what the message says.
WRONG_RULES = {
    "1: Knows(A, B) -> Liked(A, B)": (
        19, "unknown predicate 'Liked'; expected one of: Knows, Thing, Likes"),
    "1: Knows(A, B) -> Likes(A)": (19, "Likes has 1 argument here; expected 2"),
    "1: Knows(A, B) -> Likes(A, C)": (19, "the variable C is not limited"),
    "1: Knows(A, B) & (A != C) -> Likes(A, B)": (19, "the variable C is not limited"),
    "-1: Knows(A, B) -> Likes(A, B)": (1, "at least 0, such as 1.0: Knows(A, B) -> !Likes(A, B)"),
    "-2: Likes(A, B) <= 0.5 ^2": (1, "such as 2.0: Likes(A, B) >= 0.5 ^2"),
    "-2: Likes(A, B) = 0.5": (1, "or no rule: nothing convex keeps two sides apart"),
    "-1: Knows(A, B) -> Likes(A, B) | !Likes(B, A)": (
        1,
        "such as 1.0: Knows(A, B) -> !Likes(A, B) and 1.0: Knows(A, B) -> Likes(B, A)",
    ),
    "1: Knows(A, B) & -> Likes(A, B)": (18, "expected an atom such as 'knows(A, B)', found '->'"),
    "1: Likes(A, +B) <= 1 {B: Likes(A, B)}": (26, "the filter has Likes, which is open"),
    "1: Likes(A, +B) <= 1 {B: Nothing(B)}": (26, "unknown predicate 'Nothing'"),
    "": (1, "rule 1 holds no rules; expected one"),
    "1: !Likes(A, B) 2: !Likes(B, A)": (1, "rule 1 holds 2 rules; expected one"),
}  # fmt: skip


@pytest.mark.parametrize(("rule", "mistake"), WRONG_RULES.items())
def test_mistakes_in_rules_are_placed_in_the_program(
    folder: Path, rule: str, mistake: tuple[int, str]
) -> None:
    column, said = mistake
    path = write(folder, rules=[rule])
    with pytest.raises(DataError) as caught:
        read_program(path)
    assert str(caught.value).startswith(f"{path}, line 3, column {column + 3}: ")
    assert said in str(caught.value)


#: Changes of the program, and what the message says.
WRONG_PROGRAMS: list[tuple[dict[str, object], str]] = [
    ({"rules": []}, "program.json: holds no rules; expected at least one"),
    ({"rules": [1]}, r"line 3, column 4: expected ':' \(which ends a weight\)"),
    ({"rules": [["a"]]}, "'rules', rule 1: expected text, found a list"),
    ({"rules": {"a": "b"}}, "'rules': expected a list of rules, found a mapping"),
    (
        {"rules": "nope.psl"},
        r"program.json: 'rules': .*nope.psl: no such file; expected a list of rules, or a file of",
    ),
    ({"rules": "1: Knows(A, B) -> Likes(A, B)"}, "program.json: 'rules': .*; expected a list of"),
    ({"infer": {"rules": "."}}, "program.json: 'rules': .* is a directory"),
    ({"infer": {"rules": [["a"]]}}, "'rules' of 'infer', rule 1: expected text"),
    ({"infer": {"predicates": {}}}, "'infer': expected a mapping of rules and options"),
    ({"rule": []}, "unknown key 'rule'; expected rules, predicates, options, learn"),
    ({"options": []}, "'options': expected a mapping, found a list"),
    ({"options": {"a": []}}, "'options': 'a' is a list; expected text or a number"),
    ({"predicates": {"A": {}}}, "expected one arity, as in 'A/2', found none"),
    ({"predicates": {"A/2": {"arity": 1}}}, "expected one arity, as in 'A/2', found 1 and 2"),
    ({"predicates": {"A/2": {}, "a/1": {}}}, r"'a' is declared twice \(case is ignored\)"),
    ({"predicates": {"A/2": {"observed": []}}}, "unknown property 'observed'; expected type,"),
    ({"predicates": {"A/2": {"observations": {"test": []}}}}, "unknown split 'test'"),
    ({"predicates": {"A/2": {"observations": [{}]}}}, "expected file names or rows of names"),
    ({"predicates": {"A/2": {"type": "DeepPredicate"}}}, "only standard predicates are supp"),
    ({"predicates": {"A/2": {"function": "x.Y"}}}, "cannot be called here; expected levenshtein"),
    ({"predicates": {"A/2": {"evaluations": "AUC"}}}, "expected a list, found 'AUC'"),
    ({"predicates": {"A/2": {"evaluations": [3]}}}, "unknown evaluator '3'; expected one of Cont"),
    ({"predicates": {"A/2": {"evaluations": [{}]}}}, "expected names of evaluators"),
    ({"predicates": {"A/1": {"types": ["Int"]}}}, "type 'Int'; expected String, Integer, Doub"),
    ({"predicates": {"A/2": {"options": 3}}}, "options of A: expected a mapping"),
]


@pytest.mark.parametrize(("changes", "said"), WRONG_PROGRAMS)
def test_mistakes_in_programs(folder: Path, changes: dict[str, Any], said: str) -> None:
    with pytest.raises(DataError, match=said):
        read_program(write(folder, **changes))


@pytest.mark.parametrize(
    ("name", "text", "said"),
    [
        ("p.json", '{"rules": [],\n"predicates": }', "p.json, line 2: .* expected a PSL program"),
        ("p.json", "", "p.json: is empty; expected predicates with their files, and rules"),
        ("p.json", '{"rules": []}', "expected a mapping with the key 'predicates'"),
        ("p.yaml", "predicates:\n a: [\n", "p.yaml, line 3: .*; expected a PSL program in YAML"),
        (
            "p.yaml",
            "predicates: {}\nrules:\n- 1: a\n",
            r"found a mapping \(in YAML a rule stands in quotes",
        ),
        ("p.psl", "1: a(A) -> b(A)", "p.psl: has no data file in its folder; expected p.data or p"),
        ("p.data", DATA, "p.data: has no file of rules in its folder; expected p.psl"),
        ("q-eval.data", DATA, "in its folder; expected q-eval.psl or q.psl"),
    ],
)
def test_mistakes_in_files(folder: Path, name: str, text: str, said: str) -> None:
    (folder / name).write_text(text)
    with pytest.raises(DataError, match=said):
        read_program(folder / name)


@pytest.mark.parametrize("name", ["p.psl", "p.data"])
def test_a_missing_file_of_a_pair_is_no_file(folder: Path, name: str) -> None:
    with pytest.raises(DataError, match=f"{name}: no such file"):
        read_program(folder / name)


def test_a_pair_of_files_with_mistakes(folder: Path) -> None:
    (folder / "p.data").write_text(DATA)
    (folder / "p.psl").write_text("")
    with pytest.raises(DataError, match=r"p.psl: holds no rules"):
        read_program(folder / "p")
    (folder / "p.psl").write_text("1: knows(A, B) -> likes(A, B)\n\n1: knows(A, B) -> hates(A, B)")
    with pytest.raises(DataError, match=r"p.psl, line 3, column 19: unknown predicate 'hates'"):
        read_program(folder / "p")
    (folder / "p.data").write_text(DATA.replace("Likes/2: open", "Likes/2: closed"))
    with pytest.raises(DataError, match="'Likes' is closed and has targets"):
        read_program(folder / "p")


def test_folders_and_names(folder: Path) -> None:
    with pytest.raises(DataError, match="expected one program in the folder, found none"):
        read_program(folder)
    write(folder, "one.json")
    assert read_program(folder).rules == read_program(folder / "one").rules
    write(folder, "two.json")
    with pytest.raises(DataError, match=r"expected one program .* found one.json, two.json"):
        read_program(folder)
    with pytest.raises(DataError, match=r"three: no such file; expected a PSL program"):
        read_program(folder / "three")


#: Contents of a file, what becomes of it, and the message.
BAD_DATA = {
    "likes.txt": [
        ("a\n", r"likes.txt, line 1: expected 2 fields \(argument 1, argument 2\), found 1 field"),
        ("a\tb\n\na\tc\t0.5\tx\n", "likes.txt, line 3: expected 2 fields .* found 4 fields"),
        (
            "a\tb\n\n a\tc\t0.5\n",
            "likes.txt, line 3: the row has a truth value, unlike the first row; expected one in",
        ),
        ("\na\tb\t1\na\tc\n", "likes.txt, line 3: the row lacks a truth value, unlike the first"),
        ("a\tb\t1.5\n", r"likes.txt, line 1: expected a truth value in \[0, 1\], found '1.5'"),
        ("a\tb\t-0.1\n", r"expected a truth value in \[0, 1\], found '-0.1'"),
        ("a\tb\tnan\n", r"expected a truth value in \[0, 1\], found 'nan'"),
        ("a\tb\tyes\n", r"expected a truth value in \[0, 1\], found 'yes'"),
        ("a\t\t1\n", "likes.txt, line 1: the argument 2 is empty"),
        (
            "x\ty\t0.5\na\tb\t1\nx\ty\t0.5000001\n",
            r"likes.txt, line 3: Likes\(x, y\) has value 0.5000001 here and 0.5 in .*likes.txt, "
            "line 1; expected one value",
        ),
        (
            "x\ty\t1\na\ttea\t0.5\n",
            r"targets.txt, line 1: Likes\(a, tea\) is a target here and observed in "
            ".*likes.txt, line 2",
        ),
    ],
    "targets.txt": [
        ("a\tb\t0.5\tx\n", "targets.txt, line 1: expected 3 fields .* found 4 fields"),
        ("a\tb\t2\n", "targets.txt, line 1: expected a truth value"),
        ("a\tb\t1\na\tb\t0.5\n", r"line 2: Likes\(a, b\) has value 0.5 here and 1 in .*, line 1"),
    ],
    "truth.txt": [("a\tb\t2\n", "truth.txt, line 1: expected a truth value")],
}


@pytest.mark.parametrize(
    ("name", "text", "said"),
    [(name, text, said) for name, cases in BAD_DATA.items() for text, said in cases],
)
def test_mistakes_in_data(folder: Path, name: str, text: str, said: str) -> None:
    (folder / name).write_text(text)
    program = read_program(write(folder))
    with pytest.raises(DataError, match=said):
        program.load()


def test_missing_data(folder: Path) -> None:
    program = read_program(write(folder))
    (folder / "truth.txt").unlink()
    with pytest.raises(DataError, match=r"program.json: truth of Likes: .*truth.txt: no such file"):
        program.load()


def test_repeated_atoms_count_once(folder: Path) -> None:
    (folder / "targets.txt").write_text("a\ttea\t0.5\na\ttea\t0.50\n")
    (folder / "knows.txt").write_text("a\tb\t0.5\na\tb\t0.50\n")
    data = read_program(write(folder)).load()
    assert len(data.predicates["Likes"].targets) == 1
    assert atoms(data, data.predicates["Knows"].observed) == {("a", "b"): 0.5}


def test_blanks_before_and_after_a_line_do_not_count(folder: Path) -> None:
    """PSL trims whole lines, TABs and any line ends among them, and keeps blanks inside."""
    (folder / "knows.txt").write_bytes(b"  \n\ta\tb x\t1 \r\n\r\nb\tc \t0.5\t\rc\ta\t.25  ")
    (folder / "targets.txt").write_text("a\ttea \n b\ttea\t\t \n\t\n")
    (folder / "likes.txt").write_text(" \n\t\n")
    data = read_program(write(folder)).load()
    assert atoms(data, data.predicates["Knows"].observed) == {
        ("a", "b x"): 1.0, ("b", "c "): 0.5, ("c", "a"): 0.25,
    }  # fmt: skip
    assert len(data.predicates["Likes"].observed) == 0
    assert atoms(data, data.predicates["Likes"].targets) == {("a", "tea"): 1.0, ("b", "tea"): 1.0}
    (folder / "knows.txt").write_bytes(b"a\tb\n\n c \n")
    with pytest.raises(DataError, match=r"knows.txt, line 3: expected 2 fields .* found 1 field"):
        read_program(write(folder)).load()


@given(st.lists(st.text("ab \t\r\n", max_size=6), max_size=8), st.integers(1, 9))
def test_trimmed_lines_are_javas(parts: list[str], block: int) -> None:
    text = "\n".join(parts)
    expected = [line.strip() for line in re.split("\r\n|\r|\n", text)]
    with TemporaryDirectory() as name, pytest.MonkeyPatch.context() as patch:
        patch.setattr("hornbeam.facts.reading.workspace.BLOCK", block)
        path = Path(name, "data.txt")
        path.write_bytes(text.encode())
        lines = trimmed(File(path, "data"), Path(name)).path.read_bytes().decode().split("\n")
    assert [line for line in lines if line] == [line for line in expected if line]


def test_numbers_with_and_without_zeros_are_different_names(
    folder: Path, recwarn: pytest.WarningsRecorder
) -> None:
    rows = [["007", "0"], ["8", "00"], ["7.0", "0x"], ["08", "7"]]
    program = write(folder, predicates={**PREDICATES, "Knows/2": {"observations": rows}})
    assert len(read_program(program).load().predicates["Knows"].observed) == 4
    [warning] = recwarn
    assert "the constants '00' and '0' are different here" in str(warning.message)
    rows = [["007", "0"], ["8", "9"], ["07", "9.0"]]
    program = write(folder, predicates={**PREDICATES, "Knows/2": {"observations": rows}})
    read_program(program).load()
    assert len(recwarn) == 1


NAMES = st.text(
    st.characters(blacklist_categories=["Cs"], blacklist_characters="\t\r\n\0"), min_size=1
)
VALUES = st.floats(0, 1)


@given(st.dictionaries(st.tuples(NAMES, NAMES), VALUES), st.sets(st.tuples(NAMES, NAMES)))
def test_atoms_are_what_was_written(
    observed: dict[tuple[str, str], float], targets: set[tuple[str, str]]
) -> None:
    targets -= set(observed)
    predicate = ProgramPredicate(
        "P",
        2,
        closed=False,
        observations=AtomList(rows=tuple((*atom, repr(v)) for atom, v in observed.items())),
        targets=AtomList(rows=tuple(targets)),
    )
    data = load_partitions([predicate], "program", ["extra", ""])
    tables = data.predicates["P"]
    assert atoms(data, tables.observed) == observed
    assert set(atoms(data, tables.targets)) == targets
    names = {name for pair in (*observed, *targets) for name in pair} | {"extra", ""}
    assert list(data.names) == sorted(names)
    for table in (tables.observed, tables.targets):
        rows_of = list(zip(*(column.tolist() for column in table.arguments), strict=True))
        assert rows_of == sorted(rows_of)


def test_predicates_of_several_arities_are_read_together() -> None:
    listed = {
        1: AtomList(rows=(("b",), ("a", "0.5"))),
        2: AtomList(rows=(("b", "a"), ("a", "c"), ("a", "b", "0.25"))),
        3: AtomList(rows=(("c", "a", "a"), ("a", "b", "b"))),
        4: AtomList(),
    }
    predicates = [
        ProgramPredicate(f"P{arity}", arity, closed=True, observations=rows)
        for arity, rows in listed.items()
    ]
    data = load_partitions(predicates, "program")
    found = {name: atoms(data, tables.observed) for name, tables in data.predicates.items()}
    assert found == {
        "P1": {("a",): 0.5, ("b",): 1.0},
        "P2": {("a", "b"): 0.25, ("a", "c"): 1.0, ("b", "a"): 1.0},
        "P3": {("a", "b", "b"): 1.0, ("c", "a", "a"): 1.0},
        "P4": {},
    }
    for arity, tables in zip(listed, data.predicates.values(), strict=True):
        assert [len(tables.observed.arguments), len(tables.truth.arguments)] == [arity, arity]
    nothing = load_partitions([ProgramPredicate("Q", 3, closed=True)], "program")
    assert len(nothing.predicates["Q"].targets.arguments) == 3


def program_with(options: dict[str, str]) -> Program:
    return Program("program.json", (), (), (), options)


def test_options_that_are_honoured_and_ignored() -> None:
    assert program_with({}).inference_options == InferenceOptions()
    options = {
        "admmreasoner.stepsize": "0.5",
        "admmreasoner.maxiterations": "10",
        "inference.relax": "True",
        "inference.initialvalue": "zero",
        "random.seed": "-4",
        "runtime.inference.output.results.dir": "out",
        "runtime.inference.method": "org.linqs.psl.application.inference.mpe.SGDInference",
        "runtime.learn": "true",
        "sgd.learningrate": "2",
    }
    assert program_with(options).inference_options == InferenceOptions(
        step_size=0.5,
        max_iterations=10,
        relax=True,
        initial_value="ZERO",
        ignored=(
            "runtime.inference.method",
            "runtime.inference.output.results.dir",
            "runtime.learn",
            "sgd.learningrate",
        ),
    )


@pytest.mark.parametrize(
    ("name", "text", "expected"),
    [
        ("admmreasoner.stepsize", "0", "a number above 0"),
        ("admmreasoner.epsilonabs", "-1", "a number of at least 0"),
        ("admmreasoner.epsilonabs", "nan", "a number of at least 0"),
        ("admmreasoner.maxiterations", "0", "a whole number of at least 1"),
        ("admmreasoner.maxiterations", "2.5", "a whole number"),
        ("admmreasoner.maxiterations", "1_0", "a whole number"),
        ("inference.relax", "yes", "true or false"),
        ("inference.initialvalue", "two", "one of RANDOM, ATOM, ZERO, HALF, ONE"),
        ("runtime.inference.method", "x.Y", "one of ADMMInference"),
    ],
)
def test_options_that_cannot_be_read(name: str, text: str, expected: str) -> None:
    with pytest.raises(DataError) as caught:
        program_with({name: text}).inference_options  # noqa: B018
    assert f"program.json: the option {name!r} is {text!r}; expected {expected}" in str(
        caught.value
    )


@pytest.mark.shared
@pytest.mark.parametrize("name", ["n10", "n25", "n50"])
def test_shared_programs(psl_links: Path, name: str) -> None:
    program = read_program(psl_links / f"{name}-infer.json")
    data = program.load()
    assert len(program.rules) == int(name[1:]) + 1
    assert len(data.predicates["Target"].targets) == len(data.predicates["Target"].truth) == 3000
    assert sum(len(tables.observed) for tables in data.predicates.values()) == 23000


def test_a_rule_that_stands_twice_is_read_once(folder: Path) -> None:
    again = "3: Likes(B, C) & knows(A, B) -> Likes(A, C) ^2"
    path = write(folder, rules=[*RULES, again], infer={"rules": ["0.2: !Likes(A, B)"]})
    with pytest.warns(HornbeamWarning, match="stands twice") as caught:
        program = read_program(path)
    assert [rule.weight for rule in program.rules] == [1.0, 0.1, None]
    assert [str(one.message) for one in caught] == [
        f"{path}, line 6: 3.0: Likes(B, C) & Knows(A, B) -> Likes(A, C) ^2 stands twice; "
        "the first (line 3) is kept with its weight 1, as in PSL",
        f"{path}, line 66: 0.2: !Likes(A, B) stands twice; "
        "the first (line 4) is kept with its weight 0.1, as in PSL",
    ]
    assert len(program.sources) == 3
