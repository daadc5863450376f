"""A model of a whole graph as users see it: rank, evaluate, explain, save, load."""

from __future__ import annotations

import os
from dataclasses import dataclass, fields

from hornbeam.base.files import save_text
from hornbeam.base.progress import SILENT, Progress
from hornbeam.base.result_table import ResultTable
from hornbeam.counting.opening import facts_of
from hornbeam.errors import DataError, warn_of_old_name
from hornbeam.facts.reading.name_files import as_names
from hornbeam.facts.reading.readers import Input, as_facts
from hornbeam.graphs.graph_explanation import (
    GraphExplanation,
    explain_triple,
    graph_explanation_in_names,
)
from hornbeam.graphs.graph_ranker import GraphRanker
from hornbeam.graphs.graph_text import read_model, rule_text, write_model
from hornbeam.graphs.opened_graph import GraphInput, open_ranker
from hornbeam.graphs.ranking_model import RankingModel
from hornbeam.graphs.rule_files import RECORD_FIELDS, rule_records
from hornbeam.ranking.rank_evaluation import GraphEvaluation


@dataclass(frozen=True)
class GraphModel(RankingModel):
    """What ranks the missing links of a graph; its fields are those of `RankingModel`."""

    def __repr__(self) -> str:
        rules = sum(len(part.rules) for part in self.relations)
        names = len({part.relation for part in self.relations})
        return f"GraphModel({names:,} relations, {rules:,} path rules)"

    def _repr_html_(self) -> str:
        """HTML table of the path rule of highest confidence per relation and direction."""
        parts = [part for part in self.relations if part.rules]
        best = [max(part.rules, key=lambda rule: rule.confidence) for part in parts]
        texts = [
            rule_text(part.relation, part.direction, rule)
            for part, rule in zip(parts, best, strict=True)
        ]
        table = ResultTable(
            {
                "path rules": [len(part.rules) for part in parts],
                "highest confidence": texts,
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

        Parameters
        ----------
        facts
            Files, frames, tuples, what `read_facts` returns, or an engine of `open_duckdb`.
        threads
            Threads to use; one per core by default.
        leave_out_linked
            Leave out candidates that any relation links to the query's entity. That uses knowledge
            of how some data sets were split (`LinkedShares`), and needs facts in memory.
        test
            True triples to be evaluated later, which an engine needs now.
        """
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
        threads
            Threads to use; one per core by default.
        progress
            Called with the progress made.

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
        """Rank the answers of true triples among all entities.

        Parameters
        ----------
        facts
            Files, frames, tuples, what `read_facts` returns, or an engine of `open_duckdb`.
        test
            True triples; those with values below 0.5 are left out.
        filter
            Further true triples, such as a validation set, which do not count as wrong answers.
        leave_out_linked
            Leave out candidates that any relation links to the query's entity. That uses knowledge
            of how some data sets were split (`LinkedShares`), and needs facts in memory.
        threads
            Threads to use; one per core by default.
        progress
            Called with the progress made.
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
        """The rank of a triple, the rules that fire for it, and the answers above it.

        Parameters
        ----------
        facts
            Files, frames, tuples, or what `read_facts` returns.
        triple
            Subject, relation and object, by ids or by `names`.
        reasons
            Maximum number of rules per direction.
        groundings
            Maximum number of groundings per rule.
        names
            What people call entities; see `hornbeam.read_names`.
        """
        known, called = facts_of(facts), as_names(names)
        ends = (triple[0], triple[2])
        subject, object_ = (called.known_entity(end, known.entities) for end in ends)
        found = explain_triple(
            self, known, (subject, triple[1], object_), reasons=reasons, groundings=groundings
        )
        return graph_explanation_in_names(found, called)

    def to_table(self) -> ResultTable:
        """All rules: relation, direction, kind, rule, confidence, hits and predicted."""
        records = list(rule_records(self))
        return ResultTable({name: [one[name] for one in records] for name in RECORD_FIELDS})

    @property
    def text(self) -> str:
        """The text of the model file, which people can read; `parse` reads it back."""
        return write_model(self)

    def to_text(self) -> str:
        """Old name of `text`."""
        warn_of_old_name("`GraphModel.to_text()`", "`GraphModel.text`")
        return self.text

    @classmethod
    def parse(cls, text: str, name: str = "model") -> GraphModel:
        """Read a model from its text; errors call it `name`.

        Raises
        ------
        hornbeam.errors.DataError
            Where the text is not a model, with the line.
        """
        read = read_model(text, name)
        return cls(**{field.name: getattr(read, field.name) for field in fields(read)})

    @classmethod
    def from_text(cls, text: str, source: str = "<text>") -> GraphModel:
        """Old name of `parse`."""
        warn_of_old_name("`GraphModel.from_text`", "`GraphModel.parse`")
        return cls.parse(text, source)

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write the text to a file, all of it or nothing."""
        save_text(path, self.text)

    @classmethod
    def load(cls, path: str | os.PathLike[str]) -> GraphModel:
        """Read a file that `save` wrote.

        Raises
        ------
        hornbeam.errors.DataError
            Where the file cannot be read, or is not a model of a graph.
        """
        name = os.fspath(path)
        try:
            with open(path, encoding="utf-8", newline="") as stream:
                text = stream.read()
        except (OSError, UnicodeDecodeError) as error:
            raise DataError(name, f"cannot be read: {error}") from None
        return cls.parse(text, name)
