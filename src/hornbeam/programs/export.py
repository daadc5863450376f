"""The export of a model, its facts and its pairs as a program for PSL's own runtime.

Rules with raw counts and without thresholds are written as they are. Other rules are written with
observed predicates that hold their counts (see `exported_rules`), so that PSL finds the same MAP
state. `names.json` has the original names of predicates and renamed entities, and the rules of
computed predicates.
"""

from __future__ import annotations

import json
import os
from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property, partial
from pathlib import Path as FilePath

import numpy as np

from hornbeam.base.arrays import Bools, Integers, Ints
from hornbeam.base.choices import CollectiveMethod, Relaxation
from hornbeam.base.files import check_folder, save_folder
from hornbeam.counting.columns import Columns, HingeRows, strengths_add_up
from hornbeam.counting.engine import BodyCounter
from hornbeam.counting.memory.memory_engine import MemoryEngine
from hornbeam.counting.number_counts import NumberCounter, are_numeric, number_of
from hornbeam.errors import InputError
from hornbeam.facts.atom_keys import pair_keys
from hornbeam.facts.known import among_facts, without_targets
from hornbeam.facts.table import ONE, Facts, Targets
from hornbeam.language.syntax import LogicalRule
from hornbeam.programs.exported_rules import (
    COMPARES,
    ComputedRule,
    ExportedNames,
    PlainRules,
    RuleNotPlainError,
    observed_name,
    why_not_plain,
)
from hornbeam.rules.body import Body
from hornbeam.rules.clause import Clause, prior
from hornbeam.rules.rule_model import Rule, RuleModel
from hornbeam.scoring.independent_scores import rule_hinges
from hornbeam.scoring.model_checks import check_arities
from hornbeam.scoring.scored_links import first_step_beliefs

#: Files of an export, next to the folder of its data.
PROGRAM, RULES, NAMES = "program.json", "rules.psl", "names.json"

#: Options of PSL's runtime. With PSL's default tolerances the state may be 0.002 from the optimum.
OPTIONS = {
    "runtime.inference": "true",
    "random.seed": "0",
    "admmreasoner.epsilonabs": "1e-7",
    "admmreasoner.epsilonrel": "1e-5",
}


@dataclass(frozen=True)
class DataFile:
    """A data file: the atoms of one predicate in one partition of the program."""

    predicate: str
    arity: int
    partition: str
    text: str


@dataclass(frozen=True, eq=False)
class Export:
    """A model to be exported, with its facts and pairs.

    With `plain`, rules that plain PSL cannot express are refused.
    """

    model: RuleModel
    engine: MemoryEngine
    pairs: Targets
    plain: bool = False

    def __post_init__(self) -> None:
        semantics, texts = self.model.semantics, self.model.clause_texts
        if semantics.collective is CollectiveMethod.MAP_HEADS:
            raise InputError(
                "PSL's rules move all of their atoms, and those of this model their heads alone: "
                'learn with `collective="map"` to export'
            )
        for place, why in self.not_plain.items():
            if self.plain:
                raise RuleNotPlainError(place, why, texts[place])
            if semantics.recursive:
                why += ", and what a collective model counts depends on its scores"
                raise InputError(f"{why} (the rule is: {texts[place]})")

    @property
    def facts(self) -> Facts:
        """The facts, which are the evidence."""
        return self.engine.facts

    @cached_property
    def targets(self) -> list[str]:
        """Target predicates that have both rules and pairs."""
        heads = set(self.model.targets)
        listed = {self.pairs.predicates[int(p)] for p in np.unique(self.pairs.predicate)}
        return sorted(heads & listed)

    @cached_property
    def rules(self) -> dict[int, Rule]:
        """Rules of positive weight for targets that have pairs, by their places in the model."""
        return {
            place: rule
            for place, rule in enumerate(self.model.rules)
            if rule.weight > 0.0 and rule.clause.target in self.targets
        }

    @cached_property
    def not_plain(self) -> dict[int, str]:
        """The rules that are not written as they are: the reason, by the rule's place."""
        soft = self.facts.soft
        why = {p: why_not_plain(self.model, rule.clause, soft) for p, rule in self.rules.items()}
        if not self.plain:
            # comparisons that hold once at most are observed predicates of plain rules
            once = [p for p, reason in why.items() if reason == COMPARES]
            why |= {p: "" for p in once if self._holds_once(self.rules[p].clause)}
        return {place: reason for place, reason in why.items() if reason}

    def _holds_once(self, clause: Clause) -> bool:
        """Whether no pair has several groundings of a rule's conditions on numbers."""
        numeric = [part.body for part in clause.body.parts if observed_name(part.body)]
        counted = self.engine.count(self.pairs, numeric, self.model.language)
        return int(counted.count.max(initial=0)) <= 1

    @cached_property
    def observed(self) -> dict[str, Body]:
        """Conditions on numbers of the rules that are written as they are, by their names."""
        numeric = are_numeric(self._plain_bodies, self.engine.numbers, self.engine.predicates)
        return {
            observed_name(body) or body.steps[0].predicate: body
            for body, is_numeric in zip(self._plain_bodies, numeric, strict=True)
            if is_numeric
        }

    @cached_property
    def _plain_bodies(self) -> list[Body]:
        """Bodies of the rules that are written as they are."""
        return [
            part.body
            for place, rule in self.rules.items()
            if place not in self.not_plain
            for part in rule.clause.body.parts
        ]

    @cached_property
    def arities(self) -> dict[str, int]:
        """Arities of the predicates in bodies of rules that are written as they are."""
        arities = {step.predicate: step.arity for body in self._plain_bodies for step in body.steps}
        observed = self.observed.items()
        return arities | {name: 1 + (body.only_argument is None) for name, body in observed}

    @cached_property
    def names(self) -> ExportedNames:
        """Names of predicates and entities in the program."""
        entities = self.facts.entities, self.pairs.entities
        constants = {body.constant for body in self._plain_bodies if body.constant is not None}
        return ExportedNames.of(self.arities, self.targets, self.not_plain, constants, entities)

    # Rules ----------------------------------------------------------------------------------------

    def psl_rules(self) -> Iterator[LogicalRule]:
        """The rules as PSL reads them.

        PSL refuses a program without rules. If no rule has a positive weight, or none of those has
        a grounding, the negative prior of every target is written with weight 0.
        """
        weightless = [Rule(0.0, prior(name, arity=self._arity(name))) for name in self.targets]
        # PSL takes the first of equal rules: their weights are added up
        weights = defaultdict[LogicalRule, float](float)
        written = list(self._psl_rules(self.rules))
        for rule in written or self._psl_rules(dict(enumerate(weightless))):
            weights[replace(rule, weight=0.0)] += rule.weight or 0.0
        return (replace(rule, weight=weight) for rule, weight in weights.items())

    def _psl_rules(self, rules: Mapping[int, Rule]) -> Iterator[LogicalRule]:
        """Rules, by their places, as PSL reads them, some of which may be equal."""
        squared = self.model.semantics.relaxation is Relaxation.SQUARED
        stated = self._targets_of(among_facts(self.facts, self.pairs))
        plain = PlainRules(self.model, self.names, stated, self._targets_of(~self.located))
        for place, rule in rules.items():
            if place in self.computed and not rule.clause.is_prior:
                target = self.names.plain[rule.clause.target]
                yield from self.computed[place].psl_rules(target, squared)
            else:
                for body, head in plain.implications(rule.clause):
                    yield LogicalRule(rule.weight, body, (head,), squared)

    @cached_property
    def computed(self) -> dict[int, ComputedRule]:
        """The rules that are not written as they are, with their counts for all pairs, by place."""
        if not self.not_plain:
            return {}
        model = self.model.with_rules(self.rules[place] for place in self.not_plain)
        counted = self._counter.count(self.pairs, model.bodies, model.language)
        columns, relaxation = Columns(counted), model.semantics.relaxation
        listed = np.concatenate([self._pair_rows(target) for target in self.targets])
        found = {}
        for place in self.not_plain:
            clause = self.rules[place].clause
            weighing = model.counts_of(clause)
            if strengths_add_up(counted, relaxation):
                hinges = HingeRows.wholly_true(*columns.of(clause.body, weighing))
            else:
                hinges = rule_hinges(columns, clause, weighing, self.pairs)
            hinges = hinges.part(np.isin(hinges.target, listed) & (hinges.number != 0.0))
            name = self.names.computed[place]
            found[place] = ComputedRule(self.rules[place], name, hinges)
        return found

    @property
    def _counter(self) -> BodyCounter:
        """The engine over the facts or, for a model of two steps, over facts and beliefs."""
        if self.model.semantics.two_steps:
            return first_step_beliefs(self.model, self.engine, self.pairs)
        return self.engine

    def _targets_of(self, rows: Bools) -> frozenset[str]:
        """Target predicates of the pairs where `rows` is True."""
        return frozenset(self.pairs.predicates[int(p)] for p in self.pairs.predicate[rows])

    # Data -----------------------------------------------------------------------------------------

    @cached_property
    def located(self) -> Bools:
        """Which pairs have both entities among the facts."""
        has_fact = self.pairs.entities.translate(self.facts.entities) >= 0
        return np.asarray(has_fact[self.pairs.subject] & has_fact[self.pairs.object])

    def files(self) -> Iterator[DataFile]:
        """The data files of all predicates that the rules need."""
        names, collective = self.names, self.model.semantics.recursive
        for target in self.targets:
            rows = self._pair_rows(target)
            arity = self._arity(target)
            text = _lines(self._ends(rows, arity))
            yield DataFile(names.made[target, "pairs"], arity, "observations", text)
            yield DataFile(names.plain[target], arity, "targets", text)
            if not self.located[rows].all():
                some = _lines(self._ends(rows[self.located[rows]], arity))
                yield DataFile(names.made[target, "located"], arity, "observations", some)
            if collective:
                known = self._fact_text(without_targets(self.facts, self.pairs), target, 2)
                yield DataFile(names.plain[target], 2, "observations", known)
        for name, arity in sorted(self.arities.items()):
            if name not in self.targets or not collective:
                spelt = names.made.get((name, "known"), names.plain[name])
                body = self.observed.get(name)
                text = self._fact_text(self.facts, name, arity) if body is None else self._met(body)
                yield DataFile(spelt, arity, "observations", text)
        for rule in self.computed.values():
            of_pair, others = rule.columns()
            arity = rule.rule.clause.body.head_arity
            text = _lines([*self._ends(of_pair, arity), *others])
            yield DataFile(rule.predicate, rule.arity, "observations", text)

    def _arity(self, target: str) -> int:
        """The number of arguments of a target."""
        return self.model.target_arities[target]

    def _ends(self, rows: Integers, arity: int) -> list[list[str]]:
        """Texts of the subjects and of the objects of pairs; of entities for an arity of 1."""
        ends = (self.pairs.subject[rows], self.pairs.object[rows])[:arity]
        return [self.names.texts(self.pairs.entities.take(ids)) for ids in ends]

    def _pair_rows(self, target: str) -> Ints:
        """Rows of a target's pairs, the first of equal pairs."""
        pairs = self.pairs
        rows = np.flatnonzero(pairs.predicate == pairs.predicates.index(target))
        keys = pair_keys(pairs.subject[rows], pairs.object[rows], len(pairs.entities))
        first = np.unique(keys, return_index=True)[1]
        return np.sort(rows[first])

    def _met(self, body: Body) -> str:
        """The entities, or the pairs, that meet a condition on numbers, as a data file."""
        counter = NumberCounter.of(
            self.engine.numbers, self.pairs, self.engine.locate(self.pairs.entities)
        )
        if body.only_argument is None:
            rows, _ = counter.meeting(number_of(body), body.argument)
            return _lines(self._ends(np.intersect1d(rows, self._pair_rows(body.target)), 2))
        entities = np.arange(len(self.facts.entities), dtype=np.int32)
        every = replace(counter, subject=entities, object=entities)
        rows, _ = every.meeting(number_of(body), 0)
        return _lines([self.names.texts(self.facts.entities.take(np.unique(rows)))])

    def _fact_text(self, facts: Facts, name: str, arity: int) -> str:
        """Facts of a predicate as a data file."""
        atoms = facts.atoms.get(arity)
        if atoms is None:
            return ""
        rows = np.flatnonzero(atoms.predicate == facts.predicates.index(name))
        columns = [self.names.texts(facts.entities.take(ids[rows])) for ids in atoms.arguments]
        if atoms.millionths is not None:
            columns.append([f"{value / ONE:g}" for value in atoms.millionths[rows].tolist()])
        return _lines(columns)


def export_program(
    model: RuleModel,
    engine: MemoryEngine,
    pairs: Targets,
    folder: str | os.PathLike[str],
    *,
    plain: bool = False,
) -> FilePath:
    """Write program.json, rules.psl, names.json and data/; returns the path of the program.

    With `plain`, rules that plain PSL cannot express are refused.
    """
    check_folder(folder, not_exported)
    check_arities(model, engine)
    export = Export(model, engine, pairs, plain)
    if not export.targets:
        raise InputError("no rule of the model is about the predicates of the pairs")
    save_folder(folder, partial(_write, export), not_exported)
    return FilePath(folder) / PROGRAM


def not_exported(folder: FilePath) -> str | None:
    """A description of content of a folder that is not part of an export, or None."""
    try:
        program = json.loads((folder / PROGRAM).read_text(encoding="utf-8"))
        names = json.loads((folder / NAMES).read_text(encoding="utf-8"))
        if names.keys() != {"predicates", "entities", "rules"}:
            return "a program of other making"
        partitions = [files for entry in program["predicates"].values() for files in entry.values()]
        written = {PROGRAM, NAMES, RULES, "data", *(name for files in partitions for name in files)}
    except (OSError, ValueError, KeyError, TypeError, AttributeError):
        return "other files than an export"
    found = (path.relative_to(folder).as_posix() for path in sorted(folder.rglob("*")))
    return next((f"{name!r}, which is not a part of an export" for name in found
                 if name not in written), None)  # fmt: skip


def _write(export: Export, folder: FilePath) -> None:
    (folder / "data").mkdir()
    predicates: dict[str, dict[str, list[str]]] = {}
    for file in export.files():
        path = f"data/{file.predicate}_{file.partition}.txt"
        entry = predicates.setdefault(f"{file.predicate}/{file.arity}", {})
        if file.text:
            (folder / path).write_text(file.text, encoding="utf-8", newline="\n")
            entry[file.partition] = [path]
    (folder / RULES).write_text(
        "".join(f"{rule}\n" for rule in export.psl_rules()), encoding="utf-8", newline="\n"
    )
    program = {"rules": RULES, "predicates": predicates, "options": OPTIONS}
    spelt, texts = export.names.plain, export.model.clause_texts
    names = {
        "predicates": {spelt[name]: name for name in sorted(spelt)},
        "entities": {other: name for name, other in export.names.entities.items()},
        "rules": {name: texts[place] for place, name in export.names.computed.items()},
    }
    for name, content in ((PROGRAM, program), (NAMES, names)):
        text = json.dumps(content, indent=1, ensure_ascii=False) + "\n"
        (folder / name).write_text(text, encoding="utf-8", newline="\n")


def _lines(columns: Sequence[list[str]]) -> str:
    return "".join("\t".join(row) + "\n" for row in zip(*columns, strict=True))
