"""The tables of the grammar, kept beside the bytecode; tokens and shapes against Lark's own way."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st
from lark import UnexpectedCharacters

from hornbeam.errors import DataError
from hornbeam.language import grammar, parsing
from hornbeam.language.rule_texts import parse_logical_rules, parse_rules
from tests.support.fuzz_seeds import MODEL, RULES
from tests.support.mutations import TOKENS
from tests.support.psl_corpus import ACCEPTED, REFUSED


@pytest.fixture
def keep_in(monkeypatch: pytest.MonkeyPatch) -> Iterator[Callable[[Path], None]]:
    """Choose the folder of the tables; what this process knows of them is forgotten."""

    def choose(folder: Path) -> None:
        monkeypatch.setattr(grammar, "cache_from_source", lambda _: str(folder / "grammar.pyc"))
        _forget()

    yield choose
    _forget()


def _forget() -> None:
    grammar.parser.cache_clear()
    grammar._scanner.cache_clear()
    parsing._shapes.clear()


def outcome(text: str) -> object:
    """Rules of a text, or what is said against it."""
    try:
        return parse_rules(text, "rules.psl")
    except DataError as error:
        return str(error)


@pytest.mark.slow
def test_kept_tables_read_like_new_ones(
    keep_in: Callable[[Path], None], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    texts = [*ACCEPTED, *REFUSED]
    folder = tmp_path / "__pycache__"
    keep_in(folder)
    new = [outcome(text) for text in texts]
    [kept] = folder.iterdir()
    keep_in(folder)
    monkeypatch.setattr("lark.lark.load_grammar", None)  # not to be called again
    assert [outcome(text) for text in texts] == new
    assert kept.suffix == ".lark"


def test_tables_that_cannot_be_kept_or_read_are_made_again(
    keep_in: Callable[[Path], None], tmp_path: Path
) -> None:
    expected = outcome(ACCEPTED[0])
    no_folder = tmp_path / "file"
    no_folder.write_text("")
    keep_in(no_folder)
    assert outcome(ACCEPTED[0]) == expected
    (tmp_path / "grammar.lark").write_bytes(b"torn")
    keep_in(tmp_path)
    assert outcome(ACCEPTED[0]) == expected
    assert (tmp_path / "grammar.lark").stat().st_size > 1000


# -- the same tokens, the same rules ---------------------------------------------------------------

#: Lines and pieces of lines; several in a row are rules, and rules with mistakes.
PIECES = st.sampled_from(
    [
        *ACCEPTED, *REFUSED, *MODEL.decode().splitlines(), *RULES.decode().splitlines(),
        *(token.decode(errors="replace") for token in TOKENS), "/* a", "*/", "// x", "# x\n",
        "0.5: a(A) <= 1\nb(A) = 1 .", "0.5: a(A) ->\n b(A)", "1: a(A) -> b(A) [log] ^1",
    ]
)  # fmt: skip
TEXTS = st.lists(st.tuples(PIECES, st.sampled_from(["", " ", "\n", "\n", "\n\n"])), max_size=6).map(
    lambda parts: "".join(piece + gap for piece, gap in parts)
)


@given(TEXTS | st.text("1:. ab(A),&|!~<>-=^2'\"#/*\\\n%+{}[]@\x00\u2028"))
def test_tokens_are_those_of_lark(text: str) -> None:
    expected: list[tuple[object, ...]] = []
    try:
        expected.extend(
            (token.type, str(token), token.line, token.column, token.end_pos)
            for token in grammar.parser().lex(text)
        )
    except UnexpectedCharacters as stray:
        expected.append(
            ("STRAY", stray.char, stray.line, stray.column, (stray.pos_in_stream or 0) + 1)
        )
    found = []
    for line in grammar.token_lines(text):
        tokens = [line.token(k) for k in range(len(line.matches))]
        found += [(t.type, str(t), t.line, t.column, t.end_pos) for t in tokens]
    assert found[: len(expected)] == expected
    assert len(found) == len(expected) or expected[-1][0] == "STRAY"


def _read(text: str, brackets: bool) -> object:
    """Rules with the places of all that has one, or what is said against the text."""
    read = parse_logical_rules if brackets else parse_rules
    try:
        return [(rule, rule.place, _places(rule)) for rule in read(text, "rules.psl")]
    except DataError as error:
        return str(error)


def _places(rule: object) -> list[object]:
    literals = [*getattr(rule, "body", ()), *getattr(rule, "head", ())]
    spans = [span.threshold for span in getattr(rule, "thresholds", ())]
    atoms = [*(one.atom for one in literals), *spans, getattr(rule, "weighing", None)]
    return [one and one.place for one in atoms]


@given(TEXTS, st.booleans())
def test_shapes_change_nothing(text: str, brackets: bool) -> None:
    """A line whose kinds of tokens are known is read as the parser reads it, mistakes included."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(parsing, "_shapes", {})
        patch.setattr(parsing, "MAX_SHAPES", 0)
        expected = _read(text, brackets)
    assert _read(text, brackets) == expected
    assert _read(text, brackets) == expected  # the shapes of before


def test_lines_of_the_same_kinds_are_parsed_once(monkeypatch: pytest.MonkeyPatch) -> None:
    shapes: dict[object, object] = {}
    monkeypatch.setattr(parsing, "_shapes", shapes)
    text = "".join(f"0.{i}: p{i}(A, B) & q(B, 'c{i}') -> t(A, B) [log] ^2\n" for i in range(1, 50))
    rules = parse_logical_rules(text, "model.psl")
    assert [str(rule.body[0]) for rule in rules] == [f"p{i}(A, B)" for i in range(1, 50)]
    assert len(shapes) == 2  # followed by another rule, and by the end
