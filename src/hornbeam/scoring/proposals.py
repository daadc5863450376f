"""New links: follow the rules forward from subjects instead of scoring every pair.

A pair that no positive rule reaches scores as its prior, so the best new links are among the
pairs that positive rules reach. They are found by sparse products of the relations along each rule,
a block of subjects at a time, and then counted and scored exactly like any other pair.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING

import numpy as np

from hornbeam.arrays import Floats, Ids, Positions, run_starts
from hornbeam.choices import Score
from hornbeam.counting.engine import Engine
from hornbeam.errors import InputError
from hornbeam.facts.names import Names
from hornbeam.facts.table import Facts, Targets
from hornbeam.progress import SILENT, Progress
from hornbeam.rules.body import Body
from hornbeam.rules.rule_model import Rule, RuleModel
from hornbeam.scoring.independent_scorer import score_targets

if TYPE_CHECKING:
    from scipy import sparse

#: Subjects followed at once.
BLOCK = 256


def best_new_links(
    model: RuleModel,
    facts: Facts,
    engine: Engine,
    target: str,
    subjects: Ids,
    *,
    top: int,
    per_subject: bool = False,
    score: Score = Score.MEAN,
    progress: Progress = SILENT,
) -> tuple[Targets, Floats]:
    """Find the best `top` pairs, overall or of every subject, that are no facts yet.

    Only pairs with a grounding of some positive rule count as reached, under the rules' own
    variables and fan-out limit. Best first, ties by subject and object; by subject first where
    `per_subject`.
    """
    if model.semantics.collective:
        raise InputError("a collective model scores pairs together and proposes none: give `pairs`")
    mine = model.of_target(target)
    wanted = mine.with_rules(filter(_pulls_up, mine.rules)).bodies
    bodies, language = mine.bodies, mine.language
    blocks: list[tuple[Targets, Floats]] = []
    for done, pairs in followed(facts, wanted, target, subjects):
        counted = engine.count(pairs, bodies, language)
        grounded = [counted.target[counted.column(bodies.index(body))] for body in wanted]
        reached = np.unique(np.concatenate(grounded)) if grounded else np.empty(0, dtype=np.int32)
        found = score_targets(mine, counted, pairs, score)
        kept = reached[_best(found[reached], pairs.select(reached), top, per_subject)]
        blocks.append((pairs.select(kept), found[kept]))
        progress.advance("Following rules", done, len(subjects))
    return _united(blocks, facts, target, top, per_subject)


def followed(
    facts: Facts, bodies: Sequence[Body], target: str, subjects: Ids
) -> Iterator[tuple[int, Targets]]:
    """Blocks of new pairs target(subject, object) that some path may reach, with subjects done.

    Pairs that stand among the facts already are left out. Paths are followed freely: some of the
    pairs may have no grounding once variables must differ or hubs are not walked.
    """
    from scipy import sparse  # a quarter of a second that other work need not wait for

    used = set[str]().union(*(body.predicates for body in bodies))
    relations = {name: _relation(facts, name) for name in used}
    known = _relation(facts, target)
    names = Names.of([target])
    for start in range(0, len(subjects), BLOCK):
        block = subjects[start : start + BLOCK]
        chooser = sparse.csr_array(
            (np.ones(len(block), dtype=np.int8), (np.arange(len(block)), block)),
            shape=(len(block), len(facts.entities)),
        )
        reached = sparse.csr_array(chooser.shape, dtype=np.bool_)
        for body in bodies:
            reached = reached + _walk(chooser, body, relations)
        reached = reached.astype(np.int8) - reached.multiply((chooser @ known) > 0).astype(np.int8)
        row, object_ = reached.nonzero()
        if len(row):
            predicate = np.zeros(len(row), dtype=np.int32)
            pairs = Targets(facts.entities, names, predicate, block[row], object_.astype(np.int32))
            yield start + len(block), pairs


def subjects_of(facts: Facts, target: str, names: Sequence[str] | None = None) -> Ids:
    """Entities to propose links for: those named, else the target's known subjects, else all."""
    if names is not None:
        found = facts.entities.find(names)
        if (found < 0).any():
            unknown = names[int(np.argmax(found < 0))]
            raise InputError(f"no fact has the subject {unknown!r}; expected the name of an entity")
        return np.unique(found)
    p = facts.predicates.index(target)
    known = np.unique(facts.binary.arguments[0][facts.binary.predicate == p])
    return known.astype(np.int32) if len(known) else np.arange(len(facts.entities), dtype=np.int32)


def _pulls_up(rule: Rule) -> bool:
    return not rule.clause.is_prior and not rule.clause.negated and rule.weight > 0


def _walk(
    chooser: sparse.csr_array, body: Body, relations: dict[str, sparse.csr_array]
) -> sparse.csr_array:
    """Which entities each chosen subject reaches along a path."""
    frontier = chooser
    for step in body.steps:
        relation = relations[step.predicate]
        frontier = (frontier @ (relation.T if step.inverse else relation)) > 0
        frontier = frontier.astype(np.int8)
    return frontier.astype(np.bool_)


def _relation(facts: Facts, name: str) -> sparse.csr_array:
    """Make a 0/1 matrix of a predicate; empty where the facts do not have it."""
    from scipy import sparse

    p = facts.predicates.index(name)
    mine = facts.binary.predicate == p
    subject, object_ = (column[mine] for column in facts.binary.arguments)
    n = len(facts.entities)
    ones = np.ones(len(subject), dtype=np.int32)
    return sparse.csr_array((ones, (subject, object_)), shape=(n, n))


def _best(found: Floats, pairs: Targets, top: int, per_subject: bool) -> Positions:
    """Rows of the best scores, ties by subject and object, at most `top` (each subject)."""
    order = np.lexsort((pairs.object, pairs.subject, -found))
    if not per_subject:
        return order[:top]
    order = order[np.argsort(pairs.subject[order], kind="stable")]
    subject = pairs.subject[order]
    starts = run_starts(subject)
    rank = np.arange(len(order)) - np.repeat(starts, np.diff(np.append(starts, len(order))))
    return order[rank < top]


def _united(
    blocks: list[tuple[Targets, Floats]], facts: Facts, target: str, top: int, per_subject: bool
) -> tuple[Targets, Floats]:
    """One list from the best of every block of subjects."""
    none = np.empty(0, dtype=np.int32)
    columns = [
        np.concatenate([none, *(getattr(block, name) for block, _ in blocks)])
        for name in ("predicate", "subject", "object")
    ]
    found = np.concatenate([np.empty(0), *(score for _, score in blocks)])
    pairs = Targets(facts.entities, Names.of([target]), *columns)
    best = _best(found, pairs, top, per_subject)
    return pairs.select(best), found[best]
