"""Engines by name, checks that an engine can do some work, and the search with its warnings."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, cast

import numpy as np

from hornbeam.base.choices import EngineName
from hornbeam.base.machine import worker_threads
from hornbeam.base.progress import SILENT, Progress
from hornbeam.counting.engine import Discovery, Engine
from hornbeam.counting.number_search import with_numbers
from hornbeam.counting.timed_engine import timed_engine
from hornbeam.errors import InputError, UnknownTargetError, warn
from hornbeam.facts.argument_types import ArgumentTypes
from hornbeam.facts.reading.readers import Input, as_facts
from hornbeam.facts.table import Facts, Targets, wrong_arity
from hornbeam.rules.body import Kind
from hornbeam.rules.candidates import Candidates, RuleLimits

if TYPE_CHECKING:
    from hornbeam.counting.memory.memory_engine import MemoryEngine
    from hornbeam.counting.sql.sql_engine import SqlEngine

#: The name of the engine that facts keep.
ENGINE = "engine"
#: A copy of the target covers at least this share of the true pairs, and at most that of the false.
NEARLY_ALL, HARDLY_ANY = 0.9, 0.01
#: Minimum number of true, and of false, pairs for a warning about a copy.
MIN_PAIRS = 30


def open_engine(
    facts: Input, engine: str = EngineName.MEMORY, threads: int | None = None
) -> Engine:
    """Open the engine of that name over facts in any form; an engine is returned as it is."""
    if (given := _given_engine(facts)) is not None:
        return given
    known = as_facts(facts)
    if known.events is not None:
        return timed_engine(known, open_engine(replace(known, events=None), engine, threads))
    if engine == EngineName.MEMORY:
        return open_in_memory(known, threads)
    if engine == EngineName.DUCKDB:
        from hornbeam.counting.sql.duckdb_engine import duckdb_engine

        return duckdb_engine(known, threads)
    raise InputError(
        f'unknown `engine` {engine!r}; expected "memory" or "duckdb"; for Spark give the result of '
        "`open_spark` as facts"
    )


def open_in_memory(facts: Input, threads: int | None = None) -> MemoryEngine:
    """Open the default engine, whose graph can be walked, over facts in any form.

    A `MemoryEngine` is returned as it is. Of another engine the facts are taken. The engine is
    kept with the facts, so that what it prepares is there for whoever opens them again.
    """
    from hornbeam.counting.memory.memory_engine import MemoryEngine

    if isinstance(facts, MemoryEngine):
        return facts
    known, threads = facts_of(facts), worker_threads(threads)
    engine = known.kept.get(ENGINE)
    if not isinstance(engine, MemoryEngine) or engine.threads != threads:
        # over a twin of the facts: they and what they keep would live on in a circle
        engine = known.kept[ENGINE] = MemoryEngine(replace(known), threads)
    return engine


def grown_engine(engine: Engine, new: Input) -> Engine:
    """An engine over the facts of an engine and new ones, as if they had been read together."""
    known = facts_in_memory(
        engine, "an open database takes no new facts: add them to its files, and open it again"
    )
    from hornbeam.counting.memory.memory_engine import MemoryEngine

    if isinstance(engine, MemoryEngine):
        return engine.with_facts(as_facts(new))
    return engine.over(known + as_facts(new))


def facts_or_database(facts: Input) -> Facts | SqlEngine:
    """Facts in any form, or the engine that has them in its database."""
    from hornbeam.counting.sql.sql_engine import SqlEngine

    return facts if isinstance(facts, SqlEngine) else facts_of(facts)


def evidence_of(engine: Engine) -> Facts | SqlEngine | None:
    """The facts of an engine, or the engine that has them in its database; None if neither."""
    from hornbeam.counting.sql.sql_engine import SqlEngine

    return engine if engine.facts is None and isinstance(engine, SqlEngine) else engine.facts


def facts_of(facts: Input) -> Facts:
    """Facts in any form, or the facts of an engine."""
    if (given := _given_engine(facts)) is None:
        return as_facts(facts)
    return facts_in_memory(
        given,
        "this works on facts in memory, and the open engine has them somewhere else: give the "
        "facts themselves (files, frames or what `read_facts` returns)",
    )


def _given_engine(facts: Input) -> Engine | None:
    """Return `facts` if it is an engine, of this or another package; else None."""
    return cast("Engine", facts) if hasattr(facts, "discover") else None


def facts_in_memory(engine: Engine, why: str) -> Facts:
    """The facts of an engine; an InputError with the reason `why` where they are not in memory."""
    if engine.facts is None:
        raise InputError(why)
    return engine.facts


def sql_engine(engine: Engine, why: str) -> SqlEngine:
    """Return `engine` if it keeps its facts in a database; an InputError with `why` if not."""
    from hornbeam.counting.sql.sql_engine import SqlEngine

    if not isinstance(engine, SqlEngine):
        raise InputError(why)
    return engine


def collective_engine(engine: Engine) -> MemoryEngine:
    """Return `engine` if it is the engine in memory; a collective model takes no other."""
    from hornbeam.counting.memory.memory_engine import MemoryEngine

    if isinstance(engine, MemoryEngine):
        return engine
    raise InputError(
        'collective models run on facts in memory: use `engine="memory"`, or leave out `collective`'
    )


def recursive_engine(engine: Engine, max_fanout: int | None) -> MemoryEngine:
    """The engine in memory for recursive rules; soft facts and a fan-out limit are refused."""
    in_memory = collective_engine(engine)
    if in_memory.facts.binary.millionths is not None:
        raise InputError(
            "collective models take facts that are true or absent, and some of these facts have "
            "truth values between 0 and 1: round the facts, or leave out `collective`"
        )
    if max_fanout is not None:
        raise InputError(
            "a fan-out limit depends on the end where a walk begins, and collective models walk "
            "from every atom of a rule: leave out `max_fanout` or `collective`"
        )
    return in_memory


def discover_bodies(
    engine: Engine,
    targets: Targets,
    language: RuleLimits,
    *,
    statistics: bool = True,
    progress: Progress = SILENT,
    own_facts_expected: bool = False,
) -> Discovery:
    """Find the candidates for targets; warns about suspicious targets and settings."""
    check_targets(engine, targets.arities)
    if language.bodies is None:
        language = _by_default(language, engine, targets)
    if engine.facts is not None:
        ArgumentTypes(engine.facts, labels=targets).check()
    if language.compares_numbers and not len(engine.numbers):
        raise InputError("the facts have no numbers to compare: give them by `numbers` or `dates`")
    if targets.unary and language.distinct_variables:
        raise InputError(
            "`distinct_variables` is for targets that are pairs: leave it out for "
            f"{', '.join(sorted(targets.unary))}, which is on one entity"
        )
    for name in language.exclude:
        if engine.predicates.index(name) < 0 and engine.numbers.attributes.index(name) < 0:
            warn(f"no fact has the predicate {name!r}, which `exclude` names")
    discovery = engine.discover(targets, language, statistics=statistics, progress=progress)
    if language.compares_numbers:
        discovery = with_numbers(engine, discovery, language, progress)
    if discovery.own_edges and not own_facts_expected:
        warn(
            f"{discovery.own_edges:,} labelled targets are also among the facts; "
            "a target's own fact is never evidence for itself"
        )
    if discovery.unseen:
        progress.message(f"{discovery.unseen:,} targets name an entity that no fact has.")
    return discovery


def _by_default(language: RuleLimits, engine: Engine, targets: Targets) -> RuleLimits:
    """The limits with the bodies that are looked for if neither a user nor a learner chose."""
    language = language.for_one_entity() if targets.unary else language
    bodies = language.bodies or (Kind.PATH,)
    return replace(language, bodies=(*bodies, Kind.NUMBERS) if len(engine.numbers) else bodies)


def check_targets(engine: Engine, targets: Mapping[str, int]) -> None:
    """Refuse target predicates, each with its arity, that have facts of another arity."""
    for name, arity in targets.items():
        known = engine.not_binary.get(name, 2)
        if known == 2 and arity == 1 and not _has_links(engine, name):
            continue
        if known != arity:
            raise wrong_arity(name, known, arity)


def _has_links(engine: Engine, predicate: str) -> bool:
    """Whether a predicate, which is not known to have another arity, has facts."""
    if engine.facts is not None:
        return predicate in engine.facts.arity
    return engine.predicates.index(predicate) >= 0


def select_target(targets: Targets, predicate: str | Sequence[str] | None) -> Targets:
    """Select the targets of one or several predicates; all for None."""
    if predicate is None:
        return targets
    names = [predicate] if isinstance(predicate, str) else predicate
    for name in names:
        if targets.predicates.index(name) < 0:
            raise UnknownTargetError(name, list(targets.predicates))
    return targets.only(names)


def warn_of_leaks(candidates: Candidates, labels: Targets) -> None:
    """Warn of a relation that links nearly all true pairs and hardly any false pair."""
    for p, target in enumerate(labels.predicates):
        true = labels.positive[labels.predicate == p]
        positives, negatives = int(true.sum()), int((~true).sum())
        if min(positives, negatives) < MIN_PAIRS:
            continue
        false = candidates.coverage - candidates.coverage_true
        copies = (candidates.target == p) & (candidates.lengths == 1)
        copies &= candidates.coverage_true >= NEARLY_ALL * positives
        copies &= false <= HARDLY_ANY * negatives
        for row in np.flatnonzero(copies).tolist():
            body = candidates.body(row)
            if body.is_path and body.steps[0].predicate != target:
                name = body.steps[0].predicate
                warn(
                    f"{name!r} links {int(candidates.coverage_true[row]):,} of the {positives:,} "
                    f"true pairs of {target!r} and {int(false[row]):,} of the {negatives:,} false "
                    "ones: if it only restates the target, leave it out by "
                    f'`exclude=["{name}"]`'
                )
