"""Rules as queries in openCypher: relations are types of relationships, unary facts are labels.

A node has its name in one property. `$A` and `$B` are parameters. Every atom is a MATCH of its own,
so that walks may use a relationship twice, as in Hornbeam.
"""

from __future__ import annotations

from collections.abc import Iterator

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


def cypher_text(query: RuleQuery, id_property: str) -> str:
    """A rule's query, with `id_property` as the property that has the name of a node."""
    key = name_of(id_property)
    pair = ", ".join(f"({end.name} {{{key}: ${end.name}}})" for end in query.ends)
    lines = [f"// {query.weight:g}: {query.text}", f"MATCH {pair}"]
    returned = list(query.ends)
    for condition in query.conditions:
        lines += _matches(condition, key)
        if condition.at_least is None:
            returned += [v for v in condition.variables if v not in returned]
        else:
            kept = ", ".join(end.name for end in query.ends)
            lines.append(f"WITH {kept}, count(*) AS n WHERE n >= {condition.at_least}")
            lines.append(f"WITH {kept}")
    columns = ", ".join(f"{v.name}.{key} AS {v.name}" for v in returned)
    return "\n".join([*lines, f"RETURN {columns};", ""])


def name_of(name: str) -> str:
    """A name of a type, a label or a property, escaped.

    Examples
    --------
    >>> name_of("acted in"), name_of("`")
    ('`acted in`', '````')
    """
    return f"`{name.replace('`', '``')}`"


def text_of(text: str) -> str:
    r"""A text as a literal of Cypher.

    Examples
    --------
    >>> print(text_of("it's a \\"))
    'it\'s a \\'
    """
    return "'" + text.replace("\\", "\\\\").replace("'", "\\'") + "'"


def _matches(condition: QueriedCondition, key: str) -> Iterator[str]:
    """The lines of a condition; those that test are the WHERE of one that matches."""
    wheres = [test for item in condition.tests for test in _test(item, key)]
    for atom in condition.atoms:
        attribute = attribute_of(atom.predicate) if len(atom.arguments) == 1 else None
        if attribute is not None:
            wheres.append(f"{_node_name(atom.arguments[0])}.{name_of(attribute)} IS NOT NULL")
        else:
            yield f"MATCH {_pattern(atom, key)}"
    wheres += [_differs(clash, key) for clash in condition.clashes]
    if wheres:
        # WITH * lets a test stand also where nothing was matched
        yield f"WITH * WHERE {' AND '.join(wheres)}"


def _pattern(atom: Atom, key: str) -> str:
    first, *others = [_node(term, key) for term in atom.arguments]
    if others:
        return f"{first}-[:{name_of(atom.predicate)}]->{others[0]}"
    # not (A:label): some engines take no second label of a variable that is bound
    return f"(:{name_of(atom.predicate)} {{{key}: {_value(atom.arguments[0], key)}}})"


def _node(term: Term, key: str) -> str:
    if isinstance(term, Variable):
        return f"({term.name})"
    assert isinstance(term, Constant)
    return f"({{{key}: {text_of(term.value)}}})"


def _node_name(term: Term) -> str:
    assert isinstance(term, Variable)  # facts about a constant alone are no condition
    return term.name


def _differs(clash: Clash, key: str) -> str:
    same = [f"{_value(one, key)} = {_value(other, key)}" for one, other in clash]
    return f"NOT ({' AND '.join(same) or 'true'})"


def _value(term: Term, key: str) -> str:
    if isinstance(term, Variable):
        return f"{term.name}.{key}"
    assert isinstance(term, Constant)
    return text_of(term.value)


def _test(test: Comparison, key: str) -> Iterator[str]:
    if not isinstance(test, NumberTest):
        yield f"{_value(test.left, key)} = {_value(test.right, key)}"
        return
    value = f"{_node_name(test.left)}.{name_of(test.attribute)}"
    if test.minus is not None:
        value = f"({value} - {_node_name(test.right)}.{name_of(test.minus)})"
    value = f"abs({value})" if test.absolute else value
    if test.bound is None:
        yield f"{value} IS NOT NULL"
    else:
        operator = ">=" if test.operator is Operator.AT_LEAST else "<"
        yield f"{value} {operator} {_bound(test.bound)}"


def _bound(bound: Bound) -> str:
    return f"date({text_of(str(bound))})" if bound.unit is Unit.DATE else str(bound)
