"""Rules as queries in SPARQL 1.1: relations are properties, unary facts are `rdf:type`.

IRIs and literals stand for themselves; other names are appended to a base, percent-encoded.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from itertools import count
from urllib.parse import quote as percent_encoded

from hornbeam.language.syntax import (
    Atom,
    Bound,
    Comparison,
    Constant,
    NumberTest,
    Operator,
    Term,
    Unit,
    Variable,
)
from hornbeam.programs.query_parts import Clash, QueriedCondition, RuleQuery
from hornbeam.rules.number_conditions import attribute_of

#: Names that are IRIs: with a scheme and "//", or URNs.
IRI = re.compile(r"[A-Za-z][A-Za-z0-9+.-]*://.*|urn:.*", re.DOTALL)
#: Names that are literals of N-Triples, and those that are blank nodes.
LITERAL = re.compile(r'"(?:[^"\\\n\r]|\\.)*"(?:@[A-Za-z0-9-]+|\^\^<[^<>"{}|^`\\\s]*>)?')
BLANK = re.compile(r"_:.*", re.DOTALL)
#: Characters that no IRI has.
NOT_IN_IRI = re.compile(r'[\x00-\x20<>"{}|^`\\]')
#: What stands for the pair until a user fills it in.
SUBJECT, OBJECT = "urn:subject", "urn:object"
DATE = "<http://www.w3.org/2001/XMLSchema#date>"


def sparql_text(query: RuleQuery, base: str, pair: Sequence[str] | None) -> str:
    """A rule's query; without a `pair` it has `<urn:subject>` and `<urn:object>` in its place."""
    names = (SUBJECT, OBJECT)[: len(query.ends)] if pair is None else pair
    given = [term_of(name, base) for name in names]
    lines = [f"# {query.weight:g}: {query.text}", "SELECT * WHERE {"]
    values = _values(query, given)
    lines.append(f"  {values}")
    numbers = count(1)
    for condition in query.conditions:
        patterns = list(_patterns(condition, base, numbers))
        if condition.at_least is None:
            lines += [f"  {pattern}" for pattern in patterns]
            continue
        ends = " ".join(map(str, map(_variable, query.ends)))
        lines += [f"  {{ SELECT {ends} WHERE {{", f"    {values}"]
        lines += [f"    {pattern}" for pattern in patterns]
        lines.append(f"  }} GROUP BY {ends} HAVING (COUNT(*) >= {condition.at_least}) }}")
    return "\n".join([*lines, "}", ""])


def term_of(name: str, base: str) -> str:
    """A name as a term of SPARQL; a ValueError says why it is none.

    Examples
    --------
    >>> term_of("ann lee", "http://x.org/"), term_of("urn:a", ""), term_of('"7"', "")
    ('<http://x.org/ann%20lee>', '<urn:a>', '"7"')
    """
    if LITERAL.fullmatch(name):
        return name
    if BLANK.fullmatch(name):
        raise ValueError("it names a blank node, which no query can name")
    if IRI.fullmatch(name):
        return f"<{NOT_IN_IRI.sub(lambda found: percent_encoded(found[0]), name)}>"
    return f"<{base}{percent_encoded(name, safe='')}>"


def _values(query: RuleQuery, given: Sequence[str]) -> str:
    """The pair that a query is about."""
    named = " ".join(map(_variable, query.ends))
    return f"VALUES ({named}) {{ ({' '.join(given)}) }}"


def _variable(variable: Variable) -> str:
    return f"?{variable.name}"


def _term(term: Term, base: str) -> str:
    if isinstance(term, Variable):
        return _variable(term)
    assert isinstance(term, Constant)
    return term_of(term.value, base)


def _patterns(condition: QueriedCondition, base: str, numbers: Iterator[int]) -> Iterator[str]:
    """The lines of a condition."""
    for atom in condition.atoms:
        yield _atom(atom, base, numbers)
    for test in condition.tests:
        yield from _test(test, base, numbers)
    for clash in condition.clashes:
        yield f"FILTER({_differs(clash, base)})"


def _atom(atom: Atom, base: str, numbers: Iterator[int]) -> str:
    property_ = term_of(atom.predicate, base)
    first, *others = [_term(term, base) for term in atom.arguments]
    if others:
        return f"{first} {property_} {others[0]} ."
    attribute = attribute_of(atom.predicate)
    if attribute is not None:
        value = f"?n{next(numbers)}"
        return f"FILTER EXISTS {{ {first} {term_of(attribute, base)} {value} }}"
    return f"{first} a {property_} ."


def _differs(clash: Clash, base: str) -> str:
    same = [f"sameTerm({_term(one, base)}, {_term(other, base)})" for one, other in clash]
    return f"!({' && '.join(same) or 'true'})"


def _test(test: Comparison, base: str, numbers: Iterator[int]) -> Iterator[str]:
    here = _term(test.left, base)
    if not isinstance(test, NumberTest):
        yield f"FILTER(sameTerm({here}, {_term(test.right, base)}))"
        return
    value = f"?n{next(numbers)}"
    yield f"{here} {term_of(test.attribute, base)} {value} ."
    if test.minus is not None:
        other = f"?n{next(numbers)}"
        yield f"{_term(test.right, base)} {term_of(test.minus, base)} {other} ."
        value = f"({value} - {other})"
    value = f"ABS({value})" if test.absolute else value
    if test.bound is None:
        check = "isLiteral" if test.minus is None else "isNumeric"
        yield f"FILTER({check}({value}))"
    else:
        operator = ">=" if test.operator is Operator.AT_LEAST else "<"
        yield f"FILTER({value} {operator} {_bound(test.bound)})"


def _bound(bound: Bound) -> str:
    return f'"{bound}"^^{DATE}' if bound.unit is Unit.DATE else str(bound)
