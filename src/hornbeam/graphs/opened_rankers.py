"""Opens the ranker and the explainer of a model over facts in memory, without or with times."""

from __future__ import annotations

from hornbeam.facts.table import Facts
from hornbeam.graphs.graph_explainer import REASONS, GraphExplainer
from hornbeam.graphs.graph_ranker import MemoryRanker
from hornbeam.graphs.ranking_model import RankingModel
from hornbeam.graphs.timed.timed_explainer import TimedExplainer
from hornbeam.graphs.timed.timed_ranker import TimedRanker

#: Rankers that have the facts in memory, and the explainers of their answers.
InMemoryRanker = MemoryRanker | TimedRanker
AnyExplainer = GraphExplainer | TimedExplainer


def ranker_in_memory(
    model: RankingModel, facts: Facts, threads: int | None = None
) -> InMemoryRanker:
    """The ranker of a model over facts in memory."""
    if model.time is None:
        return MemoryRanker.of(model, facts, threads=threads)
    return TimedRanker.of(model, facts, threads=threads)


def explainer_of(ranker: InMemoryRanker, reasons: int = REASONS) -> AnyExplainer:
    """The explainer of a ranker's answers, with at most `reasons` rules per part of a score."""
    if isinstance(ranker, TimedRanker):
        return TimedExplainer(ranker, reasons)
    return GraphExplainer(ranker, reasons)
