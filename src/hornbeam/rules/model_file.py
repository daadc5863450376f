"""Model files: weighted rules as PSL text that a person can read, edit and load again.

One line, the header, holds what else scoring needs, as JSON in a PSL comment:

    # hornbeam: {"version": 1, "rules": 3, "counts": "raw", "relaxation": "squared", ...}
    0.83: cites(A, B) & mentions(B, C) -> mentions(A, C) ^2
    0.5: cites(A, C) [n >= 3] & journal(B) -> !mentions(A, B) [log] ^2
    0.4: !mentions(A, B) ^2

Brackets are Hornbeam's own: after a rule how its groundings weigh, after a condition how many it
needs. A rule without a way of counting has that of the header.

A collective model of two steps has the rules of both, distinguished by their heads: those of the
first step are for `believed_t`, which the second one has in bodies (see `believed`).

Without a header counts are raw, the relaxation is boolean (squared where the rules have `^2`), the
model is not collective, and predicates have the names that the rules use. The same defaults apply
to keys that the header leaves out. A wrong header is never guessed at: an unknown key or value
could change every score.
"""

from __future__ import annotations

import json
import os
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import asdict, replace
from pathlib import Path
from typing import Any, NamedTuple, get_args

from hornbeam.base.choices import CollectiveMethod, Relaxation, Sampling
from hornbeam.base.dates import TimeUnit
from hornbeam.base.files import fingerprint
from hornbeam.base.machine import MAX_COUNT, MAX_NUMBER
from hornbeam.errors import DataError, InputError, warn
from hornbeam.language.arithmetic_rules import refusal
from hornbeam.language.rule_texts import (
    are_header_names,
    header_names,
    names_by_identifier,
    parse_logical_rules,
    unix_lines,
)
from hornbeam.language.syntax import LogicalRule, weight_text
from hornbeam.rules.clause import Clause
from hornbeam.rules.parsed_clauses import ParsedClause, check_rule_arities, parsed_clause
from hornbeam.rules.provenance import LEARNED, Provenance
from hornbeam.rules.rule_model import PairDensity, Rule, RuleModel, Semantics, believed
from hornbeam.rules.weighing import Counts

#: First characters of model files of whole graphs, which distinguish them from rule models.
GRAPH_MARK = "# hornbeam-graph:"
#: Line between the rules of both steps.
_FIRST_STEP = "# the first step: what is believed of each pair alone"
#: Version of the header.
VERSION = 1
_HEADER = re.compile(r"^[ \t]*#[ \t]*hornbeam:[ \t]*(.*)$", re.MULTILINE | re.IGNORECASE)


# --- writing --------------------------------------------------------------------------------------


def model_text(model: RuleModel) -> str:
    """Text of a model, rules in their order; `parse_model` reads it back.

    Examples
    --------
    >>> from hornbeam.rules.body import Body, Step
    >>> from hornbeam.rules.clause import Clause
    >>> clause = Clause(Body((Step("/film/genre"), Step("liked by", inverse=True)), "likes"))
    >>> print(model_text(RuleModel((Rule(0.5, clause),))).splitlines()[1])
    0.5: film_genre(A, B) & liked_by(C, B) -> likes(A, C)
    """
    for rule in (*model.rules, *model.beliefs):
        if not 0 <= rule.weight <= MAX_NUMBER:
            expected = f"expected 0 to {MAX_NUMBER:g}"
            raise InputError(f"the weight of {rule.clause} is {rule.weight}; {expected}")
    if not model.rules and not model.beliefs:
        raise InputError("the model cannot be written: it has no rule; expected at least one")
    return "\n".join([_header_text(model), *_all_rules(model), ""])


def rules_fingerprint(model: RuleModel) -> str:
    """Fingerprint of the rules of a model and their weights."""
    return fingerprint("\n".join(_all_rules(model)))


def _all_rules(model: RuleModel) -> Iterator[str]:
    """The lines of a model after its header."""
    yield from _rule_texts(model.rules, model.clause_texts, model.semantics.relaxation)
    if model.beliefs:
        yield _FIRST_STEP
        yield from _rule_texts(model.beliefs, model.belief_texts, model.semantics.relaxation)


def _header_text(model: RuleModel) -> str:
    semantics = asdict(model.semantics)
    semantics["collective"] = model.semantics.collective or False
    for optional in ("asked", "sampled_negatives", "time"):
        if semantics[optional] is None:
            del semantics[optional]
    fields = {
        "version": VERSION,
        "rules": len(model.rules) + len(model.beliefs),
        **semantics,
        "predicates": header_names(model.identifiers),
        **({} if model.provenance is None else {LEARNED: model.provenance.as_dict()}),
    }
    try:
        _check(fields)
    except ValueError as error:
        raise InputError(f"the model cannot be written: {error}") from None
    text = json.dumps(fields, ensure_ascii=False, allow_nan=False)
    # Names are written as they are, except letters that an editor may take for a line end.
    return "# hornbeam: " + "".join(c if c.isprintable() else json.dumps(c)[1:-1] for c in text)


def _rule_texts(
    rules: Sequence[Rule], texts: Sequence[str], relaxation: Relaxation
) -> Iterator[str]:
    """Lines of rules whose clauses have these texts."""
    exponent = " ^2" if relaxation is Relaxation.SQUARED else ""
    for rule, text in zip(rules, texts, strict=True):
        yield f"{weight_text(rule.weight)}: {text}{exponent}"


# --- reading --------------------------------------------------------------------------------------


def is_graph_model(path: str | os.PathLike[str]) -> bool:
    """Whether a file begins as models of whole graphs do; false if it cannot be read."""
    try:
        with open(path, "rb") as stream:
            return stream.read(len(GRAPH_MARK)) == GRAPH_MARK.encode()
    except OSError:
        return False


def rule_lines(path: str | os.PathLike[str]) -> list[int | None]:
    """Line of the file in which each rule of a model begins, in the order of the rules."""
    rules = parse_logical_rules(unix_lines(file_text(path)), str(path))
    return [rule.place.line if rule.place else None for rule in rules]


def parse_model(text: str, name: str) -> RuleModel:
    """Rules of a model in the order of its text, and its semantics.

    Errors name the text by `name`, with line and column of what is not a rule of a model.
    """
    read = read_rule_texts(text, name)
    header, rules = read.header, read.rules
    header["relaxation"] = checked_relaxation(rules, header.get("relaxation"), name)
    distinct = check_distinct(rules, read.clauses, header.get("distinct_variables"), name)
    header["distinct_variables"] = distinct
    provenance = header.pop(LEARNED, None)
    semantics = Semantics(**header)
    weighted = [
        Rule(rule.weight or 0.0, _seen_clause(rule, clause, semantics.time, name))
        for rule, (clause, _) in zip(rules, read.clauses, strict=True)
    ]
    if not semantics.two_steps:
        return RuleModel(tuple(weighted), semantics, provenance=provenance)
    return replace(_of_two_steps(weighted, semantics, name), provenance=provenance)


def _seen_clause(rule: LogicalRule, clause: Clause, unit: TimeUnit | None, name: str) -> Clause:
    """The clause over facts with a time, if the model has one; conditions on time need it."""
    if unit is not None:
        return replace(clause, body=clause.body.over_time())
    steps = [step for part in clause.body.parts for step in part.body.steps]
    timed = [step for step in steps if step.when.kind or step.after]
    if timed:
        bracket = timed[0].when if timed[0].when.kind else "[after ...]"
        problem = f'{bracket} is a condition on time; expected "time": "day" in the line'
        raise refusal(rule, f"{problem} '# hornbeam:' (or second, or step)", name)
    return clause


class RuleTexts(NamedTuple):
    """Rules of a text with their clauses, the fields of its header, and names in it."""

    rules: Sequence[LogicalRule]
    clauses: Sequence[ParsedClause]
    header: dict[str, Any]
    names: Mapping[str, str]  #: names of predicates by identifier in lower case


def read_rule_texts(
    text: str,
    name: str,
    names: Mapping[str, str] | None = None,
    *,
    weightless: bool = False,
    adapt: Callable[[LogicalRule], LogicalRule] = lambda rule: rule,
) -> RuleTexts:
    """Read the rules of a model's text, and its header, which may be missing.

    `names` are names of predicates by identifier in lower case, besides those of the header. With
    `weightless`, rules may lack a weight. `adapt` changes a rule before its clause is recognised.
    """
    _refuse_tables(text, name)
    text = unix_lines(text)
    header = _read_header(text, name)
    rules = [adapt(rule) for rule in parse_logical_rules(text, name, weightless=weightless)]
    _check_number(len(rules), header.pop("rules", None), name)
    named = {**(names or {}), **names_by_identifier(header.pop("predicates", {}))}
    clauses = [parsed_clause(rule, named, name, weightless=weightless) for rule in rules]
    check_rule_arities(rules, named, name)
    return RuleTexts(rules, clauses, header, named)


def file_text(path: str | os.PathLike[str]) -> str:
    """The text of a model file of either kind."""
    try:
        return Path(path).read_text(encoding="utf-8")
    except UnicodeDecodeError:
        raise DataError(str(path), "expected UTF-8 text of PSL rules") from None
    except OSError as error:
        raise DataError(str(path), f"cannot be read: {error.strerror}") from None


def _refuse_tables(text: str, name: str) -> None:
    """Report that a file is a table of facts, rather than that its first line is not a rule."""
    numbered = enumerate(text.splitlines(), start=1)
    number, line = next(((at, line) for at, line in numbered if line.strip()), (0, ""))
    for delimiter, kind in (("\t", "TSV"), (",", "CSV")):
        if line.count(delimiter) >= 2 and not set(line) & set("#(>"):
            problem = (
                f"looks like a table of facts ({kind}), not like a model; expected the file that "
                "`hornbeam learn` wrote, a text of PSL rules"
            )
            raise DataError(name, problem, line=number)


def _check_number(number: int, written: int | None, name: str) -> None:
    """Refuse a text without rules; warn where another number of them was written.

    A model always has a rule, its prior: a text without any was cut off, or is no model.
    """
    if not number:
        cut = "" if written is None else f", of the {written} that were written"
        problem = f"holds no rule{cut}; expected lines such as '0.8: cites(A, B) -> knows(A, B)'"
        raise DataError(name, problem)
    if written not in (None, number):
        warn(
            f"{name}: holds {number} rule{'s' * (number != 1)}, and its line '# hornbeam:' says "
            f'{written}: the file was cut off, or edited (then correct "rules", or leave it out)'
        )


def _of_two_steps(rules: Sequence[Rule], semantics: Semantics, name: str) -> RuleModel:
    """Split rules into both steps: those with a belief as head are of the first."""
    heads = {rule.clause.target for rule in rules}
    of_belief = {believed(target): target for target in heads if believed(target) in heads}
    beliefs = [
        Rule(rule.weight, rule.clause.with_target(of_belief[rule.clause.target]))
        for rule in rules
        if rule.clause.target in of_belief
    ]
    second = [rule for rule in rules if rule.clause.target not in of_belief]
    for target in sorted({rule.clause.target for rule in second} - set(of_belief.values())):
        raise DataError(
            name,
            f"no rule says what is believed of {target!r}; expected rules of the first step, with "
            f"the head {believed(target)}(A, B)",
        )
    return RuleModel(tuple(second), semantics, tuple(beliefs))


def checked_relaxation(
    rules: Sequence[LogicalRule], relaxation: Relaxation | None, name: str
) -> Relaxation:
    """The relaxation of the header, or that of the rules: all of them have `^2`, or none."""
    why = f'the first line says "relaxation": "{relaxation}"'
    if relaxation is None:
        relaxation = Relaxation.SQUARED if rules[0].squared else Relaxation.BOOLEAN
        why = f"the first rule has {'a' if rules[0].squared else 'no'} ^2"
    for rule in rules:
        if rule.squared != (relaxation is Relaxation.SQUARED):
            exponent = f"{'a' if rule.squared else 'no'} ^2"
            raise refusal(rule, f"{why}, but this rule has {exponent}; expected all or none", name)
    return relaxation


def check_distinct(
    rules: Sequence[LogicalRule], parsed: Sequence[ParsedClause], distinct: bool | None, name: str
) -> bool:
    """Whether all variables of a rule are different entities: in every rule, or in none."""
    why = f'the first line says "distinct_variables": {str(distinct).lower()}'
    for rule, (_, has_terms) in zip(rules, parsed, strict=True):
        if has_terms is None:
            continue
        if distinct is None:
            distinct = has_terms
            why = f"the first rule with a body has {'' if distinct else 'no '}!= terms"
        if has_terms != distinct:
            terms = f"{'' if has_terms else 'no '}!= terms"
            raise refusal(rule, f"{why}, but this rule has {terms}; expected all or none", name)
    return bool(distinct)


# --- the header -----------------------------------------------------------------------------------


def _read_header(text: str, name: str) -> dict[str, Any]:
    """Fields of the header of a model's text, empty where it has none.

    Comments and blank lines may precede it.
    """
    lines = list(_HEADER.finditer(text))
    if not lines:
        return {}
    line, number = lines[-1], text.count("\n", 0, lines[-1].start()) + 1
    if len(lines) > 1:
        raise DataError(name, "a second line '# hornbeam:'; expected one", line=number)
    try:
        fields = json.loads(line[1], object_pairs_hook=_once, parse_constant=_no_constant)
        if not isinstance(fields, dict):
            raise ValueError("expected a JSON object in braces")
        _check(fields)
    except json.JSONDecodeError as error:
        column = line.start(1) - line.start() + error.colno
        problem = f"expected JSON behind '# hornbeam:': {error.msg}"
        raise DataError(name, problem, line=number, column=column) from None
    except RecursionError:
        raise DataError(name, "expected plain JSON behind '# hornbeam:'", line=number) from None
    except ValueError as error:
        raise DataError(name, f"behind '# hornbeam:', {error}", line=number) from None
    return {key: _FIELDS[key].read(value) for key, value in fields.items() if key != "version"}


def _once(pairs: list[tuple[str, object]]) -> dict[str, object]:
    fields: dict[str, object] = {}
    for key, value in pairs:
        if key in fields:
            raise ValueError(f"{json.dumps(key)} occurs twice")
        fields[key] = value
    return fields


def _no_constant(constant: str) -> float:
    raise ValueError(f"{constant} is not a number")


def _check(fields: Mapping[str, object]) -> None:
    """Raise ValueError with the wrong field and what was expected."""
    for key, value in fields.items():
        if key not in _FIELDS:
            raise ValueError(f"{json.dumps(key)} is unknown; expected {', '.join(_FIELDS)}")
        if not _FIELDS[key].accepts(value):
            raise ValueError(f'"{key}" is {json.dumps(value)}; expected {_FIELDS[key].expected}')


class _Field(NamedTuple):
    """Which values a field of the header may have, in words as well, and how they are read."""

    accepts: Callable[[object], bool]
    expected: str
    read: Callable[[Any], object] = lambda value: value


def _one_of(names: Sequence[str], read: Callable[[Any], object]) -> _Field:
    return _Field(lambda value: value in names, ", ".join(names), read)


def _is_share(value: object) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool) and 0 <= value <= 1


def _is_count(value: object) -> bool:
    return isinstance(value, int) and value is not True and 1 <= value <= MAX_COUNT


def _is_density(value: object) -> bool:
    return (
        isinstance(value, dict)
        and value.keys() == {"per_subject", "per_object", "alone"}
        and all(isinstance(x, int | float) and x is not True for x in value.values())
        and value["per_subject"] >= 1
        and value["per_object"] >= 1
        and _is_share(value["alone"])
    )


def _is_provenance(value: object) -> bool:
    try:
        return bool(Provenance.from_dict(value))
    except ValueError:
        return False


def _collective(value: bool | str) -> CollectiveMethod | None:
    """The method of a collective model; `true` is from versions that had only one."""
    if value is True:
        return CollectiveMethod.MAP
    return CollectiveMethod(value) if value else None


_TRUTH = _Field(lambda value: isinstance(value, bool), "true or false")
_FIELDS: dict[str, _Field] = {
    "version": _Field(
        lambda value: value == VERSION and _is_count(value),
        f"{VERSION}; a newer Hornbeam may read it",
    ),
    "rules": _Field(_is_count, "the number of rules, a whole number of at least 1"),
    # a share has a median, which differs from rule to rule
    "counts": _one_of([Counts.RAW, Counts.LOG, Counts.EXISTS], Counts),
    "relaxation": _one_of(list(Relaxation), Relaxation),
    "collective": _Field(
        lambda value: isinstance(value, bool) or value in list(CollectiveMethod),
        f"false, {', '.join(CollectiveMethod)}, or true for map",
        _collective,
    ),
    "max_fanout": _Field(
        lambda value: value is None or _is_count(value),
        f"null or a whole number from 1 to {MAX_COUNT}",
    ),
    "distinct_variables": _TRUTH,
    "threshold": _Field(_is_share, "a number from 0 to 1", float),
    "cross_evidence": _TRUTH,
    "asked": _Field(
        _is_density,
        "pairs per subject, pairs per object and the share of pairs alone: "
        '{"per_subject": 2.5, "per_object": 1.2, "alone": 0.1}',
        lambda value: PairDensity(**value),
    ),
    "sampled_negatives": _one_of(get_args(Sampling), str),
    "time": _one_of(list(TimeUnit), TimeUnit),
    "predicates": _Field(
        are_header_names,
        'names by identifiers that differ in more than case: {"film_genre": "/film/genre"}',
    ),
    LEARNED: _Field(
        _is_provenance, "what `hornbeam learn` writes, or nothing", Provenance.from_dict
    ),
}
