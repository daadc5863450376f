"""A model, its facts and its pairs as a program that PSL's own runtime runs unchanged.

* A rule's head ranges over the listed pairs only, so every rule gets them as a first body atom
  (blocking); they stand in a closed predicate of their own.
* In a model that is not collective, observed facts of a target predicate become a closed predicate
  of their own, which stands for it in bodies: targets do not depend on each other. A pair that also
  stands among the facts is no evidence for itself; where there is such a pair, a rule through
  known facts is written once for every way in which the fact can differ from the head.
* In a collective model the target predicate itself stands in bodies, and pairs are not observed.
* Names of predicates become identifiers that differ in more than case. PSL trims the names of
  entities, so a name that begins or ends in a blank is written as another; `names.json` has both.
"""

from __future__ import annotations

import json
import os
import shutil
import tempfile
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import combinations, product
from pathlib import Path as FilePath

import numpy as np
import numpy.typing as npt

from hornbeam.arrays import Ids
from hornbeam.errors import DataError, InputError
from hornbeam.facts.atom_keys import pair_keys
from hornbeam.facts.folds import among_facts
from hornbeam.facts.table import ONE, Facts, Targets
from hornbeam.language.naming import identifiers
from hornbeam.language.syntax import Atom, Comparison, Literal, LogicalRule, Operator, Variable
from hornbeam.rules.body import VARIABLES
from hornbeam.rules.clause import Clause
from hornbeam.rules.rule_model import Relaxation, RuleModel
from hornbeam.rules.weighing import Counts

#: What Java's trim() takes away at both ends of a name.
BLANKS = "".join(map(chr, range(0x21)))


@dataclass(frozen=True)
class _Spelling:
    """Identifiers of predicates, and of those that stand for a target's pairs and known facts."""

    plain: dict[str, str]
    pairs: dict[str, str]
    known: dict[str, str]

    @classmethod
    def of(cls, model: RuleModel, targets: Iterable[str]) -> _Spelling:
        """Spell every predicate of the rules; no two look alike when case is ignored."""
        names = set(targets).union(*(body.predicates for body in model.bodies))
        plain = dict(identifiers(names))
        # names hold no tab, so these cannot clash with a predicate's; they are spelt last
        made = {what: {t: f"{plain[t]}\t{what}" for t in targets} for what in ("pairs", "known")}
        invented = [name for some in made.values() for name in some.values()]
        spelt = identifiers([*plain.values(), *invented])
        pairs, known = ({t: spelt[name] for t, name in made[what].items()} for what in made)
        return cls(plain, pairs, known)


@dataclass(frozen=True, eq=False)
class Export:
    """A model that can be exported, with its facts and pairs."""

    model: RuleModel
    facts: Facts
    pairs: Targets

    def __post_init__(self) -> None:
        semantics = self.model.semantics
        if semantics.counts is not Counts.RAW:
            raise InputError(
                f"a model with counts {semantics.counts.value} cannot be said in plain PSL, where "
                'every path counts once: learn with `counts="raw"`'
            )
        if semantics.max_fanout is not None:
            raise InputError(
                "a model with `max_fanout` cannot be said in plain PSL: learn without it"
            )
        if self.facts.soft and semantics.relaxation is Relaxation.BOOLEAN:
            raise InputError(
                "facts with truth values between 0 and 1 mean something else to PSL than to the "
                'boolean relaxation: learn with `relaxation="linear"` or `relaxation="squared"`'
            )

    @cached_property
    def targets(self) -> list[str]:
        """Target predicates that have both rules and pairs."""
        heads = set(self.model.targets)
        listed = {self.pairs.predicates[int(p)] for p in np.unique(self.pairs.predicate)}
        return sorted(heads & listed)

    @cached_property
    def spelling(self) -> _Spelling:
        """Identifiers of the predicates."""
        return _Spelling.of(self.model, self.targets)

    @cached_property
    def to_fact(self) -> Ids:
        """For every entity of the pairs its id among the facts, -1 where no fact has it."""
        return self.pairs.entities.translate(self.facts.entities)

    # Rules ----------------------------------------------------------------------------------------

    def psl_rules(self) -> Iterator[LogicalRule]:
        """The rules as PSL reads them."""
        squared = self.model.semantics.relaxation is Relaxation.SQUARED
        for rule in self.model.rules:
            if rule.weight > 0.0 and rule.clause.target in self.targets:
                for body, head in self._implications(rule.clause):
                    yield LogicalRule(rule.weight, body, (head,), squared)

    def _implications(self, clause: Clause) -> Iterator[tuple[tuple[Literal, ...], Literal]]:
        """Bodies and head of a clause; several where it goes through known facts of its target."""
        target, ends = clause.target, VARIABLES[0] + clause.body.last_variable
        steps = [(predicate, x + y) for x, predicate, y in clause.body.triples]
        head = Literal(_atom(self.spelling.plain[target], ends), clause.negated)
        if clause.is_prior and clause.negated:
            yield (), head
            return
        body = [Literal(_atom(self.spelling.pairs[target], ends))]
        for predicate, ends_of_step in steps:
            is_known = predicate in self.targets and not self.model.semantics.collective
            spelt = (self.spelling.known if is_known else self.spelling.plain)[predicate]
            body.append(Literal(_atom(spelt, ends_of_step)))
        if self.model.semantics.distinct_variables and steps:
            nodes = VARIABLES[: len(steps) + 1]
            body += [_compared(x, Operator.DIFFERENT, y) for x, y in combinations(nodes, 2)]
        own = [two for predicate, two in steps if predicate == target]
        if self.model.semantics.collective or target not in self._listed_twice:
            own = []
        for chosen in product(*(_ways_to_differ(two, ends) for two in own)):
            conditions = [literal for way in chosen for literal in way]
            yield (*body, *conditions), head

    @cached_property
    def _listed_twice(self) -> set[str]:
        """Target predicates with a pair that also stands among the facts."""
        listed = self.pairs.predicate[among_facts(self.facts, self.pairs)]
        return {self.pairs.predicates[int(p)] for p in np.unique(listed)}

    # Data -----------------------------------------------------------------------------------------

    def files(self) -> Iterator[tuple[str, str, str]]:
        """(predicate, partition, text of a data file) of all that the rules need."""
        for target in self.targets:
            rows = self._pair_rows(target)
            ends = self.pairs.subject[rows], self.pairs.object[rows]
            text = _lines([self._texts(self.pairs.entities.take(ids)) for ids in ends])
            yield self.spelling.pairs[target], "observations", text
            yield self.spelling.plain[target], "targets", text
        for name in sorted(self.spelling.plain):
            if name not in self.targets:
                yield self.spelling.plain[name], "observations", self._fact_text(name)
            elif self.model.semantics.collective:
                yield self.spelling.plain[name], "observations", self._fact_text(name, False)
            else:
                yield self.spelling.known[name], "observations", self._fact_text(name)

    def _pair_rows(self, target: str) -> npt.NDArray[np.int64]:
        """Rows of a target's distinct pairs."""
        pairs = self.pairs
        mine = np.flatnonzero(pairs.predicate == pairs.predicates.index(target))
        keys = pair_keys(pairs.subject[mine], pairs.object[mine], len(pairs.entities))
        first = np.unique(keys, return_index=True)[1]
        return np.sort(mine[first])

    def _fact_rows(self, name: str) -> tuple[tuple[Ids, Ids], npt.NDArray[np.int32] | None]:
        atoms = self.facts.binary
        mine = atoms.predicate == self.facts.predicates.index(name)
        values = None if atoms.millionths is None else atoms.millionths[mine]
        return (atoms.arguments[0][mine], atoms.arguments[1][mine]), values

    def _fact_text(self, name: str, with_pairs: bool = True) -> str:
        """Facts of a predicate as a data file, with or without those that are pairs, too."""
        (subject, object_), values = self._fact_rows(name)
        if not with_pairs:
            rows = self._pair_rows(name)
            # one id more than there are: that of pairs' entities that no fact has, -1
            n = len(self.facts.entities) + 1
            asked = pair_keys(
                self.to_fact[self.pairs.subject[rows]], self.to_fact[self.pairs.object[rows]], n
            )
            keep = ~np.isin(pair_keys(subject, object_, n), asked)
            subject, object_ = subject[keep], object_[keep]
            values = None if values is None else values[keep]
        columns = [self._texts(self.facts.entities.take(ids)) for ids in (subject, object_)]
        if values is not None:
            columns.append([f"{value / ONE:g}" for value in values.tolist()])
        return _lines(columns)

    @cached_property
    def replaced(self) -> dict[str, str]:
        """Other names for entities whose name PSL would trim."""
        trimmed = {
            name
            for names in (self.facts.entities, self.pairs.entities)
            for name in names
            if name != name.strip(BLANKS)
        }
        found: dict[str, str] = {}
        number = 1
        for name in sorted(trimmed):
            other = f"entity_{number}"
            while other in found.values() or any(
                names.index(other) >= 0 for names in (self.facts.entities, self.pairs.entities)
            ):
                number += 1
                other = f"entity_{number}"
            found[name] = other
        return found

    def _texts(self, names: list[str]) -> list[str]:
        return [self.replaced.get(name, name) for name in names] if self.replaced else names


def export_program(
    model: RuleModel, facts: Facts, pairs: Targets, folder: str | os.PathLike[str]
) -> FilePath:
    """Write program.json, rules.psl, names.json and data/; returns the path of the program.

    Raises
    ------
    InputError
        Where the model cannot be written in plain PSL, or no rule of it is about the pairs.
    """
    export = Export(model, facts, pairs)
    if not export.targets:
        raise InputError("no rule of the model is about the predicates of the pairs")
    folder = FilePath(folder)
    if folder.is_file():
        raise InputError(f"{folder}: is a file; expected a folder to write the program to")
    try:
        with tempfile.TemporaryDirectory(prefix=".hornbeam-", dir=folder.parent) as place:
            _write(export, FilePath(place) / "new")
            _take_place(FilePath(place) / "new", folder)
    except OSError as error:
        raise DataError(str(folder), f"cannot be written: {error.strerror}") from None
    return folder / "program.json"


def _write(export: Export, folder: FilePath) -> None:
    (folder / "data").mkdir(parents=True)
    predicates: dict[str, dict[str, list[str]]] = {}
    for name, partition, text in export.files():
        path = f"data/{name}_{partition}.txt"
        entry = predicates.setdefault(f"{name}/2", {})
        if text:
            (folder / path).write_text(text, encoding="utf-8", newline="\n")
            entry[partition] = [path]
    (folder / "rules.psl").write_text(
        "".join(f"{rule}\n" for rule in export.psl_rules()), encoding="utf-8", newline="\n"
    )
    options = {"runtime.inference": "true", "random.seed": "0"}
    program = {"rules": "rules.psl", "predicates": predicates, "options": options}
    spelt = export.spelling.plain
    names = {
        "predicates": {spelt[name]: name for name in sorted(spelt)},
        "entities": {other: name for name, other in export.replaced.items()},
    }
    for name, content in (("program.json", program), ("names.json", names)):
        text = json.dumps(content, indent=1, ensure_ascii=False) + "\n"
        (folder / name).write_text(text, encoding="utf-8", newline="\n")


def _take_place(made: FilePath, folder: FilePath) -> None:
    """Move the new folder to its place, over an older export there."""
    if folder.is_dir() and any(folder.iterdir()):
        if not (folder / "program.json").is_file():
            raise InputError(f"{folder}: holds other files; expected a new or an empty folder")
        shutil.rmtree(folder / "data", ignore_errors=True)
        for part in sorted(made.iterdir()):
            os.replace(part, folder / part.name)
    else:
        if folder.is_dir():
            folder.rmdir()
        os.replace(made, folder)


def _atom(predicate: str, variables: str) -> Atom:
    return Atom(predicate, tuple(Variable(name) for name in variables))


def _compared(one: str, operator: Operator, other: str) -> Literal:
    return Literal(Comparison(Variable(one), operator, Variable(other)))


def _ways_to_differ(atom: str, head: str) -> list[list[Literal]]:
    """Conditions, no two of which hold at once, under which an atom is not the head."""
    x, y, a, b = *tuple(atom), *tuple(head)
    ways = []
    if x != a:
        ways.append([_compared(x, Operator.DIFFERENT, a)])
    if y != b:
        same = [_compared(x, Operator.EQUAL, a)] if x != a else []
        ways.append([*same, _compared(y, Operator.DIFFERENT, b)])
    return ways


def _lines(columns: Sequence[list[str]]) -> str:
    return "".join("\t".join(row) + "\n" for row in zip(*columns, strict=True))
