"""Model files: weighted rules as PSL text that a person can read, edit and load again.

One line holds what scoring needs besides the rules, as JSON in what PSL takes for a comment:

    # hornbeam: {"version": 1, "counts": "raw", "relaxation": "squared", ...}
    0.83: cites(A, B) & mentions(B, C) -> mentions(A, C) ^2
    0.4: !mentions(A, B) ^2

Without that line counts are raw, the relaxation is boolean (squared where the rules have `^2`), the
model is not collective, and predicates are called what the rules call them. So it is for what the
line leaves out.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence

from hornbeam.errors import DataError, InputError
from hornbeam.language.naming import identifiers
from hornbeam.language.syntax import LogicalRule, parse_logical_rules, unix_lines, weight_text
from hornbeam.rules.clause import PathClause, Prior, clause_text, prior_text
from hornbeam.rules.model_header import Header, header_text, read_header
from hornbeam.rules.path_rules import path_clause, refusal
from hornbeam.rules.rule_model import Relaxation, Rule, Semantics


def model_text(rules: Sequence[Rule], semantics: Semantics) -> str:
    """Text of a model, rules in the given order; `parse_model` gives back the same.

    Examples
    --------
    >>> from hornbeam.rules.clause import Path, Step
    >>> clause = PathClause(Path((Step("/film/genre"), Step("liked by", inverse=True)), "likes"))
    >>> print(model_text([Rule(0.5, clause)], Semantics()).splitlines()[1])
    0.5: film_genre(A, B) & liked_by(C, B) -> likes(A, C)
    """
    for rule in rules:
        if not (math.isfinite(rule.weight) and rule.weight >= 0):
            raise InputError(f"the weight of {rule.clause} is {rule.weight}; expected at least 0")
    paths = [rule.clause for rule in rules if isinstance(rule.clause, PathClause)]
    if len({clause.distinct for clause in paths}) > 1:
        raise InputError("a model has distinct variables in all its rules or in none")
    spelt = spellings(rules)
    header = Header(
        semantics.counts,
        semantics.relaxation,
        semantics.collective,
        semantics.max_fanout,
        any(clause.distinct for clause in paths),
        semantics.threshold,
        {spelt[name]: name for name in sorted(spelt) if spelt[name] != name},
    )
    exponent = " ^2" if semantics.relaxation is Relaxation.SQUARED else ""
    lines = [
        f"{weight_text(rule.weight)}: {text}{exponent}"
        for rule, text in zip(rules, clause_texts(rules), strict=True)
    ]
    return "\n".join([header_text(header), *lines, ""])


def spellings(rules: Sequence[Rule]) -> Mapping[str, str]:
    """PSL identifier of every predicate that the rules use."""
    names = {rule.clause.target for rule in rules}
    for rule in rules:
        if isinstance(rule.clause, PathClause):
            names |= {step.predicate for step in rule.clause.path.steps}
    return identifiers(names)


def clause_texts(rules: Sequence[Rule]) -> list[str]:
    """PSL text of every rule's clause, as it stands in the model file, without weight."""
    spelt = spellings(rules)
    return [_text(rule.clause, spelt) for rule in rules]


def parse_model(text: str, name: str) -> tuple[list[Rule], Semantics]:
    """Rules of a model in the order of its text, and what scoring needs besides.

    Parameters
    ----------
    text
        A model, as written by `model_text` or by hand.
    name
        What messages call the text: the file's name.

    Raises
    ------
    DataError
        With line and column of what is no rule of a model, the rule, and why.
    """
    text = unix_lines(text)
    header = read_header(text, name)
    rules = parse_logical_rules(text, name)
    if header is None and not rules:
        raise DataError(
            name, "holds no rule; expected lines such as '0.8: cites(A, B) -> knows(A, B)'"
        )
    header = header or Header()
    # PSL ignores the case of predicates.
    names = {identifier.lower(): real for identifier, real in header.predicates.items()}
    clauses = [path_clause(rule, names, name) for rule in rules]
    squared = _check_exponents(rules, header.relaxation, name)
    _check_distinct(rules, clauses, header.distinct_variables, name)
    relaxation = header.relaxation or (Relaxation.SQUARED if squared else Relaxation.BOOLEAN)
    weighted = [
        Rule(rule.weight or 0.0, clause) for rule, clause in zip(rules, clauses, strict=True)
    ]
    semantics = Semantics(
        header.counts, relaxation, header.collective, header.max_fanout, header.threshold
    )
    return weighted, semantics


def _text(clause: PathClause | Prior, spelt: Mapping[str, str]) -> str:
    if isinstance(clause, Prior):
        return prior_text(clause, spelt)
    return clause_text(clause.path, clause.negated, clause.distinct, spelt)


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
    rules: Sequence[LogicalRule],
    clauses: Sequence[PathClause | Prior],
    distinct: bool | None,
    name: str,
) -> None:
    why = f'the first line says "distinct_variables": {str(distinct).lower()}'
    for rule, clause in zip(rules, clauses, strict=True):
        if isinstance(clause, Prior):
            continue
        if distinct is None:
            distinct = clause.distinct
            why = f"the first rule with a body has {'' if distinct else 'no '}!= terms"
        if clause.distinct != distinct:
            found = "" if clause.distinct else "no "
            problem = f"{why}, but this rule has {found}!= terms; expected all or none"
            raise refusal(rule, problem, name)
