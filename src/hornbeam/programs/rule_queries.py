"""Rules as queries of other databases: what a query asks for, whatever its language.

A query returns the groundings of one rule for one pair, one row each: as many as Hornbeam counts.
`hornbeam.programs.sparql` and `hornbeam.programs.cypher` write it.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from itertools import combinations

from hornbeam.base.result_table import ResultTable
from hornbeam.base.texts import printable
from hornbeam.errors import InputError
from hornbeam.language.syntax import Atom, Comparison, NumberTest, Term, Unit, Variable
from hornbeam.programs.cypher import cypher_text
from hornbeam.programs.query_parts import BASE, ID, Clash, QueriedCondition, RuleQuery
from hornbeam.programs.sparql import sparql_text
from hornbeam.rules.body import Body, Part, variables, walked_over
from hornbeam.rules.clause import Clause
from hornbeam.rules.rule_model import RuleModel, mentions_beliefs

A, B = Variable("A"), Variable("B")


@dataclass(frozen=True)
class QueriedRule:
    """A rule as it is written in a model, with what its walks depend on."""

    text: str
    weight: float
    clause: Clause
    known: int | None = None  #: the known argument of a rule of a whole graph
    distinct: bool = False
    why_not: str = ""  #: why the whole model cannot be said, if so


def rule_queries(
    stated: Sequence[QueriedRule],
    language: str,
    *,
    base: str = BASE,
    id_property: str = ID,
    pair: Sequence[str] | None = None,
) -> ResultTable:
    """Rules with their weights and queries, or the reason why there is none."""
    writers: dict[str, Callable[[RuleQuery], str]] = {
        "sparql": lambda query: sparql_text(query, base, pair),
        "cypher": lambda query: cypher_text(query, id_property),
    }
    if language not in writers:
        raise InputError(f"no queries in {language!r}; expected {' or '.join(writers)}")
    if pair is not None and language == "cypher":
        raise InputError("queries in Cypher have parameters, $A and $B; leave out `pair`")
    queries, reasons = list[str](), list[str]()
    for rule in stated:
        if pair is not None and len(pair) != rule.clause.body.head_arity:
            expected = f"expected {rule.clause.body.head_arity} for {rule.clause.target!r}"
            raise InputError(f"`pair` has {len(pair)} names; {expected}")
        try:
            query, reason = writers[language](_query(rule)), ""
        except ValueError as error:
            query, reason = "", str(error)
        queries.append(query)
        reasons.append(reason)
    return ResultTable(
        {
            "rule": [rule.text for rule in stated],
            "weight": [rule.weight for rule in stated],
            "query": queries,
            "reason": reasons,
        }
    )


def queries_text(table: ResultTable, comment: str) -> str:
    """All queries in one text; rules without one are comments."""
    rules = zip(table["rule"], table["query"], table["reason"], strict=True)
    lacking = "{0} {1}\n{0} no query: {2}\n"
    return "\n".join(
        query or lacking.format(comment, printable(rule), reason) for rule, query, reason in rules
    )


def queried_rules(model: RuleModel) -> Iterator[QueriedRule]:
    """The rules of a rule model."""
    semantics, why_not = model.semantics, ""
    if semantics.max_fanout is not None:
        why_not = "the model has a limit on the fan-out, which no query says"
    for text, rule in zip(model.clause_texts, model.rules, strict=True):
        reason = why_not
        if semantics.recursive and rule.clause.target in rule.clause.body.predicates:
            reason = reason or "it counts other pairs that are scored with this one"
        if any(mentions_beliefs(part.body) for part in rule.clause.body.parts):
            reason = "it is about beliefs, which are no facts"
        distinct = semantics.distinct_variables
        yield QueriedRule(text, rule.weight, rule.clause, None, distinct, reason)


def _query(rule: QueriedRule) -> RuleQuery:
    """What a query asks for; a ValueError says why there is none."""
    clause = rule.clause
    if rule.why_not:
        raise ValueError(rule.why_not)
    if clause.is_prior:
        raise ValueError("it has no condition: it holds for every pair")
    arity = clause.body.head_arity
    ends = (A, B) if arity == 2 else (A, A)
    free = (name for name in variables() if name not in (A, B))
    conditions = [_condition(rule, part, ends, free) for part in clause.body.parts]
    # a condition that counts once is asked before the others multiply the rows
    conditions.sort(key=lambda condition: condition.at_least is None)
    # the text of a lone path ends in another variable than B, that of a graph's rule has X and Y
    renamed = rule.known is not None or (len(conditions) == 1 and clause.body.parts[0].body.is_path)
    text = clause.applied_text(*ends, {}) if renamed else rule.text
    return RuleQuery(printable(text), rule.weight, ends[:arity], tuple(conditions))


def _condition(
    rule: QueriedRule, part: Part, ends: tuple[Variable, Variable], free: Iterator[Variable]
) -> QueriedCondition:
    body, threshold = part.body, part.threshold
    if any(step.arity > 2 for step in body.steps):
        raise ValueError("it has an atom of three or more arguments, which is no link")
    if threshold is not None and threshold.share:
        raise ValueError("it has a threshold of shares, which are no counts")
    literals = body.literals(ends, free)
    atoms = [literal for literal in literals if isinstance(literal, Atom)]
    tests = [literal for literal in literals if isinstance(literal, Comparison)]
    for test in tests:
        if isinstance(test, NumberTest) and test.bound and test.bound.unit is Unit.DAYS:
            raise ValueError("it counts the days between two dates, which has no common text")
    clashes = [clash for atom in atoms if (clash := _own_fact(atom, body, ends)) is not None]
    if rule.distinct and body.steps:
        names = sorted({end.name for end in ends} | walked_over(body, literals))
        clashes += [((Variable(a), Variable(b)),) for a, b in combinations(names, 2)]
    if rule.known is not None and body.is_path and len(atoms) > 1:
        clashes += _never_back(atoms, ends, rule.known)
    at_least = None if threshold is None else int(threshold.bound)
    return QueriedCondition(tuple(atoms), tuple(tests), tuple(dict.fromkeys(clashes)), at_least)


def _own_fact(atom: Atom, body: Body, ends: tuple[Variable, Variable]) -> Clash | None:
    """What must not all be equal in an atom of the target: it would be the pair's own fact."""
    if atom.predicate != body.target or len(atom.arguments) != body.head_arity:
        return None
    pairs = zip(atom.arguments, ends, strict=False)
    return tuple((term, end) for term, end in pairs if term != end)


def _never_back(atoms: list[Atom], ends: tuple[Variable, Variable], known: int) -> list[Clash]:
    """In a whole graph, walks do not return to the known entity, nor start at the answer."""
    start, answer = ends[known], ends[1 - known]
    inner = list[Term]()
    for atom in atoms:
        inner += [term for term in atom.arguments if term not in (*ends, *inner)]
    first = atoms[0] if start in atoms[0].arguments else atoms[-1]
    [next_] = [term for term in first.arguments if term != start] or [start]
    return [*(((term, start),) for term in inner), ((next_, answer),)]
