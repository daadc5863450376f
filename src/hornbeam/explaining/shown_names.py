"""Explanations with readable names instead of the ids of the data."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from dataclasses import replace

from hornbeam.explaining.explanation import ExplainedScore, Explanation
from hornbeam.explaining.reason import Fact, GroundedCondition, Grounding, Reason
from hornbeam.facts.entity_names import EntityNames
from hornbeam.language.syntax import Constant, unescaped
from hornbeam.rules.rule_words import PhraseRole, with_shown_entities

#: A constant in the text of a rule.
CONSTANT = re.compile(r"'(?:[^'\\]|\\.)*'")


def explanation_in_names(explained: Explanation, names: EntityNames) -> Explanation:
    """The explanation with names instead of ids; the texts of rules stay unchanged."""
    if not len(names):
        return explained
    flip = explained.flip
    return replace(
        explained,
        subject=names.shown(explained.subject),
        object=names.shown(explained.object),
        directions=tuple(_explained_score(one, names) for one in explained.directions),
        flip=None if flip is None else replace(flip, facts=_facts(flip.facts, names)),
        unseen=tuple(map(names.shown, explained.unseen)),
    )


def fact_in_names(fact: Fact, names: EntityNames) -> Fact:
    """A fact with names instead of ids."""
    return Fact.of(fact.predicate, [names.shown(one) for one in fact.arguments], fact.truth)


def rule_in_names(rule: str, names: EntityNames) -> str:
    """The text of a rule with names of its constants instead of ids; relations stay.

    Examples
    --------
    >>> names = EntityNames({"Q90": "Paris"})
    >>> rule_in_names("in(X, 'Q90') -> lives_in(X, 'Q142')", names)
    "in(X, 'Paris') -> lives_in(X, 'Q142')"
    """

    def named(match: re.Match[str]) -> str:
        return str(Constant(names.shown(unescaped(match[0]))))

    return CONSTANT.sub(named, rule)


def grounding_in_names(grounding: Grounding, names: EntityNames) -> Grounding:
    """A grounding with names instead of ids."""
    entities = tuple(map(names.shown, grounding.entities))
    return replace(grounding, entities=entities, facts=_facts(grounding.facts, names))


def mentioned(explained: Explanation) -> Iterator[str]:
    """The ids of all entities in an explanation, some of them repeatedly."""
    yield from (explained.subject, explained.object)
    facts = list(explained.flip.facts) if explained.flip is not None else []
    reasons = list[Reason]()
    for one in explained.directions:
        reasons += one.reasons
        for higher in one.above:
            yield higher.answer
            reasons += higher.reasons
    for reason in reasons:
        yield from (p.text[1:-1] for p in reason.words if p.role is PhraseRole.ENTITY)
        facts += reason.linked_pairs
        for grounding in reason.groundings:
            yield from grounding.entities
            facts += grounding.facts
    for fact in facts:
        yield from fact.arguments


def _facts(facts: Iterable[Fact], names: EntityNames) -> tuple[Fact, ...]:
    return tuple(fact_in_names(fact, names) for fact in facts)


def _explained_score(one: ExplainedScore, names: EntityNames) -> ExplainedScore:
    parts = (replace(part, reasons=_reasons(part.reasons, names)) for part in one.parts)
    above = (
        replace(higher, answer=names.shown(higher.answer), reasons=_reasons(higher.reasons, names))
        for higher in one.above
    )
    return replace(one, parts=tuple(parts), above=tuple(above))


def _reasons(reasons: Iterable[Reason], names: EntityNames) -> tuple[Reason, ...]:
    return tuple(_reason(reason, names) for reason in reasons)


def _reason(reason: Reason, names: EntityNames) -> Reason:
    return replace(
        reason,
        conditions=tuple(_condition(one, names) for one in reason.conditions),
        linked_pairs=_facts(reason.linked_pairs, names),
        words=with_shown_entities(reason.words, names.shown),
    )


def _condition(condition: GroundedCondition, names: EntityNames) -> GroundedCondition:
    groundings = tuple(grounding_in_names(one, names) for one in condition.groundings)
    return replace(condition, groundings=groundings)
