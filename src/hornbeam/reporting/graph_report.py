"""The report of a model of a whole graph: ranks of true answers, rules, and failures.

Without true triples to rank it shows what was learned, with the figure of the held-out queries. It
is a page like that of `hornbeam.reporting.report`, with the same style sheet and policy.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from hornbeam.base.arrays import Floats, Ints
from hornbeam.base.progress import SILENT, Progress
from hornbeam.explaining.explanation import ExplainedScore, Explanation
from hornbeam.facts.atom_keys import atom_keys, contained
from hornbeam.facts.entity_names import NO_NAMES, EntityNames
from hornbeam.facts.table import Facts
from hornbeam.graphs.graph_explainer import GraphExplainer
from hornbeam.graphs.graph_ranker import MemoryRanker
from hornbeam.graphs.graph_text import graph_rule_words
from hornbeam.graphs.ranking_model import RankingModel
from hornbeam.ranking.filtered_ranks import Ranks
from hornbeam.ranking.queries import Direction, Queries, answered
from hornbeam.ranking.rank_evaluation import GraphEvaluation, RelationRanks
from hornbeam.reporting.charts import column_chart
from hornbeam.reporting.report import OPEN_ROWS, fitting_page
from hornbeam.reporting.report_charts import Figure, reliability_chart
from hornbeam.rules.rule_words import Words
from hornbeam.scoring.evaluation import evaluate

#: Maximum number of test queries for the calibration of probabilities.
CALIBRATED = 2000
#: Rules that are shown per relation and direction, and number of hardest queries that are
#: explained.
BEST, HARDEST = 3, 8
#: Upper ends of the ranks of each bar.
BARS = (1, 3, 10, 100)


@dataclass(frozen=True)
class RelationRow:
    """A relation in one direction: its best rules as (confidence, words), and how it ranks."""

    relation: str
    direction: str
    n_rules: int
    rules: tuple[tuple[float, Words], ...]
    ranks: RelationRanks | None


@dataclass(frozen=True)
class HardQuery:
    """A true answer that ranks low, and why."""

    rank: float
    direction: Direction
    explanation: Explanation

    @property
    def reasons(self) -> ExplainedScore:
        """The reasons for the answer in that direction, and the answers above it."""
        return next(one for one in self.explanation.directions if one.asks is self.direction)


def graph_report(
    model: RankingModel,
    facts: Facts,
    test: Facts | None = None,
    filter: Facts | None = None,  # noqa: A002
    *,
    filtered_by: str,
    names: EntityNames = NO_NAMES,
    threads: int | None = None,
    progress: Progress = SILENT,
) -> str:
    """Write the report of a model as one HTML page.

    `test` are true triples, ideally not used for learning, `filter` further true ones, which are
    not counted as wrong answers; without `test` the page only shows what was learned. Ranks are
    those of `GraphRanker.evaluate`; `filtered_by` names the files whose triples are not wrong.
    """
    relations = {part.relation for part in model.relations}
    values = {
        "model": model,
        "n_relations": len(relations),
        "n_rules": sum(len(part.rules) for part in model.relations),
        "facts": facts,
        "caution": model.linked.caution,
        "open_rows": OPEN_ROWS,
    }
    if test is None:
        values |= {"evaluation": None, "relations": _relations(model, None)}
        return fitting_page("graph_report.html.j2", values)
    ranker = MemoryRanker.of(model, facts, threads=threads)
    found = ranker.evaluate(test, filter, progress)
    values |= {
        "filtered_by": filtered_by,
        "evaluation": found,
        "relations": _relations(model, found),
        "figures": [_rank_figure(found.ranks), _reliability(ranker, found.ranks, progress)],
        "hardest": _hardest(ranker, found.ranks, names, progress),
    }
    return fitting_page("graph_report.html.j2", values)


def _relations(model: RankingModel, found: GraphEvaluation | None) -> list[RelationRow]:
    """The relations of the test, most queries first; without a test all, most rules first."""
    ranks = {(one.relation, one.direction): one for one in found.relations} if found else {}
    rows = []
    for part in model.relations:
        direction = part.relation, part.direction.value
        if found is not None and direction not in ranks:
            continue
        best = tuple(
            (rule.confidence, graph_rule_words(rule.clause, part.direction))
            for rule in part.rules[:BEST]
        )
        rows.append(RelationRow(*direction, len(part.rules), best, ranks.get(direction)))
    return sorted(
        rows, key=lambda row: (-(row.ranks.queries if row.ranks else row.n_rules), row.relation)
    )


def _rank_figure(ranks: Ranks) -> Figure:
    """Draw the number of true answers per rank."""
    labels, shares, low = list[str](), list[float](), 0
    for high in (*BARS, None):
        inside = ranks.rank > low
        if high is not None:
            inside &= ranks.rank <= high
        span = f"over {low}" if high is None else str(high) if high == low + 1 else f"to {high}"
        labels.append(span)
        shares.append(float(inside.mean()))
        low = high or low
    text = "; ".join(f"{label}: {share:.0%}" for label, share in zip(labels, shares, strict=True))
    chart = column_chart(
        "ranks", "Ranks of true answers", text, "rank of the true answer", "share of queries",
        labels, [("", "one", shares)],
    )  # fmt: skip
    return Figure(chart, "Ranks of the true answers among all entities; rank 1 is the best.")


def _reliability(ranker: MemoryRanker, ranks: Ranks, progress: Progress) -> Figure:
    """Draw how often answers of a probability are true according to the test."""
    stated, true = _stated_and_true(ranker, ranks, progress)
    judged = evaluate(true, stated)
    axes = ("stated probability", "share of true answers")
    chart = reliability_chart("reliability", "Reliability", judged.calibration, axes)
    return Figure(
        chart,
        f"Reliability of probabilities on answers to {min(CALIBRATED, len(ranks.rank)):,} test "
        f"queries: on average {judged.calibration_error:.3f} from the dashed line. Answers that "
        "the test does not know count as wrong, so true ones that it lacks lower the curve.",
    )


def _stated_and_true(
    ranker: MemoryRanker, ranks: Ranks, progress: Progress
) -> tuple[Floats, Floats]:
    """Probabilities of answers to test queries, and whether they are true in the test.

    Answers that are true in a filter are left out.
    """
    united, queries = ranks.united, ranks.queries
    inside = (queries.known < len(ranker.facts.entities)) & (
        queries.relation < len(ranker.facts.predicates)
    )
    rows: Ints = np.flatnonzero(inside)
    rows = rows[np.linspace(0, len(rows) - 1, min(CALIBRATED, len(rows))).astype(np.int64)]
    # several test triples may have the same query; its answers count once
    distinct = np.unique(
        np.stack([queries.relation[rows], queries.asks_subject[rows], queries.known[rows]]), axis=1
    )
    unique = Queries(
        distinct[0].astype(np.int32), distinct[2].astype(np.int32), distinct[1].astype(np.bool_)
    )
    found = answered(replace(ranker, listed=0), unique, progress)  # no more than the pool
    of = found.query
    own = atom_keys(
        unique.known[of], unique.relation[of], found.entities, united.n_entities, united.n_relations
    )
    true, kept = np.zeros(len(of)), np.ones(len(of), dtype=np.bool_)
    for asks_subject in (False, True):
        in_direction = unique.asks_subject[of] == asks_subject
        test, *filters = (
            np.sort(united.keys(table, asks_subject=asks_subject)) for table in united.tables[1:]
        )
        true[in_direction] = contained(own[in_direction], test)
        for keys in filters:
            kept[in_direction] &= ~contained(own[in_direction], keys)
    return ranker.probabilities(found)[kept], true[kept]


def _hardest(
    ranker: MemoryRanker, ranks: Ranks, names: EntityNames, progress: Progress
) -> list[HardQuery]:
    """The true answers of the lowest ranks, at most one per relation and direction."""
    united, queries = ranks.united, ranks.queries
    assert queries.answer is not None
    n_entities = len(ranker.facts.entities)
    found: list[HardQuery] = []
    seen = set[tuple[int, bool]]()
    for row in np.argsort(-ranks.rank, kind="stable").tolist():
        kind = int(queries.relation[row]), bool(queries.asks_subject[row])
        known, answer = int(queries.known[row]), int(queries.answer[row])
        if kind in seen or max(known, answer) >= n_entities or ranks.rank[row] <= 1.0:
            continue
        seen.add(kind)
        ends = (answer, known) if kind[1] else (known, answer)
        triple = united.entity(ends[0]), united.relation(kind[0]), united.entity(ends[1])
        explained = GraphExplainer(ranker, reasons=1).explain(*triple, paths=1)
        direction = Direction.SUBJECT if kind[1] else Direction.OBJECT
        shown = explained.in_names(names)
        found.append(HardQuery(float(ranks.rank[row]), direction, shown))
        progress.advance("Explaining the hardest queries", len(found), HARDEST)
        if len(found) == HARDEST:
            break
    return found
