"""What models of both kinds have in common, and the one place that opens a file of either kind."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, Protocol, Self, TypeVar

from hornbeam.base.choices import Score
from hornbeam.base.progress import SILENT, Progress
from hornbeam.base.result_table import ResultTable
from hornbeam.errors import InputError
from hornbeam.explaining.explanation import PATHS
from hornbeam.facts.reading.readers import Input
from hornbeam.facts.table import Facts
from hornbeam.graphs.graph_mark import is_graph_model
from hornbeam.learning.trace import Trace, trace_of
from hornbeam.model import Model
from hornbeam.ranking.rank_evaluation import GraphEvaluation
from hornbeam.reporting.evaluation import Evaluation

if TYPE_CHECKING:
    from hornbeam.graph_model import GraphModel

T = TypeVar("T")


class AnyExplanation(Protocol):
    """Why a link is believed."""

    def as_dict(self) -> dict[str, Any]:
        """Everything as plain values, for JSON."""

    def to_table(self) -> ResultTable:
        """The reasons, one per row."""

    def lines(self) -> Iterator[tuple[str, str]]:
        """The explanation line by line, each line with its role."""


class AnyScorer(Protocol):
    """A model over facts, ready to score pairs or triples."""

    def predict(
        self, pairs: Input, *, names: Input | None = None, progress: Progress = SILENT
    ) -> ResultTable:
        """Score pairs, in their order; see `AnyModel.predict`."""


class AnyRanker(Protocol):
    """A model over facts, ready to answer queries."""

    def rank(
        self, queries: Input, *, top: int = 10, names: Input | None = None,
        progress: Progress = SILENT,
    ) -> ResultTable:  # fmt: skip
        """Answer queries, best first; see `AnyModel.rank`."""

    def evaluate(
        self, test: Input, filter: Input | None = None, progress: Progress = SILENT  # noqa: A002
    ) -> GraphEvaluation:  # fmt: skip
        """Rank the answers of true triples; see `AnyModel.evaluate_ranks`."""


class AnyExplainer(Protocol):
    """A model over facts, ready to explain links."""

    @property
    def facts(self) -> Facts:
        """The evidence."""

    def explain(
        self, subject: str, target: str, object_: str, *, paths: int = PATHS, flip: bool = True,
        progress: Progress = SILENT,
    ) -> AnyExplanation:  # fmt: skip
        """Explain target(subject, object); see `AnyModel.explain`."""


class AnyModel(Protocol):
    """What users do with a model of either kind, `hornbeam.Model` or `hornbeam.GraphModel`.

    A kind that cannot do something that is asked for by a keyword raises an `InputError`.
    """

    @property
    def targets(self) -> list[str]:
        """Predicates that the model has rules for."""

    @property
    def text(self) -> str:
        """The text of the model file; `parse` reads it back."""

    @classmethod
    def parse(cls, text: str, name: str = "model") -> Self:
        """Read a model from its text; errors call it `name`."""

    @classmethod
    def load(cls, path: str | os.PathLike[str]) -> Self:
        """Read a model file of this kind."""

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write the model; either all of it is there afterwards or nothing."""

    def to_table(self, facts: Input | None = None, labels: Input | None = None) -> ResultTable:
        """The rules, one per row."""

    def _repr_html_(self) -> str: ...

    def predict(
        self, facts: Input, pairs: Input, *, score: Score | str = Score.MEAN,
        names: Input | None = None, engine: str = "memory", threads: int | None = None,
        progress: Progress = SILENT,
    ) -> ResultTable:  # fmt: skip
        """Score and probability of pairs or triples, in their order."""

    def scorer(
        self, facts: Input, *, score: Score | str = Score.MEAN, engine: str = "memory",
        threads: int | None = None,
    ) -> AnyScorer:  # fmt: skip
        """Prepare to score pairs several times."""

    def propose(
        self, facts: Input, *, target: str | None = None, top: int = 20, per_subject: bool = False,
        subjects: Sequence[str] | None = None, score: Score | str = Score.MEAN,
        names: Input | None = None, engine: str = "memory", threads: int | None = None,
        progress: Progress = SILENT,
    ) -> ResultTable:  # fmt: skip
        """Find the `top` best new links of `target`."""

    def evaluate(
        self, facts: Input, labels: Input, *, score: Score | str = Score.MEAN,
        engine: str = "memory", threads: int | None = None, progress: Progress = SILENT,
    ) -> Evaluation:  # fmt: skip
        """How well scores agree with labels."""

    def rank(
        self, facts: Input, queries: Input, *, top: int = 10, known: bool = False,
        score: Score | str = Score.MEAN, names: Input | None = None, threads: int | None = None,
        progress: Progress = SILENT,
    ) -> ResultTable:  # fmt: skip
        """Answer queries, best first."""

    def evaluate_ranks(
        self, facts: Input, test: Input, *, filter: Input | None = None,  # noqa: A002
        score: Score | str = Score.MEAN, threads: int | None = None, progress: Progress = SILENT,
    ) -> GraphEvaluation:  # fmt: skip
        """Filtered ranks of the true answers of test triples, in both directions."""

    def ranker(
        self, facts: Input, *, score: Score | str = Score.MEAN, threads: int | None = None
    ) -> AnyRanker:
        """Prepare to rank answers of many queries."""

    def explain(
        self, facts: Input, pair: Sequence[str], *, target: str | None = None,
        pairs: Input | None = None, paths: int = PATHS, flip: bool = True,
        names: Input | None = None, threads: int | None = None, progress: Progress = SILENT,
    ) -> AnyExplanation:  # fmt: skip
        """Explain the score of a link."""

    def explainer(
        self, facts: Input, pairs: Input | None = None, *, threads: int | None = None
    ) -> AnyExplainer:
        """Prepare to explain many links."""

    def report(
        self, facts: Input, labels: Input | None = None, *, test: Input | None = None,
        filter: Input | None = None, trace: Trace | None = None,  # noqa: A002
        names: Input | None = None, threads: int | None = None, progress: Progress = SILENT,
    ) -> str:  # fmt: skip
        """Write one HTML page about the model."""

    def export(
        self, facts: Input | None = None, pairs: Input | None = None,
        output: str | os.PathLike[str] | None = None, *, plain: bool = False,
    ) -> Path:  # fmt: skip
        """Write the model for other tools; returns the path."""


if TYPE_CHECKING:
    #: Both kinds have all of it, by mypy.
    KINDS: tuple[type[AnyModel], ...] = (Model, GraphModel)


def load(path: str | os.PathLike[str]) -> Model | GraphModel:
    """Open a model file of either kind: rules of targets, or a model of a whole graph.

    Raises
    ------
    hornbeam.errors.DataError
        Where the file cannot be read, or is no model, with the line.

    Examples
    --------
    >>> import hornbeam as hb
    >>> hb.load("countries.psl")  # doctest: +SKIP
    Model(28 rules for in_region)
    """
    if not is_graph_model(path):
        return Model.load(path)
    from hornbeam.graph_model import GraphModel

    return GraphModel.load(path)


def with_model(
    path: str | os.PathLike[str], rules: Callable[[Model], T], graph: Callable[[GraphModel], T]
) -> T:
    """Open a model and hand it to the function for its kind: rules of targets, or a whole graph."""
    model = load(path)
    return rules(model) if isinstance(model, Model) else graph(model)


def open_rule_model(path: str | os.PathLike[str]) -> Model:
    """Open a file of rules of targets; a model of a whole graph is refused."""

    def refuse(_: GraphModel) -> Model:
        raise InputError(f"{os.fspath(path)}: is a model of a whole graph; expected a rule model")

    return with_model(path, lambda model: model, refuse)


def with_trace(model: Model, path: str | os.PathLike[str]) -> Model:
    """A model with how it was learned, by the trace next to its file.

    Versions up to 0.8 wrote there alone that negatives were sampled.
    """
    trace, semantics = trace_of(Path(path)), model.semantics
    if trace is not None and trace.sampled_negatives is not None:
        semantics = replace(semantics, sampled_negatives=trace.sampled_negatives)
    return replace(model, trace=trace, semantics=semantics)
