"""The report: one HTML file that shows what was learned, how good it is, and where it fails.

A rule model has rules with weights, judged by labelled pairs. A model of a whole graph has rules
judged by the ranks of true answers. Without labels or true triples, the page shows what was
learned, from which data and how, with figures of the internal validation only.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

import numpy as np

from hornbeam.base.arrays import Bools, Floats, Positions
from hornbeam.base.progress import SILENT, Progress
from hornbeam.counting.columns import Columns
from hornbeam.counting.statistics import Statistics
from hornbeam.explaining.explainer import Explainer, RuleExplainer
from hornbeam.explaining.explanation import ExplainedScore, Explanation
from hornbeam.explaining.independent_explainer import IndependentExplainer
from hornbeam.explaining.known_scores import cautions
from hornbeam.explaining.reason import Grounding, renamed
from hornbeam.facts.entity_names import NO_NAMES, EntityNames
from hornbeam.facts.known import known_links
from hornbeam.facts.names import Names
from hornbeam.facts.table import Facts, Targets
from hornbeam.learning.trace import Trace
from hornbeam.ranking.filtered_ranks import Ranks, in_facts
from hornbeam.ranking.queries import Direction, answered
from hornbeam.ranking.rank_evaluation import GraphEvaluation, RelationRanks
from hornbeam.ranking.timed_ranks import are_events
from hornbeam.reporting import charts, report_charts
from hornbeam.reporting.data_profile import DataProfile, profile
from hornbeam.reporting.model_card import model_card
from hornbeam.reporting.rendering import page_of
from hornbeam.reporting.rule_tables import (
    RuleQuality,
    covered_rows,
    figures_without,
    rule_qualities,
)
from hornbeam.rules.rule_model import RuleModel
from hornbeam.rules.rule_words import Words, counting_words, with_shown_names
from hornbeam.scoring.evaluation import confusion, evaluate
from hornbeam.scoring.model_checks import warn_of_other_targets

if TYPE_CHECKING:
    from hornbeam.graphs.opened_rankers import InMemoryRanker
    from hornbeam.graphs.ranking_model import RankingModel

#: Maximum number of explained errors: wrong pairs of each kind, and true answers that rank low.
WORST, HARDEST = 5, 8
#: Rows of a table that are visible at first; further rows are folded.
OPEN_ROWS = 20
#: Row limits to try per table, largest first, until the page is small enough.
ROWS = (300, 150, 80, 40, 20)
#: Maximum number of bytes of a page.
LARGEST = 200_000
#: Number of rules in a waterfall chart, between the prior and the sum of all other rules.
STEPS = 4
#: Maximum number of known links on which rules are counted if there are no labels.
MAX_LINKS = 5_000
#: Maximum number of scores of labelled pairs without a rule: of many pairs, fewer rules are judged.
MAX_SCORES = 5_000_000
#: Maximum number of test queries for the calibration of probabilities.
CALIBRATED = 2000
#: Number of rules that are shown per relation and direction.
BEST = 3
#: Values of the template that only some models have; None unless a report sets them.
NOTHING = dict.fromkeys(("graph", "ranks", "evaluation", "trace", "beliefs", "noun", "nouns"))


@dataclass(frozen=True)
class Failure:
    """An error with its explanation: a wrong decision on a labelled pair, or a low-ranked answer.

    `scored` is the wrong score with its reasons: the score of the pair, or of the true answer in
    the direction of the query.
    """

    explanation: Explanation
    scored: ExplainedScore
    label: float | None = None
    rank: float | None = None


def _page(
    model: RuleModel | RankingModel,
    data: DataProfile | None,
    figures: Mapping[str, list[report_charts.Figure]],
    values: dict[str, object],
) -> str:
    """The page with as many rows per table as fit into `LARGEST` bytes; no `data`: no facts."""
    degrees = [] if data is None else [report_charts.degrees(data)]
    drawn = {"quality": [], "learning": [], "data": degrees, **figures}
    card = model_card(model)
    shared = {"card": card, "data": data, "figures": drawn, "charts": charts, "steps": STEPS}
    for rows in ROWS:
        page = page_of(
            "report.html.j2", rows=rows, open_rows=OPEN_ROWS, **{**NOTHING, **shared, **values}
        )
        if len(page.encode()) <= LARGEST:
            break
    return page


# --- rules with weights ---------------------------------------------------------------------------


def report(
    explainer: RuleExplainer,
    labels: Targets | None,
    trace: Trace | None = None,
    progress: Progress = SILENT,
    *,
    names: EntityNames = NO_NAMES,
    ranks: GraphEvaluation | None = None,
    filtered_by: str = "",
) -> str:
    """Write the report of a rule model as one HTML page.

    The labels should not have been used for learning. Without labels, the page counts rules on the
    links that the facts state, and shows errors only by the `ranks` of true answers. Without a
    trace, it does not show how the model was learned.
    """
    model, semantics = explainer.model, explainer.model.semantics
    if labels is not None:
        warn_of_other_targets(model, labels)
    pairs = known_links(explainer.facts, model.targets)[:MAX_LINKS] if labels is None else labels
    counted = explainer.count(pairs, progress)
    scores = explainer.scores(pairs, counted)
    qualities = _listed(rule_qualities(model, counted, pairs), names)
    in_bodies = set[str]().union(*(body.predicates for body in model.bodies))
    data = profile(explainer.facts, pairs, in_bodies).in_names(names.shown)
    figures = {} if trace is None else {"learning": report_charts.learning_figures(trace)}
    values = _of_rules(model, qualities, trace, names) | {
        "n_pairs": len(pairs),
        "judged": labels is not None,
        "examples": _examples(explainer, counted, pairs, names, progress),
    }
    if labels is not None:
        if not semantics.recursive:  # inferring all pairs for every rule would take long
            without = figures_without(explainer, labels, counted)
            most = min(ROWS[0], MAX_SCORES // max(len(labels), 1))
            values["qualities"] = [
                replace(quality, without=without(quality.index)) if k < most else quality
                for k, quality in enumerate(qualities)
            ]
        evaluation = evaluate(labels.truth, scores)
        figures["quality"] = report_charts.quality_figures(labels, scores, evaluation, semantics)
        values |= {
            "evaluation": evaluation,
            "confusion": confusion(labels.positive, scores >= semantics.threshold),
            "failures": _mistakes(explainer, labels, scores, names, progress),
        }
    if ranks is not None:
        figures["quality"] = [report_charts.rank_figure(ranks.ranks)]
        hardest = _hardest(explainer, ranks.ranks, names, progress)
        values |= {"filtered_by": filtered_by, "ranks": ranks, "failures": {"": hardest},
                   "n_rules": len(qualities),
                   "relations": _ranked_targets(qualities, ranks, names)}  # fmt: skip
    return _page(model, data, figures, values)


def report_without_facts(
    model: RuleModel, trace: Trace | None = None, names: EntityNames = NO_NAMES
) -> str:
    """Write the report of what a rule model says by itself, as one HTML page."""
    nothing = known_links(Facts(Names.of([]), Names.of([])), model.targets)
    counted = Statistics.empty(list(model.bodies), 0)
    qualities = _listed(rule_qualities(model, counted, nothing), names)
    values = _of_rules(model, qualities, trace, names)
    values |= {"n_pairs": 0, "judged": False, "examples": [()] * len(qualities)}
    figures = {} if trace is None else {"learning": report_charts.learning_figures(trace)}
    return _page(model, None, figures, values)


def _listed(qualities: Iterable[RuleQuality], names: EntityNames) -> list[RuleQuality]:
    """Rules with names to show: priors first, then the heaviest."""
    shown = (
        replace(quality, words=with_shown_names(quality.words, names.shown))
        for quality in qualities
    )
    return sorted(shown, key=lambda rule: (not rule.is_prior, -rule.weight, rule.index))


def _of_rules(
    model: RuleModel, qualities: Sequence[RuleQuality], trace: Trace | None, names: EntityNames
) -> dict[str, object]:
    """Values of the template that every report of a rule model has."""
    arities = {rule.clause.body.head_arity for rule in model.rules}
    noun, nouns = report_charts.nouns_of(arities == {1})
    return {
        "noun": noun,
        "nouns": nouns,
        "targets": sorted({names.shown(quality.target) for quality in qualities}),
        "semantics": model.semantics,
        "qualities": qualities,
        "counting": counting_words(model),
        "cautions": cautions(model, trace),
        "beliefs": list(zip(model.beliefs, model.belief_texts, strict=True)),
        "trace": trace,
    }


def _ranked_targets(
    qualities: Sequence[RuleQuality], ranks: GraphEvaluation, names: EntityNames
) -> list[RelationRow]:
    """Targets and directions of a test, with their ranks and heaviest rules."""
    rows = []
    for part in ranks.relations:
        own = [rule for rule in qualities if rule.target == part.relation]
        heaviest = [(rule.weight, rule.words) for rule in own if not rule.is_prior][:BEST]
        name = names.shown(part.relation)
        rows.append(RelationRow(name, part.direction, len(own), tuple(heaviest), part))
    return rows


def _examples(
    explainer: RuleExplainer,
    counted: Statistics,
    labels: Targets,
    names: EntityNames,
    progress: Progress,
) -> list[tuple[Grounding, ...]]:
    """An example per rule: one grounding per condition, for one covered pair.

    It is the first pair with the label of the rule's head, else the first covered pair.
    """
    examples: list[tuple[Grounding, ...]] = []
    columns = Columns(counted)
    for rule in explainer.model.rules:
        examples.append(())
        if rule.clause.is_prior:
            continue
        covered = covered_rows(columns, rule.clause)
        right = covered[labels.positive[covered] != rule.clause.negated]
        chosen = right if len(right) else covered
        if len(chosen):
            subject, _, object_ = labels.names_at(int(chosen[0]))
            seen = _at_time_of(explainer, labels, int(chosen[0]))
            own = seen.groundings(rule.clause.body, subject, object_, 1, progress)
            examples[-1] = renamed(own, names.shown)
    return examples


def _mistakes(
    explainer: RuleExplainer,
    labels: Targets,
    scores: Floats,
    names: EntityNames,
    progress: Progress,
) -> dict[str, list[Failure]]:
    """Explain the false pairs with the highest scores, and the true pairs with the lowest."""
    semantics = explainer.model.semantics
    true, called = labels.positive, scores >= semantics.threshold
    too_high, too_low = "called true but false", "called false but true"
    if not semantics.decides:
        at = f"{semantics.threshold:g}"
        too_high, too_low = f"false pairs that score {at} or more", f"true pairs below {at}"
    kinds = {
        too_high: _first(np.flatnonzero(~true & called), -scores),
        too_low: _first(np.flatnonzero(true & ~called), scores),
    }
    total = sum(len(rows) for rows in kinds.values())
    failures: dict[str, list[Failure]] = {kind: [] for kind in kinds}
    done = 0
    for kind, rows in kinds.items():
        for row in rows:
            seen = _at_time_of(explainer, labels, row)
            why = seen.explain(*labels.names_at(row), paths=1).in_names(names)
            failures[kind].append(Failure(why, why.directions[0], label=float(labels.truth[row])))
            done += 1
            progress.advance("Explaining errors", done, total)
    return failures


def _at_time_of(explainer: RuleExplainer, labels: Targets, row: int) -> RuleExplainer:
    """The explainer at the time of a labelled pair, if it has one."""
    if labels.time is None or not isinstance(explainer, IndependentExplainer):
        return explainer
    return explainer.at(int(labels.time[row]))


def _first(rows: Positions, by: Floats) -> list[int]:
    """The `WORST` first rows by a key; rows with equal keys stay in their order."""
    return [int(row) for row in rows[np.argsort(by[rows], kind="stable")][:WORST]]


# --- rules of a whole graph -----------------------------------------------------------------------


@dataclass(frozen=True)
class RelationRow:
    """A relation in one direction: its best rules and their weights, and its test ranks."""

    relation: str
    direction: str
    n_rules: int
    rules: tuple[tuple[float, Words], ...]
    ranks: RelationRanks | None


def graph_report(
    model: RankingModel,
    facts: Facts | None,
    test: Facts | None = None,
    filter: Facts | None = None,  # noqa: A002
    *,
    filtered_by: str,
    names: EntityNames = NO_NAMES,
    threads: int | None = None,
    progress: Progress = SILENT,
) -> str:
    """Write the report of a model of a whole graph as one HTML page.

    `test` are true triples, ideally not used for learning; without them the page only shows what
    was learned, and without facts what the model file says. `filter` are further true triples,
    which do not count as wrong answers. Ranks are those of `GraphRanker.evaluate`; `filtered_by`
    names all files of triples that are not wrong.
    """
    # imported late, here and below: the report of a rule model needs none of these modules
    from hornbeam.graphs.opened_rankers import explainer_of, ranker_in_memory
    from hornbeam.graphs.timed.timed_ranker import TimedRanker

    rules = [rule for part in model.relations for rule in part.all_rules]
    in_bodies = set[str]().union(*(rule.clause.body.predicates for rule in rules))
    values: dict[str, object] = {
        "graph": model,
        "targets": model.targets,
        "n_rules": sum(len(part.rules) for part in model.relations),
        "cautions": model.cautions,
        "judged": test is not None,
    }
    figures = dict[str, list[report_charts.Figure]]()
    judged = None
    if test is not None and facts is not None:
        ranker = ranker_in_memory(model, facts, threads)
        judged = ranker.evaluate(test, filter, progress)
        if isinstance(ranker, TimedRanker):
            ranker = ranker.seeing([test, *([] if filter is None else [filter])])
        answers = evaluate(*_true_and_stated(ranker, judged.ranks, progress))
        asked = min(CALIBRATED, judged.queries)
        figures["quality"] = report_charts.rank_figures(judged.ranks, answers, asked)
        hardest = _hardest(explainer_of(ranker, reasons=1), judged.ranks, names, progress)
        values |= {"filtered_by": filtered_by, "ranks": judged, "failures": {"": hardest}}
    values["relations"] = _relations(model, judged, names)
    data = None
    if facts is not None:
        # there are no labelled pairs
        data = profile(facts, known_links(facts, []), in_bodies).in_names(names.shown)
    return _page(model, data, figures, values)


def _relations(
    model: RankingModel, judged: GraphEvaluation | None, names: EntityNames
) -> list[RelationRow]:
    """Relations of the test, most queries first; without a test all relations, most rules first."""
    from hornbeam.graphs.graph_text import graph_rule_words

    ranks = {(row.relation, row.direction): row for row in judged.relations} if judged else {}
    rows = []
    for part in model.relations:
        direction = part.relation, part.direction.value
        if judged is not None and direction not in ranks:
            continue
        best = tuple(
            (
                rule.confidence,
                with_shown_names(graph_rule_words(rule.clause, part.direction), names.shown),
            )
            for rule in part.rules[:BEST]
        )
        shown = names.shown(part.relation), part.direction.value
        rows.append(RelationRow(*shown, len(part.rules), best, ranks.get(direction)))
    return sorted(
        rows, key=lambda row: (-(row.ranks.queries if row.ranks else row.n_rules), row.relation)
    )


def _true_and_stated(
    ranker: InMemoryRanker, ranks: Ranks, progress: Progress
) -> tuple[Bools, Floats]:
    """Whether answers to test queries are among the test triples, and their probabilities.

    Answers that are among the triples of a filter are left out.
    """
    united, queries = ranks.united, in_facts(ranks.queries, ranks.united)
    rows = np.flatnonzero(queries.askable)
    rows = rows[np.linspace(0, len(rows) - 1, min(CALIBRATED, len(rows))).astype(np.int64)]
    # several test triples may have the same query; its answers count once
    columns = [queries.relation[rows], queries.asks_subject[rows], queries.known[rows]]
    if queries.time is not None:
        columns.append(queries.time[rows])
    _, first = np.unique(np.stack(columns), axis=1, return_index=True)
    asked = queries.select(rows[first])
    found = answered(ranker.listing(0), asked, progress)  # no more than the pool
    answers = found.triples(asked)
    if asked.time is not None and ranker.facts.events is not None:
        return (
            are_events(answers, asked.time[found.query], ranker.facts.events),
            ranker.probabilities(found),
        )
    test, *filters = (united.among(answers, table) for table in united.tables[1:])
    kept = ~np.logical_or.reduce([np.zeros_like(test), *filters])
    return test[kept], ranker.probabilities(found)[kept]


def _hardest(
    explainer: Explainer, ranks: Ranks, names: EntityNames, progress: Progress
) -> list[Failure]:
    """The true answers that rank lowest, at most one per relation and direction."""
    # imported late, as above
    from hornbeam.graphs.timed.timed_explainer import TimedExplainer

    united, queries = ranks.united, ranks.queries
    assert queries.answer is not None
    n_entities = len(explainer.facts.entities)
    failures = list[Failure]()
    seen = set[tuple[int, bool]]()
    for row in np.argsort(-ranks.rank, kind="stable").tolist():
        kind = int(queries.relation[row]), bool(queries.asks_subject[row])
        known, answer = int(queries.known[row]), int(queries.answer[row])
        if kind in seen or max(known, answer) >= n_entities or ranks.rank[row] <= 1.0:
            continue
        seen.add(kind)
        ends = (answer, known) if kind[1] else (known, answer)
        triple = united.entity(ends[0]), united.relation(kind[0]), united.entity(ends[1])
        asked = explainer
        if queries.time is not None and isinstance(explainer, TimedExplainer):
            asked = replace(explainer, at=int(queries.time[row]))
        why = asked.explain(*triple, paths=1).in_names(names)
        asks = Direction.SUBJECT if kind[1] else Direction.OBJECT
        # the score of a pair by a rule model is the same for both queries
        both = why.directions
        scored = next((direction for direction in both if direction.asks is asks), both[0])
        failures.append(Failure(why, scored, rank=float(ranks.rank[row])))
        progress.advance("Explaining the hardest queries", len(failures), HARDEST)
        if len(failures) == HARDEST:
            break
    return failures
