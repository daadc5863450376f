"""Explains the rank of an answer: its rules, and the answers ranked above it."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from dataclasses import asdict, dataclass, replace
from typing import Any

import numpy as np

from hornbeam.base.arrays import Floats
from hornbeam.base.printable import printable
from hornbeam.base.result_table import ResultTable
from hornbeam.base.suggestions import did_you_mean
from hornbeam.errors import InputError
from hornbeam.facts.entity_names import EntityNames
from hornbeam.facts.table import Atoms, Facts
from hornbeam.graphs.calibration import probabilities, softmax_log_odds
from hornbeam.graphs.graph_reasons import EvidenceKind, GraphReason, reasons_for
from hornbeam.graphs.graph_rule_words import graph_rule_words
from hornbeam.graphs.memory_ranker import MemoryRanker
from hornbeam.graphs.pools import Pool
from hornbeam.graphs.ranking_model import RankingModel
from hornbeam.graphs.softmax import fired_scores
from hornbeam.ranking.queries import Direction
from hornbeam.rules.codes import is_inverse, step_code
from hornbeam.rules.rule_words import said

#: Answers above the explained one that are shown, each with its best rules.
ABOVE, RULES_ABOVE = 3, 1
#: A constant in the text of a rule: a quoted name, unless a bracket follows, as after a relation.
CONSTANT = re.compile(r'"(?:[^"\\]|\\.)*"(?!\()')


@dataclass(frozen=True)
class HigherAnswer:
    """An answer that ranks above the explained one, with its strongest reason."""

    answer: str
    rank: float
    probability: float
    reasons: tuple[GraphReason, ...]


@dataclass(frozen=True)
class RankedReasons:
    """An answer of one query: its rank, and the reasons for it.

    Attributes
    ----------
    asks
        Which argument the query asks for.
    rank, candidates
        Its rank among all entities that are not known answers, None if no rule proposes it; and
        the number of proposed answers.
    probability
        The probability that it is right.
    parts
        How far each class of rules lifts its score (log odds) above that of the mean candidate of
        the query.
    reasons
        The rules that fire for it.
    above
        The best answers above it.
    """

    asks: Direction
    rank: float | None
    candidates: int
    probability: float
    parts: dict[EvidenceKind, float]
    reasons: tuple[GraphReason, ...]
    above: tuple[HigherAnswer, ...]


@dataclass(frozen=True)
class GraphExplanation:
    """Why a triple is believed, as the answer of two queries.

    `is_fact`: whether it is among the facts; it was removed from them for the explanation.
    """

    subject: str
    relation: str
    object: str
    is_fact: bool
    directions: tuple[RankedReasons, ...]

    def to_table(self) -> ResultTable:
        """The reasons of both directions: argument, kind, rule, confidence, hits and weight.

        Figures that a kind of rule does not have are empty.
        """
        rows = [
            (str(one.asks), str(reason.kind), reason.rule, reason.confidence, reason.hits,
             reason.weight)
            for one in self.directions
            for reason in one.reasons
        ]  # fmt: skip
        names = ("asks", "kind", "rule", "confidence", "hits", "weight")
        return ResultTable({name: [row[k] for row in rows] for k, name in enumerate(names)})

    def as_dict(self) -> dict[str, Any]:
        """Everything as plain values, for JSON."""
        first = self.directions[0]
        return {
            "subject": self.subject,
            "relation": self.relation,
            "object": self.object,
            "is_fact": self.is_fact,
            "score": first.probability,
            "rank": first.rank,
            "reasons": [
                asdict(reason) | {"words": said(graph_rule_words(reason.rule))}
                for reason in first.reasons
            ],
            "directions": [asdict(one) for one in self.directions],
        }

    def lines(self) -> Iterator[tuple[str, str]]:
        """The explanation line by line, each with its role, by which a terminal chooses colours."""
        yield "pair", printable(f"{self.relation}({self.subject}, {self.object})")
        if self.is_fact:
            yield "note", "is among the facts; explained as if it were not."
        for one in self.directions:
            yield from self._direction(one)

    def _direction(self, one: RankedReasons) -> Iterator[tuple[str, str]]:
        ends = (self.subject, "?") if one.asks is Direction.OBJECT else ("?", self.object)
        yield "heading", printable(f"{self.relation}({ends[0]}, {ends[1]})")
        if one.rank is None:
            yield "against", f"not among the {one.candidates:,} answers that rules propose"
        else:
            yield (
                "verdict",
                f"rank {one.rank:g} of {one.candidates:,} proposed answers, "
                f"probability {one.probability:.3f}",
            )
        if one.parts:
            parts = ", ".join(f"{kind} {value:+.2f}" for kind, value in one.parts.items())
            yield "note", f"score above the mean candidate: {parts}"
        for reason in one.reasons:
            yield from _reason(reason)
        for other in one.above:
            yield (
                "against",
                printable(
                    f"above it: {other.answer}, rank {other.rank:g}, probability "
                    f"{other.probability:.3f}"
                ),
            )
            for reason in other.reasons:
                yield "note", f"  {_stated(reason)}"

    def __repr__(self) -> str:
        return "\n".join(line for _, line in self.lines())

    def _repr_html_(self) -> str:
        from html import escape

        return f"<pre>{escape(str(self))}</pre>"


def graph_explanation_in_names(found: GraphExplanation, names: EntityNames) -> GraphExplanation:
    """The explanation with names in place of ids, also of the constants in rules."""
    if not len(names):
        return found

    def reason(one: GraphReason) -> GraphReason:
        walks = tuple(
            tuple((names.shown(s), relation, names.shown(o)) for s, relation, o in walk)
            for walk in one.groundings
        )
        return replace(one, rule=rule_in_names(one.rule, names), groundings=walks)

    def higher(one: HigherAnswer) -> HigherAnswer:
        reasons = tuple(map(reason, one.reasons))
        return replace(one, answer=names.shown(one.answer), reasons=reasons)

    def direction(one: RankedReasons) -> RankedReasons:
        reasons, above = tuple(map(reason, one.reasons)), tuple(map(higher, one.above))
        return replace(one, reasons=reasons, above=above)

    return replace(
        found,
        subject=names.shown(found.subject),
        object=names.shown(found.object),
        directions=tuple(map(direction, found.directions)),
    )


def rule_in_names(rule: str, names: EntityNames) -> str:
    """A rule with names of its constants, which are quoted as in JSON; relations stay."""

    def named(match: re.Match[str]) -> str:
        return json.dumps(names.shown(json.loads(match[0])), ensure_ascii=False)

    return CONSTANT.sub(named, rule)


def _stated(reason: GraphReason) -> str:
    if reason.confidence is None:
        figure = f"{reason.weight:+.3f} (fitted together)"
    else:
        figure = f"{reason.confidence:.3f} ({reason.hits:,} of {reason.predicted:,})"
    return printable(f"{figure}  {reason.rule}")


def _reason(reason: GraphReason) -> Iterator[tuple[str, str]]:
    against = reason.weight is not None and reason.weight < 0.0
    yield "against" if against else "for", f"  {_stated(reason)}"
    yield "note", printable(f"      {said(graph_rule_words(reason.rule))}")
    for walk in reason.groundings:
        text = " & ".join(f"{relation}({s}, {o})" for s, relation, o in walk)
        yield "fact", printable(f"      {text}")


def explain_triple(
    model: RankingModel,
    facts: Facts,
    triple: tuple[str, str, str],
    *,
    reasons: int = 5,
    groundings: int = 3,
    ranker: MemoryRanker | None = None,
) -> GraphExplanation:
    """Explain a triple by the rules of a model; it is removed from the facts first.

    A `ranker` of the model over the facts is reused if the triple is not a fact.

    Raises
    ------
    hornbeam.errors.InputError
        Where the facts lack an entity or the relation, or the model has no rules for it.
    """
    subject, relation, object_ = triple
    s, o = facts.entity(subject), facts.entity(object_)
    p = facts.predicates.index(relation)
    if p < 0 or relation not in {part.relation for part in model.relations}:
        known = sorted({part.relation for part in model.relations})
        hint = did_you_mean(relation, known) or f" It has {', '.join(known[:10])}."
        raise InputError(f"the model has no rules for the relation {relation!r}.{hint}")
    facts, is_fact = _without(facts, s, p, o)
    if ranker is None or is_fact:
        ranker = MemoryRanker.of(model, facts)
    return GraphExplanation(
        subject,
        relation,
        object_,
        is_fact,
        tuple(
            _ranked_reasons(ranker, step_code(p, inverse), *ends, reasons, groundings)
            for inverse, ends in ((False, (s, o)), (True, (o, s)))
            if step_code(p, inverse) in ranker.steps
        ),
    )


def _without(facts: Facts, s: int, p: int, o: int) -> tuple[Facts, bool]:
    """The facts without a triple, and whether they had it."""
    atoms = facts.binary
    same = (atoms.predicate == p) & (atoms.arguments[0] == s) & (atoms.arguments[1] == o)
    if not same.any():
        return facts, False
    kept = ~same
    rest = Atoms(
        atoms.predicate[kept],
        tuple(ids[kept] for ids in atoms.arguments),
        None if atoms.millionths is None else atoms.millionths[kept],
    )
    return replace(facts, atoms={**facts.atoms, 2: rest}), True


def _ranked_reasons(
    ranker: MemoryRanker, step: int, known: int, answer: int, reasons: int, groundings: int
) -> RankedReasons:
    pool, score = ranker.scored(step, np.array([known], dtype=np.int32))
    # what `rank` lists, and the answer in question whether it fits or not
    fit = ranker.fit(step, np.full_like(pool.entity, known), pool.entity) | (pool.entity == answer)
    pool, score = pool.where(fit), score[fit]
    chance = probabilities(softmax_log_odds(pool.offsets, score), ranker.model.calibration)
    direction = Direction.SUBJECT if is_inverse(step) else Direction.OBJECT
    order = np.lexsort((pool.entity, -score))
    [row] = np.flatnonzero(pool.entity == answer)[:1].tolist() or [-1]
    own = score[row] if row >= 0 else -np.inf
    above = tuple(
        HigherAnswer(
            ranker.facts.entities[int(pool.entity[i])],
            _rank(score, i),
            float(chance[i]),
            tuple(one for one in reasons_for(ranker, pool, i, 0) if (one.weight or 0.0) >= 0.0)[
                :RULES_ABOVE
            ],
        )
        for i in order[:ABOVE].tolist()
        if score[i] > own
    )
    if row < 0:
        return RankedReasons(direction, None, len(score), 0.0, {}, (), above)
    found = reasons_for(ranker, pool, row, groundings)
    ridge = [reason for reason in found if reason.kind is EvidenceKind.RIDGE]
    others = [reason for reason in found if reason.kind is not EvidenceKind.RIDGE]
    return RankedReasons(
        direction,
        _rank(score, row),
        len(score),
        float(chance[row]),
        _parts(ranker, step, pool, row),
        (*others[:reasons], *ridge[:reasons]),
        above,
    )


def _rank(score: Floats, row: int) -> float:
    """Rank of a candidate, from 1; equal scores share the mean of their ranks."""
    better, equal = np.count_nonzero(score > score[row]), np.count_nonzero(score == score[row])
    return float(better + (equal + 1) / 2)


def _parts(ranker: MemoryRanker, step: int, pool: Pool, row: int) -> dict[EvidenceKind, float]:
    """How far each class of rules lifts a candidate above the mean of its pool."""
    model = ranker.steps[step]
    lifted = pool.feature[row].astype(np.float64) - pool.feature.mean(axis=0, dtype=np.float64)
    parts = dict.fromkeys(EvidenceKind, 0.0)
    for name, weight, lift in zip(ranker.model.features, model.weights, lifted, strict=True):
        parts[EvidenceKind.of_feature(name)] += float(weight * lift)
    if model.rule_weights.any():
        fired = fired_scores(ranker.firings(model.rules, pool), model.rule_weights)
        parts[EvidenceKind.PATH] += float(fired[row] - fired.mean())
    return {kind: value for kind, value in parts.items() if value != 0.0}
