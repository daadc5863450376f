"""Mutated inputs for every reader, and a parser of labels that shares nothing with ours."""

from __future__ import annotations

import random
import re
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import hornbeam as hb
from hornbeam.errors import InputError
from hornbeam.language.syntax import parse_rules
from hornbeam.learning.trace import trace_of
from hornbeam.programs.program import read_program
from hornbeam.rules.model_file import model_text, parse_model

TOKENS = (
    b"\t", b"\n", b"\r", b"\r\n", b"\0", b'"', b'""', b",", b"'", b"\\", b" ", b"#", b":",
    b"(", b")", b"[", b"]", b"{", b"}", b"&", b"->", b"!", b"^2", b"|", b"==", b"1e308",
    b"-1", b"nan", b"inf",
    b"0.5", b"1", b"99999999999999999999", b"null", b"true", b"\xff", b"\xc3", b"\xef\xbb\xbf",
    "\u202e".encode(), "\u00e9".encode(), b"\x1b[31m", b"<", b">", b".", b"a" * 300, b"[n >= 2]",
    b"$HOME", b"../", b"%s", b"~", b"?",
)  # fmt: skip

LABELS = b"a\tt\tb\t1\nb\tt\ta\t0\nann lee\tt\t\xc3\xa9\t0.25\n\nc\tt\td\t1\nd\tt\tc\t0.5\n"
MODEL = b"""# hornbeam: {"version": 1, "counts": "raw", "relaxation": "boolean"}
0.83: cites(A, B) & mentions(B, C) -> mentions(A, C)
0.5: cites(A, C) [n >= 3] & journal(B) -> !mentions(A, B) [log]
0.4: !mentions(A, B)
1.5: p(A, X) & q(X, B) -> mentions(A, B) [share / 0.5]
"""
RULES = b"""1.0: Knows(A, B) & Likes(B, C) -> Likes(A, C) ^2
0.1: !Likes(A, B) ^2
Likes(A, +B) <= 1 .
2: Knows(A, B) & (A != B) >> Likes(A, B)
Likes(A, B) = Knows(B, A) .
"""
PROGRAM = b"""{"rules": ["1.0: P(A) -> Q(A) ^2", "Q(A) <= 1 ."],
 "predicates": {"P/1": {"observations": [["a"], ["b", "0.5"]]}, "Q/1": {"targets": [["a"], ["b"]]}},
 "options": {"admmreasoner.epsilonabs": "1e-7"}}
"""
YAML = b"""rules:
  - "1.0: P(A) -> Q(A) ^2"
predicates:
  P/1:
    observations: [[a], [b, 0.5]]
  Q/1:
    targets: [[a], [b]]
"""
TRACE = b"""{"method": "joint", "counts": "log", "targets": 4, "positives": 2, "found": null,
 "candidates": [{"clause": "p(A, B) -> t(A, B)", "coverage": 3, "coverage_true": 2, "paths": 3,
 "kept": true, "outcome": ""}], "seconds": {"load": 0.1}, "model": ""}
"""
TRIPLES = b"""<http://a> <http://p> <http://b> .
<http://b> <http://q> "x\\ty"@en .
_:c <http://p> _:d .
"""


@dataclass(frozen=True)
class Target:
    """A reader: a valid input, how its file is called, and what is true of what it accepts."""

    name: str
    seed: bytes
    file: str
    read: Callable[[Path], None]
    keep_first_line: bool = False


def mutated(rng: random.Random, target: Target) -> bytes:
    """One, two or four changes: tokens put in, bytes changed, pieces cut, moved and repeated."""
    first, data = b"", target.seed
    if target.keep_first_line:  # what decides about a header stays
        head, _, data = data.partition(b"\n")
        first = head + b"\n"
    for _ in range(rng.choice((1, 1, 1, 2, 4))):
        i, j = sorted(rng.randint(0, len(data)) for _ in range(2))
        match rng.randrange(7):
            case 0:
                data = data[:i] + rng.choice(TOKENS) + data[i:]
            case 1:
                data = data[:i] + bytes([rng.randrange(256)]) + data[i + 1 :]
            case 2:
                data = data[:i] + data[min(j, i + 8) :]
            case 3:
                data = data[:i] + data[i : i + 20] + data[i:]
            case 4:
                lines = data.split(b"\n")
                rng.shuffle(lines)
                data = b"\n".join(lines)
            case 5:
                data = data[:i] + rng.choice(TOKENS) + data[min(len(data), i + 3) :]
            case _:
                data = data[:j]
    return first + data


def oracle_labels(data: bytes, delimiter: str) -> dict[tuple[str, str, str], float] | str | None:
    """What a file of labels says by its definition: pairs, None for a mistake, "unsure"."""
    try:
        text = data.decode()
    except UnicodeDecodeError:
        return None
    lines = text.split("\n")
    ended = lines[:-1] if lines[-1] == "" else lines
    windows = {line.endswith("\r") for line in ended[: None if text.endswith("\n") else -1]}
    if len(windows) > 1:
        return None
    found: dict[tuple[str, str, str], float] = {}
    for line in ended:
        line = line.removesuffix("\r")
        if not line:
            continue
        cells = line.split("\t") if delimiter == "\t" else _csv_cells(line)
        if cells is None or len(cells) != 4 or not all(cells):
            return None
        if any(c in cell for cell in cells[:3] for c in "\t\r\0"):
            return None
        if not re.fullmatch(r"\d{1,15}(\.\d{1,15})?", cells[3], re.ASCII):
            # other spellings of numbers are a matter of taste, anything with a letter is none
            return None if re.search(r"[^\W\d_eE]|[^\x00-\x7f]", cells[3]) else "unsure"
        value = float(cells[3])
        key = (cells[0], cells[1], cells[2])
        if value > 1 or abs(found.get(key, value) - value) > 1e-6:
            return None
        found.setdefault(key, value)
    return found


def _csv_cells(line: str) -> list[str] | None:
    """RFC 4180 by a small machine, one character at a time; a space may stand beside quotes."""
    cells, at = list[str](), 0
    while True:
        start = at + 1 if line[at : at + 2] == ' "' else at
        if line[start : start + 1] == '"':
            cell, at = "", start + 1
            while True:
                if at >= len(line):
                    return None
                if line[at] != '"':
                    cell, at = cell + line[at], at + 1
                elif line[at + 1 : at + 2] == '"':
                    cell, at = cell + '"', at + 2
                else:
                    at += 1
                    break
            at += line[at : at + 1] == " "
            if at < len(line) and line[at] != ",":
                return None
        else:
            end = line.find(",", at)
            end = len(line) if end < 0 else end
            cell = line[at:end]
            if cell.lstrip(" ").startswith('"'):
                return None
            at = end
        cells.append(cell)
        if at >= len(line):
            return cells
        at += 1


def _labels(delimiter: str) -> Callable[[Path], None]:
    def read(path: Path) -> None:
        expected = oracle_labels(path.read_bytes(), delimiter)
        try:
            found = hb.read_labels(path)
        except InputError:
            assert expected is None or expected == "unsure", f"refused, but says {expected}"
            raise
        assert expected is not None, "accepted what is malformed"
        if isinstance(expected, dict):
            pairs = zip(
                found.entities.take(found.subject.tolist()),
                found.predicates.take(found.predicate.tolist()),
                found.entities.take(found.object.tolist()),
                strict=True,
            )
            read = dict(zip(pairs, found.truth.tolist(), strict=True))
            assert read.keys() == expected.keys()
            assert all(abs(read[key] - value) < 2e-6 for key, value in expected.items())

    return read


def _model(path: Path) -> None:
    text = path.read_bytes().decode(errors="surrogateescape")
    model = parse_model(text, path.name)
    again = model_text(model)
    assert model_text(parse_model(again, path.name)) == again


def _rules(path: Path) -> None:
    rules = parse_rules(path.read_bytes().decode(errors="replace"), path.name)
    written = "".join(f"{rule}\n" for rule in rules)
    assert [str(rule) for rule in parse_rules(written, path.name)] == [str(rule) for rule in rules]


def _program(path: Path) -> None:
    read_program(path).load()


def _trace(path: Path) -> None:
    (path.parent / "model.psl").write_text("1: p(A, B) -> t(A, B)\n")
    trace_of(path.parent / "model.psl")


def _facts(path: Path) -> None:
    hb.read_facts(path)


TARGETS = (
    Target("labels", LABELS, "labels.tsv", _labels("\t"), keep_first_line=True),
    Target("labels in CSV", LABELS.replace(b"\t", b",").replace(b"ann lee", b'"ann, ""lee"""'),
           "labels.csv", _labels(","), keep_first_line=True),
    Target("triples", TRIPLES, "facts.nt", _facts),
    Target("program", PROGRAM, "program.json", _program),
    Target("program in YAML", YAML, "program.yaml", _program),
    Target("model", MODEL, "model.psl", _model),
    Target("rules", RULES, "rules.psl", _rules),
    Target("trace", TRACE, "model.trace.json", _trace),
)  # fmt: skip


def check(target: Target, data: bytes, folder: Path) -> bool:
    """Read an input; whether it was accepted. Anything but an `InputError` is a finding."""
    path = folder / target.file
    path.write_bytes(data)
    try:
        target.read(path)
    except InputError as error:
        text = str(error)
        assert len(text) <= 4000
        assert not re.search(r"[\x00-\x09\x0b-\x1f\x7f-\x9f\u202a-\u202e]", text)
        return False
    return True
