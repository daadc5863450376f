"""Texts of rules: whole programs or the logical rules of model files, and identifiers in them.

PSL ignores the case of predicates and allows only letters, digits and underscores. A name that PSL
allows stays as it is. In other names, underscores replace the characters that PSL does not allow. A
number is appended where two identifiers would be equal. So names and identifiers are one to one.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING

from hornbeam.language.syntax import LogicalRule, NumberTest, error_at

if TYPE_CHECKING:
    from hornbeam.language.arithmetic_rules import PslRule

IDENTIFIER = re.compile(r"[A-Za-z_][A-Za-z0-9_]*\Z")


def parse_rules(text: str, name: str) -> list[PslRule]:
    """Read the rules of a text, in their order; `name` is the name of the text in messages.

    A byte order mark and any kind of line end are accepted.

    Examples
    --------
    >>> [rule] = parse_rules("0.5: knows(A, B) << knows(B, A) # both ways", "program.psl")
    >>> str(rule)
    '0.5: knows(B, A) -> knows(A, B)'
    >>> [rule] = parse_rules("1 - friend(A, +B) / 2 >= 0 .", "program.psl")
    >>> str(rule)
    '(-1.0 / 2.0) * friend(A, +B) + 1.0 >= 0.0 .'
    """
    # Lark is imported only when a text is parsed: making and writing rules does not need it.
    from hornbeam.language.parsing import read_rules

    rules = list(read_rules(unix_lines(text), name))
    for rule in rules:
        for literal in rule.body if isinstance(rule, LogicalRule) else ():
            if isinstance(literal.atom, NumberTest):
                problem = (
                    f"{literal.atom} is about numbers, which the rules of Hornbeam's models may "
                    "be; expected plain PSL"
                )
                raise error_at(literal.atom.place, name, problem)
    return rules


def parse_logical_rules(text: str, name: str, *, weightless: bool = False) -> list[LogicalRule]:
    """Read the rules of a text with logical rules only, as model files have; see `parse_rules`.

    Rules may have brackets: ways of counting after rules, thresholds after atoms and groups. With
    `weightless`, a rule without a weight needs no period at its end.

    Examples
    --------
    >>> text = "1: (a(A, X) & b(X, B)) [n >= 3] & c(B) -> t(A, B) [share / 0.0123] ^2"
    >>> [rule] = parse_logical_rules(text, "model.psl")
    >>> str(rule.weighing), str(rule.thresholds[0].threshold)
    ('[share / 0.0123]', '[n >= 3]')
    """
    from hornbeam.language.parsing import read_rules

    rules = []
    for rule in read_rules(unix_lines(text), name, brackets=True, weightless=weightless):
        if not isinstance(rule, LogicalRule):
            problem = (
                f"'{rule.relation}' makes this an arithmetic rule, and models have logical rules "
                f"only, unlike PSL programs (the rule is: {rule})"
            )
            raise error_at(rule.place, name, problem)
        rules.append(rule)
    return rules


def unix_lines(text: str) -> str:
    r"""Drop a byte order mark and write `\n` for every line end."""
    return text.removeprefix("\ufeff").replace("\r\n", "\n").replace("\r", "\n")


def identifiers(names: Iterable[str]) -> Mapping[str, str]:
    """The identifier of every name, which does not depend on the order of the names.

    Examples
    --------
    >>> identifiers(["cites", "Cites", "/film/genre", "42"])
    {'Cites': 'Cites', 'cites': 'cites_2', '/film/genre': 'film_genre', '42': 'p_42'}
    """
    taken: set[str] = set()
    numbers: dict[str, int] = {}
    spelt: dict[str, str] = {}
    for name in sorted(set(names), key=lambda name: (not IDENTIFIER.match(name), name)):
        identifier = base = _spelling(name)
        number = numbers.get(base.lower(), 2)
        while identifier.lower() in taken:
            identifier, number = f"{base}_{number}", number + 1
        numbers[base.lower()] = number
        taken.add(identifier.lower())
        spelt[name] = identifier
    return spelt


def header_names(spelt: Mapping[str, str]) -> dict[str, str]:
    """Names by identifier, where the two differ, for the header of a model file."""
    return {spelt[name]: name for name in sorted(spelt) if spelt[name] != name}


def are_header_names(value: object) -> bool:
    """Whether a value maps identifiers, distinct when case is ignored, to names of facts."""
    return (
        isinstance(value, dict)
        and all(IDENTIFIER.match(identifier) for identifier in value)
        and len(names_by_identifier(value)) == len(value)
        and all(isinstance(name, str) for name in value.values())
        and all(name and not re.search(r"[\t\r\n\0]", name) for name in value.values())
    )


def names_by_identifier(stated: Mapping[str, str]) -> dict[str, str]:
    """Names by identifier in lower case, since PSL ignores the case of predicates."""
    return {identifier.lower(): name for identifier, name in stated.items()}


def _spelling(name: str) -> str:
    if IDENTIFIER.match(name):
        return name
    cleaned = re.sub(r"[^A-Za-z0-9_]+", "_", name).strip("_") or "p"
    return cleaned if cleaned[0].isalpha() else f"p_{cleaned}"
