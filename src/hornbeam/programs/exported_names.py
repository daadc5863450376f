"""Names of predicates and entities in an exported program.

Names of predicates become identifiers that differ in more than case. PSL trims the names of
entities, so a name that begins or ends in a blank is written as another; so is a constant of a rule
with characters that break PSL's database, such as a quote.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

from hornbeam.facts.names import Names
from hornbeam.language.rule_texts import identifiers
from hornbeam.language.syntax import Atom, Constant, Term

#: What Java's trim() takes away at both ends of a name.
BLANKS = "".join(map(chr, range(0x21)))
#: Constants that may be in a rule as they are.
SAFE = re.compile(r"[\w .:/#-]+\Z")
#: Closed predicates that accompany a target.
KINDS = ("pairs", "located", "known")


@dataclass(frozen=True)
class ExportedNames:
    """Identifiers of predicates, and other names of entities."""

    plain: Mapping[str, str]  #: identifiers of the predicates of targets and bodies
    #: For every target the predicates of its pairs, of those whose entities have facts, and of its
    #: observed facts.
    pairs: Mapping[str, str]
    located: Mapping[str, str]
    known: Mapping[str, str]
    #: Predicates of the rules whose columns are written out, by the rule's place in the model.
    computed: Mapping[int, str]
    entities: Mapping[str, str]  #: other names of the entities that cannot have their own

    @classmethod
    def of(
        cls,
        predicates: Iterable[str],
        targets: Sequence[str],
        computed: Iterable[int],
        constants: Iterable[str],
        entities: Sequence[Names],
    ) -> ExportedNames:
        """Choose all identifiers; they are distinct when case is ignored."""
        plain = dict(identifiers({*predicates, *targets}))
        # names hold no tab, so these cannot clash with a predicate's; they get identifiers last
        made = {t: [f"{plain[t]}\t{what}" for what in KINDS] for t in targets}
        rules = {place: f"rule\t{place + 1}" for place in computed}
        invented = [name for some in made.values() for name in some]
        spelt = identifiers([*plain.values(), *invented, *rules.values()])
        return cls(
            plain,
            {t: spelt[pairs] for t, (pairs, _, _) in made.items()},
            {t: spelt[located] for t, (_, located, _) in made.items()},
            {t: spelt[known] for t, (_, _, known) in made.items()},
            {place: spelt[name] for place, name in rules.items()},
            _replaced(constants, entities),
        )

    def texts(self, names: Sequence[str]) -> list[str]:
        """Entities as the program calls them."""
        return [self.entities.get(name, name) for name in names]

    def term(self, term: Term) -> Term:
        """A term over the program's entities."""
        if isinstance(term, Constant):
            return Constant(self.entities.get(term.value, term.value))
        return term

    def atom(self, predicate: str, terms: Iterable[Term]) -> Atom:
        """An atom of a predicate that has its identifier already."""
        return Atom(predicate, tuple(map(self.term, terms)))


def _replaced(constants: Iterable[str], tables: Sequence[Names]) -> dict[str, str]:
    """Other names for entities that PSL would trim, or that are unsafe as constants."""
    others = {name for names in tables for name in names if name != name.strip(BLANKS)}
    others |= {name for name in constants if name != name.strip(BLANKS) or not SAFE.match(name)}
    found: dict[str, str] = {}
    number = 1
    for name in sorted(others):
        other = f"entity_{number}"
        while other in found.values() or any(names.index(other) >= 0 for names in tables):
            number += 1
            other = f"entity_{number}"
        found[name] = other
    return found
