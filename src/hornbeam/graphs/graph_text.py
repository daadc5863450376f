"""Models of graphs as text: a header of JSON, then the rules of every relation and direction.

    # hornbeam-graph: {"format": 3, "features": ["path_best", ...], "weights": [...], ...}
    ## treats(X, Y), Y is asked for: {"queries": 120, "parts": {"paths": 2.1, ...}}
    # It rests on paths (71 %), constants together (20 %), how common the answer is (9 %).
    0.6429: contains(X, A) & treats(A, Y) -> treats(X, Y) [9 of 9]
    0.4167: class(X, 'antiviral') -> treats(X, 'flu') [5 of 7]

    # The rest is less to read: ...
    ## treats(X, Y), Y is asked for, further: {"weights": {"path_best": 0.71, ...}}
    0.0513: class(X, A) & class(B, A) & treats(B, Y) -> treats(X, Y) [2 of 34]

    # end

Rules are written in the language of rule models (`hornbeam.language.syntax`): X is known and Y is
the answer. The number before a rule is its confidence, for people only: models are read from hits
and predictions, in the bracket. A rule's own weight follows them. The header has the names of
relations that are not identifiers. First every relation and direction has its best path rules and
what its ranking rests on. All other path rules and the weights of the ranking follow in further
sections. The last line shows that the model was not cut off.
"""

from __future__ import annotations

import json
import re
from bisect import bisect
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import asdict, fields, replace
from typing import Any

from hornbeam.base.files import fingerprint
from hornbeam.base.texts import whole_number_in
from hornbeam.errors import DataError
from hornbeam.graphs import format_1
from hornbeam.graphs.ranking_model import (
    Calibration,
    LinkedShares,
    RankingModel,
    RelationRules,
    is_path_rule,
    known_argument,
)
from hornbeam.graphs.timed.time_scale import TimeScale
from hornbeam.graphs.timed.timed_rules import TimedRule, plain_line
from hornbeam.language.arithmetic_rules import refusal
from hornbeam.language.rule_texts import (
    are_header_names,
    header_names,
    names_by_identifier,
    parse_logical_rules,
)
from hornbeam.language.syntax import Variable
from hornbeam.ranking.queries import Direction
from hornbeam.rules.body import Body
from hornbeam.rules.clause import Clause
from hornbeam.rules.model_file import GRAPH_MARK
from hornbeam.rules.parsed_clauses import RuleLines, parsed_counted_rule
from hornbeam.rules.provenance import LEARNED, Provenance
from hornbeam.rules.rule_model import CountedRule
from hornbeam.rules.rule_words import Words, applied_words

FIRST = f"{GRAPH_MARK} "
END = "# end"
FORMAT = 3
#: Fields of a model that the header has, in this order.
HEADER = tuple(
    field.name for field in fields(RankingModel) if field.name not in ("relations", "provenance")
)
#: What the lines of rules say, in models without and with time.
UNTIMED_NOTES = (
    "# Per rule: confidence, rule, [hits of predictions, its own weight]. X is known.",
    "# Confidence = hits / (predictions + 5). Of the rules with constants the best are shown;",
    "# they are counted again from the facts that the model is used with.",
)
TIMED_NOTES = (
    "# Per rule: confidence, rule, [hits of predictions; the same by the age of the latest fact of",
    "# the body]. An age is a bound: older than the age before it. X is known. Confidence = hits /",
    "# (predictions + 5), at an age (hits + 5 confidence) / (predictions + 5).",
)
#: The line that begins the rules of a relation and direction.
SECTION = re.compile(r"## (\w+)\((X|Y), (X|Y)\), Y is asked for(, further)?: (\{.*\})", re.ASCII)
#: Number of path rules that the first section of a relation and direction has.
BEST = 20
FURTHER = "# The rest is less to read: the weights of the ranking, and all other path rules."
#: The known argument and the answer in rules.
KNOWN, ANSWER = Variable("X"), Variable("Y")


# --- writing --------------------------------------------------------------------------------------


def write_model(model: RankingModel) -> str:
    """Write a model as text."""
    header = {name: getattr(model, name) for name in HEADER}
    if model.time is None:
        del header["time"]
    header = {"format": FORMAT, **header, "predicates": header_names(model.identifiers)}
    if model.provenance is not None:
        header[LEARNED] = model.provenance.as_dict()
    header["end"] = END
    lines = [FIRST + json.dumps(header, ensure_ascii=False, default=asdict)]
    lines += UNTIMED_NOTES if model.time is None else TIMED_NOTES
    if model.internal_validation is not None:
        lines.append(f"# {model.internal_validation}.")
    lines += _sections(model)
    return "\n".join([*lines, "", END]) + "\n"


def rules_fingerprint(model: RankingModel) -> str:
    """Fingerprint of the rules of a model, with their counts and weights."""
    return fingerprint("\n".join(_sections(model)))


def _sections(model: RankingModel) -> Iterator[str]:
    for part in model.relations:
        yield from _section(part, model)
    further = [line for part in model.relations for line in _further(part, model)]
    if further:
        yield from ("", FURTHER, *further)


def _section(part: RelationRules, model: RankingModel) -> Iterator[str]:
    """What people read about a relation and direction: parts and best rules."""
    figures: dict[str, Any] = {"queries": part.queries}
    if part.parts:
        figures["parts"] = dict(part.parts)
    if part.functional:
        figures["functional"] = True
    yield from _begun(part, model, "Y is asked for", figures)
    if part.rests_on:
        yield f"# It rests on {part.rests_on}."
    if part.functional:
        yield "# Every known X has one Y: an X with a known Y gets no other."
    yield from _rules(part, (*part.rules[:BEST], *part.constants), model)
    if len(part.rules) > BEST:
        yield f"# {len(part.rules) - BEST:,} further path rules stand below."


def _further(part: RelationRules, model: RankingModel) -> Iterator[str]:
    """What a ranking needs and few people read: weights and the other path rules."""
    figures: dict[str, Any] = {}
    if part.weights is not None:
        figures["weights"] = dict(zip(model.features, part.weights, strict=True))
    if figures or len(part.rules) > BEST:
        yield from _begun(part, model, "Y is asked for, further", figures)
        yield from _rules(part, part.rules[BEST:], model)


def _begun(
    part: RelationRules, model: RankingModel, asked: str, figures: Mapping[str, Any]
) -> Iterator[str]:
    subject, object_ = rule_ends(part.direction)
    head = f"{model.identifiers[part.relation]}({subject}, {object_})"
    yield ""
    yield f"## {head}, {asked}: {json.dumps(figures, ensure_ascii=False)}"


def _rules(part: RelationRules, rules: Iterable[CountedRule], model: RankingModel) -> Iterator[str]:
    for rule in rules:
        text = rule_text(rule.clause, part.direction, model.identifiers)
        bracket = str(rule.bracket)
        if model.time is not None and isinstance(rule, TimedRule):
            bracket = rule.bracket_text(model.time)
        yield f"{rule.confidence:.4f}: {text} {bracket}"


def rule_ends(direction: Direction) -> tuple[Variable, Variable]:
    """Variables of subject and object."""
    return (KNOWN, ANSWER) if direction is Direction.OBJECT else (ANSWER, KNOWN)


def rule_text(clause: Clause, direction: Direction, identifiers: Mapping[str, str]) -> str:
    """The text of a rule without its figures: X is known, Y is the answer.

    Examples
    --------
    >>> from hornbeam.graphs.ranking_model import path_clause
    >>> from hornbeam.rules.body import Step
    >>> clause = path_clause("lives_in", Direction.OBJECT, (Step("born in"), Step("part_of")))
    >>> rule_text(clause, Direction.OBJECT, {"born in": "born_in"})
    'born_in(X, A) & part_of(A, Y) -> lives_in(X, Y)'
    """
    return clause.applied_text(*rule_ends(direction), identifiers)


def graph_rule_words(clause: Clause, direction: Direction) -> Words:
    """A clause as a sentence: X is known, Y is the answer."""
    return applied_words(clause, *rule_ends(direction))


# --- reading --------------------------------------------------------------------------------------


def read_model(text: str, source: str) -> RankingModel:
    """Read a text that `write_model` or an earlier version wrote; errors name the `source`."""
    lines = text.split("\n")
    if not lines[0].startswith(FIRST):
        problem = f'is not a model of a graph: expected "{FIRST.strip()} ..."'
        raise DataError(source, f"{problem} (rules of targets: `hornbeam.Model.load`)", line=1)
    try:
        header = json.loads(lines[0][len(FIRST) :])
        if header["format"] not in range(1, FORMAT + 1):
            found = header["format"]
            raise DataError(source, f"has format {found}, expected at most {FORMAT}", line=1)
        fields = _of_header(header)
        predicates = header.get("predicates", {})
        if not are_header_names(predicates):
            raise ValueError('expected "predicates" to have names by identifiers')
        names = names_by_identifier(predicates)
    except (ValueError, KeyError, TypeError, AttributeError) as error:
        raise DataError(source, f"has a damaged header: {error}", line=1) from None
    # models from before version 0.7 have no last line of this kind
    if "end" in header and text.rstrip().rpartition("\n")[2] != header["end"]:
        raise DataError(source, f'is cut off: expected "{header["end"]}" as the last line')
    features = fields["features"]
    if header["format"] == 1:
        lines, names = format_1.in_format_2(lines, features, source)
    by_age = {} if fields["time"] is None else _without_ages(lines, fields["time"], source)
    return RankingModel(_read_sections(lines, names, features, source, by_age), **fields)


def _without_ages(
    lines: list[str], scale: TimeScale, source: str
) -> dict[int, tuple[tuple[int, int], ...]]:
    """Take the ages out of the brackets of rules; returns the counts by age per line number."""
    found = dict[int, tuple[tuple[int, int], ...]]()
    for number, line in enumerate(lines, start=1):
        try:
            plain = None if line.startswith("#") else plain_line(line, scale)
        except ValueError as error:
            raise DataError(source, str(error), number) from None
        if plain is not None:
            lines[number - 1], found[number] = plain
    return found


def _of_header(header: dict[str, Any]) -> dict[str, Any]:
    header = {"slots": False, **header}  # which models from before version 0.10 lack
    time = header.get("time")
    return {name: header[name] for name in HEADER if name != "time"} | {
        "time": None if time is None else TimeScale.parse(time),
        "features": tuple(header["features"]),
        "weights": tuple(float(weight) for weight in header["weights"]),
        "calibration": Calibration(**header["calibration"]),
        "linked": LinkedShares(**header["linked"]),
        "provenance": Provenance.from_dict(header[LEARNED]) if LEARNED in header else None,
    }


def _read_sections(
    lines: Sequence[str],
    names: Mapping[str, str],
    features: Sequence[str],
    source: str,
    by_age: Mapping[int, tuple[tuple[int, int], ...]],
) -> tuple[RelationRules, ...]:
    """The sections of format 2, each with the rules between its line and the next section."""
    begun = {
        number: _section_without_rules(line, number, names, features, source)
        for number, line in enumerate(lines, start=1)
        if line.startswith("##")
    }
    starts = list(begun)
    rules: dict[int, dict[int, CountedRule]] = {start: {} for start in starts}
    left = list(lines)
    written = RuleLines(names)
    is_plain = not any("/*" in line for line in lines)  # no comment of several lines
    for number, line in enumerate(lines, start=1):
        rule = written.rule(line) if is_plain else None
        at = bisect(starts, number) - 1
        if (
            rule is not None
            and at >= 0
            and _mistake(rule, begun[starts[at]][0], starts[at]) is None
        ):
            rules[starts[at]][number] = rule
            left[number - 1] = ""
    for stated in parse_logical_rules("\n".join(left), source):
        number = stated.place.line if stated.place else 0
        at = bisect(starts, number) - 1
        if at < 0:
            raise refusal(stated, "expected a line `## relation(X, Y), ...` before it", source)
        rule = parsed_counted_rule(stated, names, source)
        mistake = _mistake(rule, begun[starts[at]][0], starts[at])
        if mistake is not None:
            raise refusal(stated, mistake, source)
        rules[starts[at]][number] = rule
    for by_line in rules.values():
        for number in by_line.keys() & by_age.keys():
            by_line[number] = TimedRule.of_ages(by_line[number].clause, by_age[number])
    sections: dict[tuple[str, Direction], RelationRules] = {}
    for start, (section, is_further) in begun.items():
        listed = [rules[start][at] for at in sorted(rules[start])]
        paths = tuple(rule for rule in listed if is_path_rule(rule))
        constants = tuple(rule for rule in listed if not is_path_rule(rule))
        key = section.relation, section.direction
        if is_further != (key in sections):
            problem = "has no section before" if is_further else "has a section already"
            raise DataError(source, f"{section.relation!r} {problem}, in this direction", start)
        before = sections.get(key, section)
        sections[key] = replace(
            before,
            rules=(*before.rules, *paths),
            constants=(*before.constants, *constants),
            weights=before.weights if section.weights is None else section.weights,
        )
    return tuple(sections.values())


def _section_without_rules(
    line: str, number: int, names: Mapping[str, str], features: Sequence[str], source: str
) -> tuple[RelationRules, bool]:
    """The section that a line begins, still without rules, and whether it is a further one."""
    match = SECTION.fullmatch(line)
    if match is None or match[2] == match[3]:
        expected = '`## relation(X, Y), Y is asked for: {"queries": 12}`'
        raise DataError(source, f"is not the beginning of a section; expected {expected}", number)
    try:
        figures, is_further = json.loads(match[5]), match[4] is not None
        weights, queries = figures.get("weights"), 0 if is_further else figures["queries"]
        section = RelationRules(
            names.get(match[1].lower(), match[1]),
            Direction.OBJECT if match[2] == KNOWN.name else Direction.SUBJECT,
            whole_number_in(json.dumps(queries)),
            weights=None if weights is None else format_1.named_weights(weights, features),
            parts=tuple(
                (str(kind), float(lift)) for kind, lift in figures.get("parts", {}).items()
            ),
            functional=_truth_value(figures, "functional"),
        )
        return section, is_further
    except (ValueError, KeyError, TypeError) as error:
        raise DataError(source, f"cannot be read as part of a model: {error}", number) from None


def _truth_value(figures: Mapping[str, Any], name: str) -> bool:
    """A truth value of a section's line, false by default."""
    value = figures.get(name, False)
    if not isinstance(value, bool):
        raise ValueError(f"`{name}` is {json.dumps(value)}, expected true or false")
    return value


def _mistake(rule: CountedRule, section: RelationRules, line: int) -> str | None:
    """Why a rule cannot belong to the section that begins in a line, None if it can.

    A section has paths, and conditions on the known argument with a constant as the answer.
    """
    clause, body = rule.clause, rule.clause.body
    conditions = [body] if isinstance(body, Body) else [part.body for part in body.parts]
    if clause.target != section.relation:
        return f"the head is not that of its section, {section.relation}, in line {line}"
    if clause.negated or clause.weighing is not None:
        return "expected a rule for its head, and no brackets but the last"
    if any(step.arity != 2 for condition in conditions for step in condition.steps):
        return "expected atoms of two arguments"
    if isinstance(body, Body):
        return None if body.steps and body.is_path else "the body is not a path from X to Y"
    known = known_argument(section.direction)
    shape = [(part.body.argument, len(part.body.steps), part.threshold) for part in body.parts]
    if shape != [(known, 1, None), (1 - known, 0, None)] or conditions[0].is_path:
        return "expected one atom with X in the body, and an entity for Y in the head"
    return None
