"""Models of graphs as text: a header of JSON, then one section per relation and direction.

    # hornbeam-graph: {"format": 1, "features": ["path_best", ...], "weights": [...], ...}
    ## treats(X, Y), Y is asked for
    queries	120
    weights	{"path_best": 0.71, ...}
    0.8571	12	9	0.0	treats(X, Y) <- contains(X, A), treats(A, Y)
    0.7143	5	2	treats(X, "flu") <- class(X, "antiviral")

    # end

The columns of a path rule are its confidence (for reading: hits and predictions decide), hits,
predictions, its own weight and the rule; X is known and Y is the answer. Rules with constants have
no weight of their own. Names other than plain words are quoted as in JSON. Floats are written with
all their digits. The last line distinguishes a whole model from one that was cut off.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Sequence
from dataclasses import asdict, dataclass
from typing import Any

from hornbeam.base.plain_numbers import number_in, whole_number_in
from hornbeam.errors import DataError
from hornbeam.graphs.graph_mark import GRAPH_MARK
from hornbeam.graphs.ranking_model import (
    Calibration,
    ConstantRule,
    CountedRule,
    GraphRule,
    LinkedShares,
    RankingModel,
    RelationRules,
)
from hornbeam.ranking.queries import Direction
from hornbeam.rules.body import Step

FIRST = f"{GRAPH_MARK} "
SECTION = "## "
END = "# end"
FORMAT = 1
#: Names that need no quotes; variables are single capitals, so names are not.
PLAIN = re.compile(r"[a-z/][A-Za-z0-9_/.:-]*|[A-Z_][A-Za-z0-9_/.:-]+", re.ASCII)
TOKEN = re.compile(r'"(?:[^"\\]|\\.)*"|<-|[(),]|[A-Za-z0-9_/.:-]+', re.ASCII)
#: Variables between X and Y.
BETWEEN = "ABCDEFGHIJKLMNOPQRSTUVW"


# --- writing --------------------------------------------------------------------------------------


def write_model(model: RankingModel) -> str:
    """Write a model as text."""
    header = {
        "format": FORMAT,
        "features": list(model.features),
        "weights": list(model.weights),
        "ridge": model.ridge,
        "constants": model.constants,
        "backward": model.backward,
        "pool": model.pool,
        "max_length": model.max_length,
        "calibration": asdict(model.calibration),
        "linked": asdict(model.linked),
        "seed": model.seed,
        "chosen": dict(model.chosen),
        "end": END,
    }
    lines = [FIRST + json.dumps(header, ensure_ascii=False)]
    lines += [
        "# Per rule: confidence, hits, predictions, weight (paths only), rule. X is known.",
        "# Confidence = hits / (predictions + 5). Of the rules with constants the best are shown;",
        "# they are counted again from the facts that the model is used with.",
    ]
    if model.internal_validation is not None:
        lines.append(f"# {model.internal_validation}.")
    for part in model.relations:
        lines += _section(part, model.features)
    return "\n".join([*lines, "", END]) + "\n"


def _section(part: RelationRules, features: tuple[str, ...]) -> Iterator[str]:
    yield ""
    yield f"{SECTION}{rule_head(part.relation, part.direction)}, Y is asked for"
    yield f"queries\t{part.queries}"
    if part.weights is not None:
        named = dict(zip(features, part.weights, strict=True))
        yield f"weights\t{json.dumps(named, ensure_ascii=False)}"
    for rule in part.rules:
        figures = f"{rule.confidence:.4f}\t{rule.hits}\t{rule.predicted}\t{rule.weight!r}"
        yield f"{figures}\t{rule_text(part.relation, part.direction, rule)}"
    for constant in part.constants:
        figures = f"{constant.confidence:.4f}\t{constant.hits}\t{constant.predicted}"
        yield f"{figures}\t{rule_text(part.relation, part.direction, constant)}"


def quoted(name: str) -> str:
    """A name of a relation as it is written in rules."""
    return name if PLAIN.fullmatch(name) else json.dumps(name, ensure_ascii=False)


def entity_text(name: str) -> str:
    """A name of an entity as it is written in rules."""
    return json.dumps(name, ensure_ascii=False)


def rule_head(relation: str, direction: Direction, answer: str = "Y", known: str = "X") -> str:
    """The head of rules of a relation and direction.

    Examples
    --------
    >>> rule_head("born in", Direction.SUBJECT)
    '"born in"(Y, X)'
    """
    return rule_atom(Step(relation, direction is Direction.SUBJECT), known, answer)


def rule_text(relation: str, direction: Direction, rule: CountedRule) -> str:
    """A rule as text.

    Examples
    --------
    >>> path = (Step("born in"), Step("part_of"))
    >>> rule_text("lives_in", Direction.OBJECT, GraphRule(path, 1, 1))
    'lives_in(X, Y) <- "born in"(X, A), part_of(A, Y)'
    """
    answer, last = rule.ends("Y", entity_text, wildcard="_")
    terms = ["X", *BETWEEN[: len(rule.steps) - 1], last]
    atoms = [rule_atom(step, *terms[i : i + 2]) for i, step in enumerate(rule.steps)]
    return f"{rule_head(relation, direction, answer)} <- {', '.join(atoms)}"


def rule_atom(step: Step, start: str, end: str) -> str:
    """An atom of a rule: a step from one term to another."""
    first, second = (end, start) if step.inverse else (start, end)
    return f"{quoted(step.predicate)}({first}, {second})"


# --- reading --------------------------------------------------------------------------------------


@dataclass
class _Section:
    relation: str
    direction: Direction
    queries: int
    rules: list[GraphRule]
    constants: list[ConstantRule]
    weights: tuple[float, ...] | None = None

    def frozen(self) -> RelationRules:
        return RelationRules(
            self.relation, self.direction, self.queries, tuple(self.rules), tuple(self.constants),
            self.weights,
        )  # fmt: skip


def read_model(text: str, source: str) -> RankingModel:
    """Read a text that `write_model` wrote; `source` is named in errors."""
    lines = text.split("\n")
    if not lines[0].startswith(FIRST):
        problem = f'is not a model of a graph: expected "{FIRST.strip()} ..."'
        raise DataError(source, f"{problem} (rules of targets: `hornbeam.Model.load`)", line=1)
    try:
        header = json.loads(lines[0][len(FIRST) :])
        if header["format"] != FORMAT:
            raise DataError(source, f"has format {header['format']}, expected {FORMAT}", line=1)
        model = _of_header(header)
    except (ValueError, KeyError, TypeError) as error:
        raise DataError(source, f"has a damaged header: {error}", line=1) from None
    sections: list[_Section] = []
    for number, line in enumerate(lines[1:], start=2):
        try:
            _read_line(line, sections, model["features"])
        except IndexError:
            raise DataError(source, "is cut off within the line", number) from None
        except (ValueError, KeyError, AttributeError) as error:
            raise DataError(source, f"cannot be read as part of a model: {error}", number) from None
    # models from before version 0.7 have no such line
    if "end" in header and text.rstrip().rpartition("\n")[2] != header["end"]:
        raise DataError(source, f'is cut off: expected "{header["end"]}" as the last line')
    return RankingModel(tuple(section.frozen() for section in sections), **model)


def _of_header(header: dict[str, Any]) -> dict[str, Any]:
    return {
        "features": tuple(header["features"]),
        "weights": tuple(float(weight) for weight in header["weights"]),
        "ridge": header["ridge"],
        "constants": header["constants"],
        "backward": header["backward"],
        "pool": header["pool"],
        "max_length": header["max_length"],
        "calibration": Calibration(**header["calibration"]),
        "linked": LinkedShares(**header["linked"]),
        "seed": header["seed"],
        "chosen": header["chosen"],
    }


def _read_line(line: str, sections: list[_Section], features: Sequence[str]) -> None:
    if line.startswith(SECTION):
        step, subject, _, _ = _read_atom(TOKEN.findall(line[len(SECTION) :]), 0)
        direction = Direction.OBJECT if subject == "X" else Direction.SUBJECT
        sections.append(_Section(step.predicate, direction, 0, [], []))
    elif line and not line.startswith("#"):
        if not sections:
            raise ValueError(f"expected a line {SECTION}relation(X, Y) before it")
        cells, section = line.split("\t"), sections[-1]
        if cells[0] == "queries":
            section.queries = whole_number_in(cells[1])
        elif cells[0] == "weights":
            named = json.loads(cells[1])
            if set(named) != set(features):
                raise ValueError(f"expected weights of {', '.join(features)}")
            section.weights = tuple(float(named[name]) for name in features)
        elif len(cells) == 5:
            path = tuple(step for step, _, _ in _read_body(cells[4]))
            hits, predicted = map(whole_number_in, cells[1:3])
            section.rules.append(GraphRule(path, hits, predicted, number_in(cells[3])))
        else:
            section.constants.append(_read_constant(cells))


def _read_constant(cells: list[str]) -> ConstantRule:
    tokens = TOKEN.findall(cells[3])
    _, first, second, _ = _read_atom(tokens, 0)
    answer = json.loads(first if second == "X" else second)
    ((step, _, last),) = _read_body(cells[3])
    constant = None if last == "_" else json.loads(last)
    return ConstantRule(step, constant, answer, *map(whole_number_in, cells[1:3]))


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
