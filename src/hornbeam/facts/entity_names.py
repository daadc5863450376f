"""Display names of entities: given by users, or found in the facts as labels and types."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import NamedTuple

import numpy as np

from hornbeam.base.arrays import Ids
from hornbeam.errors import InputError
from hornbeam.facts.names import Names, unknown_entity
from hornbeam.facts.table import Facts

#: Predicates of labels, the clearest first, and of types.
LABELS = ("http://www.w3.org/2000/01/rdf-schema#label", "rdfs:label", "http://schema.org/name",
          "http://www.w3.org/2004/02/skos/core#prefLabel")  # fmt: skip
TYPES = ("http://www.w3.org/1999/02/22-rdf-syntax-ns#type", "rdf:type")
#: A literal of N-Triples: its text, and its language where it has one.
LITERAL = re.compile(r'"((?:[^"\\]|\\.)*)"(?:@([A-Za-z0-9-]+)|\^\^<[^>]*>)?', re.DOTALL)
ESCAPED = re.compile(r"\\(?:u([0-9A-Fa-f]{4})|U([0-9A-Fa-f]{8})|(.))", re.DOTALL)
LETTERS = {"t": " ", "n": " ", "r": " ", "b": "", "f": " "}
#: A property of Wikidata as a predicate, and the entity that has its label.
PROPERTY = re.compile(r"(.+)/prop/(?:.+/)?(P\d+)")
#: The language of labels that are taken where there are several.
ENGLISH = "en"
#: A type before the id, as in Gene::9606.
PREFIXED = re.compile(r"([A-Za-z][\w .-]*)::.")
#: Number of entities to check first, before all are.
SAMPLE = 100


@dataclass(frozen=True, eq=False)
class EntityNames:
    """A name, and perhaps a type, by the id of an entity, and a name by the id of a relation.

    Ids without a name show as they are.

    Examples
    --------
    >>> names = EntityNames({"Q90": "Paris", "Q830149": "Paris", "Q64": "Berlin"}, {"Q90": "city"})
    >>> [names.shown(entity) for entity in ("Q64", "Q90", "Q5")]
    ['Berlin', 'Paris (Q90)', 'Q5']
    >>> names.described(["Q90", "Q5"])
    {'Q90': {'name': 'Paris', 'type': 'city'}}
    """

    names: Mapping[str, str] = field(default_factory=dict)
    types: Mapping[str, str] = field(default_factory=dict)

    def __len__(self) -> int:
        return len(self.names)

    def shown(self, entity: str) -> str:
        """Text to show: the name, followed by the id where the name is not unique."""
        name = self.names.get(entity)
        if name is None:
            # an id that is another entity's name
            return f"{entity} ({entity})" if entity in self._ids_by_name else entity
        others = [other for other in self._ids_by_name[name] if other != entity]
        return f"{name} ({entity})" if any(not _of_one(entity, other) for other in others) else name

    def named(self, entity: str) -> str:
        """The name alone, or the id where there is none."""
        return self.names.get(entity, entity)

    @cached_property
    def _ids_by_name(self) -> dict[str, list[str]]:
        """Ids by the name that they have."""
        ids: dict[str, list[str]] = {}
        for entity, name in self.names.items():
            ids.setdefault(name, []).append(entity)
        return ids

    def entity(self, text: str, known: Names) -> str:
        """The id for a text: the text itself if it is an id, else the entity with that name.

        A text may be both an entity without a name, as labels in the facts are, and the name of
        exactly one other entity. Then it means the other entity. An ambiguous name is refused.
        """
        ids = [entity for entity in self._ids_by_name.get(text, []) if known.index(entity) >= 0]
        if known.index(text) >= 0 and (text in self.names or len(ids) != 1):
            return text
        if len(ids) > 1:
            raise InputError(f"{len(ids)} entities are called {text!r}: {', '.join(ids)}")
        return ids[0] if ids else text

    def entities(self, texts: Iterable[str], locate: Callable[[Names], Ids]) -> dict[str, str]:
        """The ids of those texts that are names; see `entity`.

        `locate` gives the ids of entities in the facts, -1 where they do not have one.

        Examples
        --------
        >>> names = EntityNames({"Q90": "Paris", "Q64": "Berlin"})
        >>> known = Names.of(["Q90", "Q64"])
        >>> names.entities(["Paris", "Q64", "Berlin"], lambda asked: asked.translate(known))
        {'Paris': 'Q90', 'Berlin': 'Q64'}
        """
        called = [text for text in texts if text in self._ids_by_name]
        if not called:
            return {}
        ids = [entity for text in called for entity in self._ids_by_name[text]]
        asked = Names.of([*called, *ids])
        known = Names.of(asked.take(np.flatnonzero(locate(asked) >= 0)))
        return {text: self.entity(text, known) for text in called}

    def known_entity(self, text: str, known: Names, place: str = "entity") -> str:
        """The id for a text, which must be an entity of the facts."""
        entity = self.entity(text, known)
        if known.index(entity) < 0:
            raise unknown_entity(text, known, place, self.names.values())
        return entity

    def relation(self, text: str, known: Collection[str]) -> str:
        """The id for a text: the text itself if it is a known relation, else one of that name."""
        ids = [] if text in known else [i for i in self._ids_by_name.get(text, []) if i in known]
        if len(ids) > 1:
            raise InputError(f"{len(ids)} relations are called {text!r}: {', '.join(ids)}")
        return ids[0] if ids else text

    def relations(self, texts: Iterable[str], known: Collection[str]) -> dict[str, str]:
        """The ids of those texts that are names of relations."""
        return {text: self.relation(text, known) for text in texts if text in self._ids_by_name}

    def type_of(self, entity: str) -> str | None:
        """Type of an entity, where it is known."""
        return self.types.get(entity)

    def described(self, entities: Iterable[str]) -> dict[str, dict[str, str | None]]:
        """Name and type by id, for JSON; entities without a name are left out."""
        return {
            entity: {"name": self.names[entity], "type": self.types.get(entity)}
            for entity in dict.fromkeys(entities)
            if entity in self.names
        }

    def __repr__(self) -> str:
        return f"EntityNames({len(self):,} names, {len(self.types):,} types)"


#: Every entity shows as its id.
NO_NAMES = EntityNames()


class WantedEnds(NamedTuple):
    """Entities that new links start from, None for the usual ones, and their only ends, if any."""

    starts: Ids | None
    ends: Ids | None
    from_objects: bool  #: whether links are looked for from their objects, backward


def wanted_ends(
    facts: Facts,
    names: EntityNames | None,
    subjects: Sequence[str] | None,
    objects: Sequence[str] | None,
    per_subject: bool,
) -> WantedEnds:
    """The wanted ends by ids or names of the facts; without `names` by the labels in the facts.

    Links start from the subjects, or from objects where these alone are given.
    """
    if subjects is None and objects is None:
        return WantedEnds(None, None, from_objects=False)
    called = names or EntityNames(labels_in(facts))
    first, second = (
        None
        if given is None
        else np.unique(
            facts.entities.find([called.known_entity(text, facts.entities, end) for text in given])
        )
        for end, given in (("subject", subjects), ("object", objects))
    )
    if first is None and not per_subject:
        return WantedEnds(second, None, from_objects=True)
    return WantedEnds(first, second, from_objects=False)


def names_in(facts: Facts, language: str = ENGLISH) -> EntityNames:
    """Names and types of entities according to the facts.

    Labels in the wanted language are preferred, then those without a language, then English ones,
    then the first by name; of several types the most frequent is taken. Without any type, prefixes
    of the ids (`Gene::9606`) are types where every entity has one.

    Examples
    --------
    >>> from hornbeam.facts.reading.readers import read_facts
    >>> names = names_in(read_facts([("Q64", "rdfs:label", "Berlin"), ("Q64", "rdf:type", "city")]))
    >>> names.named("Q64"), names.type_of("Q64")
    ('Berlin', 'city')
    >>> names_in(read_facts([("Gene::1", "causes", "Disease::2")])).type_of("Gene::1")
    'Gene'
    """
    return EntityNames(labels_in(facts, language), types_in(facts))


def labels_in(facts: Facts, language: str = ENGLISH) -> dict[str, str]:
    """Names of entities, and of relations, according to the facts.

    A relation of Wikidata (`.../prop/direct/P551`) has the label of its property
    (`.../entity/P551`).
    """
    best: dict[str, tuple[int, int, str]] = {}
    for place, predicate in enumerate(LABELS):
        for entity, label in _links(facts, [predicate]):
            rank, name = _ranked_label(label, language.lower())
            if name:
                best[entity] = min(best.get(entity, (9, 0, "")), (rank, place, name))
    names = {entity: name for entity, (*_, name) in best.items()}
    for predicate in facts.predicates:
        of_property = names.get(_property_of(predicate) or predicate)
        if of_property and predicate not in names:
            names[predicate] = of_property
    return names


def types_in(facts: Facts) -> dict[str, str]:
    """Types of entities: those given with the facts, those in the facts, or prefixes of all ids."""
    given = facts.types
    named = zip(facts.entities.take(given.entity), given.kinds.take(given.kind), strict=True)
    stated = _commonest([*_links(facts, TYPES), *_classes(facts)]) | dict(named)
    return stated or _prefixes(facts)


def _property_of(relation: str) -> str | None:
    """The entity that is the property of a relation of Wikidata; None of other ids."""
    match = PROPERTY.fullmatch(relation)
    return match and f"{match[1]}/entity/{match[2]}"


def _of_one(first: str, second: str) -> bool:
    """Whether of two ids one is a relation of Wikidata, the other its property: one name is due."""
    return _property_of(first) == second or _property_of(second) == first


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


def _ranked_label(text: str, wanted: str) -> tuple[int, str]:
    """How good a label is for a language (less is better), and its text."""
    literal = LITERAL.fullmatch(text)
    if literal is None:
        return 1, text
    plain, language = literal.groups()
    if language is None:
        return 1, ESCAPED.sub(_unescaped, plain).strip()
    spoken = (language.lower(), language.lower().split("-")[0])
    rank = 0 if wanted in spoken else 2 if ENGLISH in spoken else 3
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
    matches = {entity: PREFIXED.match(entity) for entity in facts.entities}
    types = {entity: match[1] for entity, match in matches.items() if match}
    return types if len(types) == n else {}
