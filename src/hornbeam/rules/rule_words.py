"""Rules as English sentences; the only module that words rules.

    interacts(A, X) [n >= 25] & enzyme(A, 'cyp3a4') -> interacts(A, B) [log]

    If A has 25 or more interacts besides B and A enzyme 'cyp3a4', then A interacts B, counted by
    log.

Words come in pieces, so that a page can format variables, predicates and entities differently, and
escape text from the data. Variables have the same names as in the PSL text of the clause.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Sequence
from enum import StrEnum
from functools import lru_cache
from typing import Any, NamedTuple

from hornbeam.language.syntax import (
    Atom,
    Constant,
    NumberTest,
    Operator,
    Term,
    Unit,
    Variable,
    unescaped,
    weight_text,
)
from hornbeam.rules.body import Body, Kind, Part, Step, body_ends, variables
from hornbeam.rules.clause import Clause
from hornbeam.rules.number_conditions import NumberCondition, attribute_of
from hornbeam.rules.rule_model import RuleModel
from hornbeam.rules.weighing import Counts, Threshold


class PhraseRole(StrEnum):
    """What a piece of a sentence is."""

    WORDS = "words"
    VARIABLE = "variable"
    PREDICATE = "predicate"
    ENTITY = "entity"


class Phrase(NamedTuple):
    """A piece of a sentence; of predicates and entities it is a name from the data."""

    text: str
    role: PhraseRole = PhraseRole.WORDS


Words = tuple[Phrase, ...]

#: A constant in the text of a rule.
CONSTANT = re.compile(r"'(?:[^'\\]|\\.)*'")
#: Words for a way of counting, after a rule.
COUNTED = {
    Counts.RAW: "counted one by one",
    Counts.LOG: "counted by log",
    Counts.EXISTS: "counted once",
    Counts.SHARE: "counted by share",
    Counts.Z: "counted by the standardised number",
}
#: What a way of counting means.
MEANING = {
    Counts.RAW: "n groundings of a rule weigh n times its weight",
    Counts.LOG: "n groundings of a rule weigh log2(1 + n) times its weight",
    Counts.EXISTS: "one grounding of a rule weighs as much as many",
    Counts.SHARE: "a path counts the less, the more edges its entities have; the sum over the "
    "paths, divided by its median m in training, weighs log2(1 + sum / m) times the weight",
    Counts.Z: "a number x weighs (x - mean) / deviation times the weight, against the head where "
    "it is below the mean; mean and deviation are those of training",
}


@lru_cache(maxsize=10_000)
def rule_words(clause: Clause) -> Words:
    """A clause as one sentence.

    Examples
    --------
    >>> from hornbeam.rules.body import Step
    >>> from hornbeam.rules.weighing import Weighing
    >>> body = Body((Step("cites"), Step("cites", inverse=True)), "alike")
    >>> said(rule_words(Clause(body, weighing=Weighing(Counts.SHARE))))
    'If A and C share cites, then A alike C, counted by share.'
    >>> said(rule_words(Clause(Body((Step("sold"),), "fraud", Kind.OPEN, head_arity=1))))
    'If A has sold, then fraud holds for A.'
    """
    return _sentence(clause, body_ends(clause.body), clause.body.parts)


def applied_words(clause: Clause, subject: Variable, object_: Variable) -> Words:
    """A clause over given variables as one sentence, with constants in its head.

    Examples
    --------
    >>> from hornbeam.rules.body import Step
    >>> body = Body((Step("born in"), Step("part_of")), "lives_in")
    >>> said(applied_words(Clause(body), Variable("X"), Variable("Y")))
    'If X born in A and A part_of Y, then X lives_in Y.'
    """
    return _sentence(clause, *clause.applied(subject, object_))


def _sentence(clause: Clause, ends: tuple[Term, Term], conditions: Sequence[Part]) -> Words:
    """A clause whose conditions are those on the terms of subject and object."""
    head = _head(clause, ends)
    if clause.is_prior:
        pair = f"a pair is {'false' if clause.negated else 'true'}: "
        without = f"Without evidence {pair if clause.body.head_arity > 1 else ''}"
        return (*_filled(without), *head, Phrase("."))
    counted = "" if clause.weighing is None else f", {COUNTED[clause.weighing.counts]}"
    body = _conditions_words(conditions, ends)
    return (Phrase("If "), *body, Phrase(", then "), *head, Phrase(f"{counted}."))


def _head(clause: Clause, ends: tuple[Term, Term]) -> Words:
    """What a clause says of its target."""
    subject, object_ = map(_term, ends)
    if clause.body.head_arity == 1:
        holds = "does not hold" if clause.negated else "holds"
        return _filled(f"{{}} {holds} for {{}}", _predicate(clause.target), subject)
    no = "not " if clause.negated else ""
    return _filled(f"{no}{{}} {{}} {{}}", subject, _predicate(clause.target), object_)


def counting_words(model: RuleModel) -> list[str]:
    """A sentence for each way in which the rules of a model count their groundings.

    Examples
    --------
    >>> counting_words(RuleModel(()))
    ['n groundings of a rule weigh n times its weight.']
    """
    stated = {rule.clause.weighing.counts for rule in model.rules if rule.clause.weighing}
    bare = any(rule.clause.weighing is None and not rule.clause.is_prior for rule in model.rules)
    own = [f"{COUNTED[way].capitalize()}: {MEANING[way]}." for way in Counts if way in stated]
    if not own:
        return [f"{MEANING[model.semantics.counts]}."]
    return [*own, f"Else {MEANING[model.semantics.counts]}."] if bare else own


def _conditions_words(conditions: Sequence[Part], ends: tuple[Term, Term]) -> Words:
    # as in `hornbeam.rules.body.body_texts`, so that variables have the same names
    free = (name for name in variables() if name not in ends)
    # where a condition has an "and" of its own, a comma keeps the conditions apart
    several = any(len(part.body) > 1 for part in conditions)
    pieces = list[Phrase]()
    for k, part in enumerate(conditions):
        pieces += [Phrase(", and " if several else " and ")] * (k > 0)
        pieces += condition_words(part, ends, free)
    return tuple(pieces)


def condition_words(part: Part, ends: tuple[Term, Term], free: Iterator[Variable]) -> Words:
    """One condition; variables other than subject and object are taken from `free`."""
    body, threshold = part.body, part.threshold
    literals = body.literals(ends, free)
    here = ends[body.argument]
    if body.number is not None and not body.steps:
        return (*_number(body.number, here, ends[1 - body.argument]), *_ways(threshold))
    if not body.steps:
        return _filled("{} is {}", here, _entity(body.constant or ""))
    if body.kind is Kind.OPEN:
        return _open(body, here, ends[1 - body.argument], threshold)
    if body.is_path and _is_shared(body):
        return _shared(body, ends, threshold)
    atoms = [literal for literal in literals if isinstance(literal, Atom)]
    words = _linked(body, atoms)
    if body.number is not None:
        last = literals[-1]
        assert isinstance(last, NumberTest)
        words = (*words, Phrase(" and "), *_number(body.number, last.left, here))
    return (*words, *_ways(threshold))


def _number(number: NumberCondition, here: Term, there: Term) -> Words:
    """A comparison of a number, or a number that is standardised."""
    attribute, minus = number.attribute, number.minus
    if minus is None:
        words = _filled(f"{{}} has {_article(attribute)} {{}}", here, _predicate(attribute))
        before = " of" * (number.operator is Operator.AT_LEAST)
        asked = "" if number.bound is None else f"{before} {asked_words(number)}"
        return (*words, Phrase(asked or " (the larger, the more)"))
    of = _filled("{} of {}", _predicate(attribute), here)
    other = _filled("{} of {}", _predicate(minus), there)
    if number.absolute:
        differ = "differ (the more, the more)" if number.bound is None else "differ by "
        return (*of, Phrase(" and "), *other, Phrase(f" {differ}"), *_bound_words(number))
    words = (*of, Phrase(" minus "), *other)
    asked = " (the larger, the more)" if number.bound is None else f" is {asked_words(number)}"
    return (*words, Phrase(asked))


def _bound_words(number: NumberCondition) -> Words:
    return () if number.bound is None else (Phrase(asked_words(number)),)


def asked_words(number: NumberCondition) -> str:
    """What a comparison asks of its number.

    Examples
    --------
    >>> from hornbeam.language.syntax import Bound
    >>> recent = NumberCondition("year", operator=Operator.AT_LEAST, bound=Bound(1990.0))
    >>> asked_words(recent)
    '1990 or more'
    """
    assert number.bound is not None
    dated, bound = number.bound.unit is Unit.DATE, str(number.bound)
    if number.operator is Operator.AT_LEAST:
        return f"{bound} or {'later' if dated else 'more'}"
    return f"before {bound}" if dated else f"below {bound}"


def _article(name: str) -> str:
    return "an" if name[:1].lower() in tuple("aeiou") else "a"


def with_shown_names(words: Words, shown: Callable[[str], str]) -> Words:
    """The words with other names of entities and relations.

    Examples
    --------
    >>> names = {"P31": "is a", "Q5": "human"}
    >>> said(with_shown_names((_predicate("P31"), Phrase(" "), _entity("Q5")), names.__getitem__))
    "is a 'human'"
    """

    def in_names(piece: Phrase) -> Phrase:
        if piece.role is PhraseRole.ENTITY:
            return _entity(shown(piece.text[1:-1]))
        return _predicate(shown(piece.text)) if piece.role is PhraseRole.PREDICATE else piece

    return tuple(map(in_names, words))


def rule_in_names(rule: str, shown: Callable[[str], str]) -> str:
    """The text of a rule with names of its constants instead of ids; relations stay.

    Examples
    --------
    >>> rule_in_names("in(X, 'Q90') -> lives_in(X, 'Q142')", lambda name: f"{name}!")
    "in(X, 'Q90!') -> lives_in(X, 'Q142!')"
    """

    def named(match: re.Match[str]) -> str:
        return str(Constant(shown(unescaped(match[0]))))

    return CONSTANT.sub(named, rule)


def said(words: Words) -> str:
    """The words as plain text."""
    return "".join(piece.text for piece in words)


def with_plain_words(items: list[tuple[str, Any]]) -> dict[str, Any]:
    """Fields of a data class as a dictionary, `words` as plain text; for `dataclasses.asdict`."""
    return {name: said(value) if name == "words" else value for name, value in items}


def _linked(body: Body, atoms: list[Atom]) -> Words:
    """Atoms one after the other, each between two terms or about one."""
    pieces = list[Phrase]()
    for k, (step, atom) in enumerate(zip(body.steps, atoms, strict=True)):
        pieces += [Phrase(_and(body.steps[k - 1], step))] * (k > 0)
        terms = [_term(atom.arguments[place]) for place in step.places[: step.arity]]
        first, second = terms[0], terms[-1]
        if step.arity == 1:
            attribute = attribute_of(step.predicate)
            if attribute is None:  # a name may be a noun or an adjective: student, prescribed
                pieces += _filled("{} holds for {}", _predicate(step.predicate), first)
            else:
                has = f"{{}} has {_article(attribute)} {{}}"
                pieces += _filled(has, first, _predicate(attribute))
        elif step.arity == 2:
            pieces += _filled("{} {} {}", first, _predicate(step.predicate), second)
        else:
            one, other = (place + 1 for place in step.places)
            template = f"{{}} and {{}} stand in {{}} at places {one} and {other}"
            pieces += _filled(template, first, second, _predicate(step.predicate))
        pieces += _when(step)
    return tuple(pieces)


def _and(step: Step, following: Step) -> str:
    """What joins two atoms of a path: the second may be the later one, or the earlier one."""
    if following.after < 0:
        return " and later "
    return " and earlier " if step.after > 0 else " and "


def _open(body: Body, argument: Term, other: Term, threshold: Threshold | None) -> Words:
    """Edges of an argument to any entity; the pair's own edge never counts."""
    [step] = body.steps
    many, predicate = _many(threshold), _predicate(step.predicate)
    if step.arity > 2:
        place = step.places[step.inverse] + 1
        words = _filled(f"{{}} stands in {many}{{}} at place {place}", argument, predicate)
        return (*words, *_share(threshold))
    own = step.stated == body.target and step.inverse == bool(body.argument)
    besides = _filled(" besides {}", other) if own else ()
    if step.inverse:
        who = f"{many}things" if many else "something"
        words = (Phrase(who), *besides, *_filled(" {} {}", predicate, argument))
    else:
        words = (*_filled(f"{{}} has {many}{{}}", argument, predicate), *besides)
    return (*words, *_when(step), *_share(threshold))


def _is_shared(body: Body) -> bool:
    """Whether a path goes to a neighbour by a relation and back by the same."""
    return (
        len(body.steps) == 2
        and body.steps[0].arity == 2
        and body.steps[1] == body.steps[0].reversed()
    )


def _shared(
    body: Body, ends: tuple[Term, Term], threshold: Threshold | None
) -> Words:  # fmt: skip
    """Neighbours that subject and object have in common."""
    step, many = body.steps[0], _many(threshold)
    if step.inverse:
        who = f"{many}things" if many else "something"
        words = _filled(f"{who} {{}} both {{}} and {{}}", _predicate(step.predicate), *ends)
    else:
        words = _filled(f"{{}} and {{}} share {many}{{}}", *ends, _predicate(step.predicate))
    return (*words, *_when(step), *_share(threshold))


def _when(step: Step) -> Words:
    """When the atom of a step was true; nothing where it may have been ever."""
    words = step.when.words if step.when.bracket else ""
    return (Phrase(f" {words}"),) if words else ()


def _many(threshold: Threshold | None) -> str:
    """The required number of groundings, before what is counted."""
    return "" if threshold is None or threshold.share else f"{threshold.bound:.0f} or more "


def _ways(threshold: Threshold | None) -> Words:
    """The required number of groundings, after the condition."""
    if threshold is None or threshold.share:
        return _share(threshold)
    return (Phrase(f" in {threshold.bound:.0f} or more ways"),)


def _share(threshold: Threshold | None) -> Words:
    if threshold is None or not threshold.share:
        return ()
    return (Phrase(f" with a share above {weight_text(threshold.bound)}"),)


def _filled(template: str, *values: Phrase | Term) -> Words:
    """A template with every {} replaced by a value."""
    texts = template.split("{}")
    pieces = [Phrase(texts[0])]
    for value, text in zip(values, texts[1:], strict=True):
        pieces += [value if isinstance(value, Phrase) else _term(value), Phrase(text)]
    return tuple(piece for piece in pieces if piece.text)


def _term(term: Term) -> Phrase:
    if isinstance(term, Constant):
        return _entity(term.value)
    return Phrase(term.name, PhraseRole.VARIABLE)


def _entity(name: str) -> Phrase:
    return Phrase(f"'{name}'", PhraseRole.ENTITY)


def _predicate(name: str) -> Phrase:
    return Phrase(name, PhraseRole.PREDICATE)
