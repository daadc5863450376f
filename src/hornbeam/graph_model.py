"""`GraphModel`, a model of a whole graph; its methods have the names of `Model`'s methods."""

from __future__ import annotations

import os
from collections.abc import Sequence
from dataclasses import dataclass, fields
from pathlib import Path as FilePath
from typing import TYPE_CHECKING, Self

from hornbeam.base.choices import EngineName, FilterTime, History, Score
from hornbeam.base.progress import SILENT, Progress, as_progress
from hornbeam.base.result_table import ResultTable
from hornbeam.base.texts import shown_list
from hornbeam.counting.opening import facts_of, facts_or_database, open_engine
from hornbeam.errors import InputError, warn
from hornbeam.explaining.explanation import PATHS, Explanation
from hornbeam.facts.reading.readers import Input, as_facts, as_names
from hornbeam.facts.table import Facts
from hornbeam.graphs.graph_explainer import REASONS, GraphExplainer
from hornbeam.graphs.graph_ranker import GraphRanker, MemoryRanker
from hornbeam.graphs.graph_scorer import GraphScorer, new_facts
from hornbeam.graphs.graph_text import read_model, rule_text, write_model
from hornbeam.graphs.opened_rankers import InMemoryRanker, explainer_of, ranker_in_memory
from hornbeam.graphs.ranking_model import RankingModel, known_argument
from hornbeam.graphs.timed.timed_explainer import TimedExplainer
from hornbeam.graphs.timed.timed_ranker import TimedRanker
from hornbeam.learning.trace import Trace
from hornbeam.model import FILTERS, AnyModel
from hornbeam.ranking.rank_evaluation import GraphEvaluation
from hornbeam.reporting.rule_tables import rule_table, save_rules

if TYPE_CHECKING:
    from hornbeam.programs.rule_queries import QueriedRule

#: Maximum number of relations that a message names.
NAMED_RELATIONS = 5


@dataclass(frozen=True)
class GraphModel(RankingModel, AnyModel):
    """A model that ranks the missing links of a graph; its fields are those of `RankingModel`."""

    _judged = "probability"
    _explains_unseen = False

    def __repr__(self) -> str:
        rules = sum(len(part.rules) for part in self.relations)
        return f"GraphModel({len(self.targets):,} relations, {rules:,} path rules)"

    def _repr_html_(self) -> str:
        """HTML table of the path rule of highest confidence per relation and direction."""
        parts = [part for part in self.relations if part.rules]
        best = [max(part.rules, key=lambda rule: rule.confidence) for part in parts]
        texts = [
            rule_text(rule.clause, part.direction, self.identifiers)
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

    def to_table(self, facts: Input | None = None, labels: Input | None = None) -> ResultTable:
        """All rules: relation, direction, kind, rule, confidence, hits and predicted."""
        if facts is not None or labels is not None:
            raise InputError(
                "rules of a whole graph have the counts of their learning: leave out `facts` and "
                "`labels`"
            )
        return rule_table(self)

    def scorer(
        self, facts: Input, *, score: Score | str = Score.MEAN, engine: str = "memory",
        threads: int | None = None,
    ) -> GraphScorer:  # fmt: skip
        """Prepare to score many triples."""
        opened = facts if engine == EngineName.MEMORY else open_engine(facts, engine, threads)
        return GraphScorer(self.ranker(opened, score=score, threads=threads))

    def propose(
        self, facts: Input, *, target: str | None = None, top: int = 20, per_subject: bool = False,
        subjects: Sequence[str] | None = None, objects: Sequence[str] | None = None,
        score: Score | str = Score.MEAN, names: Input | None = None, engine: str = "memory",
        threads: int | None = None, progress: Progress | bool = SILENT,
        leave_out_linked: bool = False,
    ) -> ResultTable:  # fmt: skip
        """Find the `top` most probable new links of `target`; without it, of each relation.

        Links start from `subjects`, by default the known subjects of the relation. With
        `per_subject`, each subject has `top` links. The column `rank` is the object's rank among
        the answers of its subject. If only `objects` are given, links are answers of queries for
        their subjects, and `rank` is the subject's rank among these; with both, only links between
        these are proposed. For `leave_out_linked` see `ranker`.
        """
        if engine != EngineName.MEMORY:
            raise InputError("a model of a whole graph proposes links from facts in memory only")
        _check_score(score)
        known = facts_of(facts)
        self._warn_of_another_graph(known)
        ranker = self.ranker(known, threads=threads, leave_out_linked=leave_out_linked)
        assert isinstance(ranker, InMemoryRanker)
        with as_progress(progress) as shown:
            return new_facts(
                ranker, relations=None if target is None else [target], subjects=subjects,
                objects=objects, top=top, per_subject=per_subject,
                names=None if names is None else as_names(names), progress=shown,
            )  # fmt: skip

    def evaluate_ranks(
        self, facts: Input, test: Input, *, filter: Input | None = None,  # noqa: A002
        score: Score | str = Score.MEAN, threads: int | None = None,
        progress: Progress | bool = SILENT, leave_out_linked: bool = False,
        filter_time: FilterTime | str = FilterTime.SAME,
        history: History | str = History.STEP,
    ) -> GraphEvaluation:  # fmt: skip
        """Filtered ranks of the true answers of test triples, in both directions.

        Triples of the `filter` do not count as wrong answers. Test triples with values below 0.5
        are left out. For `leave_out_linked` see `ranker`.

        If the model is about facts with times, a test triple is asked at its time. `filter_time`
        says which other true answers do not count as wrong: those of the "same" time, or "all".
        `history` says what is seen before it: with "step" the facts, the filter and the test, as
        in a forecast of the next step; with "fixed" the facts alone.
        """
        test = as_facts(test)
        ranker = self.ranker(
            facts, score=score, threads=threads, leave_out_linked=leave_out_linked, test=test
        )
        with as_progress(progress) as shown:
            if isinstance(ranker, TimedRanker):
                return ranker.evaluate(test, filter, shown, filter_time, history)
            if (FilterTime(filter_time), History(history)) != (FilterTime.SAME, History.STEP):
                raise InputError(
                    "the model was learned without times: leave out `filter_time` and `history`"
                )
            return ranker.evaluate(test, filter, shown)

    def ranker(
        self, facts: Input, *, score: Score | str = Score.MEAN, threads: int | None = None,
        leave_out_linked: bool = False, test: Input | None = None,
    ) -> GraphRanker | TimedRanker:  # fmt: skip
        """Prepare to rank answers of many queries.

        Parameters
        ----------
        facts
            Files, frames, tuples, a result of `read_facts`, or an engine of `open_duckdb`.
        score
            "mean": the answers of a graph have one kind of score.
        threads
            Threads to use; one per core by default.
        leave_out_linked
            Leave out candidates that any relation links to the query's entity. The option uses
            knowledge of how some data sets were split (`LinkedShares`). It needs facts in memory.
        test
            True triples that will be evaluated; an engine needs them in advance.

        Raises
        ------
        hornbeam.errors.InputError
            Where an engine cannot rank by this model, or not with `leave_out_linked`.
        """
        _check_score(score)
        ranker: GraphRanker
        known = facts_or_database(facts)
        if self.time is not None:
            if not isinstance(known, Facts) or leave_out_linked:
                raise InputError(
                    "a model of facts with times answers from facts in memory, and leaves out "
                    "nothing: leave out `engine` and `leave_out_linked`"
                )
            return TimedRanker.of(self, known, threads=threads)
        if isinstance(known, Facts):
            ranker = MemoryRanker.of(self, known, threads=threads)
        else:
            from hornbeam.graphs.sql.sql_ranker import SqlRanker

            ranker = SqlRanker.of(self, known, None if test is None else as_facts(test))
        return ranker.without_linked() if leave_out_linked else ranker

    def explain(
        self, facts: Input, pair: Sequence[str], *, target: str | None = None,
        pairs: Input | None = None, paths: int = PATHS, flip: bool = True,
        names: Input | None = None, threads: int | None = None, progress: Progress | bool = SILENT,
        reasons: int = REASONS, at: str | int | None = None,
    ) -> Explanation:  # fmt: skip
        """The rank of a triple, the rules that fire for it, and the answers above it.

        Parameters
        ----------
        pair, target
            Subject, relation and object, by ids or by `names`; or subject and object, the relation
            by `target`.
        pairs, flip
            Ignored: only rule models score pairs together, or decide by a score.
        paths
            Maximum number of groundings per rule.
        reasons
            Maximum number of rules per part of the score.
        at
            The time that the triple is asked at, if facts have times; by default right after the
            last fact.
        """
        explainer = self.explainer(facts, pairs, threads=threads, reasons=reasons)
        if isinstance(explainer, TimedExplainer):
            explainer = explainer.asked_at(at)
        elif at is not None:
            raise InputError("the model was learned without times: leave out `at`")
        return self._explained(explainer, pair, target, names, paths, flip, progress)

    def explainer(
        self, facts: Input, pairs: Input | None = None, *, threads: int | None = None,
        reasons: int = REASONS,
    ) -> GraphExplainer | TimedExplainer:  # fmt: skip
        """Prepare to explain many triples by `reasons` rules per score part; ignores `pairs`."""
        return explainer_of(ranker_in_memory(self, facts_of(facts), threads), reasons)

    def report(
        self, facts: Input | None = None, labels: Input | None = None, *, test: Input | None = None,
        filter: Input | None = None, trace: Trace | None = None,  # noqa: A002
        names: Input | None = None, threads: int | None = None, progress: Progress | bool = SILENT,
        filtered_by: str = FILTERS,
    ) -> str:  # fmt: skip
        """The HTML page about the model: its rules, and how well it ranks true triples of `test`.

        Triples of the `filter` do not count as wrong answers; the page says that ranks are filtered
        by `filtered_by`. A `trace` is refused: the model itself records how it was learned.
        Without facts the page shows the rules, and where the model comes from.
        """
        from hornbeam.reporting.report import graph_report

        if labels is not None:
            raise InputError("a model of a whole graph ranks answers: give `test`, not `labels`")
        if trace is not None:
            raise InputError("a model of a whole graph has no trace: leave out `trace`")
        if filter is not None and test is None:
            raise InputError("`filter` needs `test`: it names further true triples")
        if facts is None and test is not None:
            raise InputError("a model is judged over facts: give `facts`")
        known = None if facts is None else facts_of(facts)
        if known is not None:
            self._warn_of_another_graph(known)
        with as_progress(progress) as shown:
            return graph_report(
                self,
                known,
                None if test is None else as_facts(test),
                None if filter is None else as_facts(filter),
                filtered_by=filtered_by,
                names=as_names(names),
                threads=threads,
                progress=shown,
            )

    def _queried_rules(self) -> list[QueriedRule]:
        from hornbeam.programs.rule_queries import QueriedRule

        return [
            QueriedRule(
                rule_text(rule.clause, part.direction, self.identifiers),
                rule.weight,
                rule.clause,
                known_argument(part.direction),
            )
            for part in self.relations
            for rule in part.all_rules
        ]

    def export(
        self, facts: Input | None = None, pairs: Input | None = None,
        output: str | os.PathLike[str] | None = None, *, plain: bool = False,
    ) -> FilePath:  # fmt: skip
        """Write the rules for other tools to a file: .csv, .jsonl, or .anyburl; returns its path.

        Rules need neither `facts` nor `pairs`. A ranking cannot be written as a PSL program.
        """
        if output is None:
            raise InputError("name a file for the rules: `output`")
        if plain:
            raise InputError("the ranking of a whole graph is no PSL program: leave out `plain`")
        save_rules(self, output)
        return FilePath(output)

    @property
    def text(self) -> str:
        """The text of the model file, which people can read; `parse` reads it back."""
        return write_model(self)

    @classmethod
    def parse(cls, text: str, name: str = "model") -> Self:
        """Read a model from its text; errors call the text `name`.

        Raises
        ------
        hornbeam.errors.DataError
            Where the text is not a model, with the line.
        """
        read = read_model(text, name)
        return cls(**{field.name: getattr(read, field.name) for field in fields(read)})

    def _warn_of_another_graph(self, facts: Facts) -> None:
        """Warn if the facts have no relation of the model: the model cannot answer anything."""
        if any(facts.predicates.index(name) >= 0 for name in self.targets):
            return
        named = shown_list(self.targets, NAMED_RELATIONS)
        warn(
            f"the facts have none of the model's {len(self.targets):,} relations ({named}): was it "
            "learned from another graph?"
        )


def _check_score(score: Score | str) -> None:
    if Score(score) is not Score.MEAN:
        raise InputError("answers of a whole graph have one kind of score: leave out `score`")
