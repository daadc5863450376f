"""The predicates of a PSL program: what is closed, where the atoms are, how to evaluate them."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from hornbeam.errors import DataError
from hornbeam.facts.reading.input_files import File
from hornbeam.facts.reading.psl_data import Declared, declared, kind_of, partitions

#: What a predicate of a 2.4 program may say about itself.
PROPERTIES = (
    "name", "type", "arity", "types", "force-open", "observations", "targets", "truth", "function",
    "evaluations", "options",
)  # fmt: skip
#: What PSL may do with a predicate that is not asked for here.
_STANDARD = ("StandardPredicate", "org.linqs.psl.model.predicate.StandardPredicate")


@dataclass(frozen=True)
class AtomList:
    """Atoms of a predicate in one partition: files (as found from here), and rows."""

    files: tuple[str, ...] = ()
    rows: tuple[tuple[str, ...], ...] = ()

    def __bool__(self) -> bool:
        return bool(self.files or self.rows)


@dataclass(frozen=True)
class EvaluationRequest:
    """An evaluator that the program asks for, such as AUCEvaluator, and its options."""

    evaluator: str
    options: Mapping[str, str] = field(default_factory=dict)
    primary: bool = False


@dataclass(frozen=True)
class ProgramPredicate:
    """One predicate of a program, in one split.

    Parameters
    ----------
    name
        As declared; rules may spell it in another case.
    closed
        Whether atoms that are not observed are false. An open predicate's atoms are observed or
        targets.
    observations, targets, truth
        Where its atoms stand.
    evaluations
        How its inferred values are to be compared with the truth.
    options
        Options of the predicate alone.
    """

    name: str
    arity: int
    closed: bool
    observations: AtomList = AtomList()
    targets: AtomList = AtomList()
    truth: AtomList = AtomList()
    evaluations: tuple[EvaluationRequest, ...] = ()
    options: Mapping[str, str] = field(default_factory=dict)


def program_predicates(file: File, document: dict[str, Any], split: str) -> list[ProgramPredicate]:
    """Predicates of a program (or `.data` file), with the data of a split and of all splits."""
    known = declared(file, document)
    found = partitions(file, document, known)
    folder = Path(file.name).parent
    lists: dict[str, dict[str, AtomList]] = {name: {} for name in known}
    for wanted, listed in found.items():
        for partition in listed:
            items = [item for name in ("all", split) for item in partition.splits.get(name, [])]
            lists[partition.predicate.casefold()][wanted] = AtomList(
                tuple(str(folder / item) for item in items if isinstance(item, str)),
                tuple(tuple(item) for item in items if not isinstance(item, str)),
            )
    return [_predicate(file, one, lists[key]) for key, one in known.items()]


def _predicate(file: File, one: Declared, lists: dict[str, AtomList]) -> ProgramPredicate:
    where = f"predicate {one.name!r}"
    for key in one.about:
        if key not in PROPERTIES:
            problem = f"{where}: unknown property {key!r}; expected {', '.join(PROPERTIES[1:])}"
            raise DataError(file.name, problem)
    if one.about.get("type", _STANDARD[0]) not in _STANDARD:
        problem = (
            f"{where} is of type {one.about['type']!r}; only standard predicates are supported"
        )
        raise DataError(file.name, problem)
    if one.about.get("function"):
        problem = f"{where} is a function of Java code, which cannot be called here"
        advice = "expected its values as observations"
        raise DataError(file.name, f"{problem}; {advice}")
    if "closed" in one.flags and lists.get("targets"):
        problem = f"{where} is closed and has targets; expected it to be open"
        raise DataError(file.name, problem)
    forced = "open" in one.flags or str(one.about.get("force-open", "")).lower() == "true"
    return ProgramPredicate(
        one.name,
        one.arity,
        not (forced or lists.get("targets")),
        **lists,
        evaluations=tuple(_evaluations(file, one)),
        options=text_options(file, one.about.get("options"), f"options of {one.name}"),
    )


def _evaluations(file: File, one: Declared) -> list[EvaluationRequest]:
    where = f"evaluations of {one.name}"
    listed = one.about.get("evaluations") or []
    if not isinstance(listed, list):
        raise DataError(file.name, f"{where}: expected a list, found {kind_of(listed)}")
    found = []
    for item in listed:
        about = {"evaluator": item} if isinstance(item, str) else item
        if not isinstance(about, dict) or not isinstance(about.get("evaluator"), str):
            problem = f"{where}: expected names of evaluators, found {kind_of(item)}"
            raise DataError(file.name, problem)
        options = text_options(file, about.get("options"), where)
        primary = str(about.get("primary", "")).lower() == "true"
        found.append(EvaluationRequest(about["evaluator"], options, primary))
    return found


def text_options(file: File, value: object, where: str) -> dict[str, str]:
    """Options by their names in lower case: PSL ignores case."""
    if value is None:
        return {}
    if not isinstance(value, dict):
        raise DataError(file.name, f"{where}: expected a mapping, found {kind_of(value)}")
    found = {}
    for key, setting in value.items():
        if isinstance(setting, dict | list):
            problem = f"{where}: {key!r} is {kind_of(setting)}; expected text or a number"
            raise DataError(file.name, problem)
        if setting is not None:
            found[str(key).lower()] = str(setting).lower() if isinstance(setting, bool) else setting
    return found
