"""Model files: weighted rules as PSL text that a person can read, edit and load again.

One line holds what else scoring needs, as JSON in a PSL comment:

    # hornbeam: {"version": 1, "rules": 3, "counts": "raw", "relaxation": "squared", ...}
    0.83: cites(A, B) & mentions(B, C) -> mentions(A, C) ^2
    0.5: cites(A, C) [n >= 3] & journal(B) -> !mentions(A, B) [log] ^2
    0.4: !mentions(A, B) ^2

Brackets are Hornbeam's own: after a rule how its groundings weigh, after a condition how many it
needs. A rule without a way of counting has that of the line.

A collective model of two steps has the rules of both, distinguished by their heads: those of the
first step are for `believed_t`, which the second one has in bodies (see `hornbeam.rules.beliefs`).

Without that line counts are raw, the relaxation is boolean (squared where the rules have `^2`), the
model is not collective, and predicates have the names that the rules use. The same defaults apply
to keys that the line leaves out.
"""

from __future__ import annotations

import os
from collections.abc import Iterator, Sequence
from dataclasses import fields
from pathlib import Path

from hornbeam.base.choices import Relaxation
from hornbeam.base.machine import MAX_NUMBER
from hornbeam.errors import DataError, InputError, warn
from hornbeam.language.rule_parts import refusal
from hornbeam.language.rule_texts import parse_logical_rules, unix_lines
from hornbeam.language.syntax import LogicalRule, weight_text
from hornbeam.rules.beliefs import believed
from hornbeam.rules.model_header import Header, header_text, read_header
from hornbeam.rules.parsed_clauses import ParsedClause, check_rule_arities, parsed_clause
from hornbeam.rules.rule_model import Rule, RuleModel, Semantics

#: Line between the rules of both steps.
_FIRST_STEP = "# the first step: what is believed of each pair alone"


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
    number = len(model.rules) + len(model.beliefs)
    if not number:
        raise InputError("the model cannot be written: it has no rule; expected at least one")
    semantics, spelt = model.semantics, model.identifiers
    renamed = {spelt[name]: name for name in sorted(spelt) if spelt[name] != name}
    # not `asdict`, which would convert the values of fields too
    stated = {one.name: getattr(semantics, one.name) for one in fields(semantics)}
    lines = [header_text(Header(number, **stated, predicates=renamed))]
    lines += _rule_texts(model.rules, model.clause_texts, semantics.relaxation)
    if model.beliefs:
        lines.append(_FIRST_STEP)
        lines += _rule_texts(model.beliefs, model.belief_texts, semantics.relaxation)
    return "\n".join([*lines, ""])


def _rule_texts(
    rules: Sequence[Rule], texts: Sequence[str], relaxation: Relaxation
) -> Iterator[str]:
    """Lines of rules whose clauses have these texts."""
    exponent = " ^2" if relaxation is Relaxation.SQUARED else ""
    for rule, text in zip(rules, texts, strict=True):
        yield f"{weight_text(rule.weight)}: {text}{exponent}"


def parse_model(text: str, name: str) -> RuleModel:
    """Rules of a model in the order of its text, and its semantics.

    Errors name the text by `name`, with line and column of what is not a rule of a model.
    """
    text = unix_lines(text)
    header = read_header(text, name)
    rules = parse_logical_rules(text, name)
    header = header or Header()
    _check_number(len(rules), header.rules, name)
    # PSL ignores the case of predicates.
    names = {identifier.lower(): real for identifier, real in header.predicates.items()}
    stated = [parsed_clause(rule, names, name) for rule in rules]
    check_rule_arities(rules, names, name)
    squared = _check_exponents(rules, header.relaxation, name)
    distinct = _check_distinct(rules, stated, header.distinct_variables, name)
    relaxation = header.relaxation or (Relaxation.SQUARED if squared else Relaxation.BOOLEAN)
    semantics = Semantics(
        header.counts,
        relaxation,
        header.collective,
        header.max_fanout,
        distinct,
        header.threshold,
        header.cross_evidence,
        header.asked,
        header.sampled_negatives,
    )
    weighted = [
        Rule(rule.weight or 0.0, one.clause) for rule, one in zip(rules, stated, strict=True)
    ]
    if not semantics.two_steps:
        return RuleModel(tuple(weighted), semantics)
    return _of_two_steps(weighted, semantics, name)


def _check_number(found: int, written: int | None, name: str) -> None:
    """Refuse a text without rules; warn where another number of them was written.

    A model always has a rule, its prior: a text without any was cut off, or is no model.
    """
    if not found:
        cut = "" if written is None else f", of the {written} that were written"
        problem = f"holds no rule{cut}; expected lines such as '0.8: cites(A, B) -> knows(A, B)'"
        raise DataError(name, problem)
    if written not in (None, found):
        warn(
            f"{name}: holds {found} rule{'s' * (found != 1)}, and its line '# hornbeam:' says "
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


def load_model(path: str | os.PathLike[str]) -> RuleModel:
    """Read a model file."""
    text = _text_of(path)
    _refuse_tables(text, str(path))
    return parse_model(text, str(path))


def rule_lines(path: str | os.PathLike[str]) -> list[int | None]:
    """Line of the file in which each rule of a model begins, in the order of the rules."""
    rules = parse_logical_rules(unix_lines(_text_of(path)), str(path))
    return [rule.place.line if rule.place else None for rule in rules]


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


def _text_of(path: str | os.PathLike[str]) -> str:
    try:
        return Path(path).read_text(encoding="utf-8")
    except UnicodeDecodeError:
        raise DataError(str(path), "expected UTF-8 text of PSL rules") from None
    except OSError as error:
        raise DataError(str(path), f"cannot be read: {error.strerror}") from None


def _check_exponents(
    rules: Sequence[LogicalRule], relaxation: Relaxation | None, name: str
) -> bool:
    """Whether the rules have `^2`: all of them, or none."""
    if relaxation is not None:
        squared = relaxation is Relaxation.SQUARED
        why = f'the first line says "relaxation": "{relaxation}"'
    else:
        squared = bool(rules) and rules[0].squared
        why = f"the first rule has {'a' if squared else 'no'} ^2"
    for rule in rules:
        if rule.squared != squared:
            found = "a" if rule.squared else "no"
            raise refusal(rule, f"{why}, but this rule has {found} ^2; expected all or none", name)
    return squared


def _check_distinct(
    rules: Sequence[LogicalRule], parsed: Sequence[ParsedClause], distinct: bool | None, name: str
) -> bool:
    """Whether all variables of a rule are different entities: in every rule, or in none."""
    why = f'the first line says "distinct_variables": {str(distinct).lower()}'
    for rule, (_, found) in zip(rules, parsed, strict=True):
        if found is None:
            continue
        if distinct is None:
            distinct = found
            why = f"the first rule with a body has {'' if distinct else 'no '}!= terms"
        if found != distinct:
            terms = f"{'' if found else 'no '}!= terms"
            raise refusal(rule, f"{why}, but this rule has {terms}; expected all or none", name)
    return bool(distinct)
