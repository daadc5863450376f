"""Which entities fit the arguments of a relation: types, places in known links, and loops.

This decides for negatives, proposals and answers of both kinds of models. For candidates it refuses
facts and labelled pairs that contradict given types (`ArgumentTypes.check`): then a body whose
atoms want entities of two types at one place has no grounding.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from functools import cached_property

import numpy as np

from hornbeam.base.arrays import Bools, Ids, Integers
from hornbeam.base.texts import did_you_mean
from hornbeam.errors import InputError
from hornbeam.facts.entity_names import EntityNames, types_in
from hornbeam.facts.entity_types import EntityTypes
from hornbeam.facts.table import Facts, Targets


@dataclass(frozen=True, eq=False)
class ArgumentTypes:
    """Types of entities, and what the known links of a relation have as subjects and objects.

    Known links are the facts, and the true ones of `labels`.

    Examples
    --------
    >>> from hornbeam.facts.reading.readers import read_facts
    >>> facts = read_facts([("Gene::1", "causes", "Disease::2"), ("Gene::3", "binds", "Gene::1")])
    >>> allowed = ArgumentTypes(facts).allowed("causes", 1)
    >>> [name for name, may in zip(facts.entities, allowed) if may]
    ['Disease::2']
    """

    facts: Facts
    names: EntityNames | None = None
    labels: Targets | None = None
    #: Subjects and objects of a relation, where `facts` do not have them: those of a database.
    stored_links: Callable[[str], tuple[Ids, Ids]] | None = None
    #: What known links have as arguments, as far as queried, by relation (and place).
    _loops: dict[str, bool] = field(default_factory=dict, init=False, repr=False)
    _kinds: dict[tuple[str, int], Bools | None] = field(
        default_factory=dict, init=False, repr=False
    )
    _linked: dict[tuple[str, int], Bools] = field(default_factory=dict, init=False, repr=False)

    @cached_property
    def kind(self) -> Ids:
        """Number of every entity's type, -1 where it is not known."""
        kind = np.full(len(self.facts.entities), -1, dtype=np.int32)
        kind[self._types.entity] = self._types.kind
        return kind

    @cached_property
    def _types(self) -> EntityTypes:
        """Types given with the names, else those of the facts, else inferred ones."""
        facts, types = self.facts, types_in(self.facts)
        if len(facts.types.entity):
            if not types and self.names is None:
                return facts.types
            stated = zip(facts.types.entity.tolist(), facts.types.kind.tolist(), strict=True)
            types = _completed({facts.entities[e]: facts.types.kinds[k] for e, k in stated}, types)
        types = types if self.names is None else _completed(self.names.types, types)
        return EntityTypes.of(facts.entities, types)

    def check(self) -> None:
        """Refuse given types that a fact or a labelled pair, be it a false one, contradicts."""
        labelled = () if self.labels is None else self.labels.predicates
        known = sorted({*self.facts.predicates, *labelled})
        for relation in self.facts.types.arguments:
            if relation not in known:
                raise InputError(
                    f"`arguments`: no fact has the relation {relation!r}."
                    f"{did_you_mean(relation, known)}"
                )
            ends = self._links(relation, with_false=True)
            for place, end in enumerate(ends):
                given = self.given(relation, place)
                assert given is not None
                wrong = np.flatnonzero(~given[end])
                if len(wrong):
                    pair = [self.facts.entities[int(ids[wrong[0]])] for ids in ends]
                    raise self._contradiction(relation, place, pair, len(wrong))

    def _contradiction(self, relation: str, place: int, pair: list[str], count: int) -> InputError:
        """The error about a known pair whose argument at `place` is not of the given type."""
        kind = int(self.kind[self.facts.entity(pair[place])])
        has = f"the type {self._types.kinds[kind]!r}" if kind >= 0 else "no type"
        kinds = self.facts.types.arguments[relation]
        others = f" ({count:,} pairs in all)" if count > 1 else ""
        return InputError(
            f"`arguments`: {pair[0]!r} {relation!r} {pair[1]!r} is among the facts or labels, and "
            f"{pair[place]!r} has {has}; expected {kinds[min(place, len(kinds) - 1)]!r}{others}"
        )

    def given(self, relation: str, place: int) -> Bools | None:
        """Entities of the type that is given for an argument; None where none is given."""
        arguments = self.facts.types.arguments.get(relation)
        if arguments is None:
            return None
        kind = arguments[min(place, len(arguments) - 1)]
        number = self._types.kinds.index(kind)
        fitting: Bools = self.kind == number
        if number < 0 or not fitting.any():
            raise InputError(
                f"`arguments`: no entity has the type {kind!r}, which is given for {relation!r}."
                f"{did_you_mean(kind, self._types.kinds)}"
            )
        return fitting

    @cached_property
    def known(self) -> bool:
        """Whether some entity has a type."""
        return bool((self.kind >= 0).any())

    def allowed(self, relation: str, place: int) -> Bools | None:
        """Entities that may be subjects (`place` 0) or objects (1); None where all of them may.

        Those of a type that some known link of the relation has there, and those without a type.
        """
        kinds = self._fitting_kinds(relation, place)
        return None if kinds is None else kinds[self.kind]

    def _fitting_kinds(self, relation: str, place: int) -> Bools | None:
        """Whether each type fits, by its number; last, an unknown type.

        An unknown type fits, unless a type is given for the argument.
        """
        if (relation, place) not in self._kinds:
            kinds, given = None, self.given(relation, place)
            if given is not None or self.known:
                fitting = self._links(relation)[place] if given is None else given
                kinds = np.zeros(int(self.kind.max()) + 2, dtype=np.bool_)
                kinds[self.kind[fitting]] = True
                if given is None:
                    kinds[-1] = True
                    kinds = kinds if kinds[:-1].any() else None
            self._kinds[relation, place] = kinds
        return self._kinds[relation, place]

    def standing(self, relation: str, place: int) -> Bools | None:
        """Entities that are subjects (`place` 0) or objects (1) of known links; None without any.

        Where a type is given for the argument, so are all entities of the type.

        Examples
        --------
        >>> from hornbeam.facts.reading.readers import read_facts
        >>> types = ArgumentTypes(read_facts([("a", "is", "b"), ("b", "likes", "a")]))
        >>> types.standing("is", 1).tolist(), types.standing("unheard", 1)
        ([False, True], None)
        """
        given, found = self.given(relation, place), self.linked(relation, place)
        found = found if given is None else found | given
        return found if found.any() else None

    def linked(self, relation: str, place: int) -> Bools:
        """Entities that are subjects (`place` 0) or objects (1) of known links."""
        if (relation, place) not in self._linked:
            found = np.zeros(len(self.facts.entities), dtype=np.bool_)
            found[self._links(relation)[place]] = True
            self._linked[relation, place] = found
        return self._linked[relation, place]

    def fits(
        self, relation: str, subject: Integers, object_: Integers, *, unary: bool = False
    ) -> Bools:
        """Which pairs have types that known links have, and are loops only if a known link is one.

        Subjects and objects are broadcast against each other. All pairs of a `unary` relation are
        loops.
        """
        fit = self.fitting_types(relation, subject, object_)
        return fit if unary or self.has_loops(relation) else fit & (subject != object_)

    def fitting_types(self, relation: str, subject: Integers, object_: Integers) -> Bools:
        """Which pairs have types that known links have, whether loops or not; see `fits`."""
        fit = np.ones(np.broadcast_shapes(subject.shape, object_.shape), dtype=np.bool_)
        for place, ends in enumerate((subject, object_)):
            kinds = self._fitting_kinds(relation, place)
            if kinds is not None:
                fit &= kinds[self.kind[ends]]
        return fit

    def has_loops(self, relation: str) -> bool:
        """Whether a known link of the relation leads from an entity to itself.

        Examples
        --------
        >>> from hornbeam.facts.reading.readers import read_facts
        >>> types = ArgumentTypes(read_facts([("a", "is", "b"), ("c", "likes", "c")]))
        >>> types.has_loops("is"), types.has_loops("likes")
        (False, True)
        """
        if relation not in self._loops:
            subject, object_ = self._links(relation)
            self._loops[relation] = bool((subject == object_).any())
        return self._loops[relation]

    def _links(self, relation: str, *, with_false: bool = False) -> tuple[Ids, Ids]:
        """Subjects and objects of the known links of a relation, false labels among them or not."""
        subject, object_ = (self.stored_links or self.facts.links)(relation)
        if self.labels is None or self.labels.predicates.index(relation) < 0:
            return subject, object_
        stated = self.labels.only([relation])
        stated = stated if with_false else stated.select(stated.positive)
        located = stated.entities.translate(self.facts.entities)
        ends = located[stated.subject], located[stated.object]
        known = (ends[0] >= 0) & (ends[1] >= 0)
        return np.append(subject, ends[0][known]), np.append(object_, ends[1][known])


def _completed(given: Mapping[str, str], inferred: Mapping[str, str]) -> dict[str, str]:
    """The given types, completed by types inferred from the facts.

    The two may name one type differently: an inferred type whose entities all have the same given
    type is replaced by it; where they have several, the type stays unknown.
    """
    words = defaultdict[str, set[str]](set)
    for entity, kind in given.items():
        if entity in inferred:
            words[inferred[entity]].add(kind)
    meant = {kind: min(words.get(kind, {kind})) for kind in set(inferred.values())}
    clear = {kind for kind in meant if len(words.get(kind, ())) <= 1}
    further = {entity: meant[kind] for entity, kind in inferred.items() if kind in clear}
    return further | dict(given)
