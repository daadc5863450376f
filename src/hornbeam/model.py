"""The whole flow on one page: facts and labels in, candidates (and models) out."""

from __future__ import annotations

import warnings

from hornbeam.clauses.candidates import Language
from hornbeam.errors import HornbeamWarning, InputError, UnknownTargetError
from hornbeam.facts.table import Facts, Targets
from hornbeam.progress import SILENT, Progress
from hornbeam.statistics.engine import Discovery, Engine


def select_target(targets: Targets, predicate: str | None) -> Targets:
    """The targets of one predicate, or all of them where `predicate` is None."""
    if predicate is None:
        return targets
    index = targets.predicates.index(predicate)
    if index < 0:
        raise UnknownTargetError(predicate, list(targets.predicates))
    from hornbeam.facts.names import Names

    chosen = targets.select(targets.predicate == index)
    return Targets(
        chosen.entities,
        Names.of([predicate]),
        chosen.predicate * 0,
        chosen.subject,
        chosen.object,
        chosen.millionths,
    )


def open_engine(facts: Facts, engine: str = "memory", threads: int | None = None) -> Engine:
    """The engine of that name over the facts."""
    if engine == "memory":
        from hornbeam.statistics.memory import MemoryEngine

        return MemoryEngine(facts) if threads is None else MemoryEngine(facts, threads)
    raise InputError(f"unknown engine {engine!r}; expected: memory")


def discover(
    facts: Facts,
    labels: Targets,
    language: Language | None = None,
    *,
    engine: str = "memory",
    threads: int | None = None,
    statistics: bool = True,
    progress: Progress = SILENT,
) -> Discovery:
    """Find the candidate clauses for labelled targets, and count their groundings.

    Examples
    --------
    >>> from hornbeam import Language, discover, read_facts, read_labels
    >>> facts = read_facts([("paper1", "cites", "paper2"), ("paper2", "mentions", "gene")])
    >>> labels = read_labels([("paper1", "mentions", "gene", 1.0)])
    >>> found = discover(facts, labels, Language(min_coverage=1))
    >>> [candidate.text for candidate in found.candidates][0]
    'cites(A, B) & mentions(B, C) -> mentions(A, C)'
    """
    found = open_engine(facts, engine, threads).discover(
        labels, language or Language(), statistics=statistics, progress=progress
    )
    if found.own_edges:
        warnings.warn(
            f"{found.own_edges:,} labelled targets stand among the facts too; "
            "a target's own fact is never evidence for itself",
            HornbeamWarning,
            stacklevel=2,
        )
    if found.unseen:
        progress.message(f"{found.unseen:,} targets name an entity that no fact has.")
    return found
