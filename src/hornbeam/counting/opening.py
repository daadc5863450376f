"""From facts and labelled targets to candidates and counts, with whichever engine is named."""

from __future__ import annotations

import warnings
from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING, cast

from hornbeam.counting.engine import Discovery, Engine
from hornbeam.errors import HornbeamWarning, InputError, UnknownTargetError
from hornbeam.facts.reading.readers import Input, as_facts
from hornbeam.facts.table import Facts, Targets
from hornbeam.machine import worker_threads
from hornbeam.progress import SILENT, Progress
from hornbeam.rules.candidates import Language

if TYPE_CHECKING:
    from hornbeam.counting.sql.sql_engine import SqlEngine

#: Facts in memory, or an engine that has its own.
Evidence = Facts | Engine


def as_evidence(given: Input) -> Evidence:
    """Facts in memory or an engine as they are, or facts read from whatever `read_facts` takes."""
    return cast("Engine", given) if hasattr(given, "discover") else as_facts(given)


def open_engine(evidence: Evidence, engine: str = "memory", threads: int | None = None) -> Engine:
    """Open the engine of that name over the facts; an engine stays what it is."""
    if not isinstance(evidence, Facts):
        return evidence
    if engine == "memory":
        from hornbeam.counting.memory.memory_engine import MemoryEngine

        return MemoryEngine(evidence, worker_threads(threads))
    if engine == "duckdb":
        from hornbeam.counting.sql.duckdb_engine import duckdb_engine

        return duckdb_engine(evidence, threads)
    raise InputError(f"unknown engine {engine!r}; expected: memory, duckdb (or an open one)")


def held_facts(evidence: Evidence) -> Facts | None:
    """The facts themselves; None where an engine has them somewhere else."""
    return evidence if isinstance(evidence, Facts) else None


def facts_in_memory(evidence: Evidence, why: str, engine: str = "memory") -> Facts:
    """The facts themselves; an InputError that says why where they are somewhere else."""
    facts = held_facts(evidence)
    if engine != "memory" or facts is None:
        raise InputError(why)
    return facts


def sql_engine(evidence: Evidence, why: str) -> SqlEngine:
    """The evidence as an engine that keeps it in a database; an InputError where it is none."""
    from hornbeam.counting.sql.sql_engine import SqlEngine

    if not isinstance(evidence, SqlEngine):
        raise InputError(why)
    return evidence


def discover_bodies(
    engine: Engine,
    targets: Targets,
    language: Language,
    *,
    statistics: bool = True,
    progress: Progress = SILENT,
    own_facts_expected: bool = False,
) -> Discovery:
    """Find the candidates for targets; what is odd about them or the language is told."""
    check_targets(engine, targets.predicates)
    for name in language.exclude:
        if engine.predicates.index(name) < 0:
            text = f"no fact has the predicate {name!r}, which `exclude` names"
            warnings.warn(text, HornbeamWarning, stacklevel=2)
    found = engine.discover(targets, language, statistics=statistics, progress=progress)
    if found.own_edges and not own_facts_expected:
        warnings.warn(
            f"{found.own_edges:,} labelled targets stand among the facts too; "
            "a target's own fact is never evidence for itself",
            HornbeamWarning,
            stacklevel=2,
        )
    if found.unseen:
        progress.message(f"{found.unseen:,} targets name an entity that no fact has.")
    return found


def check_targets(evidence: Evidence, targets: Iterable[str]) -> None:
    """Refuse target predicates that have facts of other than two arguments."""
    for name in targets:
        arity = evidence.not_binary.get(name, 2)
        if arity != 2:
            raise InputError(
                f"predicate {name!r} has {arity} argument{'s' * (arity != 1)} among the facts; "
                "expected a target of two, subject and object"
            )


def select_target(targets: Targets, predicate: str | Sequence[str] | None) -> Targets:
    """Select the targets of one or several predicates, or all of them where there is None."""
    if predicate is None:
        return targets
    names = [predicate] if isinstance(predicate, str) else predicate
    for name in names:
        if targets.predicates.index(name) < 0:
            raise UnknownTargetError(name, list(targets.predicates))
    return targets.only(names)
