"""An explanation as text for a terminal: lines with their roles."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from hornbeam.base.texts import printable
from hornbeam.explaining.known_scores import CAUTION
from hornbeam.explaining.reason import Reason, ScorePart
from hornbeam.explaining.waterfall import Waterfall, WaterfallStep
from hornbeam.ranking.named_queries import ASKED
from hornbeam.ranking.queries import Direction
from hornbeam.rules.rule_words import said

if TYPE_CHECKING:
    from hornbeam.explaining.explanation import ExplainedScore, Explanation

#: Characters of the widest bar of a waterfall.
BAR = 24
#: Rules that get a bar of their own.
MAX_BARS = 20
#: Indentation of the lines below a rule.
INDENT = " " * 11

Line = tuple[str, str]


def explanation_lines(explained: Explanation) -> Iterator[Line]:
    """Text for a person, line by line, each with its role; see `Explanation.lines`."""
    yield "pair", printable(f"{explained.subject}  {explained.predicate}  {explained.object}")
    if explained.is_fact:
        yield "note", "is among the facts; explained as if it were not"
    if explained.is_ranked:
        for one in explained.directions:
            yield from _ranking_lines(explained, one)
    else:
        yield from _score_lines(explained)
    if explained.flip is not None:
        yield from _flip_lines(explained)


def _score_lines(explained: Explanation) -> Iterator[Line]:
    """The score of a pair, how it adds up, and its reasons."""
    if explained.place is None:
        answer = f"so {verdict(explained)}; MAP state {explained.map:.4g}"
        yield "verdict", f"score {explained.score:.4g}, {answer}"
    else:
        yield "verdict", f"score {explained.score:.4g}, {verdict(explained)}"
        yield "note", CAUTION
    if explained.alone is not None:
        alone = f"by its own facts it scores {explained.alone:.4g}"
        yield "note", f"{alone}; other pairs account for the rest"
    for name in explained.unseen:
        yield "note", f"no fact has {printable(repr(name))}: only the prior counts"
    fall = explained.waterfall(MAX_BARS)
    if not explained.reasons:
        yield "note", "no rule has groundings for this pair: its score is 0.5"
    elif fall is not None:
        yield from waterfall_lines(fall)
    if explained.reasons:
        yield "heading", "Rule by rule: how far the score would move without it"
    if fall is None:
        yield "note", "  Log-odds are not a sum over rules here, and these numbers do not add up."
    for part in explained.parts:
        yield "heading", part.name.capitalize()
        yield from _part_lines(part)


def _ranking_lines(explained: Explanation, one: ExplainedScore) -> Iterator[Line]:
    """The rank of an answer, its parts with their reasons, and the answers above it."""
    yield "heading", printable("  ".join(query_of(explained, one)))
    yield "against" if one.rank is None else "verdict", rank_words(one)
    if one.parts:
        parts = ", ".join(f"{part.name} {part.value:+.2f}" for part in one.parts)
        yield "note", f"score above the mean candidate: {parts}; together {one.total:+.2f}"
    for part in one.parts:
        if part.reasons:
            yield "heading", f"{part.name.capitalize()} {part.value:+.2f}"
        yield from _part_lines(part)
    for higher in one.above:
        yield "heading", printable(f"Above it: {higher.answer}")
        yield "note", f"  rank {higher.rank:g}, probability {higher.probability:.3f}"
        yield from _part_lines(ScorePart("", None, higher.reasons))


def query_of(explained: Explanation, one: ExplainedScore) -> tuple[str, str, str]:
    """The query that a triple answers, with a question mark for the argument it asks for."""
    asks_object = one.asks is Direction.OBJECT
    subject = explained.subject if asks_object else ASKED
    return subject, explained.predicate, ASKED if asks_object else explained.object


def rank_words(one: ExplainedScore) -> str:
    """The rank of an answer among those that rules propose."""
    if one.rank is None:
        return f"not among the {one.candidates:,} answers that rules propose"
    found = f"rank {one.rank:g} of {one.candidates:,} proposed answers"
    return f"{found}, probability {one.score:.3f}"


def _part_lines(part: ScorePart) -> Iterator[Line]:
    """The reasons of a part, each with its figure, its rule and its groundings."""
    for reason in part.reasons:
        role = "neutral" if reason.is_prior else reason.side
        yield role, f"  {reason.figure:7}  {printable(said(reason.words))}"
        yield from _evidence_lines(reason)


def verdict(explained: Explanation) -> str:
    """The decision on a pair or, where the model decides nothing, the place of its score."""
    if explained.place is not None:
        return explained.place.words
    return f"{'true' if explained.decision else 'false'} (true from {explained.threshold:.4g})"


def step_words(step: WaterfallStep, fall: Waterfall) -> str:
    """The caption of a step of a waterfall."""
    if step is fall.start and not step.reasons:
        return "no prior: every pair starts at 0.5"
    if step is fall.rest:
        return f"{len(step.reasons):,} weaker rules together"
    return printable(" ".join(said(reason.words) for reason in step.reasons))


def waterfall_lines(fall: Waterfall) -> Iterator[Line]:
    """The steps from the prior to the score, each with its bar."""
    yield "heading", "How the score adds up"
    yield "note", "  log-odds   score"
    for step in fall.all_steps:
        figures = f"  {step.log_odds:+8.2f}  {step.probability:6.4f}"
        yield step.side, f"{figures}  {_bar(step, fall):{BAR}}  {step_words(step, fall)}"
    yield "total", f"  {fall.total:+8.2f}  {fall.score:6.4f}  together"


def _bar(step: WaterfallStep, fall: Waterfall) -> str:
    """A step as a bar of letters, between the least and the greatest log-odds."""
    first, last = sorted(round(BAR * fall.place(end)) for end in (step.before, step.after))
    first = min(first, BAR - 1)
    return " " * first + "█" * max(last - first, 1)


def _evidence_lines(reason: Reason) -> Iterator[Line]:
    """The rule's text, weight or counts, and groundings, which follow its words."""
    yield "note", f"{INDENT}{printable(reason.rule)}"
    yield "note", f"{INDENT}{reason.origin}, {reason.figures}"
    several = len(reason.conditions) > 1
    for condition in reason.conditions:
        if several:
            yield "note", f"{INDENT}{printable(condition.text)}: {condition.figures}"
        inner = INDENT + "  " * several
        for grounding in condition.groundings:
            yield "path", inner + str(grounding)
        if condition.unnamed:
            yield "note", f"{inner}... and {condition.unnamed:,} more"
    for fact in reason.linked_pairs:
        yield "path", f"{INDENT}together with the pair {fact}"


def _flip_lines(explained: Explanation) -> Iterator[Line]:
    flip, crossing = explained.flip, explained.crossing
    assert flip is not None
    sentence = flip.status.sentence_about(crossing)
    yield "heading", f"What would {crossing.short}"
    if not flip.facts:
        yield "note", f"  {sentence}"
        return
    many = "this fact" if len(flip.facts) == 1 else f"these {len(flip.facts):,} facts"
    after = f"so {'false' if explained.decision else 'true'}"
    if flip.place is not None:
        after = flip.place.words
    yield "note", f"  without {many} the score is {flip.score:.4g}, {after} ({sentence})"
    for fact in flip.facts:
        yield "fact", f"    {fact}"
