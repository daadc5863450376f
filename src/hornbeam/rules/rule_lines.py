"""Counted rules on a line of their own that differ in names and numbers alone are parsed once.

A model of a graph has tens of thousands of rules in a few dozen shapes. A line whose names were
replaced by placeholders is parsed by the grammar; other lines of the shape are filled with names.
A line that is written in any other way is not read here, but by the grammar as a whole.
"""

from __future__ import annotations

import re
from collections.abc import Mapping

from hornbeam.base.machine import MAX_NUMBER
from hornbeam.errors import DataError
from hornbeam.language.rule_texts import parse_logical_rules
from hornbeam.language.syntax import unescaped
from hornbeam.rules.body import AnyBody, Body, Conjunction, Part, Step
from hornbeam.rules.clause import Clause
from hornbeam.rules.parsed_bodies import NO_NAME
from hornbeam.rules.parsed_clauses import parsed_counted_rule
from hornbeam.rules.rule_model import CountedRule

#: A rule as it is written: weight, text, hits, predictions and a weight of its own.
_LINE = re.compile(
    r"\d+\.\d+: (.+) \[(\d{1,15}) of (\d{1,15})(?:, weight (-?\d+(?:\.\d+)?(?:e-?\d+)?))?\]",
    re.ASCII,
)
#: A predicate before its arguments, or a constant.
_NAME = re.compile(r"([A-Za-z_]\w*)(?=\()|'(?:[^'\\]|\\.)*'", re.ASCII)
#: What a rule has where its names are placeholders.
_SHAPE = re.compile(r"[\w'(), &>-]+", re.ASCII)


class RuleLines:
    """Reads lines of rules; `names` are real names by identifiers in lower case."""

    def __init__(self, names: Mapping[str, str]) -> None:
        self.names = names
        self._shapes: dict[str, Clause | None] = {}
        self._steps: dict[tuple[str, bool], Step] = {}

    def rule(self, line: str) -> CountedRule | None:
        """The rule of a line, None where the line is not as `hornbeam.graphs` writes it."""
        match = _LINE.fullmatch(line)
        if match is None:
            return None
        text, hits, predicted, weight = match.groups()
        names = dict[str, str]()

        def placeholder(name: re.Match[str]) -> str:
            key = f"p{len(names)}" if name[1] else f"c{len(names)}"
            names[key] = self._real(name[1]) if name[1] else unescaped(name[0])
            return key if name[1] else f"'{key}'"

        shape = self._clause(_NAME.sub(placeholder, text))
        own_weight = float(weight or 0.0)
        named = all(name and not NO_NAME.search(name) for name in names.values())
        if shape is None or not named or abs(own_weight) > MAX_NUMBER:
            return None
        clause = Clause(self._filled(shape.body, names))
        return CountedRule.of(clause, int(hits), int(predicted), own_weight)

    def _real(self, identifier: str) -> str:
        return self.names.get(identifier.lower(), identifier)

    def _clause(self, shape: str) -> Clause | None:
        """The clause of a shape; None where it is not a path, nor has constants alone."""
        if shape not in self._shapes:
            self._shapes[shape] = _parsed(shape)
        return self._shapes[shape]

    def _filled(self, body: AnyBody, names: Mapping[str, str]) -> AnyBody:
        """A body with names in place of placeholders."""
        if isinstance(body, Conjunction):
            return Conjunction(tuple(Part(self._body(part.body, names)) for part in body.parts))
        return self._body(body, names)

    def _body(self, body: Body, names: Mapping[str, str]) -> Body:
        steps = tuple([self._step(names[step.predicate], step.inverse) for step in body.steps])
        constant = None if body.constant is None else names[body.constant]
        return Body(steps, names[body.target], body.kind, body.argument, constant)

    def _step(self, predicate: str, inverse: bool) -> Step:
        key = predicate, inverse
        if key not in self._steps:
            self._steps[key] = Step(predicate, inverse)
        return self._steps[key]


def _parsed(shape: str) -> Clause | None:
    if not _SHAPE.fullmatch(shape):
        return None
    try:
        [rule] = parse_logical_rules(f"0: {shape} [0 of 0]", "shape")
        clause = parsed_counted_rule(rule, {}, "shape").clause
    except (DataError, ValueError):
        return None
    steps = [step for part in clause.body.parts for step in part.body.steps]
    plain = not clause.negated and clause.weighing is None and len(clause.body)
    bare = all(part.threshold is None for part in clause.body.parts)
    return clause if plain and bare and all(step.arity == 2 for step in steps) else None
