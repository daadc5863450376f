"""Rules of whole graphs as English sentences, and with other names, made from their text."""

from __future__ import annotations

import json
import re

from hornbeam.facts.entity_names import EntityNames
from hornbeam.rules.rule_words import Phrase, PhraseRole, Words

#: A name as JSON quotes it, or a word: a plain relation, a variable, or "_" for any entity.
TERM = r'"(?:[^"\\]|\\.)*"|[^\s"(),]+'
ATOM = re.compile(rf"({TERM})\(({TERM}), ({TERM})\)")
#: A constant in the text of a rule: a quoted name, unless a bracket follows, as after a relation.
CONSTANT = re.compile(r'"(?:[^"\\]|\\.)*"(?!\()')


def graph_rule_words(rule: str) -> Words:
    r"""A rule as one sentence: X is known, Y is the answer.

    Examples
    --------
    >>> from hornbeam.rules.rule_words import said
    >>> said(graph_rule_words('lives_in(X, Y) <- "born in"(X, A), part_of(A, Y)'))
    'If X born in A and A part_of Y, then X lives_in Y.'
    >>> said(graph_rule_words('speaks(X, "french") <- citizen(X, _)'))
    "If X citizen something, then X speaks 'french'."
    """
    head, *body = (_atom_words(*found) for found in ATOM.findall(rule))
    pieces = [Phrase("If ")]
    for k, words in enumerate(body):
        pieces += [Phrase(" and ")] * (k > 0)
        pieces += words
    return (*pieces, Phrase(", then "), *head, Phrase("."))


def rule_in_names(rule: str, names: EntityNames) -> str:
    """A rule with names of its constants, which are quoted as in JSON; relations stay."""

    def named(match: re.Match[str]) -> str:
        return json.dumps(names.shown(json.loads(match[0])), ensure_ascii=False)

    return CONSTANT.sub(named, rule)


def _atom_words(relation: str, first: str, second: str) -> Words:
    name = json.loads(relation) if relation.startswith('"') else relation
    predicate = Phrase(name, PhraseRole.PREDICATE)
    return (_term(first), Phrase(" "), predicate, Phrase(" "), _term(second))


def _term(text: str) -> Phrase:
    if text.startswith('"'):
        return Phrase(f"'{json.loads(text)}'", PhraseRole.ENTITY)
    return Phrase("something") if text == "_" else Phrase(text, PhraseRole.VARIABLE)
