"""Models of graphs in format 1, which versions up to 0.8 wrote, translated into format 2.

    ## treats(X, Y), Y is asked for
    queries	120
    weights	{"path_best": 0.71, ...}
    0.8571	12	9	0.0	treats(X, Y) <- contains(X, A), treats(A, Y)
    0.7143	5	2	treats(X, "flu") <- class(X, "antiviral")

The columns of a path rule are confidence, hits, predictions, its own weight and the rule. Rules
with constants have no weight of their own. Names that are not plain words are quoted as in JSON.
"""

from __future__ import annotations

import json
import re
from collections.abc import Mapping, Sequence
from typing import Any

from hornbeam.base.texts import number_in, whole_number_in
from hornbeam.errors import DataError
from hornbeam.language.syntax import Constant, CountedBracket

SECTION = "## "
_NAME = r'(?:"(?:[^"\\]|\\.)*"|[A-Za-z0-9_/.:-]+)'
_ATOM = re.compile(rf"({_NAME})\(({_NAME}), ({_NAME})\)", re.ASCII)
_ANY_ATOM = rf"{_NAME}\({_NAME}, {_NAME}\)"
_RULE = re.compile(rf"{_ANY_ATOM} <- {_ANY_ATOM}(?:, {_ANY_ATOM})*", re.ASCII)


def in_format_2(
    lines: Sequence[str], features: Sequence[str], source: str
) -> tuple[list[str], dict[str, str]]:
    """The text in format 2, line for line, and the names of relations by identifiers.

    The first of the `lines` is the header; errors name the `source`.
    """
    translation = _Translation(features)
    for number, line in enumerate(lines[1:], start=2):
        try:
            translation.lines.append(translation.line(line))
        except IndexError:
            raise DataError(source, "is cut off within the line", number) from None
        except (ValueError, KeyError, AttributeError) as error:
            raise DataError(source, f"cannot be read as part of a model: {error}", number) from None
    for at, (head, figures) in translation.sections.items():
        translation.lines[at] = f"{SECTION}{head}, Y is asked for: {json.dumps(figures)}"
    names = {identifier: name for name, identifier in translation.identifiers.items()}
    return [lines[0], *translation.lines], names


def named_weights(weights: Mapping[str, Any], features: Sequence[str]) -> tuple[float, ...]:
    """Weights in the order of the features; files of both formats give weights by feature."""
    if set(weights) != set(features):
        raise ValueError(f"expected weights of {', '.join(features)}")
    return tuple(float(weights[name]) for name in features)


class _Translation:
    """The translation so far: lines, heads and figures of sections by line, and identifiers."""

    def __init__(self, features: Sequence[str]) -> None:
        self.features = features
        self.lines: list[str] = []
        self.sections: dict[int, tuple[str, dict[str, Any]]] = {}
        self.identifiers: dict[str, str] = {}

    def line(self, line: str) -> str:
        """A line in format 2, empty for a section's figures, which its first line will have."""
        if line.startswith(SECTION):
            [head] = _ATOM.findall(line)
            self.sections[len(self.lines)] = self._atom(*head), {"queries": 0}
        elif line and not line.startswith("#"):
            if not self.sections:
                raise ValueError(f"expected a line {SECTION}relation(X, Y) before it")
            cells, (_, figures) = line.split("\t"), list(self.sections.values())[-1]
            if cells[0] == "queries":
                figures["queries"] = whole_number_in(cells[1])
            elif cells[0] == "weights":
                figures["weights"] = json.loads(cells[1])
                named_weights(figures["weights"], self.features)
            else:
                return self._rule(cells)
        return ""

    def _rule(self, cells: Sequence[str]) -> str:
        is_path = len(cells) == 5
        text = cells[4 if is_path else 3]
        if not _RULE.fullmatch(text):
            raise ValueError("expected a rule such as relation(X, Y) <- other(X, A), third(A, Y)")
        hits, predicted = map(whole_number_in, cells[1:3])
        own_weight = number_in(cells[3]) if is_path else 0.0
        head, *body = (self._atom(*atom) for atom in _ATOM.findall(text))
        return f"0.0: {' & '.join(body)} -> {head} {CountedBracket(hits, predicted, own_weight)}"

    def _atom(self, name: str, first: str, second: str) -> str:
        name = json.loads(name) if name.startswith('"') else name
        identifier = self.identifiers.setdefault(name, f"p{len(self.identifiers)}")
        return f"{identifier}({self._term(first)}, {self._term(second)})"

    def _term(self, term: str) -> str:
        """A term in format 2: a quoted constant, or a variable; `_`, any entity, becomes A."""
        if term.startswith('"'):
            return str(Constant(json.loads(term)))
        return "A" if term == "_" else term
