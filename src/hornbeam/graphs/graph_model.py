"""The model of a whole graph as data: rules and ranking weights per relation and direction.

Path rules carry their own hits and predictions, so that they apply to any facts that have their
relations. Rules with constants, frequent answers and the ridge class are about single entities:
they are counted anew from the facts that a model is used with, and the best of them are listed to
be read.
"""

from __future__ import annotations

import os
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from hornbeam.errors import DataError
from hornbeam.facts.reading.readers import Input, as_facts
from hornbeam.files import save_text
from hornbeam.graphs.path_rules import SMOOTHING
from hornbeam.graphs.queries import Direction
from hornbeam.progress import SILENT, Progress
from hornbeam.result_table import ResultTable
from hornbeam.rules.body import Step

if TYPE_CHECKING:
    from hornbeam.graphs.graph_explanation import GraphExplanation
    from hornbeam.graphs.graph_ranker import GraphRanker
    from hornbeam.graphs.opened_graph import GraphInput
    from hornbeam.graphs.ranking import GraphEvaluation

#: Shares of linked pairs in train and valid that differ by more than this are worth a warning.
LINKED_APART = 0.15


@dataclass(frozen=True)
class GraphRule:
    """A path from the known argument to the answer, with what it got right in training."""

    path: tuple[Step, ...]
    hits: int
    predicted: int
    weight: float = 0.0

    @property
    def confidence(self) -> float:
        """Hits / (predicted + 5)."""
        return self.hits / (self.predicted + SMOOTHING)


@dataclass(frozen=True)
class ConstantRule:
    """The answer is `answer` where the known argument is linked by `step`, to `constant` if any."""

    step: Step
    constant: str | None
    answer: str
    hits: int
    predicted: int

    @property
    def confidence(self) -> float:
        """Hits / (predicted + 5)."""
        return self.hits / (self.predicted + SMOOTHING)


@dataclass(frozen=True)
class RelationRules:
    """Rules and ranking weights of one relation in one direction.

    `weights` belong to the model's features; None stands for the weights of the whole graph.
    `constants` are the best rules with constants, to be read.
    """

    relation: str
    direction: Direction
    queries: int
    rules: tuple[GraphRule, ...] = ()
    constants: tuple[ConstantRule, ...] = ()
    weights: tuple[float, ...] | None = None


@dataclass(frozen=True)
class Calibration:
    """Probability that an answer is right: 1 / (1 + exp(-(slope z + intercept))).

    z is the log odds of the answer's softmax share among the candidates of its query.
    """

    slope: float = 1.0
    intercept: float = 0.0


@dataclass(frozen=True)
class LinkedShares:
    """Share of pairs that have a further link in train: of train's own pairs, and of valid's.

    Where they differ, the split was made by looking at links, and leaving out linked candidates
    would use knowledge of the split, not of the graph.
    """

    train: float
    valid: float | None = None

    @property
    def caution(self) -> str | None:
        """What to say where they differ."""
        if self.valid is None or abs(self.train - self.valid) <= LINKED_APART:
            return None
        return (
            f"{self.train:.0%} of the pairs of the facts have a further link, and {self.valid:.0%} "
            "of the held-out ones: the split was made by looking at links, and figures on it say "
            "less about new facts. Evaluate without linked candidates, too, to see how much."
        )


@dataclass(frozen=True)
class GraphModel:
    """What ranks the missing links of a graph; `hornbeam.graphs.graph_ranker` applies it.

    Attributes
    ----------
    relations
        Rules and weights, by relation and direction.
    features, weights
        The features that were chosen, and their weights for the whole graph.
    ridge
        The penalty of the ridge class, None where it is left out.
    constants, backward
        Whether rules with constants and backward rules take part.
    pool
        The most candidates per query.
    max_length
        The longest path that was looked for.
    calibration
        From scores to probabilities.
    linked
        How far train's pairs are linked, and valid's.
    seed
        What the random choices began with.
    chosen
        What else learning decided, and the MRR on held-out queries that it decided by.
    """

    relations: tuple[RelationRules, ...]
    features: tuple[str, ...]
    weights: tuple[float, ...]
    ridge: float | None
    constants: bool
    backward: bool
    pool: int
    max_length: int
    calibration: Calibration
    linked: LinkedShares
    seed: int = 0
    chosen: Mapping[str, float | int | str | None] = field(default_factory=dict)

    def __repr__(self) -> str:
        rules = sum(len(part.rules) for part in self.relations)
        names = len({part.relation for part in self.relations})
        return f"GraphModel({names:,} relations, {rules:,} path rules)"

    def _repr_html_(self) -> str:
        """The surest path rule of every relation and direction."""
        from hornbeam.graphs.graph_text import rule_text

        parts = [part for part in self.relations if part.rules]
        best = [max(part.rules, key=lambda rule: rule.confidence) for part in parts]
        texts = [
            rule_text(part.relation, part.direction, rule)
            for part, rule in zip(parts, best, strict=True)
        ]
        table = ResultTable(
            {
                "path rules": [len(part.rules) for part in parts],
                "the surest": texts,
                "confidence": [rule.confidence for rule in best],
            }
        )
        return table.html(repr(self))

    def ranker(
        self,
        facts: GraphInput,
        threads: int | None = None,
        *,
        leave_out_linked: bool = False,
        test: Input | None = None,
    ) -> GraphRanker:
        """Prepare to answer many queries from the same facts.

        They may be an engine of `open_duckdb`; one that is to be evaluated needs the `test` first.
        """
        from hornbeam.graphs.opened_graph import open_ranker

        known = None if test is None else as_facts(test)
        return open_ranker(
            self, facts, test=known, leave_out_linked=leave_out_linked, threads=threads
        )

    def rank(
        self,
        facts: GraphInput,
        queries: Input,
        *,
        top: int = 10,
        names: Input | None = None,
        threads: int | None = None,
        progress: Progress = SILENT,
    ) -> ResultTable:
        """Answer queries such as `("peru", "neighbour", "?")` from facts.

        Parameters
        ----------
        facts, queries
            Files, frames, tuples, or what `read_facts` and `read_queries` return.
        top
            Answers per query.
        names
            What people call entities; see `hornbeam.read_names`.

        Returns
        -------
        ResultTable
            Subject, relation, object, score, rank, query and the probability that it is right; with
            `names`, those of subject and object.
        """
        ranker = self.ranker(facts, threads)
        return ranker.rank(queries, top=top, names=names, progress=progress)

    def evaluate(
        self,
        facts: GraphInput,
        test: Input,
        *,
        filter: Input | None = None,  # noqa: A002
        leave_out_linked: bool = False,
        threads: int | None = None,
        progress: Progress = SILENT,
    ) -> GraphEvaluation:
        """Rank the answers of true triples among all entities; see `evaluate_ranks`.

        `leave_out_linked` uses knowledge of how some data sets were split (`LinkedShares`).
        """
        test = as_facts(test)
        ranker = self.ranker(facts, threads, leave_out_linked=leave_out_linked, test=test)
        return ranker.evaluate(test, filter, progress)

    def explain(
        self,
        facts: Input,
        triple: tuple[str, str, str],
        *,
        reasons: int = 5,
        groundings: int = 3,
        names: Input | None = None,
    ) -> GraphExplanation:
        """Say where a triple ranks, which rules fire for it, and what is above it."""
        from hornbeam.facts.reading.name_files import as_names
        from hornbeam.graphs.graph_explanation import explain_triple, graph_explanation_in_names

        known, called = as_facts(facts), as_names(names)
        ends = (triple[0], triple[2])
        subject, object_ = (called.known_entity(end, known.entities) for end in ends)
        found = explain_triple(
            self, known, (subject, triple[1], object_), reasons=reasons, groundings=groundings
        )
        return graph_explanation_in_names(found, called)

    def to_table(self) -> ResultTable:
        """All rules: relation, direction, kind, rule, confidence, hits and predicted."""
        from hornbeam.graphs.rule_files import RECORD_FIELDS, rule_records

        records = list(rule_records(self))
        return ResultTable({name: [one[name] for one in records] for name in RECORD_FIELDS})

    def to_text(self) -> str:
        """Everything as a text that people can read and `from_text` reads without loss."""
        from hornbeam.graphs.graph_text import write_model

        return write_model(self)

    @classmethod
    def from_text(cls, text: str, source: str = "<text>") -> GraphModel:
        """Read what `to_text` wrote.

        Raises
        ------
        hornbeam.errors.DataError
            Where the text is none, with the line.
        """
        from hornbeam.graphs.graph_text import read_model

        return read_model(text, source)

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write the text to a file, all of it or nothing."""
        save_text(path, self.to_text())

    @classmethod
    def load(cls, path: str | os.PathLike[str]) -> GraphModel:
        """Read a file that `save` wrote.

        Raises
        ------
        hornbeam.errors.DataError
            Where the file cannot be read, or is no model of a graph.
        """
        name = os.fspath(path)
        try:
            with open(path, encoding="utf-8", newline="") as stream:
                text = stream.read()
        except (OSError, UnicodeDecodeError) as error:
            raise DataError(name, f"cannot be read: {error}") from None
        return cls.from_text(text, name)
