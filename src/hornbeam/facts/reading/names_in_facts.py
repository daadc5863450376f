"""Names and types of entities found in the facts: RDF labels and types, prefixes of ids."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Iterator

import numpy as np

from hornbeam.facts.entity_names import EntityNames
from hornbeam.facts.table import Facts

#: Predicates of labels and of types.
LABELS = ("http://www.w3.org/2000/01/rdf-schema#label", "rdfs:label")
TYPES = ("http://www.w3.org/1999/02/22-rdf-syntax-ns#type", "rdf:type")
#: A literal of N-Triples: its text, and its language where it has one.
LITERAL = re.compile(r'"((?:[^"\\]|\\.)*)"(?:@([A-Za-z0-9-]+)|\^\^<[^>]*>)?', re.DOTALL)
ESCAPED = re.compile(r"\\(?:u([0-9A-Fa-f]{4})|U([0-9A-Fa-f]{8})|(.))", re.DOTALL)
LETTERS = {"t": " ", "n": " ", "r": " ", "b": "", "f": " "}
#: A type before the id, as in Gene::9606.
PREFIXED = re.compile(r"([A-Za-z][\w .-]*)::.")
#: Number of entities to check first, before all are.
SAMPLE = 100


def names_in(facts: Facts) -> EntityNames:
    """Names and types of entities according to the facts.

    English labels are preferred, then those without a language, then the first by name; of several
    types the most frequent is taken. Without any type, prefixes of the ids (`Gene::9606`) are types
    where every entity has one.

    Examples
    --------
    >>> from hornbeam.facts.reading.readers import read_facts
    >>> names = names_in(read_facts([("Q64", "rdfs:label", "Berlin"), ("Q64", "rdf:type", "city")]))
    >>> names.named("Q64"), names.type_of("Q64")
    ('Berlin', 'city')
    >>> names_in(read_facts([("Gene::1", "causes", "Disease::2")])).type_of("Gene::1")
    'Gene'
    """
    return EntityNames(labels_in(facts), types_in(facts))


def labels_in(facts: Facts) -> dict[str, str]:
    """Names of entities according to the facts."""
    names: dict[str, tuple[int, str]] = {}
    for entity, label in _links(facts, LABELS):
        said = _label(label)
        if said[1] and said < names.get(entity, (3, "")):
            names[entity] = said
    return {entity: name for entity, (_, name) in names.items()}


def types_in(facts: Facts) -> dict[str, str]:
    """Types of entities according to the facts, or to prefixes that all ids have."""
    return _commonest([*_links(facts, TYPES), *_classes(facts)]) or _prefixes(facts)


def local_name(iri: str) -> str:
    """The last part of an IRI; any other text as it is.

    Examples
    --------
    >>> local_name("http://schema.org/City"), local_name("city")
    ('City', 'city')
    """
    return re.split(r"[#/]", iri.rstrip("#/"))[-1] if "://" in iri else iri


def _links(facts: Facts, predicates: Iterable[str]) -> Iterator[tuple[str, str]]:
    """Subject and object of the facts of some predicates."""
    wanted = [p for p in map(facts.predicates.index, predicates) if p >= 0]
    if not wanted:
        return
    rows = np.flatnonzero(np.isin(facts.binary.predicate, wanted))
    for subject, object_ in zip(
        *(column[rows].tolist() for column in facts.binary.arguments), strict=True
    ):
        yield facts.entities[subject], facts.entities[object_]


def is_class(predicate: str) -> bool:
    """Whether a unary predicate is an RDF class."""
    return "://" in predicate


def _classes(facts: Facts) -> Iterator[tuple[str, str]]:
    """Entities and their RDF classes, which are unary facts."""
    table = facts.atoms.get(1)
    if table is None:
        return
    classes = {p: name for p, name in enumerate(facts.predicates) if is_class(name)}
    rows = np.isin(table.predicate, list(classes))
    for entity, predicate in zip(
        table.arguments[0][rows].tolist(), table.predicate[rows].tolist(), strict=True
    ):
        yield facts.entities[entity], classes[predicate]


def _label(text: str) -> tuple[int, str]:
    """How good a label is (less is better), and its text."""
    literal = LITERAL.fullmatch(text)
    if literal is None:
        return 1, text
    plain, language = literal.groups()
    rank = 1 if language is None else 2 - 2 * (language.lower().split("-")[0] == "en")
    return rank, ESCAPED.sub(_unescaped, plain).strip()


def _unescaped(escape: re.Match[str]) -> str:
    code = escape[1] or escape[2]
    return chr(int(code, 16)) if code else LETTERS.get(escape[3], escape[3])


def _commonest(typed: list[tuple[str, str]]) -> dict[str, str]:
    """The type of every entity; of several the one that most entities have."""
    size = Counter(kind for _, kind in typed)
    best: dict[str, str] = {}
    for entity, kind in typed:
        other = best.get(entity)
        if other is None or (-size[kind], kind) < (-size[other], other):
            best[entity] = kind
    return {entity: local_name(kind) for entity, kind in best.items()}


def _prefixes(facts: Facts) -> dict[str, str]:
    """Types from the prefixes of the ids, where all entities have one."""
    n = len(facts.entities)
    sample = np.unique(np.linspace(0, n - 1, min(n, SAMPLE)).astype(np.int64)).tolist()
    if not n or not all(PREFIXED.match(facts.entities[i]) for i in sample):
        return {}
    found = {entity: PREFIXED.match(entity) for entity in facts.entities}
    if not all(found.values()):
        return {}
    return {entity: match[1] for entity, match in found.items() if match}
