"""An explanation as text for a terminal, and as HTML at the end of a notebook's cell."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from markupsafe import Markup

from hornbeam.base.result_table import html_table
from hornbeam.base.texts import printable
from hornbeam.explaining.known_scores import CAUTION
from hornbeam.explaining.reason import Reason, ScorePart
from hornbeam.ranking.named_queries import ASKED
from hornbeam.ranking.queries import Direction
from hornbeam.rules.rule_words import said

if TYPE_CHECKING:
    from hornbeam.explaining.explanation import ExplainedScore, Explanation

#: Rules that get a bar of their own in text and in HTML.
MAX_TEXT_BARS, MAX_HTML_BARS = 20, 12
#: Indentation of the lines below a rule.
INDENT = " " * 11
#: What is said of a triple that is among the facts.
IS_FACT = "is among the facts; explained as if it were not"

Line = tuple[str, str]


# --- words that both views share ------------------------------------------------------------------


def _verdict(explained: Explanation) -> str:
    """The decision on a pair or, where the model decides nothing, the place of its score."""
    if explained.place is not None:
        return explained.place.words
    return f"{'true' if explained.decision else 'false'} (true from {explained.threshold:.4g})"


def _query(explained: Explanation, direction: ExplainedScore) -> tuple[str, str, str]:
    """The query that a triple answers, with a question mark for the argument it asks for."""
    if direction.asks is Direction.OBJECT:
        return explained.subject, explained.predicate, ASKED
    return ASKED, explained.predicate, explained.object


def _rank_words(direction: ExplainedScore) -> str:
    """The rank of an answer among those that rules propose."""
    proposed = f"{direction.candidates:,}"
    if direction.rank is None:
        return f"not among the {proposed} answers that rules propose"
    rank = f"rank {direction.rank:g} of {proposed} proposed answers"
    return f"{rank}, probability {direction.score:.3f}"


# --- text -----------------------------------------------------------------------------------------


def explanation_lines(explained: Explanation) -> Iterator[Line]:
    """Text for a person, line by line, each with its role; see `Explanation.lines`."""
    yield "pair", printable("  ".join(explained.words))
    if explained.is_fact:
        yield "note", IS_FACT
    if explained.is_ranked:
        for direction in explained.directions:
            yield from _ranking_lines(explained, direction)
    else:
        yield from _score_lines(explained)
    if explained.flip is not None:
        yield from _flip_lines(explained)


def _score_lines(explained: Explanation) -> Iterator[Line]:
    """The score of a pair, how it adds up, and its reasons."""
    if explained.place is None:
        answer = f"so {_verdict(explained)}; MAP state {explained.map:.4g}"
        yield "verdict", f"score {explained.score:.4g}, {answer}"
    else:
        yield "verdict", f"score {explained.score:.4g}, {_verdict(explained)}"
        yield "note", CAUTION
    if explained.alone is not None:
        alone = f"by its own facts it scores {explained.alone:.4g}"
        yield "note", f"{alone}; other pairs account for the rest"
    for name in explained.unseen:
        yield "note", f"no fact has {printable(repr(name))}: only the prior counts"
    fall = explained.waterfall(MAX_TEXT_BARS)
    if not explained.reasons:
        yield "note", "no rule has groundings for this pair: its score is 0.5"
    elif fall is not None:
        yield from fall.lines()
    if explained.reasons:
        yield "heading", "Rule by rule: how far the score would move without it"
    if fall is None:
        yield "note", "  Log-odds are not a sum over rules here, and these numbers do not add up."
    for part in explained.parts:
        yield "heading", part.name.capitalize()
        yield from _part_lines(part)


def _ranking_lines(explained: Explanation, direction: ExplainedScore) -> Iterator[Line]:
    """The rank of an answer, its parts with their reasons, and the answers above it."""
    yield "heading", printable("  ".join(_query(explained, direction)))
    yield "against" if direction.rank is None else "verdict", _rank_words(direction)
    if direction.parts:
        parts = ", ".join(f"{part.name} {part.value:+.2f}" for part in direction.parts)
        together = f"together {direction.total:+.2f}"
        yield "note", f"score above the mean candidate: {parts}; {together}"
    for part in direction.parts:
        if part.reasons:
            yield "heading", f"{part.name.capitalize()} {part.value:+.2f}"
        yield from _part_lines(part)
    for higher in direction.above:
        yield "heading", printable(f"Above it: {higher.answer}")
        yield "note", f"  rank {higher.rank:g}, probability {higher.probability:.3f}"
        yield from _part_lines(ScorePart("", None, higher.reasons))


def _part_lines(part: ScorePart) -> Iterator[Line]:
    """The reasons of a part, each with its figure, words, text, origin and groundings."""
    for reason in part.reasons:
        role = "neutral" if reason.is_prior else reason.side
        yield role, f"  {reason.figure:7}  {printable(said(reason.words))}"
        yield "note", f"{INDENT}{printable(reason.rule)}"
        yield "note", f"{INDENT}{reason.origin}, {reason.figures}"
        several = len(reason.conditions) > 1
        inner = INDENT + "  " * several
        for condition in reason.conditions:
            if several:
                yield "note", f"{INDENT}{printable(condition.text)}: {condition.figures}"
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


# --- HTML -----------------------------------------------------------------------------------------


def explanation_html(explained: Explanation) -> str:
    """How the score adds up, the reasons with their first groundings, and what would flip it."""
    title = " ".join(explained.words)
    if not explained.is_ranked:
        title += f": score {explained.score:.4g}, {_verdict(explained)}"
    pieces = [str(Markup("<p><strong>{}</strong></p>").format(printable(title)))]
    if explained.place is not None:
        pieces.append(f"<p>{CAUTION}</p>")
    if explained.is_fact:
        pieces.append(f"<p>{IS_FACT}</p>")
    for direction in explained.directions:
        pieces += _direction_html(explained, direction)
    if explained.flip is not None:
        facts = [
            (fact.subject, fact.predicate, ", ".join(fact.arguments[1:]))
            for fact in explained.flip.facts
        ]
        status = f"What would {explained.crossing.short} ({explained.flip.status.value})"
        pieces.append(html_table(status, ["subject", "predicate", "object"], facts))
    return "".join(pieces)


def _direction_html(explained: Explanation, direction: ExplainedScore) -> Iterator[str]:
    """The parts of a score and their reasons; of an answer also the answers above it."""
    figure = "moves the score by"
    if direction.asks is not None:
        query = " ".join(_query(explained, direction))
        yield str(Markup("<p>{}: {}</p>").format(printable(query), _rank_words(direction)))
        parts = [(f"{part.value:+.2f}", part.name) for part in direction.parts]
        yield html_table("Score above the mean candidate", ["adds to the log-odds", "part"], parts)
        figure = "confidence or weight"
    elif direction.reasons and (fall := explained.waterfall(MAX_HTML_BARS)) is not None:
        yield fall._repr_html_()
    columns = ["part", figure, "rule", "by", "count", "first grounding"]
    rows = [_reason_row(part.name, reason) for part in direction.parts for reason in part.reasons]
    yield html_table("What each rule does", columns, rows)
    if direction.above:
        above = [
            (f"{higher.rank:g}", higher.answer, f"{higher.probability:.3f}")
            for higher in direction.above
        ]
        yield html_table("Answers above it", ["rank", "answer", "probability"], above)


def _reason_row(part: str, reason: Reason) -> tuple[str, ...]:
    rule = Markup("{}<br><code>{}</code>").format(
        printable(said(reason.words)), printable(reason.rule)
    )
    first = str(reason.groundings[0]) if reason.groundings else ""
    return part, reason.figure, rule, reason.origin, f"{reason.count:,}", first
