from __future__ import annotations

import json
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from hornbeam import read_facts, read_labels, read_pairs
from hornbeam.errors import DataError
from hornbeam.facts.reading.psl_data import _from_json, _plain_json
from hornbeam.facts.table import ONE
from tests.support.fact_tables import as_dict, as_rows, write

DATA = """\
predicates:
  Knows/2: open
  Likes/2: closed
  Lived:
    - closed
    - types:
        - UniqueStringID
        - Integer
    - block
observations:
  KNOWS: k.txt
  Likes:
    - k.txt
    - more.txt
  Lived : k.txt
targets:
  Knows: more.txt
truth:
  knows: truth.txt
"""


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    write(tmp_path / "k.txt", "a\tb\t1\nb\tc\t0.5\n")
    write(tmp_path / "more.txt", "c\td\n")
    write(tmp_path / "truth.txt", "c\td\t1\nd\tc\t0\n")
    write(tmp_path / "one.txt", "a\t1\nb\t0.25\n")
    write(tmp_path / "three.txt", "a\tb\tc\n")
    return tmp_path


def program(folder: Path, predicates: object, name: str = "program.json") -> Path:
    return write(folder / name, json.dumps({"rules": [], "predicates": predicates}))


def test_json_program(folder: Path) -> None:
    path = program(
        folder,
        {
            "K/2": {"observations": ["k.txt"], "targets": "more.txt", "truth": ["truth.txt"]},
            "One/1": {"observations": "one.txt"},
            "Three": {"arity": 3, "observations": ["three.txt"]},
            "Typed": {"types": ["String", "String"], "observations": [["x", "y"], [1, 2, 0.5]]},
            "Unused/2": {"function": "Similarity"},
        },
    )
    facts = read_facts(path)
    assert as_dict(facts) == {
        ("a", "K", "b"): ONE,
        ("b", "K", "c"): ONE // 2,
        ("a", "One"): ONE,
        ("b", "One"): ONE // 4,
        ("a", "Three", "b", "c"): ONE,
        ("x", "Typed", "y"): ONE,
        ("1", "Typed", "2"): ONE // 2,
    }
    assert facts.arity == {"One": 1, "K": 2, "Typed": 2, "Three": 3}
    labels = read_labels(path)
    assert as_rows(labels) == [("c", "K", "d"), ("d", "K", "c")]
    assert labels.truth.tolist() == [1.0, 0.0]
    assert as_rows(read_pairs(path)) == [("c", "K", "d")]


@pytest.mark.parametrize("name", ["p.yaml", "p.yml", "p.YAML"])
def test_yaml_program(folder: Path, name: str) -> None:
    text = "predicates:\n  Yes/2:\n    observations: [k.txt, [on, 'off'], [1.0, 01, 0.5]]\n"
    assert as_dict(read_facts(write(folder / name, text))) == {
        ("a", "Yes", "b"): ONE,
        ("b", "Yes", "c"): ONE // 2,
        ("on", "Yes", "off"): ONE,
        ("1.0", "Yes", "01"): ONE // 2,
    }


def test_data_file(folder: Path) -> None:
    path = write(folder / "p.data", DATA)
    facts = read_facts(path)
    assert list(facts.predicates) == ["Knows", "Likes", "Lived"]
    assert len(facts) == 7
    assert as_rows(read_labels(path)) == [("c", "Knows", "d"), ("d", "Knows", "c")]
    assert as_rows(read_pairs(path)) == [("c", "Knows", "d")]


def test_data_file_with_lists(folder: Path) -> None:
    text = "predicates:\n- Knows/2: open\n- On/2: closed\nobservations:\n- On: k.txt\n"
    assert list(read_facts(write(folder / "p.data", text)).predicates) == ["On"]


def test_paths_are_relative_to_the_program(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    program(folder, {"K/2": {"observations": ["k.txt", str(folder / "more.txt")]}})
    monkeypatch.chdir(folder.parent)
    assert len(read_facts(f"{folder.name}/program.json")) == 3


def test_splits_are_named(folder: Path) -> None:
    splits = {"all": ["k.txt"], "learn": [["x", "y"]], "infer": ["more.txt"]}
    path = program(folder, {"K/2": {"observations": splits}})
    with pytest.raises(DataError, match=r"splits learn and infer; .*program.json#infer'"):
        read_facts(path)
    assert ("x", "K", "y") in as_dict(read_facts(f"{path}#learn"))
    assert ("c", "K", "d") in as_dict(read_facts(f"{path}#infer"))
    plain = program(folder, {"K/2": {"observations": ["k.txt"]}}, "plain.json")
    with pytest.raises(DataError, match="no split 'infer'; expected the name of the program alone"):
        read_facts(f"{plain}#infer")
    with pytest.raises(DataError, match="no split 'validation'; expected learn or infer"):
        read_facts(f"{path}#validation")
    one = program(folder, {"K/2": {"observations": {"learn": ["k.txt"]}}})
    assert len(read_facts(one)) == 2


def test_two_values_across_files_of_one_predicate(folder: Path) -> None:
    path = program(
        folder,
        {"K/2": {"observations": ["k.txt", ["b", "c", 1]]}, "L/2": {"observations": ["k.txt"]}},
    )
    with pytest.raises(DataError) as caught:
        read_facts(path)
    assert str(caught.value) == (
        f"{path}, observations of K, row 1: K(b, c) has value 1 here and 0.5 in "
        f"{folder / 'k.txt'}, line 2; expected one value"
    )


def test_one_arity_for_each_predicate(folder: Path) -> None:
    path = program(folder, {"K/1": {"observations": ["one.txt"]}})
    with pytest.raises(DataError, match=r"row 1: 'K' has 2 arguments here and 1 in .*, line 1"):
        read_facts(path, [("a", "K", "b")])


def single_quoted(text: str) -> str:
    """A JSON text in single quotes, as PSL's runtime reads it."""
    inner = json.dumps(text)[1:-1].replace('\\"', '"').replace("'", "\\'")
    return f"'{inner}'"


@given(st.lists(st.text(max_size=8)), st.integers(-50, 50), st.floats(0, 1))
def test_json_of_psl(texts: list[str], whole: int, value: float) -> None:
    """Comments, single quotes, pluses and zeros before numbers, commas at the end."""
    zeros = f"{'-' * (whole < 0)}00{abs(whole)}"
    cells = [*map(json.dumps, texts), *map(single_quoted, texts)]
    cells += [zeros, f"+{value!r}", f"00{value!r}", "0", "-0.5"]
    text = "{'a': [" + ", // it's \"\n".join(cells) + ",],\n# 'b'\n\"b\": /* ' */ 'x\\\\',}"
    found = _from_json(_plain_json(text))
    assert found == {
        "a": [*texts, *texts, str(whole), repr(value), repr(value), "0", "-0.5"],
        "b": "x\\",
    }
    assert _plain_json(text).count("\n") == text.count("\n")


@pytest.mark.parametrize("text", ["+-1", "+", "'a", "1 'b'", "{'a': 1 'b': 2}", "0x1", "'\\z'"])
def test_json_that_psl_does_not_read_either(folder: Path, text: str) -> None:
    path = write(folder / "p.json", f'{{"predicates": {{}},\n"options": {text}}}')
    with pytest.raises(DataError, match=r"p.json, line 2: .*; expected a PSL program in JSON"):
        read_facts(path)


OBSERVED = "observations"
WRONG: list[tuple[object, str]] = [
    ({"K/2": {OBSERVED: "nope.txt"}}, "observations of K: .*nope.txt: no such file"),
    ({"K/2": {OBSERVED: ["."]}}, "is a directory"),
    ({"K/2": {OBSERVED: "bad.txt"}}, r"bad.txt, line 2: expected 2 fields .*found 4 fields"),
    ({"K/2": {OBSERVED: "value.txt"}}, r"value.txt, line 1: expected a truth value .*'7'"),
    ({"K/1": {OBSERVED: "more.txt"}}, r"line 1: expected a truth value in \[0, 1\], found 'd'"),
    ({"K/2": {OBSERVED: [["a"]]}}, "observations of K, row 1: expected 2 or 3 fields"),
    ({"K/2": {OBSERVED: [["a", "b", 3]]}}, "row 1: expected a truth value"),
    ({"K/2": {OBSERVED: [["a", ""]]}}, "row 1: the argument 2 is empty"),
    ({"K/2": {OBSERVED: [{"x": 1}]}}, "expected file names or rows of names, found a mapping"),
    ({"K/2": {OBSERVED: [["a", None]]}}, "expected file names or rows of names"),
    ({"K/2": {OBSERVED: {"eval": ["k.txt"]}}}, "unknown split 'eval'; expected all, learn"),
    ({"K/2": {}}, "no predicate has observations"),
    ({"K/2": {OBSERVED: []}}, "no predicate has observations"),
    ({"K/2": {}, "k/2": {}}, "declared twice"),
    ({"K": {}}, "expected one arity, as in 'K/2', found none"),
    ({"K/2": {"arity": 3}}, "found 2 and 3"),
    ({"K/0": {}}, "an arity of 1 or more"),
    ({"/2": {}}, "no proper name"),
    (["K/2"], "expected a mapping, found 'K/2'"),
]


@pytest.mark.parametrize(("predicates", "said"), WRONG)
def test_wrong_programs(folder: Path, predicates: object, said: str) -> None:
    write(folder / "bad.txt", "a\tb\na\tb\t1\tx\n")
    write(folder / "value.txt", "a\tb\t7\n")
    path = program(folder, predicates)
    with pytest.raises(DataError, match=said) as caught:
        read_facts(path)
    assert str(folder) in str(caught.value)


SYNTAX: list[tuple[str, str | bytes, int | None, str]] = [
    ("p.json", '{\n"predicates": {\n"K/2": {,}\n}}', 3, "expected a PSL program in JSON"),
    ("p.json", "[1]", None, "not a PSL program"),
    ("p.json", '{"rules": []}', None, "key 'predicates'"),
    ("p.json", '{"predicates": {"K/2": {}, "K/2": {}}}', None, "occurs twice"),
    ("p.json", "[" * 100_000, None, "nested too deeply"),
    ("p.json", b'{\n"\xff": 1}', 2, "invalid UTF-8"),
    ("p.yaml", "predicates:\n  K/2: open\n bad: [\n", 3, "expected a PSL program in YAML"),
    ("p.yaml", "predicates:\n\tK/2: open\n", 2, "expected a PSL program in YAML"),
    ("p.yaml", "predicates:\n  K\x01/2: open\n", 2, "special characters"),
    ("p.data", "predicates:\n  K/2: open\n  K/2: open\n", 3, "occurs twice"),
    ("p.data", "predicates:\n  ? [a]\n  : open\n", 2, "a key is not plain text"),
    ("p.data", "predicates: {K/2: open}\nobservations: {L: k.txt}\n", None, "not among the pred"),
    ("p.data", "just text", None, "not a PSL program"),
    ("p.data", "", None, "is empty"),
]


@pytest.mark.parametrize(("name", "text", "line", "said"), SYNTAX)
def test_wrong_syntax(
    folder: Path, name: str, text: str | bytes, line: int | None, said: str
) -> None:
    path = write(folder / name, text)
    with pytest.raises(DataError) as caught:
        read_facts(path)
    assert (caught.value.source, caught.value.line) == (str(path), line)
    assert said in str(caught.value)


def test_roles_without_data(folder: Path) -> None:
    path = program(folder, {"K/2": {"observations": "k.txt"}, "One/1": {"truth": "one.txt"}})
    with pytest.raises(DataError, match=r"no predicate has targets; .* to read pairs from"):
        read_pairs(path)
    path = program(folder, {"K/2": {"observations": "k.txt"}, "Many/3": {"truth": [["a"] * 3]}})
    with pytest.raises(DataError, match=r"truth of Many/3; expected one or two: targets of three"):
        read_labels(path)


def test_known_program(psl_links: Path) -> None:
    path = psl_links / "n10-infer.json"
    facts, labels, pairs = read_facts(path), read_labels(path), read_pairs(path)
    lines = {
        (name, *line.split("\t"))
        for name in ("Cites", "Mentions", "Coauthor", "Follows", "Works", "Cand_eval")
        for line in (psl_links / "data" / f"{name}.txt").read_text().splitlines()
    }
    assert len(facts) == len(lines)
    assert set(facts.predicates) == {"Cites", "Mentions", "Coauthor", "Follows", "Works", "Cand"}
    assert len(labels) == len(pairs) == 3000
    assert as_rows(labels) == as_rows(pairs)
