"""Every reader with what it is given, and what must be true of what it accepts.

`Target.check` writes an input, reads it, and returns whether it was accepted. Anything but an
acceptance that agrees with the oracle, or an `InputError` with one short message that names the
file, is a finding.
"""

from __future__ import annotations

import gzip
import io
import os
import random
import re
import zlib
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq

import hornbeam as hb
from hornbeam.errors import InputError
from hornbeam.facts.reading.readers import read_names
from hornbeam.facts.table import Targets
from hornbeam.graph_model import GraphModel
from hornbeam.graphs.rule_files import read_imported_rules
from hornbeam.language.rule_texts import parse_rules
from hornbeam.learning.trace import trace_of
from hornbeam.programs.program import read_program
from hornbeam.ranking.named_queries import read_queries
from hornbeam.rules.model_file import file_text, model_text, parse_model
from tests.support import strict_tables as strict
from tests.support.fuzz_seeds import SEEDS
from tests.support.mutations import mutated

#: What no message may hold: control characters, and those that turn text around.
UNPRINTABLE = re.compile(r"[\x00-\x09\x0b-\x1f\x7f-\x9f\u202a-\u202e\u2028\u2029]")
LONGEST_MESSAGE = 4000


@dataclass(frozen=True)
class Target:
    """A reader: valid inputs, its file's name, and how often it is tried.

    `read` raises `InputError` where it refuses, and asserts what is true of what it accepts. `pack`
    makes a file's bytes of mutated ones. Readers that ask a database take ten times as long as the
    others, and are tried more seldom.
    """

    name: str
    file: str
    read: Callable[[Path], None]
    often: int = 1
    pack: Callable[[bytes], bytes] = bytes

    @property
    def seeds(self) -> tuple[bytes, ...]:
        """What it accepts."""
        return SEEDS[self.name]

    def mutated(self, rng: random.Random, pool: Sequence[bytes]) -> bytes:
        """A new input, of those that have been of use."""
        return mutated(rng, pool)

    def check(self, data: bytes, folder: Path) -> bool:
        """Whether an input is accepted; see the module."""
        path = folder / self.file
        path.write_bytes(self.pack(data))
        before = sorted(os.listdir(folder))
        accepted = True
        try:
            self.read(path)
        except InputError as error:
            text = str(error)
            assert len(text) <= LONGEST_MESSAGE, f"a message of {len(text)} characters"
            assert not UNPRINTABLE.search(text), f"a message with controls: {text!r}"
            assert self.file in text, f"a message that does not name the file: {text!r}"
            accepted = False
        assert sorted(os.listdir(folder)) == before, "files were left behind"
        return accepted


# --- tables, held to strict_tables ----------------------------------------------------------------


def _held_to(
    read: Callable[[Path], object], oracle: Callable[[bytes], object]
) -> Callable[[Path], None]:
    """What is read is what the oracle says, and refused is what it calls a mistake."""

    def compare(path: Path) -> None:
        expected = oracle(path.read_bytes())
        try:
            found = read(path)
        except InputError:
            assert expected is None or expected == strict.UNSURE, f"refused, but says {expected}"
            raise
        assert expected is not None, f"accepted what is malformed, as {found}"
        if expected == strict.UNSURE:
            return
        if not isinstance(expected, dict) or not isinstance(found, dict):
            assert found == expected
            return
        assert found.keys() == expected.keys()
        for key, value in expected.items():
            here = found[key]
            same = abs(here - value) < 2e-6 if isinstance(value, float) else here == value
            assert same, f"{key} is {here}, expected {value}"

    return compare


def _rows(delimiter: str) -> Callable[[bytes], strict.Rows | None]:
    return lambda data: strict.rows_of(data, delimiter)


def _unpacked(data: bytes) -> strict.Rows | None:
    """Rows of a gzipped file; whatever does not begin as such is text."""
    if data[:2] != b"\x1f\x8b":
        return strict.rows_of(data, "\t")
    try:
        return strict.rows_of(gzip.decompress(data), "\t")
    except (OSError, EOFError, zlib.error):
        return None


def _facts(path: Path) -> dict[strict.Atom, float]:
    facts = hb.read_facts(path, header=False)
    found = {}
    for arity, atoms in facts.atoms.items():
        entities = [facts.entities.take(column.tolist()) for column in atoms.arguments]
        predicates = facts.predicates.take(atoms.predicate.tolist())
        values = atoms.values.tolist()
        for row, (predicate, value) in enumerate(zip(predicates, values, strict=True)):
            names = [column[row] for column in entities]
            found[(names[0], predicate, *names[1:])] = value
        assert arity in (1, 2)
    return found


def _names_of(pairs: Targets) -> list[strict.Atom]:
    return [pairs.names_at(row) for row in range(len(pairs))]


def _labels(path: Path) -> dict[strict.Atom, float]:
    labels = hb.read_labels(path, header=False)
    return dict(zip(_names_of(labels), labels.truth.tolist(), strict=True))


def _pairs(path: Path) -> list[strict.Atom]:
    return _names_of(hb.read_pairs(path, header=False))


def _queries(path: Path) -> list[strict.Atom]:
    return _names_of(read_queries(path, header=False).rows)


def _arguments(path: Path) -> set[strict.Atom]:
    facts = hb.read_facts(f"ta={path}")
    [atoms] = facts.atoms.values()
    columns = [facts.entities.take(column.tolist()) for column in atoms.arguments]
    return set(zip(*columns, strict=True))


def _names(path: Path) -> dict[str, str]:
    return dict(read_names(path).names)


def _parquet(data: bytes) -> bytes:
    """The same rows as a Parquet file of texts; what has no rows stays what it is."""
    rows = strict.rows_of(data, "\t")
    width = max(map(len, rows), default=0) if rows else 0
    if not rows or not width:
        return data
    columns = ("subject", "predicate", "object", "value", *(f"x{k}" for k in range(width)))[:width]
    padded = [[*row, *[None] * (width - len(row))] for row in rows]
    table = pa.table({name: [row[k] for row in padded] for k, name in enumerate(columns)})
    written = io.BytesIO()
    pq.write_table(table, written)
    return written.getvalue()


# --- what is accepted or refused, and goes around -------------------------------------------------


def _any_facts(path: Path) -> None:
    hb.read_facts(path)


def _numbers(path: Path) -> None:
    hb.read_numbers(path)


def _dates(path: Path) -> None:
    hb.read_numbers(path, dates=True)


def _table(path: Path) -> None:
    columns = {"year": "number", "shot": "date", "good": "boolean"}
    header = file_text(path).lstrip("\n").partition("\n")[0].split(",")
    types = {name: kind for name, kind in columns.items() if name in header}
    hb.read_table(path, key="film", types=types)


def _database(path: Path) -> None:
    hb.read_table(path)


def _model(path: Path) -> None:
    again = model_text(parse_model(file_text(path), str(path)))
    assert model_text(parse_model(again, path.name)) == again


def _graph_model(path: Path) -> None:
    written = path.with_name("again.hornbeam")
    model = GraphModel.load(path)
    try:
        model.save(written)
        again = written.read_bytes()
        GraphModel.load(written).save(written)
        assert written.read_bytes() == again
    finally:
        written.unlink(missing_ok=True)


def _rules(path: Path) -> None:
    rules = parse_rules(path.read_bytes().decode(errors="replace"), path.name)
    written = "".join(f"{rule}\n" for rule in rules)
    assert [str(rule) for rule in parse_rules(written, path.name)] == [str(rule) for rule in rules]


def _other_rules(path: Path) -> None:
    read_imported_rules(path, {"p", "q", "treats", "contains"}, 3)


def _program(path: Path) -> None:
    read_program(path).load()


def _data_file(path: Path) -> None:
    program = path.with_name("program.json")
    program.write_text(
        '{"rules": ["1: P(A, B) -> Q(A)"], "predicates": {'
        f'"P/2": {{"observations": ["{path.name}"]}}, "Q/1": {{"targets": [["a"]]}}}}}}'
    )
    try:
        read_program(program).load()
    finally:
        program.unlink()


def _old_data(path: Path) -> None:
    data = path.with_name("p.txt")
    data.write_text("a\tb\t1\nb\tc\t0.5\n")
    try:
        hb.read_facts(path)
    finally:
        data.unlink()


def _trace(path: Path) -> None:
    model = path.with_name("model.psl")
    model.write_text("1: p(A, B) -> t(A, B)\n")
    try:
        trace_of(model)
    finally:
        model.unlink()


def _tables() -> Iterator[Target]:
    for form, delimiter in (("tsv", "\t"), ("csv", ",")):
        rows = _rows(delimiter)
        for name, read, oracle in (
            ("facts", _facts, strict.facts_in),
            ("labels", _labels, strict.labels_in),
            ("pairs", _pairs, strict.pairs_in),
            ("queries", _queries, strict.queries_in),
        ):
            compare = _held_to(read, lambda data, o=oracle, r=rows: o(r(data)))  # type: ignore[misc]
            yield Target(f"{name}.{form}", f"{name}.{form}", compare)
        called = f"names.{form}"
        names = _held_to(_names, lambda data, r=rows: strict.names_in(r(data)) if data else None)  # type: ignore[misc]
        yield Target(called, called, names, 16)
    arguments = _held_to(_arguments, lambda data: strict.arguments_in(strict.rows_of(data, "\t")))
    yield Target("arguments", "ta.tsv", arguments)
    zipped = _held_to(_facts, lambda data: strict.facts_in(_unpacked(data)))
    yield Target("gzipped facts", "facts.tsv.gz", zipped, 1, gzip.compress)
    yield Target("gzip", "facts.tsv.gz", zipped, 2)


TARGETS = (
    *_tables(),
    Target("facts in Parquet", "facts.parquet", _any_facts, 1, _parquet),
    Target("parquet", "facts.parquet", _any_facts, 2),
    Target("numbers", "numbers.tsv", _numbers),
    Target("dates", "dates.tsv", _dates),
    Target("table of entities", "table.csv", _table),
    Target("SQLite", "shop.db", _database),
    Target("N-Triples", "facts.nt", _any_facts),
    Target("N-Quads", "facts.nq", _any_facts),
    Target("Turtle", "facts.ttl", _any_facts),
    Target("GraphML", "facts.graphml", _any_facts),
    Target("Neo4j", "facts.csv", _any_facts),
    Target("program.json", "program.json", _program, 8),
    Target("program.yaml", "program.yaml", _program, 8),
    Target("PSL data", "p.txt", _data_file),
    Target("PSL 2 data", "old.data", _old_data),
    Target("model", "model.psl", _model, 24),
    Target("collective model", "model.psl", _model, 24),
    Target("graph model", "model.hornbeam", _graph_model, 32),
    Target("rules", "rules.psl", _rules, 24),
    Target("AnyBURL and AMIE", "rules.txt", _other_rules, 32),
    Target("trace", "model.trace.json", _trace, 32),
)  # fmt: skip
