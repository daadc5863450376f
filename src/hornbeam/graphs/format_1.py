"""Sections of models of graphs in format 1, which versions up to 0.8 wrote.

    ## treats(X, Y), Y is asked for
    queries	120
    weights	{"path_best": 0.71, ...}
    0.8571	12	9	0.0	treats(X, Y) <- contains(X, A), treats(A, Y)
    0.7143	5	2	treats(X, "flu") <- class(X, "antiviral")

The columns of a path rule are its confidence, hits, predictions, its own weight and the rule; rules
with constants have no weight of their own. Names other than plain words are quoted as in JSON.
"""

from __future__ import annotations

import json
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from hornbeam.base.texts import number_in, whole_number_in
from hornbeam.errors import DataError
from hornbeam.graphs.ranking_model import (
    RelationRules,
    constant_clause,
    known_argument,
    path_clause,
)
from hornbeam.ranking.queries import Direction
from hornbeam.rules.body import Step
from hornbeam.rules.rule_model import CountedRule

SECTION = "## "
TOKEN = re.compile(r'"(?:[^"\\]|\\.)*"|<-|[(),]|[A-Za-z0-9_/.:-]+', re.ASCII)


@dataclass
class _Section:
    relation: str
    direction: Direction
    queries: int = 0
    rules: list[CountedRule] = field(default_factory=list)
    constants: list[CountedRule] = field(default_factory=list)
    weights: tuple[float, ...] | None = None

    def frozen(self) -> RelationRules:
        return RelationRules(
            self.relation, self.direction, self.queries, tuple(self.rules), tuple(self.constants),
            self.weights,
        )  # fmt: skip


def read_sections(
    lines: Sequence[str], features: Sequence[str], source: str
) -> tuple[RelationRules, ...]:
    """The sections of a text; `lines` are those after the header, `source` is named in errors."""
    sections: list[_Section] = []
    for number, line in enumerate(lines, start=2):
        try:
            _read_line(line, sections, features)
        except IndexError:
            raise DataError(source, "is cut off within the line", number) from None
        except (ValueError, KeyError, AttributeError) as error:
            raise DataError(source, f"cannot be read as part of a model: {error}", number) from None
    return tuple(section.frozen() for section in sections)


def named_weights(weights: Mapping[str, Any], features: Sequence[str]) -> tuple[float, ...]:
    """Weights in the order of the features; the files of both formats name them."""
    if set(weights) != set(features):
        raise ValueError(f"expected weights of {', '.join(features)}")
    return tuple(float(weights[name]) for name in features)


def _read_line(line: str, sections: list[_Section], features: Sequence[str]) -> None:
    if line.startswith(SECTION):
        step, subject, _, _ = _read_atom(TOKEN.findall(line[len(SECTION) :]), 0)
        direction = Direction.OBJECT if subject == "X" else Direction.SUBJECT
        sections.append(_Section(step.predicate, direction))
    elif line and not line.startswith("#"):
        if not sections:
            raise ValueError(f"expected a line {SECTION}relation(X, Y) before it")
        cells, section = line.split("\t"), sections[-1]
        if cells[0] == "queries":
            section.queries = whole_number_in(cells[1])
        elif cells[0] == "weights":
            section.weights = named_weights(json.loads(cells[1]), features)
        elif len(cells) == 5:
            path = tuple(step for step, _, _ in _read_body(cells[4]))
            hits, predicted = map(whole_number_in, cells[1:3])
            clause = path_clause(section.relation, section.direction, path)
            section.rules.append(CountedRule.of(clause, hits, predicted, number_in(cells[3])))
        else:
            section.constants.append(_read_constant(cells, section))


def _read_constant(cells: list[str], section: _Section) -> CountedRule:
    tokens = TOKEN.findall(cells[3])
    _, first, second, _ = _read_atom(tokens, 0)
    answer = json.loads(first if second == "X" else second)
    ((step, _, last),) = _read_body(cells[3])
    constant = None if last == "_" else json.loads(last)
    known = known_argument(section.direction)
    clause = constant_clause(section.relation, known, step, constant, answer)
    hits, predicted = map(whole_number_in, cells[1:3])
    return CountedRule.of(clause, hits, predicted)


def _read_body(text: str) -> list[tuple[Step, str, str]]:
    """Steps from X on, with the terms that they start and end at."""
    tokens = TOKEN.findall(text)
    _, _, _, at = _read_atom(tokens, 0)
    if tokens[at] != "<-":
        raise ValueError("expected <- after the head of a rule")
    at += 1
    start, steps = "X", []
    while at < len(tokens):
        step, first, second, at = _read_atom(tokens, at)
        inverse = first != start
        end = first if inverse else second
        steps.append((Step(step.predicate, inverse), start, end))
        start = end
        at += 1  # the comma
    return steps


def _read_atom(tokens: list[str], at: int) -> tuple[Step, str, str, int]:
    name, opened, first, comma, second, closed = tokens[at : at + 6]
    if (opened, comma, closed) != ("(", ",", ")"):
        raise ValueError("expected relation(X, Y)")
    predicate = json.loads(name) if name.startswith('"') else name
    return Step(predicate), first, second, at + 6
